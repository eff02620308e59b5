//! Finds the words of a shell text that may name files.
//!
//! It is no shell: it only has to see at least the names a shell would see. A name too many is pinned in vain, a name
//! too few would let a test be changed unseen.

use regex::Regex;
use std::sync::LazyLock;

const VARIABLE: [&str; 2] = ["$LONGHAUL_CHECKS", "${LONGHAUL_CHECKS}"];

/// Spellings of the folder that a text runs in, which is the project's.
const HERE: [&str; 4] = ["$(pwd)", "`pwd`", "${PWD}", "$PWD"];

/// Programs that run the script they are given.
pub(in crate::gate) const INTERPRETERS: [&str; 11] =
    ["sh", "bash", "dash", "zsh", "python", "python3", "node", "ruby", "perl", "deno", "bun"];

/// Options by which these take code, or the name of a module, in place of a script.
const CODE: [&str; 3] = ["-c", "-m", "--eval"];

/// Other options of theirs behind which a value comes.
const VALUED: [&str; 8] = ["-W", "-X", "-r", "--require", "--import", "-I", "--rcfile", "--init-file"];

/// Folders that hold tests. Bare `test` and `e2e` are commands or script names far more often than folders.
const FOLDERS: [&str; 6] = ["test", "tests", "__tests__", "e2e", "spec", "specs"];
const BARE_FOLDERS: [&str; 4] = ["tests", "__tests__", "spec", "specs"];

/// How the name of a test ends before its extension, and names that are tests as a whole.
const ENDS: [&str; 6] = ["_test", "-test", "_tests", "-tests", "_spec", "-spec"];
const STEMS: [&str; 5] = ["test", "tests", "run-tests", "run_tests", "runtests"];

/// In these languages a test is named like the class in it.
const CLASSES: [&str; 7] = ["java", "kt", "scala", "groovy", "php", "cs", "swift"];

/// What only the shell knows: a variable, the output of a command.
static EXPANSION: LazyLock<Regex> = LazyLock::new(|| {
    let known = r"\$\{[^}]*\}|\$\([^)]*\)|`[^`]*`|\$[A-Za-z_][A-Za-z0-9_]*|\$[0-9@*#?]";
    Regex::new(known).expect("a regular expression written here")
});

/// Writes out what stands for the folder that a text runs in, so that the paths behind it can be read.
pub(in crate::gate) fn spelled_out(text: &str) -> String {
    HERE.iter().fold(text.to_owned(), |text, here| text.replace(here, "."))
}

/// Splits a text into words, quotes and backslashes resolved. A quoted text with blanks is given whole and in parts,
/// since it may be a file's name or a text for another shell.
pub(in crate::gate) fn words(text: &str) -> Vec<String> {
    words_and_begins(text).into_iter().map(|(word, _)| word).collect()
}

/// Returns the same, each with whether a further command of the text begins there.
pub(in crate::gate) fn words_and_begins(text: &str) -> Vec<(String, bool)> {
    let mut words = Vec::new();
    for (word, begins) in split(text) {
        let start = words.len();
        if word == text {
            words.push((word, begins));
        } else {
            words.extend(read_as(&word));
        }
        if let Some((_, first)) = words.get_mut(start) {
            *first |= begins;
        }
    }
    words
}

/// Returns the ways in which a word of a text may be read.
pub(in crate::gate) fn read_as(word: &str) -> Vec<(String, bool)> {
    let is_text = word.contains(|c: char| c.is_whitespace() || ";|&()".contains(c));
    let mut words = if is_text { words_and_begins(word) } else { Vec::new() };
    words.extend(word.split_once('=').map(|(_, value)| (value.to_owned(), false)));
    words.push((word.to_owned(), false));
    words
}

/// Returns the name below memory's `checks/` that a word means; the folder itself is the empty name.
pub(in crate::gate) fn memory_name(word: &str) -> Option<String> {
    let rest = VARIABLE.iter().find_map(|variable| word.strip_prefix(variable))?;
    match rest.strip_prefix('/') {
        Some(name) => normal(name),
        None => rest.is_empty().then(String::new),
    }
}

