//! Tells a run to the person who watches: one plain line for each thing that matters, and the status line.

use super::line::Line;
use super::line::Tone;
use super::line::cut;
use crate::clock::duration;
use crate::event::BROKEN_REPLY;
use crate::event::Event;
use serde_json::Value;
use std::time::Duration;
use std::time::Instant;

/// Longest summary of a tool call or a reply; the whole of it is in the session's events.
const SUMMARY: usize = 120;

/// Stands between the parts of the status.
pub(super) const BETWEEN: &str = " · ";

/// Lines of a check's output that are shown when it did not pass.
const TAIL: usize = 10;

/// What the status line has to know of the past.
#[derive(Debug, Default)]
pub(super) struct Narration {
    session: Option<u32>,
    feature: Option<String>,
    turn: u32,
    began: Option<Instant>,
    spent: Option<String>,
    checked: Option<String>,
    /// What takes its time now, and since when.
    doing: Option<(Doing, Instant)>,
}

/// Something that may take long and tells nothing meanwhile.
#[derive(Clone, Debug)]
enum Doing {
    Asking,
    Running(String),
    Checking(String),
    /// The service is away; when it is asked again.
    Waiting(Instant),
}

impl Doing {
    fn told(&self, since: Instant, now: Instant) -> String {
        let took = elapsed(now.saturating_duration_since(since));
        match self {
            Self::Asking => format!("asking the model, {took}"),
            Self::Running(tool) => format!("running {tool}, {took}"),
            Self::Checking(feature) => format!("checking {feature}, {took}"),
            Self::Waiting(again) => match again.saturating_duration_since(now).as_secs_f64().ceil() as u64 {
                0 => format!("asking again, away {took}"),
                left => format!("asking again in {}, away {took}", duration::spell(Duration::from_secs(left))),
            },
        }
    }
}

impl Narration {
    /// Returns the lines that tell of an event.
    pub(super) fn tell(&mut self, event: &Event) -> Vec<Line> {
        self.doing = self.begun(event, Instant::now());
        self.lines(event)
    }

    /// Returns what an event begins. Not each thing is told of its end; whatever comes next comes after it.
    fn begun(&self, event: &Event, now: Instant) -> Option<(Doing, Instant)> {
        match event {
            Event::Sent { .. } => Some((Doing::Asking, now)),
            Event::ToolStarted { name, .. } => Some((Doing::Running(name.clone()), now)),
            Event::CheckStarted { feature } => Some((Doing::Checking(feature.clone()), now)),
            Event::Retrying { wait, .. } => {
                let again = now + Duration::try_from_secs_f64(*wait).unwrap_or_default();
                let since = match self.doing {
                    Some((Doing::Waiting(_), since)) => since,
                    _ => now,
                };
                Some((Doing::Waiting(again), since))
            }
            // Told between two attempts.
            Event::Used { .. } | Event::Spent { .. } => self.doing.clone(),
            Event::Began { .. } => Some((Doing::Asking, self.doing.as_ref().map_or(now, |(_, since)| *since))),
            _ => None,
        }
    }

