//! Which of the files that a check compares holds what is expected, and which what came out.
//!
//! The first decides with the check, the second is the product, which nothing may hold as it was.

use crate::gate::executed::aside;
use crate::gate::executed::commands::Command;
use crate::gate::executed::commands::commands;
use crate::gate::executed::kept::Kept;
use crate::gate::executed::looking::before_files;
use crate::gate::executed::looking::is_reader;
use crate::gate::executed::roles::Naming;
use crate::gate::executed::roles::Role;
use crate::gate::names;
use crate::gate::words;
use crate::gate::written::Written;
use regex::Captures;
use regex::Regex;
use std::sync::LazyLock;

/// One side of a comparison.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Side {
    /// What this file holds.
    File(String),
    /// What was made of this file by one step, such as `sort` or `cp`.
    Copy(String),
    /// What something prints.
    Output,
    /// A text that stands in the check.
    Said(String),
}

/// Sides that have to be equal.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Comparison(Vec<Side>);

/// Programs that compare two files.
const OF_TWO: [&str; 15] = [
    "diff",
    "cmp",
    "comm",
    "colordiff",
    "sdiff",
    "diff3",
    "wdiff",
    "dwdiff",
    "numdiff",
    "zdiff",
    "zcmp",
    "icdiff",
    "json-diff",
    "xmldiff",
    "difft",
];

/// Programs that compare files with the sums in another, told by `-c`.
const OF_SUMS: [&str; 9] =
    ["sha256sum", "sha1sum", "sha224sum", "sha384sum", "sha512sum", "md5sum", "b2sum", "cksum", "shasum"];

/// Options of these behind which a value comes.
const VALUED: [&str; 9] = ["-I", "-x", "-X", "-L", "-U", "-C", "-W", "--label", "--exclude"];

/// Options of `jq` behind which a name comes, and a file.
pub(super) const FILES_BY_NAME: [&str; 3] = ["--slurpfile", "--rawfile", "--argfile"];

const GREPS: [&str; 4] = ["grep", "egrep", "fgrep", "rg"];
const WITH_SCRIPTS: [&str; 7] = ["awk", "gawk", "mawk", "sed", "jq", "gojq", "jaq"];
const EQUAL: [&str; 8] = ["=", "==", "!=", "-eq", "-ne", "=~", "in", ":"];

/// Variables of folders that are not the project's.
const ELSEWHERE: [&str; 6] = ["TMPDIR", "TMP", "TEMP", "HOME", "RUNNER_TEMP", "LONGHAUL_CHECKS"];

static VARIABLE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)(%[^}]*)?\}|([A-Za-z_][A-Za-z0-9_]*))")
        .expect("a regular expression written here")
});

/// Tells whether a command compares files.
pub(super) fn compares(words: &[String]) -> bool {
    let Some(program) = words.first().map(|word| words::name(word)) else { return false };
    let has = |option: &str| words.iter().any(|word| word == option);
    OF_TWO.contains(&program)
        || OF_SUMS.contains(&program) && (has("-c") || has("--check"))
        || program == "git" && has("diff") && has("--no-index")
}

/// Tells whether a command asks for something that others did.
pub(super) fn asks(words: &[String]) -> bool {
    let program = words.first().map_or("", |word| words::name(word));
    // How a command ended says it by itself.
    let of_an_exit = words.iter().any(|word| word.contains("$?"));
    !of_an_exit && matches!(program, "test" | "[" | "[[" | "case") || GREPS.contains(&program) || compares(words)
}

/// Returns what a value of `test` is: `inner` is what the shell puts into it.
pub(super) fn side(word: &str, inner: Option<&str>, kept: &Kept) -> Side {
    match inner {
        Some(inner) => of_text(inner, kept),
        None if !word.contains('$') => Side::Said(word.to_owned()),
        None => match VARIABLE.captures(word).filter(|found| found[0].len() == word.len()) {
            Some(found) => kept.get(name_in(&found)).cloned().unwrap_or(Side::Output),
            None => Side::Output,
        },
    }
}

fn name_in<'a>(found: &'a Captures) -> &'a str {
    found.get(1).or(found.get(3)).map_or("", |name| name.as_str())
}

/// Tells whether a program prints the sums of files, which tell these apart as the files themselves would.
pub(super) fn sums(program: &str) -> bool {
    OF_SUMS.contains(&program)
}

pub(super) fn greps(program: &str) -> bool {
    GREPS.contains(&program)
}

