//! The words of longhaul's and of git's own. A text that stands in one is not purged: it is refused before anything is
//! touched.

use crate::failure::Failure;
use crate::memory::notes::index::INDEX;
use crate::memory::purge::own::FOLDERS;
use crate::memory::purge::own::GIT_FILES;
use crate::memory::rules::guard::CHECKLIST;
use crate::memory::rules::guard::INIT;
use crate::memory::rules::guard::PROGRESS;
use crate::memory::rules::guard::SPEC;
use crate::memory::seal::shortcuts;
use crate::secrets::HIDDEN;
use crate::secrets::Secrets;

/// Names in the folder of the state, and in those of sessions.
pub(super) const STATE: [&str; 26] = [
    "memory.git",
    "sessions",
    "journal",
    "journal.new",
    "events.jsonl",
    "outputs",
    "history",
    "installed",
    "extracted",
    "view.json",
    "prepared",
    shortcuts::RECORD,
    "reads.json",
    "settings.json",
    "spent.json",
    "spent.since",
    "write.lock",
    "pack.lock",
    "run.lock",
    "purge.unfinished",
    "artifacts",
    "began.json",
    "untracked.json",
    "longhaul-id",
    ".longhaul/memory",
    "longhaul.toml",
];
/// What stands in git's files and objects.
const GIT: [&str; 28] = [
    "refs/heads/main.lock",
    "refs/tags/",
    "refs/remotes/origin",
    "refs/longhaul/found/",
    "refs/replace/",
    "ref: refs/heads/main",
    "objects/info/alternates",
    "objects/info/commit-graphs",
    "objects/pack/multi-pack-index",
    "packed-refs",
    "description",
    "hooks/",
    "info/exclude",
    "[core]",
    "repositoryformatversion",
    "filemode",
    "bare = true",
    "fsyncobjectfiles",
    "logallrefupdates",
    "compression",
    "parent",
    "author",
    "committer",
    "encoding",
    "gpgsig",
    "mergetag",
    "agent@longhaul.invalid",
    "external@longhaul.invalid",
];
/// What commits and notes are read back by.
const TEXTS: [&str; 9] = [
    "Session: ",
    "Feature: ",
    "Tool-Use: ",
    "Project-Commit: ",
    "description: ",
    "reference",
    "feedback",
    "project",
    "memory: ",
];
/// Keys and fixed words of the checklist and of events.
const JSON: &[&str] = &[
    "version",
    "features",
    "title",
    "description",
    "category",
    "steps",
    "priority",
    "required",
    "depends_on",
    "milestone",
    "check",
    "passes",
    "evidence",
    "checked",
    "last_verdict",
    "baseline",
    "attempts",
    "blocked",
    "check_problem",
    "unapproved",
    "accepted",
    "regressed",
    "flaky",
    "draft",
    "claimed",
    "proposed_check",
    "commit",
    "verdict",
    "since",
    "unprepared",
    "skips",
    "already green",
    "waiting",
    "proven",
    "no check",
    "command",
    "pinned",
    "timeout",
    "digest",
    "run_started",
    "session_started",
    "sent",
    "replied",
    "cleared",
    "edited",
    "tool_started",
    "tool_ended",
    "retrying",
    "spent",
    "used",
    "recalled",
    "extracted",
    "extraction_skipped",
    "check_started",
    "check_ended",
    "committed",
    "notice",
    "warning",
    "hook_step",
    "session_ended",
    "limits",
    "session",
    "feature",
    "branch",
    "content",
    "message",
    "results",
    "tokens",
    "summed_up",
    "is_error",
    "seconds",
    "reason",
    "cached",
    "nearest",
    "finding",
    "proves",
    "ended_by",
    "subject",
    "outcome",
    "initializer",
    "hand_over",
    "checklist",
    "memory",
    "broken reply",
    "choice",
    "tool_use",
    "tool_result",
    "assistant",
    "thinking",
    "signature",
    "stop_reason",
    "end_turn",
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "approved_by",
    "closure",
    "network",
    "expect",
    "refused",
    "chose_none",
    "cache_write",
    "checkout",
    "detail",
    "disclosed",
    "failure",
    "imported",
    "overlaid",
    "stop_sequence",
    "passed",
    "failed",
    "timed out",
    "signalled",
    "not runnable",
    "not ready",
    "check changed",
    "tree moved",
    "interrupted",
    "not committed",
    "nothing executed",
    "out of time",
    "needs a person",
    "prepared",
    "untracked",
    "recorded",
    "skipped",
    "memory_commit",
];

