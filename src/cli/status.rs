//! `longhaul status`

use super::Context;
use super::error::Code;
use super::line::Line;
use super::line::Tone;
use super::line::cut;
use super::narration::cached;
use super::narration::count;
use super::narration::price;
use crate::engine;
use crate::engine::commands::status::Line as Feature;
use crate::engine::commands::status::Report;
use crate::engine::commands::status::Session;
use crate::engine::workspace::Access;
use anyhow::Result;
use unicode_width::UnicodeWidthStr;

/// Longest title in the table.
const TITLE: usize = 60;
/// What is told of a session without an end.
const NO_END: &str = "no end recorded: it runs, or was cut off; `longhaul run --continue` goes on with it then";
/// Longest reason of a person in the table.
const REASON: usize = 30;

/// Show where things stand; starts nothing
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Print it as JSON
    #[arg(long)]
    json: bool,

    /// End with 8 unless every required feature is proven or accepted
    #[arg(long)]
    exit_code: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Code> {
    let report = context.in_project(Access::Look, &[], engine::commands::status::report)?;
    if args.json {
        context.output.json(&serde_json::to_value(&report)?);
    } else {
        context.output.data_lines(&lines(&report));
    }
    Ok(if args.exit_code && !all_done(&report) { Code::Unproven } else { Code::Done })
}

/// Tells whether nothing required is left; an empty checklist is no success.
fn all_done(report: &Report) -> bool {
    let mut required = report.features.iter().filter(|feature| feature.required).peekable();
    required.peek().is_some() && required.all(|feature| matches!(feature.state.as_str(), "proven" | "accepted"))
}

fn lines(report: &Report) -> Vec<Line> {
    let mut lines = vec![labelled("project", &project_text(report)), labelled("features", &features_text(report))];
    if !report.features.is_empty() {
        lines.push(Line::default());
        lines.extend(table(&report.features));
        lines.push(Line::default());
    }
    lines.extend(report.waiting.iter().map(|reason| labelled("waiting", reason)));
    lines.push(labelled("sessions", &sessions_text(&report.sessions)));
    if !report.sessions.is_empty() {
        let spent = [Some(count(report.tokens)), report.cached.map(cached), Some(price(report.cost))];
        lines.push(labelled("spent", &spent.into_iter().flatten().collect::<Vec<_>>().join(" · ")));
    }
    lines.push(labelled("checks", &format!("run {}, sandbox: {}", report.checkout, report.sandbox)));
    lines.push(labelled("memory", &report.memory.display().to_string()));
    lines.push(labelled("", &format!("read it: git --git-dir='{}' log --stat", report.memory.display())));
    lines
}

fn labelled(label: &str, text: &str) -> Line {
    Line::new(Tone::Strong, label).column(10).add(Tone::Plain, text)
}

fn project_text(report: &Report) -> String {
    let project = report.project.display();
    match (&report.commit, &report.branch) {
        (None, _) => format!("{project}, no commit yet"),
        (Some(commit), Some(branch)) => format!("{project}, branch {branch} at {commit}"),
        (Some(commit), None) => format!("{project}, detached at {commit}"),
    }
}

fn features_text(report: &Report) -> String {
    match (&report.next, report.features.is_empty()) {
        (_, true) if report.has_spec => "none yet; `longhaul run` begins with the initializer".to_owned(),
        (_, true) => {
            "none yet; add one with `longhaul feature add`, or give a specification to `longhaul init`".to_owned()
        }
        (Some(next), false) => format!("{}; next: {next}", done_text(report)),
        (None, false) => done_text(report),
    }
}

/// Counts what is done, a person's word apart from proofs, and what was green before any work apart from both.
fn done_text(report: &Report) -> String {
    let mut text = format!("{} of {} required done", report.done, report.required);
    if report.accepted > 0 {
        text.push_str(&format!(" ({} proven, {} accepted)", report.done - report.accepted, report.accepted));
    }
    if report.already_green > 0 {
        text.push_str(&format!(", {} already green", report.already_green));
    }
    text
}

fn sessions_text(sessions: &[Session]) -> String {
    let Some(last) = sessions.last() else { return "none yet".to_owned() };
    let feature = last.feature.as_deref().map_or(String::new(), |feature| format!(", on {feature}"));
    let end = last.ended.as_deref().map_or(NO_END.to_owned(), |end| cut(end, TITLE));
    format!("{}; newest: {}{feature}: {end}", sessions.len(), last.number)
}

pub(super) fn table(features: &[Feature]) -> Vec<Line> {
    let widest = |of: fn(&Feature) -> &str, least: usize| {
        features.iter().map(|feature| of(feature).width()).max().unwrap_or(0).max(least) + 2
    };
    let last = |feature: &Feature| {
        let reason = feature.accepted.as_ref().map(|reason| cut(reason, REASON));
        let passed = || {
            let at = feature.proven_at.as_ref()?;
            let since = if feature.state == "stale" { ", not since" } else { "" };
            Some(format!("at {at}{since}"))
        };
        reason.or_else(|| feature.last.clone()).or_else(passed)
    };
    let state_at = 2 + widest(|feature| &feature.id, 7);
    let tries_at = state_at + widest(|feature| &feature.state, 5);
    let last_at = tries_at + 7;
    let title_at = last_at + 2 + features.iter().filter_map(last).map(|last| last.width()).max().unwrap_or(0).max(4);
    let row = |tone, cells: [&str; 5], state_tone| {
        let [id, state, tries, last, title] = cells;
        let line = Line::plain("  ").add(tone, id).column(state_at).add(state_tone, state).column(tries_at);
        line.add(tone, tries).column(last_at).add(tone, last).column(title_at).add(tone, title)
    };
    let head = row(Tone::Dim, ["FEATURE", "STATE", "TRIES", "LAST", "TITLE"], Tone::Dim);
    let rows = features.iter().map(|feature| {
        let tries = if feature.attempts > 0 { feature.attempts.to_string() } else { String::new() };
        let optional = if feature.required { "" } else { " (optional)" };
        let milestone = if feature.milestone { " (milestone)" } else { "" };
        let title = format!("{}{milestone}{optional}", cut(&feature.title, TITLE));
        let cells = [&feature.id, &feature.state, &tries, &last(feature).unwrap_or_default(), &title];
        row(Tone::Plain, cells.map(|cell| cell.as_str()), tone(&feature.state))
    });
    [head].into_iter().chain(rows).collect()
}