    fn lines(&mut self, event: &Event) -> Vec<Line> {
        match event {
            Event::RunStarted { limits } => limits.iter().map(|limit| Line::new(Tone::Dim, limit)).collect(),
            Event::SessionStarted { session, kind, feature, title, model, turn, .. } => {
                (self.session, self.feature, self.turn) = (Some(*session), feature.clone(), *turn);
                self.began = Some(Instant::now());
                vec![session_line((*session, *turn), kind, feature.as_deref(), title.as_deref(), model)]
            }
            Event::Replied { turn, message, .. } => {
                self.turn = *turn;
                vec![turn_line(*turn, message)]
            }
            Event::Cleared { results, tokens, .. } => vec![cleared_line(results.len(), *tokens)],
            Event::Edited { results, tokens, summed_up, .. } => edited_lines(*results, *tokens, *summed_up),
            Event::ToolStarted { name, input, .. } => {
                let line = Line::plain("  ").add(Tone::Strong, name);
                vec![match summary(input) {
                    said if said.is_empty() => line,
                    said => line.add(Tone::Plain, &format!(": {said}")),
                }]
            }
            Event::ToolEnded { is_error: true, content, .. } => {
                vec![
                    Line::plain("    ")
                        .add(Tone::Careful, "error")
                        .add(Tone::Plain, &format!(": {}", first_line(content))),
                ]
            }
            Event::ToolEnded { name, content, .. } if name == "bash" => {
                failed_command(content).map(|told| Line::new(Tone::Dim, &format!("    {told}"))).into_iter().collect()
            }
            Event::Retrying { reason, wait } => vec![retrying_line(reason, *wait)],
            Event::Spent { tokens, cached, cost, nearest } => {
                self.spent = Some(spent_text((*tokens, *cached), *cost, nearest));
                Vec::new()
            }
            Event::Used { by, usage, cost, .. } if by == BROKEN_REPLY => vec![lost_line(usage.total(), *cost)],
            Event::Recalled { notes, by, of } => vec![recalled_line(notes, by, *of)],
            Event::Extracted { model, turns, tokens, cost, notes, ended } => {
                vec![extracted_line((model, *turns), (*tokens, *cost), notes, ended)]
            }
            Event::ExtractionSkipped { reason } => vec![Line::new(Tone::Dim, &format!("no notes taken: {reason}"))],
            Event::CheckEnded { feature, finding, seconds, proves, ended_by, tail } => {
                self.checked = Some(format!("last check: {feature} {finding}"));
                check_lines(feature, (finding, ended_by), *seconds, *proves, tail)
            }
            Event::Committed { place, id, subject } if place == "project" => {
                let short = id.get(..8).unwrap_or(id);
                vec![Line::new(Tone::Dim, &format!("commit {short}")).add(Tone::Plain, &format!(": {subject}"))]
            }
            Event::Notice { text } => text.lines().map(Line::plain).collect(),
            Event::Warning { text } => warning_lines(text),
            Event::SessionEnded { session, reason, outcome } => self.session_ended(*session, reason, outcome),
            // Told elsewhere, or too small to be told: they are in the session's events.
            Event::CheckStarted { .. }
            | Event::Sent { .. }
            | Event::Began { .. }
            | Event::Used { .. }
            | Event::ToolEnded { .. }
            | Event::Committed { .. }
            | Event::HookStep { .. } => Vec::new(),
        }
    }

    /// Returns the parts of the status: where the work is, and what it uses.
    pub(super) fn status(&self) -> [Vec<String>; 2] {
        let session = self.session.map(|session| format!("session {session}"));
        let turn = Some(format!("turn {}", self.turn)).filter(|_| self.session.is_some() && self.turn > 0);
        let spent = self.began.filter(|_| self.session.is_some()).map(|began| elapsed(began.elapsed()));
        let doing = self.doing.as_ref().map(|(doing, since)| doing.told(*since, Instant::now()));
        let work = [session, self.feature.clone(), turn, spent, doing, self.checked.clone()];
        let uses = self.spent.iter().flat_map(|spent| spent.split(BETWEEN)).map(str::to_owned);
        [work.into_iter().flatten().collect(), uses.collect()]
    }

    fn session_ended(&mut self, session: u32, reason: &str, outcome: &str) -> Vec<Line> {
        (self.session, self.feature) = (None, None);
        let head = Line::new(Tone::Strong, &format!("session {session} ended"));
        let found = match outcome {
            "" => String::new(),
            // Some results name the check themselves.
            outcome if outcome.starts_with("check") => format!(" ({outcome})"),
            outcome => format!(" (check {outcome})"),
        };
        let reason = cut(reason, SUMMARY);
        let mut lines = vec![head.add(Tone::Plain, &format!(": {reason}{found}"))];
        // Without a terminal there is no status line; here is where its figures are told.
        lines.extend(self.spent.as_ref().map(|spent| Line::new(Tone::Dim, &format!("spent so far: {spent}"))));
        lines
    }
}

/// Writes a time without its seconds once there are minutes: a status that changes each second draws the eye.
fn elapsed(time: Duration) -> String {
    let seconds = time.as_secs();
    duration::spell(Duration::from_secs(if seconds < 60 { seconds } else { seconds / 60 * 60 }))
}

