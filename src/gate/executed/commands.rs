//! Splits the text of a shell into its commands.
//!
//! It is no shell: it has to tell in which order programs come, and what is fed to what.

use regex::Regex;
use std::iter::Peekable;
use std::str::Chars;
use std::sync::LazyLock;

/// One command of a text.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Command {
    pub(super) words: Vec<String>,
    /// It reads what the command before printed.
    pub(super) piped: bool,
    pub(super) joint: Joint,
    /// Where it can be read what it prints, as far as its own redirections tell.
    pub(super) shown: Shown,
    /// Places of the words that name what it reads by `<`.
    pub(super) reads: Vec<usize>,
    /// Places of the words that belong to a redirection of its outputs.
    pub(super) writes: Vec<usize>,
    /// What is put in by the shell, each with the place of its word.
    pub(super) within: Vec<(usize, String)>,
    /// It is what the shell puts into another command.
    pub(super) inner: bool,
}

/// What comes between a command and the next one.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum Joint {
    And,
    Or,
    Pipe,
    /// `;`, the end of a line or of the text.
    #[default]
    End,
    /// The end of `( … )`.
    Close,
    /// Nobody waits for it.
    Background,
}

/// Which of its outputs go where those of the text go.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Shown {
    pub(super) out: bool,
    pub(super) err: bool,
}

impl Default for Shown {
    fn default() -> Self {
        Self { out: true, err: true }
    }
}

impl Shown {
    pub(super) const NOTHING: Self = Self { out: false, err: false };

    /// Returns what is shown of the one in the other.
    pub(super) fn within(self, other: Self) -> Self {
        Self { out: self.out && other.out, err: self.err && other.err }
    }
}

/// What follows a `<<END`, up to that line.
static HERE_DOCUMENT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"<<-?\s*['"\\]?(\w+)['"]?"#).expect("a regular expression written here"));

/// The word after the name of a function that is defined.
pub(super) const DEFINES: &str = "()";

/// Returns the commands in their order; what is inside `$(…)` comes before the command that uses it.
pub(super) fn commands(text: &str) -> Vec<Command> {
    let text = without_here_documents(text);
    let mut split = Splitter { rest: text.chars().peekable(), ..Splitter::default() };
    while let Some(c) = split.rest.next() {
        split.take(c);
    }
    split.end_command(Joint::End);
    split.done
}

fn without_here_documents(text: &str) -> String {
    let (mut kept, mut until) = (Vec::new(), None);
    for line in text.replace("\\\n", " ").lines() {
        match &until {
            Some(end) if line.trim() == end => until = None,
            Some(_) => {}
            None => {
                until = HERE_DOCUMENT.captures(line).map(|found| found[1].to_owned());
                kept.push(line.to_owned());
            }
        }
    }
    kept.join("\n")
}

/// Returns the texts behind `<<`, each with the line that asks for it.
pub(super) fn here_texts(text: &str) -> Vec<(String, String)> {
    let mut texts = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(found) = HERE_DOCUMENT.captures(line) {
            let held: Vec<&str> = lines.by_ref().take_while(|line| line.trim() != &found[1]).collect();
            texts.push((line.to_owned(), held.join("\n")));
        }
    }
    texts
}

struct Splitter<'a> {
    rest: Peekable<Chars<'a>>,
    quote: Option<char>,
    word: String,
    /// The word is one even when nothing is in it.
    quoted: bool,
    command: Command,
    done: Vec<Command>,
}

impl Default for Splitter<'_> {
    fn default() -> Self {
        let (word, command, done) = (String::new(), Command::default(), Vec::new());
        Self { rest: "".chars().peekable(), quote: None, word, quoted: false, command, done }
    }
}

