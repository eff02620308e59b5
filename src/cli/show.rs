//! `longhaul show`

use super::Context;
use super::error::Code;
use super::line::Line;
use super::line::Tone;
use super::replay;
use super::status::tone;
use crate::engine;
use crate::engine::workspace::Access;
use crate::engine::workspace::Workspace;
use crate::gate::Mode;
use crate::gate::Pin;
use anyhow::Result;
use serde_json::Value;
use serde_json::json;

/// Show one feature with its evidence and its whole history, or one session with its events
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Show this feature
    #[arg(value_name = "FEATURE", required_unless_present = "session", conflicts_with = "session")]
    pub(super) feature: Option<String>,

    /// Show this session
    #[arg(long, value_name = "N")]
    pub(super) session: Option<u32>,

    /// Print it as JSON
    #[arg(long)]
    pub(super) json: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Code> {
    context.in_project(Access::Look, &[], |workspace| match (&args.feature, args.session) {
        (Some(id), _) => feature(workspace, id, args.json, context),
        (None, session) => self::session(workspace, session.unwrap_or_default(), args.json, context),
    })?;
    Ok(Code::Done)
}

fn feature(workspace: &Workspace, id: &str, json: bool, context: &Context) -> Result<()> {
    let history = engine::facts::history(&workspace.memory, id)?;
    let (feature, state) = engine::commands::status::feature(workspace, id)?;
    if json {
        let form = form(&feature["check"]);
        context.output.json(&json!({"feature": feature, "state": state, "form": form, "history": history}));
        return Ok(());
    }
    let lines = if state == engine::commands::status::REMOVED {
        vec![head(&feature, &state)]
    } else {
        feature_lines(&feature, &state)
    };
    lines.iter().for_each(|line| context.output.data_line(line));
    context.output.data("history");
    history.iter().flat_map(history_lines).for_each(|line| context.output.data_line(&line));
    Ok(())
}

fn session(workspace: &Workspace, number: u32, json: bool, context: &Context) -> Result<()> {
    let events = engine::commands::status::session(workspace, number)?;
    if json {
        context.output.json(&Value::Array(events));
        return Ok(());
    }
    replay::lines(&events).iter().for_each(|line| context.output.data_line(line));
    Ok(())
}

/// Renders a feature as the checklist keeps it; `state` is the derived one.
pub(super) fn feature_lines(feature: &Value, state: &str) -> Vec<Line> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut lines = vec![head(feature, state), Line::plain(&text(&feature["title"]))];
    lines.extend(text(&feature["description"]).lines().map(Line::plain));
    for (at, step) in feature["steps"].as_array().into_iter().flatten().enumerate() {
        lines.push(Line::plain(&format!("  {}. {}", at + 1, text(step))));
    }
    let depends: Vec<String> = feature["depends_on"].as_array().into_iter().flatten().map(&text).collect();
    if !depends.is_empty() {
        let label = if feature["milestone"] == true { "milestone of" } else { "depends on" };
        lines.push(labelled(label, &depends.join(", ")));
    }
    lines.extend(check_lines(&feature["check"]));
    let results = [
        ("evidence", "proven"),
        ("checked", "checked again"),
        ("last_verdict", "last result"),
        ("baseline", "was red"),
        ("regressed", "was proven"),
        ("flaky", "is flaky"),
        ("accepted", "accepted"),
    ];
    for (key, label) in results.into_iter().filter(|(key, _)| feature[key].is_object()) {
        let was_green =
            key == "baseline" && matches!(feature[key]["verdict"].as_str(), Some("passed" | "already green"));
        let label = if was_green { "baseline" } else { label };
        lines.extend(result_lines(label, &feature[key]));
    }
    for (key, label) in [("blocked", "blocked"), ("check_problem", "waits")] {
        lines.extend(feature[key].as_str().map(|said| labelled(label, said)));
    }
    let unapproved: Vec<String> = feature["unapproved"].as_array().into_iter().flatten().map(&text).collect();
    if !unapproved.is_empty() {
        lines.push(labelled("waits", &format!("for a person to approve {}", unapproved.join(", "))));
    }
    lines.extend(
        feature["attempts"].as_u64().filter(|tries| *tries > 0).map(|tries| labelled("tries", &tries.to_string())),
    );
    lines
}

