//! Tells a run to the person who watches: one plain line for each thing that matters, and the status line.

use super::line::Line;
use super::line::Tone;
use super::line::cut;
use crate::clock::duration;
use crate::event::Event;
use serde_json::Value;
use std::time::Duration;
use std::time::Instant;

/// Longest summary of a tool call or a reply; the whole of it is in the session's events.
const SUMMARY: usize = 120;

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
    /// The check that runs, and since when.
    checking: Option<(String, Instant)>,
}

impl Narration {
    /// Returns the lines that tell of an event.
    pub(super) fn tell(&mut self, event: &Event) -> Vec<Line> {
        // Not each of them is told of its end; whatever comes next comes after it.
        self.checking = match event {
            Event::CheckStarted { feature } => Some((feature.clone(), Instant::now())),
            _ => None,
        };
        self.lines(event)
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
                let cached =
                    cached.map(|share| format!(", {:.0} % cached", (share * 100.0).floor())).unwrap_or_default();
                self.spent = Some(format!("{}{cached} · {} · nearest limit: {nearest}", count(*tokens), price(*cost)));
                Vec::new()
            }
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
            | Event::ToolEnded { .. }
            | Event::Committed { .. }
            | Event::HookStep { .. } => Vec::new(),
        }
    }

    /// Returns the lines of the status, at most two: where the work is, and what it uses.
    pub(super) fn status(&self) -> Vec<String> {
        let session = self.session.map(|session| format!("session {session}"));
        let turn = Some(format!("turn {}", self.turn)).filter(|_| self.session.is_some() && self.turn > 0);
        let spent = self.began.filter(|_| self.session.is_some()).map(|began| elapsed(began.elapsed()));
        let checking = self.checking.as_ref();
        let checking = checking.map(|(id, since)| format!("checking {id}, {}", elapsed(since.elapsed())));
        let work = [session, self.feature.clone(), turn, spent, checking.or_else(|| self.checked.clone())];
        let work = work.into_iter().flatten().collect::<Vec<_>>().join(" · ");
        let lines = [work, self.spent.clone().unwrap_or_default()];
        lines.into_iter().filter(|line| !line.is_empty()).collect()
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

fn cleared_line(results: usize, tokens: u64) -> Line {
    let tokens = count(tokens);
    Line::new(Tone::Dim, &format!("taken out of the context, old tool results: {results}, about {tokens}"))
}

fn turn_line(turn: u32, message: &Value) -> Line {
    let line = Line::new(Tone::Dim, &format!("turn {turn}"));
    match first_line(&message["content"]) {
        said if said.is_empty() => line,
        said => line.add(Tone::Plain, &format!(": {said}")),
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
    Some(format!("{} features: {}", names.len(), names.join(", "))).filter(|_| !names.is_empty())
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
mod tests {
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
        assert_eq!(lines, ["taken out of the context, old tool results: 2, about 12k tokens"]);
    }

    #[test]
    fn a_long_output_or_input_takes_few_lines() {
        let tail: String = (1..=50).map(|line| format!("{line}\n")).collect();
        let (feature, finding, ended_by) = ("a".into(), "signalled".into(), "signal 11".into());
        let check = Event::CheckEnded { feature, finding, seconds: 1.0, proves: false, ended_by, tail };
        let lines =
            told(&[check, tool("bash", json!({"command": "x".repeat(5000)})), tool("other", json!({"deep": [1]}))]);
        assert_eq!(lines.len(), 1 + TAIL + 2);
        assert_eq!(lines[0], "check a: signalled (signal 11) in 1.0 s");
        assert_eq!((lines[1].as_str(), lines[TAIL].as_str()), ("  | 41", "  | 50"));
        assert_eq!(lines[11].chars().count(), "  bash: ".len() + SUMMARY);
        assert_eq!(lines[12], "  other: {\"deep\":[1]}");
    }

    #[test]
    fn the_status_line_has_what_is_known() {
        let mut narration = Narration::default();
        assert!(narration.status().is_empty());
        narration.tell(&started());
        narration.tell(&replied(12, ""));
        narration.tell(&Event::Spent {
            tokens: 1_250_000,
            cached: Some(0.91),
            cost: Some(3.4),
            nearest: "time, 2h of 8h".into(),
        });
        let [work, uses] = narration.status().try_into().unwrap();
        assert!(work.starts_with("session 3 · login · turn 12 · 0"), "{work}");
        assert_eq!(uses, "1.2M tokens, 91 % cached · 3.40 USD · nearest limit: time, 2h of 8h");

        assert!(narration.tell(&Event::CheckStarted { feature: "login".into() }).is_empty());
        assert!(narration.status()[0].ends_with(" · checking login, 0s"), "{:?}", narration.status());
        narration.tell(&Event::CheckEnded {
            feature: "login".into(),
            finding: "failed".into(),
            seconds: 1.0,
            proves: false,
            ended_by: String::new(),
            tail: String::new(),
        });
        assert!(narration.status()[0].ends_with(" · last check: login failed"), "{:?}", narration.status());
        assert_eq!(["7s", "1m", "1h1m"], [7, 119, 3700].map(|seconds| elapsed(Duration::from_secs(seconds))));
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
}