/// Refuses texts that stand in a word of longhaul's or of git's.
pub(super) fn refuse(values: &Secrets) -> Result<(), Failure> {
    let files = [CHECKLIST, INIT, SPEC, PROGRESS, INDEX, HIDDEN];
    let all = [&files[..], &STATE, &FOLDERS, &GIT_FILES, &GIT, &TEXTS, JSON].concat();
    let Some(word) = all.into_iter().find(|word| values.find(word.as_bytes()).next().is_some()) else { return Ok(()) };
    let text = format!(
        "the text is a part of `{}`, a word that longhaul or git writes into each memory: nothing was touched",
        word.trim()
    );
    Err(Failure::usage(text)
        .hint("give the longer text around it, such as `password: TEXT`; of several lines, leave that one out"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_refused(text: &str) -> bool {
        refuse(&Secrets::new([text.to_owned()])).is_err()
    }

    #[test]
    fn a_text_that_is_a_part_of_a_word_of_longhauls_or_gits_is_refused() {
        let own = [
            "memory",
            "session",
            "features",
            "verdict",
            "version",
            "filemode",
            "commit",
            "progress",
            "MEMORY",
            "longhaul",
            "features.json",
            "emory.gi",
            "graph.json",
            "prepared",
            "external",
            "secret left",
            "refs/heads",
            "description",
        ];
        for text in own {
            assert!(is_refused(text), "{text}");
        }
        for text in
            ["open sesame 4711", "password", "memory of Ada", "features.jsonx", "my session", "hello\"", "Memory"]
        {
            assert!(!is_refused(text), "its twin: {text}");
        }
    }

    #[test]
    fn the_refusal_names_the_word_and_the_way_out() {
        let refused = refuse(&Secrets::new(["features".to_owned()])).unwrap_err();
        assert!(refused.message.contains("`features.json`"), "{refused:?}");
        assert!(refused.hint.is_some_and(|hint| hint.contains("longer text")));
    }

    /// Returns the names of fields and variants in a source, as they are written down.
    fn names(source: &str) -> Vec<String> {
        let code = source.split("#[cfg(test)]").next().unwrap().lines().filter(|line| !line.trim().starts_with("//"));
        let mut names = Vec::new();
        for line in code.map(str::trim) {
            let variant: String = line.chars().take_while(char::is_ascii_alphanumeric).collect();
            if line.starts_with(|first: char| first.is_ascii_uppercase())
                && line[variant.len()..].starts_with([' ', ','])
            {
                let mut name = String::new();
                for letter in variant.chars() {
                    let begins = letter.is_ascii_uppercase() && !name.is_empty();
                    name.extend(begins.then_some('_').into_iter().chain([letter.to_ascii_lowercase()]));
                }
                names.push(name);
            }
            let fields = line.split([' ', '{', ',']).filter_map(|word| word.strip_suffix(':'));
            names.extend(fields.map(str::to_owned));
        }
        names
    }

    #[test]
    fn all_words_of_events_and_of_the_checklist_are_known() {
        let events = names(include_str!("../../event.rs"));
        assert!(events.iter().any(|name| name == "session_started") && events.iter().any(|name| name == "ended_by"));
        let features =
            names(include_str!("../../checklist/feature.rs").split("/// Where a feature stands").next().unwrap());
        assert!(features.iter().any(|name| name == "depends_on"));
        let is_long = |name: &String| name.len() >= 6 && !name.contains(|letter: char| letter.is_ascii_uppercase());
        let long = events.into_iter().chain(features).filter(is_long);
        let unknown: Vec<String> = long.filter(|name| !is_refused(name)).collect();
        assert_eq!(unknown, Vec::<String>::new());
    }
}
