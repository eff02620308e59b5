use std::cell::RefCell;
use std::fs;
use std::time::Duration;

use serde_json::Value;
use serde_json::json;

use super::*;
use crate::event::Event;
use crate::event::Sink;
use crate::message::ToolCall;
use crate::message::ToolResult;
use crate::message::Usage;
use crate::provider;
use crate::provider::Client;
use crate::provider::Script;
use crate::provider::Server;
use crate::tools::Artifacts;
use crate::tools::HandOver;
use crate::tools::Toolbox;
use crate::tools::Tools;
use crate::tools::bench::Bench;

mod context;
mod faults;
mod mutated;
mod resume;
mod stuck;

type OnEvent<'a> = Box<dyn Fn(&Event) + 'a>;

/// Keeps the events, and does something when one is seen.
#[derive(Default)]
struct Record<'a> {
    events: RefCell<Vec<Value>>,
    on_event: Option<OnEvent<'a>>,
}

impl Sink for Record<'_> {
    fn take(&self, event: &Event) {
        self.events.borrow_mut().push(serde_json::to_value(event).unwrap());
        if let Some(on_event) = &self.on_event {
            on_event(event);
        }
    }
}

/// Allows a number of turns.
struct Turns(u32, u64);

/// As many tokens may be used as no test uses by replies that are whole.
const TOKENS: u64 = 5_000_000;

impl Meter for Turns {
    fn exhausted(&mut self) -> Option<String> {
        (self.0 == 0).then(|| "the turns are used up".to_owned())
    }

    fn used_up(&mut self) -> Option<String> {
        (self.1 >= TOKENS).then(|| "the tokens are used up".to_owned())
    }

    fn turn(&mut self) {
        self.0 -= 1;
    }

    fn under_way(&mut self, _usage: &Usage) -> Option<f64> {
        Some(0.5)
    }

    fn spend(&mut self, usage: &Usage) -> Option<f64> {
        self.1 += usage.total();
        Some(0.5)
    }

    fn spent(&self) -> Event {
        Event::Spent { tokens: self.1, cached: None, cost: None, nearest: "turns".to_owned() }
    }
}

/// What a session left.
struct Played {
    ending: anyhow::Result<Ending>,
    requests: Vec<Value>,
    rejected: Vec<String>,
    events: Vec<Value>,
}

impl Played {
    fn ending(&self) -> &Ending {
        self.ending.as_ref().unwrap()
    }

    fn of(&self, kind: &str) -> Vec<&Value> {
        self.events.iter().filter(|event| event["type"] == kind).collect()
    }

    /// Returns the blocks of the newest message of ours in the newest request, without cache marks.
    fn last_answer(&self) -> Vec<Value> {
        let messages = self.requests.last().unwrap()["messages"].as_array().unwrap();
        let mut blocks = messages.last().unwrap()["content"].as_array().unwrap().clone();
        blocks.iter_mut().for_each(|block| drop(block.as_object_mut().unwrap().shift_remove("cache_control")));
        blocks
    }
}

struct Play<'a> {
    turns: u32,
    window: u64,
    first_wait: Duration,
    outage_budget: Duration,
    on_event: Option<OnEvent<'a>>,
    /// What the tools say after a clearing.
    reminder: Option<&'static str>,
}

/// The tools of a session, with something to say after a clearing.
struct Reminding<'a>(Toolbox<'a>, Option<&'static str>);

impl Tools for Reminding<'_> {
    fn definitions(&self) -> Vec<Value> {
        self.0.definitions()
    }

    fn call(&mut self, call: &ToolCall, turn: u32) -> anyhow::Result<ToolResult> {
        self.0.call(call, turn)
    }

    fn artifacts(&self) -> &Artifacts {
        self.0.artifacts()
    }

    fn handed_over(&self) -> Option<&HandOver> {
        self.0.handed_over()
    }

    fn project_is_there(&self) -> bool {
        self.0.project_is_there()
    }

    fn after_clearing(&mut self, said: &str) -> Option<String> {
        self.1.map(|text| format!("{text}, for: {said}"))
    }
}

impl Default for Play<'_> {
    fn default() -> Self {
        let (first_wait, outage_budget) = (Duration::from_millis(1), Duration::from_millis(300));
        Self { turns: 20, window: 0, first_wait, outage_budget, on_event: None, reminder: None }
    }
}

