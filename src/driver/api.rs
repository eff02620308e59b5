//! The loop over a Messages API.

use std::ops::ControlFlow;
use std::time::Instant;

use anyhow::Result;
use serde_json::Value;

use super::Ending;
use super::LARGER;
use super::Meter;
use super::Opening;
use super::Settings;
use super::clearing;
use super::clearing::Reason;
use super::conversation::Conversation;
use super::edits::Edit;
use super::edits::Edits;
use super::ending::FIRST;
use super::gauge::Gauge;
use super::gauge::Size;
use super::gauge::WINDOW_FULL;
use super::past::Past;
use super::repeats::Repeats;
use super::repeats::Rut;
use super::stop::Next;
use super::stop::Streak;
use crate::event::BROKEN_REPLY;
use crate::event::Event;
use crate::event::Sink;
use crate::message::Reply;
use crate::message::ToolCall;
use crate::message::ToolResult;
use crate::message::text_block;
use crate::process::Interrupt;
use crate::provider::Client;
use crate::provider::Failure;
use crate::provider::Request;
use crate::provider::Told;
use crate::tools::Tools;

/// The share of the window above which the agent is asked to hand over.
const WINDOW_ALMOST_FULL: f64 = 0.8;
/// Replies of the agent whose texts tell what it is at.
const NEWEST_TEXTS: usize = 3;

/// What every turn needs.
pub struct Driver<'a> {
    pub client: &'a Client,
    pub settings: &'a Settings,
    pub sink: &'a dyn Sink,
    pub interrupt: &'a Interrupt,
}

/// Runs the turns of one session until something ends them.
///
/// The events tell the whole conversation: the system prompt as what was sent at turn 0, then each message of ours and
/// each reply.
///
/// # Errors
/// Only what is wrong on our side, such as a memory that cannot be written.
pub fn drive(driver: &Driver, toolbox: &mut dyn Tools, opening: &Opening, meter: &mut dyn Meter) -> Result<Ending> {
    let mut session = Session {
        driver,
        conversation: Conversation::new(&opening.system),
        gauge: Gauge::new(driver.settings.window),
        tools: Size::of(&toolbox.definitions()),
        turn: 0,
        streak: Streak::default(),
        repeats: Repeats::default(),
        asked: false,
        cleared: false,
        edits: Edits::default(),
        estimated: false,
    };
    session.tell(&Event::Sent { turn: 0, content: vec![text_block(&opening.system)] });
    session.turn = FIRST;
    session.say(toolbox, vec![text_block(&opening.first)]);
    turns(&mut session, toolbox, meter)
}

/// Goes on with a session that was cut off; `told` is what the model has to know of that.
///
/// # Errors
/// As [`drive`].
pub fn go_on(
    driver: &Driver,
    toolbox: &mut dyn Tools,
    mut past: Past,
    told: &str,
    meter: &mut dyn Meter,
) -> Result<Ending> {
    let blocks = past.answers().into_iter().chain([text_block(told)]).collect();
    let mut session = Session {
        driver,
        gauge: Gauge::new(driver.settings.window),
        tools: Size::of(&toolbox.definitions()),
        turn: past.next_turn(),
        streak: past.streak,
        repeats: past.repeats,
        cleared: past.cleared,
        edits: Edits::default(),
        estimated: false,
        asked: past.conversation.holds(&driver.settings.texts.almost_full),
        conversation: past.conversation,
    };
    for (reply, size) in &past.replies {
        session.gauge.learn(reply, size.plus(session.tools));
        session.edits.take(reply);
    }
    session.say(toolbox, blocks);
    turns(&mut session, toolbox, meter)
}