fn head(feature: &Value, state: &str) -> Line {
    let id = feature["id"].as_str().unwrap_or_default();
    Line::new(Tone::Strong, id).add(Tone::Plain, ": ").add(tone(state), state)
}

fn labelled(label: &str, text: &str) -> Line {
    Line::new(Tone::Strong, label).column(15).add(Tone::Plain, text)
}

/// Says by which files a check decides, the strong form apart: those of memory are out of the agent's reach.
fn form(check: &Value) -> Option<&'static str> {
    check["run"].as_str()?;
    let pins: Vec<&String> = check["pins"].as_object().into_iter().flatten().map(|(path, _)| path).collect();
    let of_memory = |path: &&&String| path.starts_with("checks/");
    Some(match (pins.iter().filter(of_memory).count(), pins.len()) {
        (0, 0) => "a command alone",
        (0, _) => "project files, pinned",
        (memory, all) if memory == all => "memory's check files, out of the agent's reach",
        _ => "memory's check files, out of the agent's reach, and project files, pinned",
    })
}

/// Renders something that happened to a feature: when, in which session, what, and where its output is.
fn history_lines(fact: &Value) -> Vec<Line> {
    let kind = match fact["kind"].as_str().unwrap_or_default() {
        "change" => return vec![happened(fact, &plain(&fact["subject"]).unwrap_or_default())],
        "approval" => "check approved",
        "proof" => "proven",
        "recheck" => "passed again",
        "regression" => "regressed",
        "verdict" => "not proven",
        "doubt" => "waits",
        "accept" => "accepted",
        "edit" => "edited",
        "move" => "moved",
        "reopen" => "reopened",
        "remove" => "removed",
        "block" => "blocked",
        kind => kind,
    };
    let said = result_parts(fact).join(" · ");
    let mut lines = vec![happened(fact, &if said.is_empty() { kind.to_owned() } else { format!("{kind}: {said}") })];
    if let Some(path) = fact["output"]["path"].as_str() {
        let digest = fact["output"]["digest"].as_str().unwrap_or_default();
        let digest: String = digest.chars().take(8).collect();
        lines.push(Line::default().column(34).add(Tone::Dim, &format!("output {digest}: {path}")));
    }
    lines
}

fn happened(fact: &Value, what: &str) -> Line {
    let at = fact["recorded"].as_str().unwrap_or_default();
    let at = at.get(..16).unwrap_or(at).replace('T', " ");
    let session = plain(&fact["session"]).map_or_else(String::new, |session| format!("session {session}"));
    Line::plain("  ").add(Tone::Dim, &at).column(20).add(Tone::Plain, &session).column(34).add(Tone::Plain, what)
}

fn check_lines(check: &Value) -> Vec<Line> {
    let manual = check["kind"] == "manual";
    let Some(command) = check["run"].as_str().or(manual.then_some("")) else { return vec![labelled("check", "none")] };
    let text = if manual { format!("a person looks\n{command}") } else { command.to_owned() };
    let mut text = text.lines();
    let mut lines = vec![labelled("check", text.next().unwrap_or_default())];
    lines.extend(text.map(|line| labelled("", line)));
    for key in ["cwd", "timeout", "setup", "ready", "runs", "expect", "approved_by"] {
        if let Some(given) = plain(&check[key]) {
            lines.push(labelled("", &format!("{}: {given}", key.replace('_', " "))));
        }
    }
    lines.extend(form(check).filter(|_| !manual).map(|form| labelled("", &format!("form: {form}"))));
    for (path, id) in check["pins"].as_object().into_iter().flatten() {
        let short = |pin: &str| {
            let Pin { id, mode } = Pin::read(pin);
            let executable = if mode == Some(Mode::Executable) { ", executable" } else { "" };
            format!("{}{executable}", id.chars().take(8).collect::<String>())
        };
        let pin = id.as_str().map_or("absent".to_owned(), short);
        lines.push(labelled("", &format!("pinned: {path} ({pin})")));
    }
    lines
}