/// Tells whether a program can end with what its script finds, and is given what that compares with.
pub(super) fn is_asked(program: &str) -> bool {
    WITH_SCRIPTS.contains(&program) && program != "sed"
}

/// Returns what a pipeline writes into a file.
pub(super) fn made_by(pipeline: &[Command], kept: &Kept) -> Side {
    copy_of(of_pipeline(pipeline, kept).unwrap_or(Side::Output))
}

/// Returns what is made of a side by one more step.
pub(super) fn copy_of(side: Side) -> Side {
    match side {
        Side::File(file) => Side::Copy(file),
        other => other,
    }
}

/// Returns what a text prints.
fn of_text(text: &str, kept: &Kept) -> Side {
    let all: Vec<Command> = commands(text).into_iter().filter(|command| !command.inner).collect();
    match all.as_slice() {
        [first, rest @ ..] if rest.iter().all(|next| next.piped) => of_pipeline(&all, kept).unwrap_or_else(|| {
            let words = aside::command_itself(&first.words);
            let says = words.first().is_some_and(|word| matches!(word.as_str(), "echo" | "printf" | "seq"));
            let said = words[1.min(words.len())..].join(" ");
            if says && !said.contains('$') { Side::Said(said) } else { Side::Output }
        }),
        _ => Side::Output,
    }
}

/// Returns the one file that a pipeline only reads.
fn of_pipeline(pipeline: &[Command], kept: &Kept) -> Option<Side> {
    let (first, rest) = pipeline.split_first()?;
    let program = |command: &Command| {
        let word = aside::command_itself(&command.words).first().filter(|_| !command.reads.contains(&0));
        word.map_or(String::new(), |word| words::name(word).to_owned())
    };
    let reads = |command: &Command| {
        let program = program(command);
        matches!(program.as_str(), "" | "tee") || is_reader(&program) || sums(&program)
    };
    if !reads(first) || !rest.iter().all(reads) {
        return None;
    }
    match files_read(first, kept).as_slice() {
        [file] if pipeline.iter().any(|command| sums(&program(command))) => Some(copy_of(file.clone())),
        [file @ (Side::File(_) | Side::Copy(_))] => Some(file.clone()),
        _ => None,
    }
}

/// Returns the files that a reader is given.
pub(super) fn files_read(command: &Command, kept: &Kept) -> Vec<Side> {
    let words = aside::command_itself(&command.words);
    let program = words.first().map_or("", |word| words::name(word));
    let skipped = command.words.len() - words.len();
    let by_option = option_value(command, skipped, &["-f", "-e"]).is_some();
    let leading = if by_option { 0 } else { before_files(program) };
    let fed = command.reads.iter().filter_map(|at| command.words.get(*at));
    let named = plain(command, skipped).into_iter().map(|(_, word)| word).skip(leading);
    let named = named.filter(|word| !word.chars().all(|c| c.is_ascii_digit()));
    named.chain(fed).map(|word| file(word, kept)).collect()
}

/// Returns the words behind a program that are no options, no values of such, and no redirections, with their places.
pub(super) fn plain(command: &Command, skipped: usize) -> Vec<(usize, &String)> {
    let valued = |at: usize| VALUED.contains(&command.words[at - 1].as_str()) || is_file_option(&command.words[at - 1]);
    let places = command.words.iter().enumerate().skip(skipped + 1);
    let own = places.filter(|(at, _)| !command.writes.contains(at) && !command.reads.contains(at));
    own.filter(|(at, word)| (word.as_str() == "-" || !word.starts_with('-')) && !valued(*at)).collect()
}

/// Tells whether behind an option the name of a file comes, as in `grep -xf FILE`.
pub(super) fn is_file_option(word: &str) -> bool {
    let cluster = word.strip_prefix('-').filter(|options| !options.starts_with('-'));
    cluster.is_some_and(|options| options.ends_with('f')) || matches!(word, "--file" | "--from-file")
}

/// Returns the value of the first option of these.
fn option_value<'a>(command: &'a Command, skipped: usize, options: &[&str]) -> Option<&'a str> {
    let words = &command.words[skipped..];
    let is = |word: &str| options.contains(&word) || options.contains(&"-f") && is_file_option(word);
    words.iter().enumerate().find_map(|(at, word)| match word.split_once('=') {
        Some((option, value)) if option.starts_with("--") && is(option) => Some(value),
        _ if is(word) => words.get(at + 1).map(String::as_str),
        _ => None,
    })
}