/// Takes turns until something ends them.
fn turns(session: &mut Session, toolbox: &mut dyn Tools, meter: &mut dyn Meter) -> Result<Ending> {
    loop {
        if let Some(ending) = session.before_request(toolbox, meter) {
            return Ok(ending);
        }
        let (reply, calls) = match session.ask(toolbox, meter) {
            Ok(heard) => heard,
            Err(ending) => return Ok(ending),
        };
        session.streak.take(&reply);
        let answer = match session.streak.next(&reply, calls) {
            Next::End(ending) => return Ok(ending),
            Next::AskAgain => {
                session.turn += 1;
                continue;
            }
            Next::TellEmpty if session.driver.settings.texts.empty.is_empty() => return Ok(Ending::Stopped),
            Next::TellEmpty => Ok((vec![text_block(&session.driver.settings.texts.empty)], None)),
            Next::Answer(calls) => session.answer(toolbox, &calls),
            Next::TellCut(calls) => Ok((session.cut_off(&calls), None)),
        };
        let stuck = match answer {
            Ok((blocks, stuck)) => {
                session.turn += 1;
                session.say(toolbox, blocks);
                stuck
            }
            Err(_) if !toolbox.project_is_there() => return Ok(Ending::Vanished),
            Err(error) => return Err(error),
        };
        if let Some(words) = toolbox.handed_over() {
            return Ok(Ending::HandedOver(words.clone()));
        }
        if let Some(reason) = stuck {
            return Ok(Ending::Stuck(reason));
        }
    }
}

struct Session<'a> {
    driver: &'a Driver<'a>,
    conversation: Conversation,
    gauge: Gauge,
    /// How large the definitions of the tools are.
    tools: Size,
    turn: u32,
    streak: Streak,
    repeats: Repeats,
    /// The agent was asked to hand over.
    asked: bool,
    /// Old results were taken out since the newest message of ours.
    cleared: bool,
    /// What the service took out by itself.
    edits: Edits,
    /// It was said that the service does not tell its tokens.
    estimated: bool,
}

