use super::*;
use serde_json::json;

fn told(events: &[Event]) -> Vec<String> {
    let mut narration = Narration::default();
    events.iter().flat_map(|event| narration.tell(event)).map(|line| line.render(false)).collect()
}

fn started() -> Event {
    started_with(0)
}

fn started_with(turn: u32) -> Event {
    let (feature, title) = (Some("login".into()), Some("A user can log in".into()));
    let (kind, model) = ("work".into(), "m".into());
    Event::SessionStarted { session: 3, kind, feature, title, model, branch: None, turn }
}

fn replied(turn: u32, text: &str) -> Event {
    Event::Replied { turn, message: json!({"content": [{"type": "text", "text": text}]}), cost: None }
}

fn tool(name: &str, input: Value) -> Event {
    Event::ToolStarted { turn: 1, id: "t".into(), name: name.into(), input }
}

#[test]
fn a_session_that_goes_on_says_where() {
    assert_eq!(told(&[started()]), ["session 3 · login: A user can log in · m"]);
    assert_eq!(told(&[started_with(7)]), ["session 3 goes on with turn 7 · login: A user can log in · m"]);
}

#[test]
fn a_session_reads_as_a_story() {
    let ended = |is_error, content: &str| {
        let (id, name, content) = ("t".into(), "bash".into(), json!(content));
        Event::ToolEnded { turn: 1, id, name, is_error, content, seconds: 0.1 }
    };
    let check = |finding: &str, proves| {
        let (feature, tail) = ("login".into(), "one\ntwo\n".into());
        Event::CheckEnded { feature, finding: finding.into(), seconds: 0.32, proves, ended_by: String::new(), tail }
    };
    let commit = |place: &str| Event::Committed {
        place: place.into(),
        id: "0123456789ab".into(),
        subject: "wip(session 3)".into(),
    };
    let story = told(&[
        started(),
        replied(1, "\nI look around.\nThen I write."),
        tool("bash", json!({"command": "ls\ncat x"})),
        ended(true, "exit 1\nrest"),
        ended(false, "one\ncannot write x\n[exit code 1]\n[working directory: /x]"),
        ended(false, "one\n[exit code 0]"),
        replied(2, ""),
        tool("check", json!({})),
        tool("checklist", json!({"id": "login", "action": "show"})),
        tool("add_features", json!({"features": [{"id": "a"}, {"title": "B"}]})),
        tool("memory", json!({"command": "create", "path": "/memories/notes/a.md", "file_text": "secret\nlong"})),
        Event::Retrying { reason: "overloaded".into(), wait: 1.26 },
        Event::Retrying { reason: "not taken".into(), wait: 0.0 },
        commit("memory"),
        commit("project"),
        check("failed", false),
        check("passed", false),
        check("passed", true),
        Event::Spent { tokens: 12345, cached: None, cost: None, nearest: "turns, 2 of 200".into() },
        Event::SessionEnded { session: 3, reason: "the agent handed over".into(), outcome: "passed".into() },
    ]);
    assert_eq!(
        story,
        [
            "session 3 · login: A user can log in · m",
            "turn 1: I look around.",
            "  bash: ls ⏎ cat x",
            "    error: exit 1",
            "    exit code 1: cannot write x",
            "turn 2",
            "  check",
            "  checklist: show login",
            "  add_features: 2 features: a, B",
            "  memory: create /memories/notes/a.md",
            "waiting 1.3 s, then asking again: overloaded",
            "asking again: not taken",
            "commit 01234567: wip(session 3)",
            "check login: failed in 0.3 s",
            "  | one",
            "  | two",
            "check login: passed in 0.3 s",
            "check login: passed in 0.3 s, proven",
            "session 3 ended: the agent handed over (check passed)",
            "spent so far: 12k tokens · cost unknown · nearest limit: turns, 2 of 200",
        ]
    );
}

#[test]
fn what_is_taken_out_of_the_context_is_one_line() {
    let results = [("t".into(), "[cleared]".into()), ("u".into(), "[cleared]".into())].into();
    let lines = told(&[Event::Cleared { turn: 1, results, tokens: 12_345 }]);
    assert_eq!(lines, ["taken out of the context, tool results: 2, about 12k tokens"]);
}

#[test]
fn a_long_output_or_input_takes_few_lines() {
    let tail: String = (1..=50).map(|line| format!("{line}\n")).collect();
    let (feature, finding, ended_by) = ("a".into(), "signalled".into(), "signal 11".into());
    let check = Event::CheckEnded { feature, finding, seconds: 1.0, proves: false, ended_by, tail };
    let lines = told(&[check, tool("bash", json!({"command": "x".repeat(5000)})), tool("other", json!({"deep": [1]}))]);
    assert_eq!(lines.len(), 1 + TAIL + 2);
    assert_eq!(lines[0], "check a: signalled (signal 11) in 1.0 s");
    assert_eq!((lines[1].as_str(), lines[TAIL].as_str()), ("  | 41", "  | 50"));
    assert_eq!(lines[11].chars().count(), "  bash: ".len() + SUMMARY);
    assert_eq!(lines[12], "  other: {\"deep\":[1]}");
}

