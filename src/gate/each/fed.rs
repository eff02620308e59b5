//! A list that a loop reads line by line, and a program in the loop that reads from the same place: what is left of the list
//! is gone then, and nobody sees it.

use regex::Regex;

/// Programs of others that read what they are fed, beside what lies in the project.
const READERS: [&str; 17] = [
    "sh", "bash", "dash", "zsh", "ksh", "python", "python3", "node", "deno", "bun", "perl", "ruby", "php", "lua",
    "ssh", "ffmpeg", "npx",
];

/// What stands before a program and changes nothing of what it is fed.
const BEFORE: [&str; 10] = ["if", "then", "else", "elif", "!", "{", "(", "env", "exec", "test"];

/// Returns a command in such a loop of a text for `sh` that may take the rest of the list, other than by a file of its own.
pub fn takes_the_list(text: &str) -> Option<String> {
    let head = Regex::new(r"\bwhile\s+(?:IFS=\S*\s+)?read\b([^;\n]*)(?:;|\n)\s*do\b").ok()?;
    let loops = head.captures_iter(text).filter(|of| !of[1].contains("-u") && !of[1].contains('<'));
    loops.filter_map(|of| body(&text[of.get(0)?.end()..])).find_map(reader)
}

/// Cuts a text off where the loop ends in whose body it begins. A loop that is fed by another number leaves the rest alone.
fn body(text: &str) -> Option<&str> {
    let word = Regex::new(r"\b(?:do|done)\b").ok()?;
    let mut depth = 1;
    for found in word.find_iter(text) {
        depth = if found.as_str() == "do" { depth + 1 } else { depth - 1 };
        if depth == 0 {
            return Some(&text[..found.start()]);
        }
    }
    None
}

fn reader(body: &str) -> Option<String> {
    let end = Regex::new(r"\|\||&&|[|;\n&]|\$\(|`|\(").ok()?;
    let (mut at, mut piped) = (0, false);
    let ends = end.find_iter(body).map(|found| (found.start(), found.end()));
    for (start, next) in ends.chain([(body.len(), body.len())]).collect::<Vec<_>>() {
        let command = body[at..start].trim();
        if !piped && !command.contains('<') && is_reader(command) {
            return Some(command.split(')').next().unwrap_or(command).trim().to_owned());
        }
        piped = &body[start..next] == "|";
        at = next;
    }
    None
}

/// Tells whether a command is a program that reads what it is fed, or may be.
fn is_reader(command: &str) -> bool {
    let mut words = command.split_whitespace().map(|word| word.trim_matches(['"', '\'']));
    let is_before = |word: &&str| BEFORE.contains(word) || word.is_empty() || word.contains('=') && !word.contains('$');
    let Some(mut program) = words.by_ref().find(|word| !is_before(word)) else { return false };
    if program == "timeout" {
        program =
            words.find(|word| !word.starts_with('-') && !word.starts_with(|c: char| c.is_ascii_digit())).unwrap_or("");
    }
    READERS.contains(&program) || program.starts_with("./")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_may_take_the_rest_of_a_list_is_seen() {
        for (text, command) in [
            ("ls tests/*.sh | while read -r t; do sh \"$t\"; done", "sh \"$t\""),
            (
                "find tests -name '*.sh' | sort |\nwhile IFS= read t\ndo\n  if ! timeout 5 bash $t; then exit 1; fi\ndone",
                "if ! timeout 5 bash $t",
            ),
            ("while read -r i w; do test \"$(sh app.sh $i)\" = \"$w\"; done <tests/cases.tsv", "sh app.sh $i"),
            ("ls | while read t; do echo a | sh b; ./app \"$t\"; done", "./app \"$t\""),
        ] {
            assert_eq!(takes_the_list(text).as_deref(), Some(command), "{text}");
        }
        for text in [
            "ls tests/*.sh | while read -r t; do sh \"$t\" </dev/null; done",
            "while read -r u; do echo \"$u\" | grep -q \"^https://\"; done <urls.txt",
            "while read t; do echo \"$t\" | sh app.sh; done <list",
            "while read -r t <&3; do sh \"$t\"; done 3<list",
            "while read -r -u 3 t; do sh \"$t\"; done 3<list",
            "for t in tests/*.sh; do sh \"$t\"; done",
            "while read f; do test -f \"$f\" || exit 1; done <list; sh app.sh",
            "while read -r i w; do test \"$(sh app.sh $i </dev/null)\" = \"$w\"; done <cases",
        ] {
            assert_eq!(takes_the_list(text), None, "{text}");
        }
    }
}