impl Session<'_> {
    fn before_request(&mut self, toolbox: &dyn Tools, meter: &mut dyn Meter) -> Option<Ending> {
        if self.driver.interrupt.requested() {
            return Some(Ending::Interrupted);
        }
        if !toolbox.project_is_there() {
            return Some(Ending::Vanished);
        }
        meter.exhausted().map(Ending::Limit).or_else(|| self.full(toolbox))
    }

    /// Asks for the next reply and takes it in; returns it with its calls.
    fn ask(&mut self, toolbox: &dyn Tools, meter: &mut dyn Meter) -> Result<(Reply, Vec<ToolCall>), Ending> {
        let usual = self.driver.settings.max_tokens;
        let larger = usual.saturating_mul(LARGER);
        meter.turn();
        let reply = match self.send(toolbox, meter, if self.streak.cuts > 0 { larger } else { usual }) {
            // The model cannot write that much in one reply.
            Err(Failure::Refused { kind, .. }) if self.streak.cuts > 0 && kind == "invalid_request_error" => {
                self.send(toolbox, meter, usual)
            }
            Err(failure) if failure.is_of_thinking() && self.forget_thinking() => self.send(toolbox, meter, usual),
            Err(Failure::TooLong { .. }) if self.make_room(toolbox, Reason::Refused) => {
                self.send(toolbox, meter, usual)
            }
            reply => reply,
        };
        let mut reply = reply.map_err(|failure| Ending::of_failure(failure, self.turn, meter))?;
        if self.gauge.complete(&mut reply, self.size()) {
            self.tell_estimate();
        }
        let cost = meter.spend(&reply.usage);
        self.tell(&Event::Replied { turn: self.turn, message: reply.raw.clone(), cost });
        self.tell(&meter.spent());
        let heard = self.conversation.hear(&reply);
        self.gauge.learn(&reply, self.size());
        if let Some(Edit { results, tokens, summed_up }) = self.edits.take(&reply) {
            self.cleared = true;
            self.tell(&Event::Edited { turn: self.turn, results, tokens, summed_up });
        }
        heard.mended.into_iter().for_each(|text| self.tell(&Event::Warning { text }));
        Ok((reply, heard.calls))
    }

    /// Says once that tokens are estimated.
    fn tell_estimate(&mut self) {
        if !std::mem::replace(&mut self.estimated, true) {
            let text = "the model service does not tell how many tokens it used; they are estimated from the size of \
                        the texts, and so is the cost";
            self.tell(&Event::Warning { text: text.to_owned() });
        }
    }

    fn send(&self, toolbox: &dyn Tools, meter: &mut dyn Meter, max_tokens: u32) -> Result<Reply, Failure> {
        let mut on_retry = |reason: &str, wait: std::time::Duration| {
            self.tell(&Event::Retrying { reason: reason.to_owned(), wait: wait.as_secs_f64() });
        };
        let mut on_tokens = |told: Told| match told {
            Told::UnderWay(usage) => {
                let cost = meter.under_way(&usage);
                self.tell(&Event::Began { turn: self.turn, usage, cost });
                ControlFlow::Continue(())
            }
            Told::Lost(usage) => {
                let (cost, model) = (meter.spend(&usage), self.driver.settings.model.clone());
                self.tell(&Event::Used { by: BROKEN_REPLY.to_owned(), model, usage, cost });
                self.tell(&meter.spent());
                meter.used_up().map_or(ControlFlow::Continue(()), |_| ControlFlow::Break(()))
            }
        };
        let (client, interrupt) = (self.driver.client, self.driver.interrupt);
        client.send(&self.request(toolbox, max_tokens), interrupt, &mut on_retry, &mut on_tokens)
    }

    /// Takes all thinking out, where the service refuses some: each piece holds only after all that stood before it, so that
    /// one alone cannot go. Tells whether there was any.
    fn forget_thinking(&mut self) -> bool {
        let any = self.conversation.forget_thinking();
        if any {
            let text = "the service does not take back what the agent thought so far; it goes on without".to_owned();
            self.tell(&Event::Warning { text });
        }
        any
    }

    fn request(&self, toolbox: &dyn Tools, max_tokens: u32) -> Request {
        let Settings { model, model_setting, deadline, window, .. } = self.driver.settings;
        Request {
            model: model.clone(),
            model_setting: *model_setting,
            max_tokens,
            system: self.conversation.system(),
            messages: self.conversation.messages(),
            tools: toolbox.definitions(),
            window: *window,
            deadline: *deadline,
        }
    }

    /// Runs the calls in order and returns one result for each; after an interrupt the rest is not run. Says how the agent
    /// is stuck, if it is.
    fn answer(&mut self, toolbox: &mut dyn Tools, calls: &[ToolCall]) -> Result<(Vec<Value>, Option<String>)> {
        let mut blocks = Vec::new();
        for call in calls {
            let result = if self.driver.interrupt.requested() {
                not_run("the session was interrupted before this call")
            } else {
                self.run(toolbox, call)?
            };
            blocks.push(result.to_block(&call.id));
        }
        let stuck = match self.repeats.take(calls, &blocks, || toolbox.files()) {
            Rut::None => None,
            Rut::Tell => {
                blocks.push(text_block(&self.driver.settings.texts.repeated));
                None
            }
            Rut::End(reason) => Some(reason),
        };
        Ok((blocks, stuck))
    }

    fn run(&self, toolbox: &mut dyn Tools, call: &ToolCall) -> Result<ToolResult> {
        let (turn, id, name) = (self.turn, call.id.clone(), call.name.clone());
        self.tell(&Event::ToolStarted { turn, id: id.clone(), name: name.clone(), input: call.input.clone() });
        let start = Instant::now();
        let result = toolbox.call(call, turn);
        let (is_error, content) = match &result {
            Ok(result) => (result.is_error, result.content.clone()),
            Err(error) => (true, Value::String(format!("{error:#}"))),
        };
        let seconds = start.elapsed().as_secs_f64();
        self.tell(&Event::ToolEnded { turn, id, name, is_error, content, seconds });
        result
    }

    /// Answers a reply that was cut off; even a call that looks whole is not run.
    fn cut_off(&self, calls: &[ToolCall]) -> Vec<Value> {
        let told = &self.driver.settings.texts.cut_off;
        if calls.is_empty() {
            return vec![text_block(told)];
        }
        calls.iter().map(|call| not_run(told).to_block(&call.id)).collect()
    }

    /// Adds a message of ours. Makes room for it, and asks for a hand-over once the window is almost full all the same.
    fn say(&mut self, toolbox: &mut dyn Tools, content: Vec<Value>) {
        let from = self.conversation.say(content);
        self.make_room(toolbox, Reason::Measure { clear_at: self.driver.settings.clear_at });
        if std::mem::take(&mut self.cleared)
            && let Some(text) = toolbox.after_clearing(&self.conversation.newest_texts(NEWEST_TEXTS))
        {
            self.conversation.add(text_block(&text));
        }
        if !self.asked && self.filled(toolbox) > WINDOW_ALMOST_FULL {
            self.asked = true;
            self.conversation.add(text_block(&self.driver.settings.texts.almost_full));
        }
        // What was too long is told as it is sent.
        let content = self.conversation.newest()[from..].to_vec();
        self.tell(&Event::Sent { turn: self.turn, content });
    }

    /// Takes old tool results out where it is time to, and shortens new ones that would not fit all the same; tells whether
    /// anything was.
    fn make_room(&mut self, toolbox: &dyn Tools, reason: Reason) -> bool {
        self.filled(toolbox);
        let before = self.gauge.tokens(self.size());
        let size = self.size();
        let mut cleared = clearing::clear(&mut self.conversation, &self.gauge, size, reason, toolbox.artifacts());
        let sizes = (self.size(), size.minus(self.size()));
        cleared.take(clearing::shorten(&mut self.conversation, &self.gauge, sizes, reason, toolbox.artifacts()));
        if let Some(failure) = cleared.failure {
            self.tell(&Event::Warning { text: format!("an old result stays in the context: {failure}") });
        }
        let any = !cleared.results.is_empty();
        self.cleared |= any;
        if any {
            let tokens = (before - self.gauge.tokens(self.size())).max(0.0) as u64;
            self.tell(&Event::Cleared { turn: self.turn, results: cleared.results, tokens });
        }
        any
    }

    /// Says that the window has no room for another reply.
    fn full(&mut self, toolbox: &dyn Tools) -> Option<Ending> {
        let filled = self.filled(toolbox);
        (filled > WINDOW_FULL).then(|| {
            let (tokens, window) = (self.gauge.tokens(self.size()), self.driver.settings.window);
            let (percent, tokens) = (filled * 100.0, tokens / 1000.0);
            let reason = format!(
                "the conversation fills {percent:.0} % of the model's window ({tokens:.0}k of {}k tokens)",
                window / 1000
            );
            if self.turn == FIRST { Ending::NoRoom(reason) } else { Ending::Full(reason) }
        })
    }

    /// Returns the share of the window that the next request fills.
    fn filled(&mut self, toolbox: &dyn Tools) -> f64 {
        let size = self.size();
        let clearing = clearing::threshold(self.driver.settings.clear_at);
        // An estimate will do where an error of half of it decides nothing.
        if self.gauge.is_close(size, &[clearing, WINDOW_ALMOST_FULL, WINDOW_FULL]) {
            let request = self.request(toolbox, self.driver.settings.max_tokens);
            if let Some(tokens) = self.driver.client.count(&request, self.driver.interrupt) {
                self.gauge.set(tokens, size);
            }
        }
        self.gauge.share(self.gauge.tokens(size))
    }

    fn size(&self) -> Size {
        self.conversation.size().plus(self.tools)
    }

    fn tell(&self, event: &Event) {
        self.driver.sink.take(event);
    }
}

fn not_run(reason: &str) -> ToolResult {
    ToolResult::error(format!("not run: {reason}"))
}