#[test]
fn the_status_line_has_what_is_known() {
    let mut narration = Narration::default();
    assert!(narration.status().concat().is_empty());
    narration.tell(&started());
    narration.tell(&replied(12, ""));
    narration.tell(&Event::Spent {
        tokens: 1_250_000,
        cached: Some(0.91),
        cost: Some(3.4),
        nearest: "time, 2h of 8h".into(),
    });
    let [work, uses] = status(&narration);
    assert!(work.starts_with("session 3 · login · turn 12 · 0"), "{work}");
    assert_eq!(uses, "1.2M tokens, 91 % cached · 3.40 USD · nearest limit: time, 2h of 8h");

    assert!(narration.tell(&Event::CheckStarted { feature: "login".into() }).is_empty());
    assert!(status(&narration)[0].ends_with(" · checking login, 0s"), "{:?}", status(&narration));
    narration.tell(&Event::CheckEnded {
        feature: "login".into(),
        finding: "failed".into(),
        seconds: 1.0,
        proves: false,
        ended_by: String::new(),
        tail: String::new(),
    });
    assert!(status(&narration)[0].ends_with(" · last check: login failed"), "{:?}", status(&narration));
    assert_eq!(["7s", "1m", "1h1m"], [7, 119, 3700].map(|seconds| elapsed(Duration::from_secs(seconds))));
}

#[test]
fn the_last_verdict_stays_in_the_status_while_the_next_session_works() {
    let mut narration = Narration::default();
    let (feature, finding) = ("login".to_owned(), "failed".to_owned());
    let check = Event::CheckEnded {
        feature,
        finding,
        seconds: 1.0,
        proves: false,
        ended_by: String::new(),
        tail: String::new(),
    };
    for event in [started(), check, Event::Sent { turn: 1, content: vec![] }] {
        narration.tell(&event);
    }
    let [work, _] = status(&narration);
    assert!(work.ends_with("asking the model, 0s · last check: login failed"), "{work}");
}

#[test]
fn strange_shapes_from_the_model_are_told_without_harm() {
    let lines = told(&[
        Event::Replied { turn: 1, message: json!(null), cost: None },
        tool("bash\x1b[2J", json!("text")),
        tool("bash", json!({"command": {"a": 1}, "restart": true})),
        Event::Committed { place: "project".into(), id: "é".into(), subject: "s".into() },
    ]);
    assert_eq!(lines, ["turn 1", "  bash\\u{1b}[2J: \"text\"", "  bash: {\"a\":1} restart", "commit é: s"]);
}

fn status(narration: &Narration) -> [String; 2] {
    narration.status().map(|parts| parts.join(BETWEEN))
}

#[test]
fn whatever_takes_its_time_is_told_with_the_time() {
    let mut narration = Narration::default();
    let mut after = |event: Event| {
        narration.tell(&event);
        narration.status()[0].last().cloned().unwrap_or_default()
    };
    let sent = || Event::Sent { turn: 1, content: vec![] };
    let retrying = |wait| Event::Retrying { reason: "overloaded".into(), wait };
    assert_eq!(after(sent()), "asking the model, 0s");
    assert_eq!(after(retrying(90.0)), "asking again in 1m30s, away 0s");
    assert_eq!(after(retrying(0.0)), "asking again, away 0s");
    assert_eq!(after(replied(1, "")), "");
    assert_eq!(after(tool("bash", json!({}))), "running bash, 0s");
}

#[test]
fn a_wait_counts_down_and_the_outage_up() {
    let start = Instant::now();
    let at = |seconds| start + Duration::from_secs(seconds);
    let waiting = Doing::Waiting(at(90));
    let told = [30, 89, 90, 130].map(|second| waiting.told(start, at(second)));
    let expected = [
        "asking again in 1m, away 30s",
        "asking again in 1s, away 1m",
        "asking again, away 1m",
        "asking again, away 2m",
    ];
    assert_eq!(told, expected);
}

#[test]
fn an_outage_is_one_though_it_is_asked_again_and_again() {
    let mut narration = Narration::default();
    let retrying = Event::Retrying { reason: "overloaded".into(), wait: 5.0 };
    narration.tell(&retrying);
    let began = Instant::now().checked_sub(Duration::from_secs(150)).unwrap();
    narration.doing.as_mut().unwrap().1 = began;
    narration.tell(&retrying);
    assert_eq!(narration.status()[0], ["asking again in 5s, away 2m"]);
    narration.tell(&replied(1, ""));
    narration.tell(&retrying);
    assert_eq!(narration.status()[0], ["asking again in 5s, away 0s"]);
}
