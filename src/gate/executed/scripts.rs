//! In which forms a text runs a script that no plain `sh a.sh` names: fed by `<` or a pipe, put in as code.

use crate::gate::executed::aside;
use crate::gate::executed::commands::Command;
use crate::gate::executed::commands::commands;
use crate::gate::executed::compared;
use crate::gate::executed::compared::Side;
use crate::gate::executed::kept::Kept;
use crate::gate::executed::roles::spelled_out;
use crate::gate::names;
use crate::gate::words;

/// Options by which an interpreter that is no shell takes code, a module or tests in place of a script.
const CODE: [&str; 8] = ["-c", "-m", "-e", "-E", "-p", "--eval", "--print", "--test"];

/// What may stand before the one pipeline that decides.
const PREPARING: [&str; 6] = ["", ":", "cd", "set", "export", "umask"];

/// Returns the script that an interpreter reads from its input, with the arguments it is given.
pub(super) fn from_input(
    command: &Command,
    skipped: usize,
    before: &[Command],
    kept: &Kept,
) -> Option<(String, Vec<String>)> {
    let places = command.words.iter().enumerate().skip(skipped);
    let own = places.filter(|(at, _)| !command.writes.contains(at) && !command.reads.contains(at));
    let own: Vec<&str> = own.map(|(_, word)| word.as_str()).collect();
    let (program, own) = own.split_first().map(|(program, own)| (words::name(program), own))?;
    let by_option = |word: &&str| *word == "-" || is_cluster(program, word, 's');
    let arguments = match own.iter().position(by_option) {
        Some(at) => own[at + 1..].iter().map(|&word| word.to_owned()).collect(),
        None => Vec::new(),
    };
    let is_code = own.iter().any(|word| takes_code(program, word));
    let is_fed = own.iter().any(by_option) || words::behind_options(program, own.iter().copied()).is_none();
    match compared::upstream(command, before, kept) {
        Side::File(script) | Side::Copy(script) if is_fed && !is_code => Some((script, arguments)),
        _ => None,
    }
}

/// Returns the scripts whose text the shell puts in as code, such as `sh -c "$(cat a.sh)"`.
pub(super) fn put_in(command: &Command, program: &str, kept: &Kept) -> Vec<String> {
    let is_run = |at: usize| {
        program == "eval" || at > 0 && command.words.get(at - 1).is_some_and(|option| takes_code(program, option))
    };
    let is_whole = |at: usize| command.words.get(at).is_some_and(|word| word == "$");
    let texts = command.within.iter().filter(|(at, _)| is_run(*at) && is_whole(*at));
    let sides = texts.map(|(_, inner)| compared::side("$", Some(inner), kept));
    sides
        .filter_map(|side| if let Side::File(script) | Side::Copy(script) = side { Some(script) } else { None })
        .collect()
}

/// Tells whether a file that is read into the shell is a script, and no list of settings.
pub(super) fn is_sourced_script(file: &str) -> bool {
    names::is_code(file) || !words::name(file).contains('.')
}

/// Tells whether a text is one pipeline, but for what only prepares it.
pub(super) fn is_one_pipeline(text: &str) -> bool {
    let all = commands(&spelled_out(text)).into_iter().filter(|command| !command.inner);
    let program = |command: &Command| {
        aside::command_itself(&command.words).first().map_or(String::new(), |word| words::name(word).to_owned())
    };
    let starts = all.filter(|command| !command.piped && !PREPARING.contains(&program(command).as_str()));
    starts.count() == 1
}

pub(super) fn takes_code(program: &str, option: &str) -> bool {
    if program.ends_with("sh") { is_cluster(program, option, 'c') } else { CODE.contains(&option) }
}

/// Tells whether a word holds this short option of a shell.
fn is_cluster(program: &str, word: &str, option: char) -> bool {
    let cluster = word.strip_prefix('-').filter(|options| !options.starts_with('-'));
    program.ends_with("sh") && cluster.is_some_and(|options| options.contains(option))
}