/// Renders a stored result: what it found, where and when, and the end of its output.
fn result_lines(label: &str, result: &Value) -> Vec<Line> {
    let place = [plain(&result["session"]).map(|session| format!("session {session}")), plain(&result["at"])];
    let parts: Vec<String> = result_parts(result).into_iter().chain(place.into_iter().flatten()).collect();
    let mut lines = vec![labelled(label, &parts.join(" · "))];
    let detail = result["detail"].as_str().unwrap_or_default();
    lines.extend(detail.lines().skip(1).map(|line| labelled("", &line.replace('\t', "    "))));
    if let Some(path) = result["output"]["path"].as_str() {
        lines.push(labelled("", &format!("output: {path}")));
    }
    let lists = [
        ("overlaid", "the approved version was used of"),
        ("soft", "changed since approval, and loaded by tools by themselves"),
        ("disclosed", "note"),
    ];
    for (key, label) in lists {
        let entries: Vec<&str> = result[key].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        if !entries.is_empty() {
            lines.push(labelled("", &format!("{label}: {}", entries.join(", "))));
        }
    }
    let tail = result["tail"].as_str().unwrap_or_default();
    lines.extend(tail.lines().map(|line| labelled("", "| ").add(Tone::Plain, &line.replace('\t', "    "))));
    lines
}

/// Returns what a result or a fact says: a person's or an agent's words, and what the check found.
fn result_parts(result: &Value) -> Vec<String> {
    let short = |value: &Value| value.as_str().map(|id| id.chars().take(8).collect::<String>());
    let parts = [
        plain(&result["reason"]),
        plain(&result["problem"]),
        plain(&result["verdict"]),
        // What would follow a colon is on the lines below.
        plain(&result["detail"]).and_then(|text| Some(text.lines().next()?.trim_end_matches(':').to_owned())),
        plain(&result["limit"]).map(|limit| format!("after its limit of {limit}")),
        plain(&result["exit"]).filter(|_| result["limit"].is_null()).map(|exit| match exit.starts_with("signal ") {
            true => exit,
            false => format!("exit {exit}"),
        }),
        result["seconds"].as_f64().map(|seconds| format!("{seconds:.1} s")),
        short(&result["commit"]).map(|commit| format!("commit {commit}")),
        short(&result["check"]).map(|check| format!("check {check}")),
        plain(&result["level"]).map(|level| format!("sandbox {level}")),
        plain(&result["checkout"]).map(|place| format!("checkout {place}")),
        plain(&result["form"]).map(|form| format!("decided by {form}")),
        plain(&result["approved_by"]).map(|who| format!("approved by {who}")),
    ];
    parts.into_iter().flatten().collect()
}

