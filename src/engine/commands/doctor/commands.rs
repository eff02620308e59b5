//! The commands that a shell text starts, by their words.
//!
//! It is no shell. What it cannot read it leaves out: a command too few is not looked for, one too many would be called
//! missing though nothing is.

/// Words after which a command follows.
const OPENING: [&str; 9] = ["if", "then", "elif", "else", "while", "until", "do", "!", "{"];

/// Words that end what others opened.
const CLOSING: [&str; 5] = ["fi", "done", "esac", "}", "]]"];

/// Commands that start the command behind them.
const WRAPPING: [&str; 7] = ["exec", "command", "nohup", "env", "time", "timeout", "nice"];

/// What `sh` and `bash` do themselves.
const BUILT_IN: [&str; 50] = [
    ":", ".", "[", "[[", "alias", "bg", "break", "builtin", "cd", "command", "continue", "declare", "disown", "echo",
    "eval", "exec", "exit", "export", "false", "fg", "getopts", "hash", "jobs", "kill", "let", "local", "mapfile",
    "popd", "printf", "pushd", "pwd", "read", "readonly", "return", "set", "shift", "shopt", "source", "test", "times",
    "trap", "true", "type", "ulimit", "umask", "unalias", "unset", "wait", "function", "select",
];

/// Tells whether a shell needs no program for this command.
pub(super) fn is_built_in(word: &str) -> bool {
    BUILT_IN.contains(&word)
}

/// Returns the commands of a text, each as its words; wrappers such as `timeout 5` and assignments are taken off, and
/// functions that the text defines are left out.
pub(super) fn commands(text: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut functions = Vec::new();
    let mut words: Vec<String> = Vec::new();
    let mut skipped_until: Option<&str> = None;
    for token in tokens(text) {
        match token {
            Token::Word(word) if skipped_until.is_some() => {
                skipped_until = skipped_until.filter(|end| *end != word);
            }
            Token::End | Token::Call if skipped_until.is_some() => {}
            Token::Call => {
                functions.extend(words.drain(..).next_back());
            }
            Token::End => found.push(std::mem::take(&mut words)),
            Token::Word(word) if words.is_empty() && word == "case" => skipped_until = Some("esac"),
            Token::Word(word) if words.is_empty() && word == "[[" => skipped_until = Some("]]"),
            Token::Word(word) if words.is_empty() && (OPENING.contains(&word.as_str()) || is_assignment(&word)) => {}
            Token::Word(word) => words.push(word),
        }
    }
    found.push(words);
    let unwrapped = found.into_iter().map(unwrap).filter(|words| !words.is_empty());
    unwrapped.filter(|words| !functions.contains(&words[0]) && !is_of_the_shell(&words[0])).collect()
}

/// Returns the word that names a script, when the command gives one to a shell.
pub(super) fn script(words: &[String]) -> Option<&str> {
    let shell = matches!(words[0].rsplit('/').next(), Some("sh" | "bash" | "dash"));
    let mut arguments = words[1..].iter().map(String::as_str);
    let first = arguments.find(|word| !word.starts_with('-') || word.contains('c'))?;
    (shell && !first.starts_with('-')).then_some(first)
}

/// Returns the text that the command gives to a shell by `-c`.
pub(super) fn inner_text(words: &[String]) -> Option<&str> {
    let shell = matches!(words[0].rsplit('/').next(), Some("sh" | "bash" | "dash"));
    let at = words.iter().position(|word| word.starts_with('-') && !word.starts_with("--") && word.contains('c'))?;
    words.get(at + 1).filter(|_| shell).map(String::as_str)
}

fn is_of_the_shell(word: &str) -> bool {
    CLOSING.contains(&word) || word == "for"
}

fn is_assignment(word: &str) -> bool {
    let name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    word.split_once('=').is_some_and(|(before, _)| name(before))
}

/// Takes off what stands before the command itself.
fn unwrap(words: Vec<String>) -> Vec<String> {
    let mut words = words;
    while let Some(wrapper) = words.first().filter(|word| WRAPPING.contains(&word.as_str())).cloned() {
        words.remove(0);
        let options = words.iter().take_while(|word| word.starts_with('-') || is_assignment(word)).count();
        words.drain(..options);
        if wrapper == "timeout" && !words.is_empty() {
            words.remove(0);
        }
    }
    words
}

enum Token {
    Word(String),
    /// The end of a command.
    End,
    /// Empty brackets, which make the word before them a function's name.
    Call,
}

