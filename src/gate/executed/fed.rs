//! What `xargs` starts: `a | xargs -I{} b {}` is read as `b "$(a)"`.

use crate::gate::executed::aside;
use crate::gate::executed::commands::Command;
use crate::gate::executed::listed;

/// Returns the command that `xargs` starts behind these commands; none where it only prints.
pub(super) fn by_xargs(command: &Command, before: &[Command]) -> Option<Command> {
    let words = aside::command_itself(&command.words);
    let (behind, stand_in) = listed::behind_xargs(words);
    let begin = command.words.len() - behind.len();
    let places = |places: &[usize]| places.iter().filter_map(|at| at.checked_sub(begin)).collect::<Vec<_>>();
    let mut fed = Command {
        words: behind.to_vec(),
        piped: false,
        reads: places(&command.reads),
        writes: places(&command.writes),
        within: command.within.iter().filter_map(|(at, text)| Some((at.checked_sub(begin)?, text.clone()))).collect(),
        ..command.clone()
    };
    fed.words.first()?;
    let upstream = before.iter().map(text_of).collect::<Vec<_>>().join(" | ");
    if stand_in.is_none() {
        fed.words.push("{}".to_owned());
    }
    let stand_in = stand_in.unwrap_or("{}");
    for (at, word) in fed.words.iter_mut().enumerate().filter(|(_, word)| word.contains(stand_in)) {
        *word = word.replace(stand_in, "$");
        fed.within.push((at, upstream.clone()));
    }
    Some(fed)
}

/// Writes a command as a shell would read it again, but for where its output goes.
fn text_of(command: &Command) -> String {
    let words = command.words.iter().enumerate().filter(|(at, _)| !command.writes.contains(at));
    let plain = |c: char| c.is_alphanumeric() || "/._-=$".contains(c);
    let written = |(at, word): (usize, &String)| {
        let word = if word.chars().all(plain) { word.clone() } else { format!("'{}'", word.replace('\'', "'\\''")) };
        if command.reads.contains(&at) { format!("<{word}") } else { word }
    };
    words.map(written).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::executed::commands::commands;

    #[test]
    fn what_xargs_starts_is_given_what_the_commands_before_print() {
        for (text, words, upstream) in [
            ("./app | xargs -I{} grep -qx {} want", vec!["grep", "-qx", "$", "want"], "./app"),
            ("sh 'a b' 2>e | sort | xargs -n 1 test 3 =", vec!["test", "3", "=", "$"], "sh 'a b' | sort"),
            ("cat <a | xargs -I @ sh -c 'b @'", vec!["sh", "-c", "b $"], "cat <a"),
        ] {
            let all = commands(text);
            let (last, before) = all.split_last().unwrap();
            let fed = by_xargs(last, before).unwrap();
            assert_eq!(fed.words, words, "{text}");
            assert_eq!(fed.within.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>(), [upstream], "{text}");
        }
        assert_eq!(by_xargs(&commands("xargs -n 1")[0], &[]), None);
    }
}