/// Returns a scalar as text; none when it says nothing.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rendered(lines: &[Line]) -> String {
        lines.iter().map(|line| line.render(false).trim_end().to_owned() + "\n").collect()
    }

    #[test]
    fn a_feature_is_shown_with_all_that_decides_it() {
        let feature = json!({
            "id": "login", "title": "A user can log in", "description": "By e-mail.\nAnd password.", "steps": ["open /login"],
            "depends_on": ["signup"], "attempts": 2, "blocked": null,
            "check": {"run": "sh t.sh\nsh u.sh", "timeout": "30s", "approved_by": "user", "pins": {"t.sh": "100755 0123456789", "u.sh": null}},
            "evidence": {"commit": "89abcdef01", "tree": "t", "check": "aaaabbbbcc", "exit": 0, "seconds": 0.31, "level": "plain",
                         "approved_by": "user", "session": 3, "at": "2026-11-29T14:03:00Z", "output": {"path": "/a/b"},
                         "checkout": "clean", "form": "files of memory", "overlaid": ["t.sh"], "soft": ["Makefile"], "disclosed": []},
            "last_verdict": {"verdict": "failed", "exit": 1, "commit": "77", "detail": "why:\n+more", "tail": "one\n\ttwo\x1b"},
        });
        let expected = "\
login: proven
A user can log in
By e-mail.
And password.
  1. open /login
depends on     signup
check          sh t.sh
               sh u.sh
               timeout: 30s
               approved by: user
               form: project files, pinned
               pinned: t.sh (01234567, executable)
               pinned: u.sh (absent)
proven         exit 0 · 0.3 s · commit 89abcdef · check aaaabbbb · sandbox plain · checkout clean · decided by files of memory · approved by user · session 3 · 2026-11-29T14:03:00Z
               output: /a/b
               the approved version was used of: t.sh
               changed since approval, and loaded by tools by themselves: Makefile
last result    failed · why · exit 1 · commit 77
               +more
               | one
               |     two\\u{1b}
tries          2
";
        assert_eq!(rendered(&feature_lines(&feature, "proven")), expected);
    }

    #[test]
    fn a_bare_feature_and_strange_shapes_are_shown_too() {
        let bare =
            json!({"id": "a", "title": "A", "check": null, "blocked": "needs a key", "evidence": 3, "steps": "x"});
        let expected = "a: blocked\nA\ncheck          none\nblocked        needs a key\n";
        assert_eq!(rendered(&feature_lines(&bare, "blocked")), expected);
        let looked = json!({"id": "a", "title": "A", "check": {"kind": "manual", "run": "at /index:\nis it blue?"},
            "accepted": {"reason": "I looked", "verdict": "already green", "at": "today"}});
        let expected = "a: accepted\nA\ncheck          a person looks\n               at /index:\n               is it blue?\naccepted       I looked · already green · today\n";
        assert_eq!(rendered(&feature_lines(&looked, "accepted")), expected);
    }

    #[test]
    fn a_baseline_that_was_green_is_not_called_red() {
        let shown = |verdict: &str| {
            let feature = json!({"id": "a", "title": "A", "baseline": {"verdict": verdict, "commit": "0123456789"}});
            rendered(&feature_lines(&feature, "open"))
        };
        assert!(shown("already green").contains("\nbaseline       already green · commit 01234567\n"));
        assert!(shown("failed").contains("\nwas red        failed · commit 01234567\n"));
    }

    #[test]
    fn the_form_of_a_check_says_whether_the_agent_could_reach_its_files() {
        let form = |pins: Value| form(&json!({"run": "x", "pins": pins})).unwrap();
        assert_eq!(form(json!({})), "a command alone");
        assert_eq!(form(json!({"tests/a": "1", "./checks/b": "2"})), "project files, pinned");
        assert_eq!(form(json!({"checks/a.sh": "1"})), "memory's check files, out of the agent's reach");
        assert!(form(json!({"checks/a.sh": "1", "tests/a": null})).ends_with("and project files, pinned"));
        assert_eq!(super::form(&Value::Null), None);
    }

    #[test]
    fn what_happened_is_told_with_its_result() {
        let verdict = json!({
            "kind": "verdict", "recorded": "2026-11-29T14:03:00Z", "session": 3, "verdict": "failed", "exit": 1,
            "seconds": 0.31, "commit": "89abcdef01", "check": "aaaabbbbcc", "level": "plain", "approved_by": "user",
            "detail": "", "output": {"digest": "e3b0c44298", "bytes": 3, "path": "/a/b"},
        });
        let block =
            json!({"kind": "block", "recorded": "2026-11-29T14:04:00Z", "session": null, "reason": "no licence"});
        let other = json!({"kind": "change", "recorded": "2026-11-29T14:05:00Z", "subject": "checklist: recover"});
        let expected = "  2026-11-29 14:03  session 3     not proven: failed · exit 1 · 0.3 s · commit 89abcdef · check aaaabbbb · sandbox plain · approved by user
                                  output e3b0c442: /a/b
  2026-11-29 14:04                blocked: no licence
  2026-11-29 14:05                checklist: recover
";
        let lines: Vec<Line> = [verdict, block, other].iter().flat_map(history_lines).collect();
        assert_eq!(rendered(&lines), expected);
    }
}
