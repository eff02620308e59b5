//! Programs that look at files and run none, and what is made of what they find.

use crate::gate::executed::aside;
use crate::gate::executed::commands::Command;
use crate::gate::executed::commands::Joint;
use crate::gate::executed::commands::commands;
use crate::gate::executed::roles::spelled_out;
use crate::gate::words;
use regex::Regex;
use std::sync::LazyLock;

/// Programs that print what they are given, or a part of it, with the number of words before its files.
const READERS: [(&str, usize); 35] = [
    ("cat", 0),
    ("tac", 0),
    ("head", 0),
    ("tail", 0),
    ("sort", 0),
    ("uniq", 0),
    ("nl", 0),
    ("wc", 0),
    ("od", 0),
    ("xxd", 0),
    ("base64", 0),
    ("fold", 0),
    ("fmt", 0),
    ("expand", 0),
    ("strings", 0),
    ("cut", 0),
    ("paste", 0),
    ("join", 0),
    ("tr", 2),
    ("sed", 1),
    ("awk", 1),
    ("gawk", 1),
    ("mawk", 1),
    ("jq", 1),
    ("gojq", 1),
    ("jaq", 1),
    ("yq", 1),
    ("xmllint", 0),
    ("grep", 1),
    ("egrep", 1),
    ("fgrep", 1),
    ("zgrep", 1),
    ("rg", 1),
    ("ag", 1),
    ("ack", 1),
];

/// Programs that ask whether, or how, something is there.
pub(super) const ASKING: [&str; 9] = ["test", "[", "[[", "ls", "stat", "file", "du", "readlink", "realpath"];

/// Programs of the system after which something else may run what they were given.
pub(super) const MOVING: [&str; 10] = ["cp", "mv", "ln", "find", "tee", "for", "source", ".", "trap", "case"];

/// What changes how the commands behind it run; nothing: an assignment.
const SETTING: [&str; 8] = ["", "export", "unset", "set", ".", "source", "true", ":"];

/// Programs that run what they are fed with.
pub(super) const FEEDING: [&str; 4] = ["xargs", "parallel", "while", "read"];

/// What says that something is missing, and ends a text with a failure.
const FAILING: [&str; 7] = ["false", "echo", "printf", "fail", "die", "exit", "return"];

/// Tells whether a text runs nothing but programs that look at files.
pub(in crate::gate) fn only_looks(text: &str) -> bool {
    let all = commands(&spelled_out(text));
    all.iter().enumerate().all(|(at, command)| {
        if switches(std::slice::from_ref(command), command.joint, all.get(at + 1)) {
            return false;
        }
        let words = aside::command_itself(&command.words);
        let Some(program) = words.first().map(|word| words::name(word)) else { return true };
        let looks = ASKING.contains(&program) || is_reader(program) || aside::prepares(program, words);
        looks && !MOVING.contains(&program) && !FEEDING.contains(&program) && program != "eval"
    })
}

/// Tells whether a text runs nothing that could be the product, also in what it loops over.
pub(super) fn runs_nothing(text: &str) -> bool {
    commands(&spelled_out(text)).iter().all(|command| {
        let words = aside::command_itself(&command.words);
        // Of `done <file` nothing but the file is left.
        let is_read = command.reads.contains(&(command.words.len() - words.len()));
        let Some(program) = words.first().filter(|_| !is_read).map(|word| words::name(word)) else { return true };
        let looks = ASKING.contains(&program) || is_reader(program) || aside::prepares(program, words);
        looks && !matches!(program, "." | "source") && !program.contains('$')
    })
}

/// Tells whether a pipeline asks for something without which others are run, or not: `test -e off || sh tests/a.sh`. What
/// only ends the text with a failure (`|| exit 1`) switches nothing.
pub(super) fn switches(pipeline: &[Command], joint: Joint, next: Option<&Command>) -> bool {
    let begins = |command: &Command| {
        command.words.first().is_some_and(|word| matches!(word.as_str(), "if" | "elif" | "while" | "until"))
    };
    let words = next.map_or(&[][..], |next| aside::command_itself(&next.words));
    let program = words.first().map_or("", String::as_str);
    let ends_well = matches!(program, "exit" | "return") && words.get(1).is_none_or(|code| code == "0");
    pipeline.iter().any(begins)
        || match joint {
            Joint::Or => !FAILING.contains(&program) || ends_well && words.len() > 1,
            Joint::And => SETTING.contains(&program) || ends_well,
            _ => false,
        }
}

/// What code runs a program by, or takes what comes by a pipe; and by what it compares.
const TAKES: [&str; 9] = ["subprocess", "stdin", "argv", "exec", "popen", "system", "spawn", "getoutput", "`"];
const COMPARES: [&str; 6] = ["==", "!=", "assert", "equal", " eq ", " ne "];

/// Tells whether code of another language compares what a program printed; `is_fed` where that comes by a pipe.
pub(super) fn compares_what_came(code: &str, is_fed: bool) -> bool {
    let code = code.to_lowercase();
    let has = |marks: &[&str]| marks.iter().any(|mark| code.contains(mark));
    (is_fed || has(&TAKES)) && has(&COMPARES)
}

/// How Python takes what lies in other modules.
static IMPORTS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)(?:^|;)\s*(?:from|import)\s+([\w.]+)").expect("a regular expression written here")
});

/// Returns the modules of Python that code imports and then looks at; `is_used` where something looks at what it prints.
pub(super) fn imported(code: &str, is_used: bool) -> Vec<String> {
    let looks = is_used || COMPARES.iter().any(|mark| code.contains(mark));
    let found = IMPORTS.captures_iter(code).filter(|_| looks && !code.contains("unittest") && !code.contains("pytest"));
    found.map(|found| found[1].to_owned()).collect()
}

pub(super) fn is_reader(program: &str) -> bool {
    READERS.iter().any(|(name, _)| *name == program)
}

/// Returns how many words of a reader come before its files.
pub(super) fn before_files(program: &str) -> usize {
    READERS.iter().find(|(name, _)| *name == program).map_or(0, |(_, count)| *count)
}