fn texts() -> Texts {
    Texts {
        almost_full: "call `hand_over` now".to_owned(),
        cut_off: "your reply was cut off".to_owned(),
        empty: "your reply was empty".to_owned(),
        repeated: "the same again".to_owned(),
    }
}

/// Plays one session of the replies, written as in a script.
fn play(bench: &mut Bench, replies: &str, how: Play) -> Played {
    let opening = Opening { system: "the rules".to_owned(), first: "the task".to_owned() };
    play_from(bench, replies, how, |driver, toolbox, meter| drive(driver, toolbox, &opening, meter))
}

/// Plays the replies to a session that begins in some way.
fn play_from(
    bench: &mut Bench,
    replies: &str,
    how: Play,
    begin: impl FnOnce(&Driver, &mut dyn Tools, &mut dyn Meter) -> anyhow::Result<Ending>,
) -> Played {
    let script = Script::parse(&format!("[[session]]\nreply = [\n{replies}\n]\n"), "test").unwrap();
    let server = Server::start(script).unwrap();
    let service = provider::Settings {
        base_url: server.base_url(),
        outage_budget: how.outage_budget,
        first_wait: how.first_wait,
        ..provider::Settings::default()
    };
    let client = Client::new(service).unwrap();
    let settings = Settings {
        model: "scripted".to_owned(),
        model_setting: provider::ModelSetting::Model,
        max_tokens: 1000,
        window: how.window,
        clear_at: 0.5,
        deadline: None,
        texts: texts(),
    };
    let record = Record { on_event: how.on_event, ..Record::default() };
    let interrupt = bench.interrupt.clone();
    let driver = Driver { client: &client, settings: &settings, sink: &record, interrupt: &interrupt };
    let ending = begin(&driver, &mut Reminding(bench.toolbox(), how.reminder), &mut Turns(how.turns, 0));
    let events = record.events.take();
    Played { ending, requests: server.requests(), rejected: server.rejected(), events }
}

const BASH: &str = r#"{ tools = [{ name = "bash", input = { command = "echo hello" } }] },"#;
/// Twice: an initializer that leaves nothing is asked whether it means it.
const HAND_OVER: &str = r#"
    { tools = [{ name = "hand_over", input = { done = "half" } }] },
    { tools = [{ name = "hand_over", input = { done = "half", next = "the rest" } }] },"#;

#[test]
fn a_session_runs_from_the_first_message_to_the_hand_over() {
    let mut bench = Bench::new();
    let played = play(&mut bench, &format!("{BASH}{HAND_OVER}"), Play::default());

    let words = HandOver { done: "half".to_owned(), next: "the rest".to_owned(), ..HandOver::default() };
    assert_eq!(*played.ending(), Ending::HandedOver(words));
    assert_eq!(played.rejected, Vec::<String>::new());
    assert_eq!(played.requests.len(), 3);
    let results = &played.requests[1]["messages"][2]["content"];
    assert_eq!(results[0]["content"], "hello\n[exit code 0]");
    assert_eq!(played.requests[0]["system"][0]["text"], "the rules");
    assert_eq!(played.requests[0]["tools"][1]["type"], "bash_20250124");
}

#[test]
fn the_conversation_can_be_rebuilt_from_the_events() {
    let mut bench = Bench::new();
    let played = play(&mut bench, &format!("{BASH}{BASH}{HAND_OVER}"), Play::default());

    let mut messages = Vec::new();
    for event in &played.events {
        match event["type"].as_str().unwrap() {
            "sent" if event["turn"] != 0 => messages.push(json!({"role": "user", "content": event["content"]})),
            "replied" => messages.push(json!({"role": "assistant", "content": event["message"]["content"]})),
            _ => {}
        }
    }
    // The newest request holds all but the reply to it and our answer to that.
    let mut sent = played.requests.last().unwrap()["messages"].clone();
    for message in sent.as_array_mut().unwrap() {
        for block in message["content"].as_array_mut().unwrap() {
            block.as_object_mut().unwrap().shift_remove("cache_control");
        }
    }
    assert_eq!(json!(messages[..messages.len() - 2]), sent);
    assert_eq!(played.events[0]["content"][0]["text"], "the rules");
    assert_eq!(played.of("tool_ended").len(), 4);
    assert_eq!(played.of("replied")[0]["cost"], 0.5);
    assert_eq!(played.of("spent").len(), 4);
}

