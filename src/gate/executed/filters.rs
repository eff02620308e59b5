//! Readers that may be what judges: by a program in a file, such as `awk -f FILE`, or over two files at once.

use crate::gate::executed::aside;
use crate::gate::executed::commands::Command;
use crate::gate::executed::compared;
use crate::gate::executed::compared::Comparison;
use crate::gate::executed::compared::Side;
use crate::gate::executed::kept::Kept;
use crate::gate::executed::looking::is_reader;
use crate::gate::words;
use regex::Regex;
use std::sync::LazyLock;

const WITH_PROGRAMS: [&str; 7] = ["awk", "gawk", "mawk", "sed", "jq", "gojq", "jaq"];
const JQS: [&str; 3] = ["jq", "gojq", "jaq"];
const AWKS: [&str; 3] = ["awk", "gawk", "mawk"];

/// What looks at lines that were put together.
const JUDGING: [&str; 7] = ["awk", "gawk", "mawk", "grep", "egrep", "sed", "uniq"];

/// How the code of awk names a file that it reads.
static READ: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"getline[^<;}]*<\s*"([^"]+)""#).expect("a regular expression written here"));

/// Returns the files by which a reader is told what to do.
pub(super) fn programs(command: &Command, program: &str) -> Vec<String> {
    if !WITH_PROGRAMS.contains(&program) {
        return Vec::new();
    }
    let own = aside::command_itself(&command.words);
    let is_attached = |word: &&str| !JQS.contains(&program) && !word.contains('=');
    let attached = own.iter().filter_map(|word| word.strip_prefix("-f")).filter(|rest| !rest.is_empty());
    let behind = own.windows(2).filter(|pair| compared::is_file_option(&pair[0])).map(|pair| pair[1].as_str());
    let put_together = own.iter().filter_map(|word| word.strip_prefix("--file=").or(word.strip_prefix("--from-file=")));
    behind.chain(put_together).chain(attached.filter(is_attached)).map(str::to_owned).collect()
}

/// What the end of a reader with a program of its own says.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Says {
    /// Whether what it read is right.
    Verdict,
    /// Nobody knows: the program may be what is tested.
    Unclear,
    Nothing,
}

/// Returns what the end of a reader says that is fed by no pipe, and at whose output nothing looks.
pub(super) fn says(command: &Command, program: &str, kept: &Kept) -> Says {
    let is_asked = |word: &String| {
        word == "--exit-status" || word.strip_prefix('-').is_some_and(|of| !of.starts_with('-') && of.contains('e'))
    };
    match program {
        _ if JQS.contains(&program) && command.words.iter().any(is_asked) => Says::Verdict,
        _ if !AWKS.contains(&program) => Says::Nothing,
        _ if compared::files_read(command, kept).iter().any(Side::may_come_out) => Says::Verdict,
        _ => Says::Unclear,
    }
}

/// Returns the comparison of the files that a reader holds together, such as by `awk 'NR==FNR{…}' want.txt -` or by
/// `paste - want.txt | awk …`.
pub(super) fn held_together(
    command: &Command,
    (before, after): (&[Command], &[Command]),
    program: &str,
    kept: &Kept,
) -> Option<Comparison> {
    let program_of =
        |next: &Command| aside::command_itself(&next.words).first().map_or("", |word| words::name(word)).to_owned();
    let behind: Vec<String> = after.iter().map(program_of).collect();
    let has = |programs: &[&str]| behind.iter().any(|next| programs.contains(&next.as_str()));
    let looks = behind.iter().all(|next| is_reader(next));
    let side = |word: &String| match word.as_str() {
        "-" | "/dev/stdin" => compared::upstream(command, before, kept),
        _ => compared::file(word, kept),
    };
    let skipped = command.words.len() - aside::command_itself(&command.words).len();
    let plain = compared::plain(command, skipped);
    if AWKS.contains(&program) {
        let at = plain.iter().position(|(_, word)| holds_two(word))?;
        let read = READ.captures_iter(plain[at].1).map(|found| compared::file(&found[1], kept));
        let mut sides: Vec<Side> = plain[at + 1..].iter().map(|(_, word)| side(word)).chain(read).collect();
        if sides.len() == 1 {
            sides.push(compared::upstream(command, before, kept));
        }
        let held = Comparison::of_sides(sides);
        return held.filter(|sides| after.is_empty() || sides.has_what_came_out());
    }
    let puts_together = match program {
        "paste" => has(&JUDGING),
        "sort" | "cat" => has(&["uniq"]),
        _ => false,
    };
    let is_file = |word: &&String| *word == "-" || word.contains(|c: char| c.is_alphabetic() || c == '$');
    let sides: Vec<Side> = plain.iter().map(|(_, word)| *word).filter(is_file).map(side).collect();
    Comparison::of_sides(sides).filter(|sides| puts_together && looks && sides.has_what_came_out())
}

/// Returns the files that a reader puts beside each other by what stands in them: as often to look things up as to compare.
pub(super) fn looked_up(command: &Command, program: &str) -> Vec<String> {
    let skipped = command.words.len() - aside::command_itself(&command.words).len();
    let files = compared::plain(command, skipped).into_iter().map(|(_, word)| word);
    files.filter(|word| program == "join" && word.contains(char::is_alphabetic)).cloned().collect()
}

/// Tells whether the code of awk reads two files against each other.
fn holds_two(code: &str) -> bool {
    let bare: String = code.chars().filter(|c| !c.is_whitespace()).collect();
    bare.contains("NR==FNR") || bare.contains("FNR==NR") || READ.is_match(code)
}