/// Splits a text; quotes and backslashes are resolved, comments, redirections and here-documents left out.
fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut delimiter: Option<String> = None;
    for line in text.replace("\\\n", " ").lines() {
        match &delimiter {
            Some(end) if line.trim_start_matches('\t') == end => delimiter = None,
            Some(_) => {}
            None => {
                line_tokens(line, &mut tokens);
                delimiter = here_document(line);
                tokens.push(Token::End);
            }
        }
    }
    tokens
}

/// Returns the word that ends the here-document which begins on this line.
fn here_document(line: &str) -> Option<String> {
    let (_, after) = line.split_once("<<")?;
    let word = after.trim_start_matches(['-', ' ']).split([' ', ';', '|', '&', ')', '>']).next()?;
    let word = word.trim_matches(['\'', '"', '\\']);
    (!word.is_empty() && !word.starts_with('<')).then(|| word.to_owned())
}

fn line_tokens(line: &str, tokens: &mut Vec<Token>) {
    let mut chars = line.chars().peekable();
    let mut word: Option<String> = None;
    // The word behind a redirection is a file.
    let mut redirected = false;
    let finish = |word: &mut Option<String>, redirected: &mut bool, tokens: &mut Vec<Token>| {
        if let Some(word) = word.take()
            && !std::mem::take(redirected)
        {
            tokens.push(Token::Word(word));
        }
    };
    while let Some(c) = chars.next() {
        match c {
            '#' if word.is_none() => break,
            '\\' => word.get_or_insert_default().extend(chars.next()),
            '\'' | '"' => quoted(c, &mut chars, word.get_or_insert_default()),
            '$' if chars.peek() == Some(&'(') => {
                chars.next();
                word = None;
                tokens.push(Token::End);
            }
            '<' | '>' => {
                // The number before it names a stream.
                word = word.filter(|word| !word.chars().all(|c| c.is_ascii_digit()));
                finish(&mut word, &mut redirected, tokens);
                while chars.next_if(|c| "<>&|-".contains(*c)).is_some() {}
                redirected = true;
            }
            '(' if chars.peek() == Some(&')') => {
                chars.next();
                finish(&mut word, &mut redirected, tokens);
                tokens.push(Token::Call);
            }
            ';' | '&' | '|' | '(' | ')' | '`' => {
                finish(&mut word, &mut redirected, tokens);
                tokens.push(Token::End);
            }
            c if c.is_whitespace() => finish(&mut word, &mut redirected, tokens),
            c => word.get_or_insert_default().push(c),
        }
    }
    finish(&mut word, &mut redirected, tokens);
}

/// Takes what stands between two quotes of this kind.
fn quoted(mark: char, chars: &mut impl Iterator<Item = char>, word: &mut String) {
    while let Some(c) = chars.next() {
        match c {
            c if c == mark => return,
            '\\' if mark == '"' => word.extend(chars.next()),
            c => word.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first_words(text: &str) -> Vec<String> {
        commands(text).into_iter().map(|words| words[0].clone()).collect()
    }

    #[test]
    fn every_command_of_a_text_is_seen() {
        let cases: [(&str, &[&str]); 12] = [
            ("pytest -q tests/a.py", &["pytest"]),
            ("cd web && npm test; curl -fs localhost | grep -q ok", &["cd", "npm", "curl", "grep"]),
            ("PORT=1 A='b c' node server.js &\nwait", &["node", "wait"]),
            ("test \"$(curl -s localhost)\" = ok", &["test"]),
            ("x=$(jq -r .a f.json)\necho $x", &["jq", "echo"]),
            ("if ! command -v go > /dev/null; then exit 1; fi", &["go", "exit"]),
            ("timeout -k 5 10 cargo test 2>&1 | tee log", &["10", "tee"]),
            ("timeout 10s env A=1 cargo test >log", &["cargo"]),
            ("while read -r line; do echo \"$line\"; done < list", &["read", "echo"]),
            ("run() { ruby a.rb; }\nrun 1", &["ruby"]),
            ("cat <<'END' > f\nnot a command\nEND\nmake", &["cat", "make"]),
            ("case $1 in a) foo ;; *) bar ;; esac\n# baz\nphp a.php # qux", &["php"]),
        ];
        for (text, expected) in cases {
            assert_eq!(first_words(text), expected, "{text}");
        }
    }

    #[test]
    fn scripts_and_inner_texts_are_told_apart() {
        let words = |text: &str| commands(text).remove(0);
        assert_eq!(script(&words("sh -e \"$LONGHAUL_CHECKS/a.sh\" x")), Some("$LONGHAUL_CHECKS/a.sh"));
        assert_eq!(script(&words("bash -c 'npm test'")), None);
        assert_eq!(script(&words("python3 a.py")), None);
        assert_eq!(inner_text(&words("bash -ec 'npm test'")), Some("npm test"));
        assert_eq!(inner_text(&words("curl -c jar x")), None);
    }
}