#[test]
fn several_calls_are_run_in_order_and_answered_in_one_message() {
    let mut bench = Bench::new();
    let two = r#"{ text = "both", tools = [
        { name = "bash", input = { command = "echo one > f; exit 3" } },
        { name = "nonsense", input = { } },
        { name = "str_replace_based_edit_tool", input = { command = "view", path = "f" } },
    ] },"#;
    let played = play(&mut bench, &format!("{two}{{ text = \"bye\" }}"), Play::default());

    assert_eq!(*played.ending(), Ending::Stopped);
    let answer = played.last_answer();
    let contents: Vec<&str> = answer.iter().map(|block| block["content"].as_str().unwrap()).collect();
    assert_eq!((contents[0], contents[2]), ("[exit code 3]", "     1\tone\n"));
    assert_eq!(answer[1]["is_error"], true);
    assert_eq!(played.rejected, Vec::<String>::new());
}

#[test]
fn a_hand_over_beside_other_calls_ends_the_session_after_all_ran() {
    let mut bench = Bench::new();
    bench.call("hand_over", json!({"done": "x"}));
    let both = r#"
    { tools = [{ name = "hand_over", input = { done = "x" } }] },
    { tools = [
        { name = "hand_over", input = { done = "x" } },
        { name = "bash", input = { command = "touch after" } },
    ] },"#;
    let played = play(&mut bench, both, Play::default());

    assert!(matches!(played.ending(), Ending::HandedOver(_)));
    assert!(bench.root().join("after").exists());
    assert_eq!(played.of("sent").last().unwrap()["content"].as_array().unwrap().len(), 2);
}

#[test]
fn a_limit_is_asked_before_each_request() {
    let mut bench = Bench::new();
    let played = play(&mut bench, &format!("{BASH}{BASH}{BASH}"), Play { turns: 2, ..Play::default() });
    assert_eq!(*played.ending(), Ending::Limit("the turns are used up".to_owned()));
    assert_eq!((played.requests.len(), played.of("tool_ended").len()), (2, 2));
}

#[test]
fn an_interrupt_ends_the_running_tool_and_leaves_the_rest_unrun() {
    let mut bench = Bench::new();
    let interrupt = bench.interrupt.clone();
    let on_event = move |event: &Event| {
        if matches!(event, Event::ToolStarted { .. }) {
            interrupt.request();
        }
    };
    let two = r#"{ tools = [
        { name = "bash", input = { command = "touch begun; sleep 300" } },
        { name = "bash", input = { command = "touch second" } },
    ] },"#;
    let played = play(&mut bench, two, Play { on_event: Some(Box::new(on_event)), ..Play::default() });

    assert_eq!(*played.ending(), Ending::Interrupted);
    let answer = played.of("sent").last().unwrap()["content"].clone();
    assert_eq!(answer[0]["content"], "[interrupted]");
    assert_eq!(answer[1]["content"], "not run: the session was interrupted before this call");
    assert!(!bench.root().join("second").exists());
}

#[test]
fn an_interrupt_before_the_first_request_sends_none() {
    let mut bench = Bench::new();
    bench.interrupt.request();
    let played = play(&mut bench, BASH, Play::default());
    assert_eq!((played.ending(), played.requests.len()), (&Ending::Interrupted, 0));
}

#[test]
fn a_vanished_project_ends_the_session_with_its_own_reason() {
    // D13 of the reports: the work directory was removed and the run still listed as running.
    for command in ["rm -rf \"$PWD\"", "mv \"$PWD\" \"$PWD.away\"", "mv \"$PWD\" \"$PWD.away\"; mkdir \"$PWD\""] {
        let mut bench = Bench::new();
        let remove = format!("{{ tools = [{{ name = \"bash\", input = {{ command = '{command}' }} }}] }},");
        let played = play(&mut bench, &format!("{remove}{BASH}"), Play::default());
        assert_eq!((played.ending(), played.requests.len()), (&Ending::Vanished, 1));
        assert!(!bench.root().join(".git").exists());
        assert_eq!(played.ending().to_string(), "the project's folder is gone");
    }
}

#[test]
fn a_tool_that_cannot_go_on_is_an_error_of_ours() {
    let mut bench = Bench::new();
    fs::remove_dir_all(bench.root().join(".git")).unwrap();
    let call =
        r#"{ tools = [{ name = "memory", input = { command = "create", path = "/memories/a", file_text = "x" } }] },"#;
    let played = play(&mut bench, call, Play::default());
    assert!(played.ending.is_err());
    assert_eq!(played.of("tool_ended").last().unwrap()["is_error"], true);
}