/// Returns the files that programs such as `awk` and `jq` are given beside those that they read.
pub(super) fn given(command: &Command, kept: &Kept) -> Vec<String> {
    let by_name = command.words.windows(3).filter(|words| FILES_BY_NAME.contains(&words[0].as_str()));
    let put_in = command.within.iter().map(|(_, inner)| of_text(inner, kept));
    let put_in = put_in.filter_map(|side| side.file().cloned());
    by_name.map(|words| words[2].clone()).chain(put_in).collect()
}

/// Returns the files in which `grep "$(sh a.sh)"` looks for what came out.
pub(super) fn looked_through(command: &Command, kept: &Kept) -> Vec<String> {
    let is_printed = |word: &String| VARIABLE.captures_iter(word).any(|found| kept.is_printed(name_in(&found)));
    let is_run = command.within.iter().any(|(_, inner)| runs(&commands(inner))) || command.words.iter().any(is_printed);
    let files = files_read(command, kept).into_iter().filter(|_| is_run);
    files.filter_map(|side| side.file().cloned()).filter(|file| !names::is_product(file)).collect()
}

/// Tells whether `grep` has to find whole lines.
pub(super) fn finds_lines(command: &Command) -> bool {
    let is = |word: &String| word.strip_prefix('-').is_some_and(|of| !of.starts_with('-') && of.contains('x'));
    command.words.iter().any(|word| is(word) || word == "--line-regexp")
}

/// Tells whether commands run something that may be the product.
pub(super) fn runs(all: &[Command]) -> bool {
    all.iter().any(|command| {
        let words = aside::command_itself(&command.words);
        let program = words.first().map_or("", |word| words::name(word));
        !(is_reader(program) || sums(program) || aside::prepares(program, words) || aside::looks(words))
    })
}

/// Returns the side of a word that names a file.
pub(super) fn file(word: &str, kept: &Kept) -> Side {
    if let Some(side) = kept.file(word) {
        return side.clone();
    }
    if word == "-" || word.starts_with("/dev/") || word.starts_with("/tmp/") {
        return Side::Output;
    }
    let elsewhere = |found: &Captures| {
        let name = name_in(found);
        ELSEWHERE.contains(&name) || matches!(kept.get(name), Some(Side::Output))
    };
    if word.contains("$/") || word == "$" || VARIABLE.captures_iter(word).any(|found| elsewhere(&found)) {
        return Side::Output;
    }
    let put_in = VARIABLE.replace_all(word, |found: &Captures| match kept.get(name_in(found)) {
        Some(Side::Said(value)) => {
            let end = found.get(2).map_or("", |end| end.as_str().trim_start_matches('%'));
            value.strip_suffix(end).unwrap_or(value).to_owned()
        }
        _ => found[0].to_owned(),
    });
    let is_variable = VARIABLE.find(&put_in).is_some_and(|found| found.len() == put_in.len());
    if is_variable { Side::Output } else { Side::File(put_in.into_owned()) }
}

impl Comparison {
    /// Returns what a command such as `diff` compares, behind these in its pipeline.
    pub(super) fn of(command: &Command, before: &[Command], kept: &Kept) -> Option<Self> {
        let words = aside::command_itself(&command.words);
        let skipped = command.words.len() - words.len() + usize::from(words.first().is_some_and(|word| word == "git"));
        let inner = |at: usize| command.within.iter().find(|(place, _)| *place == at).map(|(_, inner)| inner);
        let is_alone = |word: &str| word == "$";
        let mut sides: Vec<Side> = plain(command, skipped)
            .into_iter()
            .map(|(at, word)| match inner(at) {
                Some(inner) if is_alone(word) => of_text(inner, kept),
                _ if word == "-" || word == "/dev/stdin" => upstream(command, before, kept),
                _ => file(word, kept),
            })
            .collect();
        let by_option = option_value(command, skipped, &["--from-file", "--to-file"]);
        sides.extend(by_option.map(|word| file(word, kept)));
        let of_sums = words.first().is_some_and(|word| sums(words::name(word)));
        if sides.len() < if of_sums { 1 } else { 2 } {
            sides.push(upstream(command, before, kept));
        }
        if of_sums {
            sides.push(Side::Output);
        }
        (sides.len() > 1).then_some(Self(sides))
    }

    /// Returns what `test` and the like compare.
    pub(super) fn of_values(command: &Command, kept: &Kept) -> Vec<Self> {
        let inner = |at: usize| command.within.iter().find(|(place, _)| *place == at).map(|(_, inner)| inner.as_str());
        let value = |at: usize| command.words.get(at).map(|word| side(word, inner(at), kept));
        let operators = command.words.iter().enumerate().skip(1).filter(|(_, word)| EQUAL.contains(&word.as_str()));
        operators.filter_map(|(at, _)| Some(Self(vec![value(at - 1)?, value(at + 1)?]))).collect()
    }