/// Returns the path below the root that a word means when read in the folder `base`, if it can be one.
pub(in crate::gate) fn project_path(word: &str, base: &str, root: &str) -> Option<String> {
    let path = word.split("::").next().unwrap_or_default();
    let of_memory = VARIABLE.iter().any(|variable| path.starts_with(variable));
    if path.is_empty() || path.contains("://") || path.contains('\0') || path.starts_with('-') || of_memory {
        return None;
    }
    if path.contains(['$', '`']) {
        return put_together(path, base);
    }
    let joined = match path.strip_prefix('/') {
        Some(_) => path.strip_prefix(root)?.strip_prefix('/')?.to_owned(),
        None => format!("{base}/{path}"),
    };
    normal(&joined).filter(|path| !path.is_empty())
}

/// Returns the pattern of a path that the shell puts together; what comes first of it is taken for the root.
fn put_together(path: &str, base: &str) -> Option<String> {
    let pattern = EXPANSION.replace_all(path, "*");
    let joined = match pattern.strip_prefix("*/") {
        Some(rest) => rest.to_owned(),
        None => format!("{base}/{pattern}"),
    };
    let said = pattern.chars().any(char::is_alphanumeric) && !joined.contains(['$', '`']);
    normal(&joined).filter(|path| said && !path.is_empty())
}

/// Returns the name of a program, or of a file, without its folders.
pub(in crate::gate) fn name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// Tells whether a text names this absolute path, or one below it.
pub(in crate::gate) fn holds_path(text: &str, path: &str) -> bool {
    let part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || "_-.".contains(c));
    text.match_indices(path).any(|(at, _)| {
        let after = text[at + path.len()..].chars().next();
        !part(text[..at].chars().next_back()) && !part(after)
    })
}

/// Tells whether a word is spelled as a path, and not as a word of a sentence or an address.
pub(in crate::gate) fn is_spelled_as_path(word: &str) -> bool {
    word.contains(['/', '.']) && !word.contains(':')
}

/// The same for the name of a test, which may have that of a case behind `::`; a list with commas is no path.
pub(in crate::gate) fn is_spelled_as_test(word: &str) -> bool {
    is_spelled_as_path(word.split("::").next().unwrap_or_default()) && !word.contains(',')
}

/// Returns what stands between the commas of words, as in the code of a program that a text holds.
pub(in crate::gate) fn comma_parts(words: &[String]) -> Vec<String> {
    let lists = words.iter().filter(|word| word.contains(',') && !word.contains(char::is_whitespace));
    let parts = lists.flat_map(|word| word.split(','));
    parts.map(|part| part.trim_matches(['[', ']', '{', '}', '\'', '"']).to_owned()).collect()
}

/// Tells whether a path looks like a test, by its folders or its name.
pub(in crate::gate) fn looks_like_test(path: &str) -> bool {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let in_folder = folders.split('/').any(|folder| FOLDERS.contains(&folder));
    let is_folder = if folders.is_empty() { BARE_FOLDERS.contains(&name) } else { FOLDERS.contains(&name) };
    let parts: Vec<&str> = name.split('.').collect();
    let (stem, extension) = (parts[0], parts[parts.len() - 1]);
    let class = CLASSES.contains(&extension) && ["Test", "Tests", "Spec"].iter().any(|end| stem.ends_with(end));
    let named = ENDS.iter().any(|end| stem.ends_with(end)) || STEMS.contains(&stem) || extension == "bats" || class;
    let ended = parts.len() > 1 && (named || parts[1..].iter().any(|part| is_mark(part)));
    let begun = name.starts_with("test_") && (parts.len() > 1 || !folders.is_empty());
    in_folder || is_folder || ended || begun
}

/// Tells whether a word is a path in a folder that is not the project's.
pub(in crate::gate) fn is_elsewhere(word: &str) -> bool {
    let plain = word.replacen("${", "$", 1).replacen('}', "", 1);
    let folder = plain.split('/').next().unwrap_or_default();
    matches!(folder, "$TMPDIR" | "$TMP" | "$TEMP" | "$HOME" | "$RUNNER_TEMP") || word.starts_with("/tmp/")
}

/// Tells whether a path lies in a folder of tests.
pub(in crate::gate) fn is_in_tests(path: &str) -> bool {
    path.rsplit_once('/').is_some_and(|(folders, _)| folders.split('/').any(|folder| FOLDERS.contains(&folder)))
}