/// Says how a command of the agent's failed, with the end of what it printed; nothing of one that did not.
fn failed_command(content: &Value) -> Option<String> {
    let lines: Vec<&str> = content.as_str()?.lines().collect();
    let at = lines.iter().rposition(|line| line.starts_with("[exit code "))?;
    let exit = lines[at].trim_matches(['[', ']']);
    let said = lines[..at].iter().rev().find(|line| !line.trim().is_empty());
    match (exit, said) {
        ("exit code 0", _) => None,
        (exit, None) => Some(exit.to_owned()),
        (exit, Some(said)) => Some(format!("{exit}: {}", cut(said.trim(), SUMMARY))),
    }
}

fn session_line(
    (session, turn): (u32, u32),
    kind: &str,
    feature: Option<&str>,
    title: Option<&str>,
    model: &str,
) -> Line {
    let goes_on = if turn > 0 { format!(" goes on with turn {turn}") } else { String::new() };
    let line = Line::new(Tone::Strong, &format!("session {session}{goes_on}"));
    let line = match (feature, title) {
        (Some(feature), Some(title)) => line.add(Tone::Plain, &format!(" · {feature}: {title}")),
        (Some(feature), None) => line.add(Tone::Plain, &format!(" · {feature}")),
        (None, _) => line.add(Tone::Plain, &format!(" · {kind}")),
    };
    line.add(Tone::Dim, &format!(" · {model}"))
}

fn recalled_line(notes: &[String], by: &str, of: usize) -> Line {
    let line = Line::new(Tone::Dim, "recalled");
    let chosen = if notes.is_empty() { "none".to_owned() } else { notes.join(", ") };
    line.add(Tone::Plain, &format!(": {chosen} (of {}, chosen by {by})", counted(of)))
}

fn extracted_line(
    (model, turns): (&str, u32),
    (tokens, cost): (u64, Option<f64>),
    notes: &[String],
    ended: &str,
) -> Line {
    let written = if notes.is_empty() { "none".to_owned() } else { notes.join(", ") };
    let ended = if ended.is_empty() { String::new() } else { format!("; cut short: {}", cut(ended, SUMMARY)) };
    let turns = if turns == 1 { "1 turn".to_owned() } else { format!("{turns} turns") };
    let used = format!("{turns}, {}, {}", count(tokens), price(cost));
    Line::new(Tone::Dim, "notes taken").add(Tone::Plain, &format!(": {written} (by {model}, {used}{ended})"))
}

fn counted(notes: usize) -> String {
    if notes == 1 { "1 note".to_owned() } else { format!("{notes} notes") }
}

fn spent_text((tokens, cached): (u64, Option<f64>), cost: Option<f64>, nearest: &str) -> String {
    let cached = cached.map(|share| format!(", {:.0} % cached", (share * 100.0).floor())).unwrap_or_default();
    format!("{}{cached} · {} · nearest limit: {nearest}", count(tokens), price(cost))
}

fn lost_line(tokens: u64, cost: Option<f64>) -> Line {
    let used = format!("; the service bills it all the same: {}, {}", count(tokens), price(cost));
    Line::new(Tone::Careful, "a reply is lost").add(Tone::Plain, &used)
}

fn cleared_line(results: usize, tokens: u64) -> Line {
    let tokens = count(tokens);
    Line::new(Tone::Dim, &format!("taken out of the context, tool results: {results}, about {tokens}"))
}

fn edited_lines(results: u64, tokens: u64, summed_up: bool) -> Vec<Line> {
    let summed = summed_up.then(|| "the service summed the conversation up".to_owned());
    let cleared =
        format!("taken out of the context by the service, old tool results: {results}, about {}", count(tokens));
    let cleared = (results > 0).then_some(cleared);
    summed.into_iter().chain(cleared).map(|text| Line::new(Tone::Dim, &text)).collect()
}

fn turn_line(turn: u32, message: &Value) -> Line {
    let line = Line::new(Tone::Dim, &format!("turn {turn}"));
    let line = match first_line(&message["content"]) {
        said if said.is_empty() => line,
        said => line.add(Tone::Plain, &format!(": {said}")),
    };
    match message["stop_reason"].as_str() {
        Some("max_tokens") => line.add(Tone::Careful, " (cut off at `[agent] max_tokens`; a call in it is not run)"),
        Some("pause_turn") => line.add(Tone::Dim, " (the service pauses it)"),
        _ => line,
    }
}

fn retrying_line(reason: &str, wait: f64) -> Line {
    match wait {
        0.0 => Line::new(Tone::Careful, "asking again").add(Tone::Plain, &format!(": {reason}")),
        wait => {
            Line::new(Tone::Careful, "waiting").add(Tone::Plain, &format!(" {wait:.1} s, then asking again: {reason}"))
        }
    }
}