impl Splitter<'_> {
    fn take(&mut self, c: char) {
        match (c, self.quote) {
            ('\\', None | Some('"')) => self.word.extend(self.rest.next()),
            (c, Some(mark)) if c == mark => self.quote = None,
            ('\'' | '"', None) => (self.quote, self.quoted) = (Some(c), true),
            ('$', None | Some('"')) if self.rest.peek() == Some(&'(') => self.substitute(),
            ('`', None | Some('"')) => {
                let inner: String = self.rest.by_ref().take_while(|c| *c != '`').collect();
                self.put_in(&inner);
            }
            (c, Some(_)) => self.word.push(c),
            ('#', None) if self.word.is_empty() && !self.quoted => while self.rest.next_if(|c| *c != '\n').is_some() {},
            (c, None) => self.take_bare(c),
        }
    }

    fn take_bare(&mut self, c: char) {
        match c {
            // `2>&1` and `&>file` are no ends of a command.
            '>' => self.redirect(),
            '<' => self.read_from(),
            '&' if self.rest.peek() == Some(&'>') => {
                self.end_word();
                self.command.shown = Shown::NOTHING;
            }
            '(' if !self.word.is_empty() && self.rest.next_if_eq(&')').is_some() => {
                self.end_word();
                self.command.words.push(DEFINES.to_owned());
                self.end_command(Joint::End);
            }
            '|' => {
                let or = self.rest.next_if_eq(&'|').is_some();
                self.rest.next_if_eq(&'&');
                self.end_command(if or { Joint::Or } else { Joint::Pipe });
            }
            '&' => {
                let and = self.rest.next_if_eq(&'&').is_some();
                self.end_command(if and { Joint::And } else { Joint::Background });
            }
            ')' => self.end_command(Joint::Close),
            '\n' | ';' | '(' => self.end_command(Joint::End),
            c if c.is_whitespace() => self.end_word(),
            c => self.word.push(c),
        }
    }

    /// Takes `<`; behind `<<` and `<<<` comes a text, and no file.
    fn read_from(&mut self) {
        self.end_word();
        let mut is_file = true;
        while self.rest.next_if(|c| matches!(c, '<' | '&')).is_some() {
            is_file = false;
        }
        if !self.take_process() {
            let places = if is_file { &mut self.command.reads } else { &mut self.command.writes };
            places.push(self.command.words.len());
        }
    }

    /// Takes `>`, `2>&1` and the like.
    fn redirect(&mut self) {
        let of_errors = self.word == "2";
        if !self.word.is_empty() && self.word.chars().all(|c| c.is_ascii_digit()) {
            self.command.writes.push(self.command.words.len());
        }
        self.end_word();
        self.rest.next_if_eq(&'>');
        let shown = &mut self.command.shown;
        let to = if self.rest.next_if_eq(&'&').is_some() { self.rest.peek().copied() } else { None };
        let shows = match to {
            Some('1') => shown.out,
            Some('2') => shown.err,
            _ => false,
        };
        *(if of_errors { &mut shown.err } else { &mut shown.out }) = shows;
        if !self.take_process() {
            self.command.writes.push(self.command.words.len());
        }
    }

    /// Takes the begin of `<( … )`, whose end nobody asks for.
    fn take_process(&mut self) -> bool {
        let begins = self.rest.next_if_eq(&'(').is_some();
        if begins {
            self.end_command(Joint::Or);
        }
        begins
    }

    /// Takes `$(…)`; a sum in `$((…))` runs nothing.
    fn substitute(&mut self) {
        let (mut depth, mut inner) = (0_usize, String::new());
        for c in self.rest.by_ref() {
            match c {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                break;
            }
            inner.push(c);
        }
        match inner.strip_prefix("((") {
            Some(_) => self.word.push('$'),
            None => self.put_in(inner.strip_prefix('(').unwrap_or(&inner)),
        }
    }

    fn put_in(&mut self, inner: &str) {
        self.command.within.push((self.command.words.len(), inner.to_owned()));
        let inner = commands(inner).into_iter();
        self.done.extend(inner.map(|command| Command {
            joint: Joint::Or,
            shown: Shown::NOTHING,
            inner: true,
            ..command
        }));
        self.word.push('$');
    }

    fn end_word(&mut self) {
        if !self.word.is_empty() || self.quoted {
            self.command.words.push(std::mem::take(&mut self.word));
        }
        self.quoted = false;
    }

    fn end_command(&mut self, joint: Joint) {
        self.end_word();
        let next = Command { piped: joint == Joint::Pipe, ..Command::default() };
        let ended = std::mem::replace(&mut self.command, next);
        if !ended.words.is_empty() {
            self.done.push(Command { joint, ..ended });
            return;
        }
        // `a |` at the end of a line goes on in the next.
        self.command.piped |= ended.piped;
        // What comes behind `( … )` comes behind the last command in it.
        if let Some(last) = self.done.last_mut().filter(|last| last.joint == Joint::Close && joint != Joint::End) {
            last.joint = joint;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Vec<String> {
        let tell = |command: Command| format!("{}{}", if command.piped { "| " } else { "" }, command.words.join(" "));
        commands(text).into_iter().map(tell).collect()
    }

    #[test]
    fn commands_come_in_their_order() {
        let cases: &[(&str, &[&str])] = &[
            ("a b && c; d || e &\nf", &["a b", "c", "d", "e", "f"]),
            ("a 2>&1 | b -c &> out", &["a 2 1", "| b -c out"]),
            ("a |\n b", &["a", "| b"]),
            ("test \"$(sh a.sh | b)\" = \"x; y\"", &["sh a.sh", "| b", "test $ = x; y"]),
            ("x=`a b`; c $((1 + (2)))", &["a b", "x=$", "c $"]),
            ("# a comment; b\nc # d\ne#f", &["c", "e#f"]),
            ("run() { a; }\nrun", &["run ()", "{ a", "}", "run"]),
            ("cat <<'END' >f\nno command\nEND\nb", &["cat END f", "b"]),
            ("a \\\n  b '' 'c d'", &["a b  c d"]),
            ("(cd a && b)\ndiff <(c) d", &["cd a", "b", "diff", "c", "d"]),
            ("echo '$(a)' \\$b", &["echo $(a) $b"]),
        ];
        for (text, expected) in cases {
            assert_eq!(told(text), *expected, "{text}");
        }
    }
}