/// Tells whether a word ends with the name of a folder of tests: for what is given to a runner.
pub(in crate::gate) fn is_folder_of_tests(word: &str) -> bool {
    FOLDERS.contains(&name(word.trim_end_matches("/...").trim_end_matches('/')))
}

/// Tells whether only the end of its name makes a path look like a test, as in `ab_test.py`.
pub(in crate::gate) fn is_test_by_its_end(path: &str) -> bool {
    let name = name(path);
    let (stem, rest) = name.split_once('.').unwrap_or((name, ""));
    let strong = name.starts_with("test_") || STEMS.contains(&stem) || rest.split('.').any(is_mark);
    !is_in_tests(path) && !strong && ENDS.iter().any(|end| stem.ends_with(end))
}

/// Tells whether a word names a folder of tests only where something else says that it is a folder.
pub(in crate::gate) fn is_command_word(word: &str) -> bool {
    FOLDERS.contains(&word) && word != "tests"
}

/// Tells whether a path holds a pattern.
pub(in crate::gate) fn is_pattern(path: &str) -> bool {
    path.contains(['*', '?', '[', '{'])
}

/// Returns the part of a path before its first wildcard.
pub(in crate::gate) fn fixed_part(pattern: &str) -> String {
    let parts: Vec<&str> = pattern.split('/').take_while(|part| !is_pattern(part)).collect();
    parts.join("/")
}

/// Returns the script that an interpreter is given; none where that is code, or the name of a module.
pub(in crate::gate) fn behind_options<'a>(program: &str, mut words: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let is_shell = program.ends_with("sh");
    loop {
        let word = words.next()?;
        let cluster = word.strip_prefix('-').filter(|word| !word.starts_with('-'));
        match cluster {
            None if !word.starts_with('-') => return Some(word),
            Some(options) if is_shell && options.contains('c') => return None,
            _ if CODE.contains(&word) => return None,
            // The next word is a value.
            Some(options) if is_shell && options.ends_with(['o', 'O']) || VALUED.contains(&word) => _ = words.next(),
            _ => {}
        }
    }
}

fn is_mark(part: &str) -> bool {
    matches!(part, "test" | "spec")
}