/// Returns the tone of a feature's state.
pub(super) fn tone(state: &str) -> Tone {
    match state {
        "proven" | "accepted" => Tone::Good,
        "regressed" | "blocked" => Tone::Bad,
        "stale" | "waiting" | "already green" | "no check" => Tone::Careful,
        _ => Tone::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feature(id: &str, state: &str) -> Feature {
        let title = format!("The title of {id}");
        Feature { id: id.into(), title, state: state.into(), required: true, ..Feature::default() }
    }

    fn report() -> Report {
        let login = Feature { proven_at: Some("1a2b3c4".into()), ..feature("login", "proven") };
        let export = Feature { attempts: 2, last: Some("timed out".into()), ..feature("export-all", "open") };
        let extra = Feature { required: false, milestone: true, title: "漢字".into(), ..feature("x", "no check") };
        let session = Session { number: 7, feature: Some("login".into()), ended: Some("the agent handed over".into()) };
        Report {
            project: "/p".into(),
            memory: "/p/.git/longhaul/memory.git".into(),
            commit: Some("89abcde".into()),
            branch: Some("main".into()),
            features: vec![login, export, extra],
            required: 2,
            done: 1,
            next: Some("export-all".into()),
            sessions: vec![Session::default(), session],
            tokens: 1_200_000,
            cached: Some(0.876),
            cost: Some(3.41),
            sandbox: "plain".into(),
            checkout: "clean (there is no lock file)".into(),
            ..Report::default()
        }
    }

    fn rendered(report: &Report) -> String {
        lines(report).iter().map(|line| line.render(false).trim_end().to_owned() + "\n").collect()
    }

    #[test]
    fn everything_a_person_asks_is_on_one_page() {
        let expected = "\
project   /p, branch main at 89abcde
features  1 of 2 required done; next: export-all

  FEATURE     STATE     TRIES  LAST        TITLE
  login       proven           at 1a2b3c4  The title of login
  export-all  open      2      timed out   The title of export-all
  x           no check                     漢字 (milestone) (optional)

sessions  2; newest: 7, on login: the agent handed over
spent     1.2M tokens · 87 % of the prompts from the cache · 3.41 USD
checks    run clean (there is no lock file), sandbox: plain
memory    /p/.git/longhaul/memory.git
          read it: git --git-dir='/p/.git/longhaul/memory.git' log --stat
";
        assert_eq!(rendered(&report()), expected);
    }

    #[test]
    fn a_persons_word_and_what_was_green_before_any_work_are_counted_apart() {
        let accepted = Feature {
            accepted: Some("I looked at it on three phones and a tablet".into()),
            last: Some("already green".into()),
            ..feature("a", "accepted")
        };
        let report = Report {
            features: vec![accepted],
            required: 5,
            done: 3,
            accepted: 1,
            already_green: 2,
            next: None,
            ..report()
        };
        let text = rendered(&report);
        assert!(text.contains("features  3 of 5 required done (2 proven, 1 accepted), 2 already green\n"), "{text}");
        assert!(text.contains("accepted         I looked at it on three phone…"), "{text}");
    }

    #[test]
    fn an_empty_project_says_what_to_do_next() {
        let mut report = Report { project: "/p".into(), memory: "/m".into(), ..Report::default() };
        let text = rendered(&report);
        assert!(text.starts_with("project   /p, no commit yet\nfeatures  none yet; add one with"), "{text}");
        assert!(text.contains("sessions  none yet\nchecks"), "nothing was spent: {text}");
        report.has_spec = true;
        assert!(rendered(&report).contains("none yet; `longhaul run` begins with the initializer"));
    }

    #[test]
    fn an_unknown_cost_and_an_open_session_are_not_hidden() {
        let report = Report { cost: None, sessions: vec![Session { number: 1, ..Session::default() }], ..report() };
        let text = rendered(&report);
        assert!(text.contains("spent     1.2M tokens · 87 % of the prompts from the cache · cost unknown\n"), "{text}");
        assert!(text.contains("sessions  1; newest: 1: no end recorded: it runs, or was cut off; `longhaul run --continue` goes on with it then\n"), "{text}");
    }

    #[test]
    fn only_proven_and_accepted_count_as_done() {
        let of = |features: &[Feature]| all_done(&Report { features: features.to_vec(), ..Report::default() });
        assert!(of(&[
            feature("a", "proven"),
            feature("b", "accepted"),
            Feature { required: false, ..feature("c", "open") }
        ]));
        for state in ["open", "stale", "regressed", "already green", "waiting", "blocked", "no check"] {
            assert!(!of(&[feature("a", "proven"), feature("b", state)]), "{state}");
        }
        assert!(!of(&[]), "an empty checklist is no success");
    }

    #[test]
    fn a_title_cannot_break_the_table() {
        let hostile = Feature { title: "\u{202e}\n\x1b[2J".into(), ..feature("a", "open") };
        let text = rendered(&Report { features: vec![hostile], ..Report::default() });
        assert!(text.contains(r"\u{202e}\n\u{1b}[2J"), "{text}");
    }
}