fn check_lines(feature: &str, (finding, ended_by): (&str, &str), seconds: f64, proves: bool, tail: &str) -> Vec<Line> {
    let head = Line::new(Tone::Strong, &format!("check {feature}")).add(Tone::Plain, ": ");
    let tone = match (proves, finding) {
        (true, _) => Tone::Good,
        (false, "passed") => Tone::Plain,
        (false, _) => Tone::Bad,
    };
    let ended_by = if ended_by.is_empty() { String::new() } else { format!(" ({ended_by})") };
    let head = head.add(tone, finding).add(Tone::Plain, &format!("{ended_by} in {seconds:.1} s"));
    let head = if proves { head.add(Tone::Good, ", proven") } else { head };
    let output: Vec<&str> = tail.lines().collect();
    let shown = if finding == "passed" { &[] } else { &output[output.len().saturating_sub(TAIL)..] };
    let tail = shown.iter().map(|line| Line::new(Tone::Dim, "  | ").add(Tone::Plain, &line.replace('\t', "    ")));
    [head].into_iter().chain(tail).collect()
}

fn warning_lines(text: &str) -> Vec<Line> {
    let mut lines = text.lines();
    let first = format!(": {}", lines.next().unwrap_or_default());
    let head = Line::new(Tone::Careful, "warning").add(Tone::Plain, &first);
    [head].into_iter().chain(lines.map(|line| Line::plain(&format!("  {line}")))).collect()
}

/// Says in one line what a tool is asked to do: its command and what it works on, without the bytes it writes.
fn summary(input: &Value) -> String {
    const TELLING: [&str; 10] =
        ["command", "action", "path", "old_path", "new_path", "feature", "id", "done", "name", "restart"];
    let parts: Vec<String> = TELLING.iter().filter_map(|key| input.get(*key)).filter_map(short).collect();
    let text = match (parts.is_empty(), input) {
        (false, _) => parts.join(" "),
        (true, Value::Object(fields)) if fields.is_empty() => String::new(),
        (true, _) => ids(&input["features"]).unwrap_or_else(|| input.to_string()),
    };
    cut(text.trim(), SUMMARY)
}

/// Names the features of a list by id, or by title where they have none yet.
fn ids(features: &Value) -> Option<String> {
    let name = |feature: &Value| feature["id"].as_str().or(feature["title"].as_str()).map(str::to_owned);
    let names: Vec<String> = features.as_array()?.iter().filter_map(name).collect();
    let word = if names.len() == 1 { "feature" } else { "features" };
    Some(format!("{} {word}: {}", names.len(), names.join(", "))).filter(|_| !names.is_empty())
}

fn short(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().replace('\n', " ⏎ ")),
        Value::Bool(true) => Some("restart".to_owned()),
        Value::Bool(false) | Value::Null => None,
        other => Some(other.to_string()),
    }
}

/// Returns the first line of a text, or of the first text block, cut.
fn first_line(content: &Value) -> String {
    let blocks = content.as_array().map(Vec::as_slice).unwrap_or_default();
    let text = content.as_str().or_else(|| blocks.iter().find_map(|block| block["text"].as_str()));
    let line = text.unwrap_or_default().lines().map(str::trim).find(|line| !line.is_empty());
    cut(line.unwrap_or_default(), SUMMARY)
}

/// Writes a number of tokens so that it can be taken in at a glance.
pub(super) fn count(tokens: u64) -> String {
    match tokens {
        1 => "1 token".to_owned(),
        0..10_000 => format!("{tokens} tokens"),
        10_000..1_000_000 => format!("{}k tokens", tokens / 1000),
        _ => format!("{:.1}M tokens", tokens as f64 / 1e6),
    }
}

/// Writes the share of the prompts that came from the cache; never more than it was.
pub(super) fn cached(share: f64) -> String {
    format!("{:.0} % of the prompts from the cache", (share * 100.0).floor())
}

/// Writes a cost in USD; an unknown one is never shown as zero.
pub(super) fn price(cost: Option<f64>) -> String {
    cost.map_or_else(|| "cost unknown".to_owned(), |cost| format!("{cost:.2} USD"))
}

#[cfg(test)]
mod tests;