/// Resolves `.`, `..` and double slashes; none when it leads outside.
fn normal(path: &str) -> Option<String> {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Splits a text, and tells of each word whether a further command begins with it.
fn split(text: &str) -> Vec<(String, bool)> {
    let mut words = Vec::new();
    let (mut word, mut begins, mut before) = (String::new(), false, ' ');
    let mut quote = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('\\', None | Some('"')) => word.extend(chars.next().filter(|c| *c != '\n')),
            (c, Some(mark)) if c == mark => quote = None,
            ('\'' | '"', None) => quote = Some(c),
            ('$', None) if chars.peek() == Some(&'{') => word.push('$'),
            ('{' | '}', None) => word.push(c),
            (c, None) if c.is_whitespace() || ";|&()<>`".contains(c) => {
                if !word.is_empty() {
                    words.push((std::mem::take(&mut word), begins));
                    begins = false;
                }
                // In `2>&1` and `&>log` it ends no command.
                let redirects = c == '&' && (before == '>' || chars.peek() == Some(&'>'));
                begins |= "\n;|&()`".contains(c) && !redirects;
            }
            (c, _) => word.push(c),
        }
        before = c;
    }
    words.extend(Some((word, begins)).filter(|(word, _)| !word.is_empty()));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_split_as_a_shell_would() {
        assert_eq!(words("a 'b'c\"d\" e\\f;g|h>i&&j"), ["a", "bcd", "ef", "g", "h", "i", "j"]);
        assert_eq!(words("run 'a b'"), ["run", "a", "b", "a b"]);
        assert_eq!(words("X=tests/a run"), ["tests/a", "X=tests/a", "run"]);
    }

    #[test]
    fn where_a_further_command_begins_is_told() {
        let begun = |text: &str| -> Vec<String> {
            words_and_begins(text).into_iter().filter(|(_, begins)| *begins).map(|(word, _)| word).collect()
        };
        assert_eq!(begun("a b && c d; (e f)\n| g"), ["c", "e", "g"]);
        assert_eq!(begun("sh -c 'a b; c d' e"), ["c"]);
        assert_eq!(begun("a 2>&1 b &>log c 'd' >&2 e"), [""; 0]);
    }

    #[test]
    fn a_text_within_a_text_is_seen() {
        assert!(words("bash -c 'pytest tests/a.py; true'").contains(&"tests/a.py".to_owned()));
        assert!(words("bash -c \"sh -c 'pytest tests/a.py'\"").contains(&"tests/a.py".to_owned()));
        assert!(words("echo $(sh tests/a.sh)").contains(&"tests/a.sh".to_owned()));
    }

    #[test]
    fn a_path_from_the_working_folder_is_seen() {
        for text in ["sh \"$PWD/tests/a\"", "sh ${PWD}/tests/a", "sh $(pwd)/tests/a", "sh `pwd`/tests/a"] {
            let words = words(&spelled_out(text));
            let paths: Vec<_> = words.iter().filter_map(|word| project_path(word, ".", "/project")).collect();
            assert_eq!(paths, ["sh", "tests/a"], "{text}");
        }
    }

    #[test]
    fn a_check_file_is_named_in_every_spelling() {
        for text in [
            "sh $LONGHAUL_CHECKS/a.sh",
            "sh \"$LONGHAUL_CHECKS/a.sh\"",
            "sh \"${LONGHAUL_CHECKS}/a.sh\"",
            "sh ${LONGHAUL_CHECKS}/./a.sh",
            "sh \"$LONGHAUL_CHECKS\"/a.sh",
            "sh -c 'exec \"$LONGHAUL_CHECKS/a.sh\"'",
        ] {
            let names: Vec<String> = words(text).iter().filter_map(|word| memory_name(word)).collect();
            assert_eq!(names, ["a.sh"], "{text}");
        }
        assert_eq!(memory_name("$LONGHAUL_CHECKS"), Some(String::new()));
        assert_eq!(memory_name("$LONGHAUL_CHECKSUM"), None);
        assert_eq!(memory_name("$LONGHAUL_CHECKS/../../x"), None);
    }

    #[test]
    fn tests_are_known_by_folder_or_name() {
        for path in [
            "tests",
            "spec",
            "test/a",
            "web/e2e",
            "a/tests/b.c",
            "test_a.py",
            "a_test.go",
            "a.test.ts",
            "a.spec.js",
            "bin/test_a",
            "test.sh",
            "run-tests.sh",
            "greet-test.sh",
            "a_spec.rb",
            "greet.bats",
            "src/GreetTest.java",
            "web/__tests__/a.js",
        ] {
            assert!(looks_like_test(path), "{path}");
        }
        for path in ["test", "e2e", "src/main.rs", "latest", "contest/a", "test_a", "attest.sh", "testing/a", "a_test"]
        {
            assert!(!looks_like_test(path), "{path}");
        }
    }

    #[test]
    fn an_absolute_path_is_seen_in_a_text_and_not_in_a_longer_name() {
        for text in ["/app", "sh /app/tests/a", "cd \"/app\" && x", "A=/app:/b"] {
            assert!(holds_path(text, "/app"), "{text}");
        }
        for text in ["src/app/main", "sh /apps/a", "curl http://localhost/app", "/app-2/x", ""] {
            assert!(!holds_path(text, "/app"), "{text}");
        }
    }

    #[test]
    fn a_path_stays_below_the_root() {
        let path = |word| project_path(word, "web", "/project");
        assert_eq!(path("tests/a.py::TestA::test_b").as_deref(), Some("web/tests/a.py"));
        assert_eq!(path("../tests/./a").as_deref(), Some("tests/a"));
        assert_eq!(path("/project/tests/a").as_deref(), Some("tests/a"));
        for put_together in
            ["$DIR/tests/a", "${DIR}/tests/a", "$(git rev-parse --show-toplevel)/tests/a", "`x`/tests/a"]
        {
            assert_eq!(path(put_together).as_deref(), Some("tests/a"), "{put_together}");
        }
        assert_eq!(path("tests/$t.sh").as_deref(), Some("web/tests/*.sh"));
        for outside in
            ["../../a", "/elsewhere/tests/a", "http://localhost/tests/a", "$DIR", "$LONGHAUL_CHECKS/tests/a", "-k"]
        {
            assert_eq!(path(outside), None, "{outside}");
        }
    }
}