    /// Returns the comparison of these, if there is more than one.
    pub(super) fn of_sides(sides: Vec<Side>) -> Option<Self> {
        (sides.len() > 1).then_some(Self(sides))
    }

    /// Tells whether one of its sides comes out of something, or is named so.
    pub(super) fn has_what_came_out(&self) -> bool {
        self.0.iter().any(Side::may_come_out)
    }

    /// Returns the comparison of a file with what something prints, such as by `read` or `awk -f`.
    pub(super) fn with_output(word: &str, kept: &Kept) -> Self {
        Self(vec![file(word, kept), Side::Output])
    }

    /// Returns what `grep -f FILE` looks for, and `grep "$(cat FILE)"`.
    pub(super) fn with_patterns(command: &Command, program: &str, before: &[Command], kept: &Kept) -> Option<Self> {
        if !greps(program) {
            return None;
        }
        let skipped = command.words.len() - aside::command_itself(&command.words).len();
        let inner = command.within.first().map(|(_, inner)| of_text(inner, kept));
        let pattern = option_value(command, skipped, &["-f", "--file"]).map(|word| file(word, kept));
        let pattern = pattern.or_else(|| inner.filter(|side| matches!(side, Side::File(_))))?;
        let files = files_read(command, kept);
        let looked_at = if files.is_empty() { vec![upstream(command, before, kept)] } else { files };
        Some(Self([pattern].into_iter().chain(looked_at).collect()))
    }

    /// Says of each file what it is; `written` is what the check writes itself, `has` tells what else it does with a file.
    /// What was made of a file by one step is asked for only where no file itself can be what is expected.
    pub(super) fn decide(&self, written: &Written, has: &dyn Fn(&str, Role) -> bool) -> Vec<Naming> {
        let mut files: Vec<&String> = self.0.iter().filter_map(Side::file).collect();
        let copies: Vec<&String> = self.0.iter().filter_map(Side::copied).collect();
        files.retain(|file| !written.holds(file.trim_start_matches("./")));
        let is_other = |file: &str| {
            let is_given =
                has(file, Role::Handed) || has(file, Role::Copied) && !copies.iter().any(|copy| *copy == file);
            !names::is_product(file) && !is_given
        };
        if !files.iter().any(|file| names::expects(file) || is_other(file)) {
            files.extend(&copies);
        }
        files.sort();
        files.dedup();
        let said = self.0.iter().any(|side| matches!(side, Side::Said(_)));
        let names: Vec<&String> = self.0.iter().filter_map(|side| side.file().or(side.copied())).collect();
        let is_itself = self.0.len() == 2 && matches!(names.as_slice(), [one, other] if one == other);
        let by_name = files.iter().any(|file| names::expects(file));
        let others = files.iter().filter(|file| is_other(file)).count();
        let role = |file: &String| match () {
            () if said || is_itself => Role::LookedAt,
            () if by_name => {
                if names::expects(file) {
                    Role::Expected
                } else {
                    Role::LookedAt
                }
            }
            () if others == 1 => {
                if is_other(file) {
                    Role::Expected
                } else {
                    Role::LookedAt
                }
            }
            () => Role::Compared,
        };
        files.into_iter().map(|file| Naming { word: file.clone(), role: role(file) }).collect()
    }
}

impl Side {
    /// Tells whether it comes out of something, or is a file named so.
    pub(super) fn may_come_out(&self) -> bool {
        match self {
            Self::Output => true,
            Self::File(file) | Self::Copy(file) => names::is_product(file),
            Self::Said(_) => false,
        }
    }

    fn file(&self) -> Option<&String> {
        match self {
            Self::File(file) => Some(file),
            Self::Copy(_) | Self::Output | Self::Said(_) => None,
        }
    }

    fn copied(&self) -> Option<&String> {
        match self {
            Self::Copy(file) => Some(file),
            Self::File(_) | Self::Output | Self::Said(_) => None,
        }
    }
}

/// Returns what comes by the pipe.
pub(super) fn upstream(command: &Command, before: &[Command], kept: &Kept) -> Side {
    let fed = command.reads.iter().filter_map(|at| command.words.get(*at)).next();
    let fed = fed.map(|word| file(word, kept));
    fed.or_else(|| of_pipeline(before, kept)).unwrap_or(Side::Output)
}
