//! Writes the text of a check so that a shell with `-e` stops at each of its commands that fails.
//!
//! Such a shell goes on where what failed stands before `&&` or behind `!`. Both are written out here, as far as they stand
//! at the top of the text; what is inside of loops, functions and other programs is left as it is.

mod fed;
mod harmless;
mod sourced;

pub use fed::takes_the_list;
pub use harmless::harmless_before;
pub use harmless::unseen_in;
pub use sourced::sourced;

use regex::Regex;
use std::sync::LazyLock;

/// Ends the text where the command before it failed, also where a script that was read in has switched `-e` off.
const OR_END: &str = "[ $? -eq 0 ] || exit 1";

/// What tells that a text looks at exit codes by itself.
const LOOKS: [&str; 4] = ["$?", "${?}", "PIPESTATUS", "set +"];

/// Words that begin a compound command, each with the one that ends it.
const COMPOUND: [(&str, &str); 7] =
    [("if", "fi"), ("while", "done"), ("until", "done"), ("for", "done"), ("case", "esac"), ("{", "}"), ("[[", "]]")];

/// Words behind which a command begins.
const LEADING: [&str; 6] = ["!", "then", "else", "elif", "do", "time"];

/// Of `[ -f .env ] && . ./.env` nobody says that it must hold: the first part asks, and the others only prepare.
const ASKING: [&str; 6] = ["[", "[[", "test", "command", "type", "which"];
const PREPARING: [&str; 9] = [".", "source", "export", "unset", "set", "rm", "kill", "pkill", "exit"];

/// What ends a server has failed where that has ended before.
const ENDING: [&str; 3] = ["kill", "pkill", "killall"];

/// What looks at a value, so that it need not matter how the command ended that made it.
const COMPARING: [&str; 6] = ["[", "[[", "test", "case", "if", "!"];

static KEPT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"^([A-Za-z_][A-Za-z0-9_]*)="?(?:\$\([^(]|`)"#).expect("a regular expression written here")
});

/// What comes behind a pipeline.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Joint {
    And,
    Or,
    Background,
    End,
}

/// A pipeline at the top of a text.
#[derive(Clone, Copy, Debug)]
struct Part {
    start: usize,
    end: usize,
    joint: Joint,
    /// Where what joins it to the next one ends.
    next: usize,
}

/// Tells whether a text looks at exit codes by itself.
pub(in crate::gate) fn looks_itself(text: &str) -> bool {
    LOOKS.iter().any(|look| text.contains(look))
}

/// Returns the text in which each command counts; itself where it looks at exit codes, or is no plain text for a shell.
pub(in crate::gate) fn each_counts(text: &str) -> String {
    match Reader::parts(text) {
        Some(parts) if !looks_itself(text) => written(text, &parts),
        _ => text.to_owned(),
    }
}

fn written(text: &str, parts: &[Part]) -> String {
    let (mut result, mut at) = (String::new(), 0);
    let lists: Vec<&[Part]> =
        parts.split_inclusive(|part| matches!(part.joint, Joint::End | Joint::Background)).collect();
    for (number, list) in lists.iter().enumerate() {
        let is_last = number + 1 == lists.len();
        let before = number.checked_sub(1).and_then(|before| lists[before].last());
        for part in *list {
            let tail = match () {
                () if list.iter().any(|part| matches!(part.joint, Joint::Or | Joint::Background)) => None,
                () if !is_last && only_prepares(text, list) => None,
                () if part.joint == Joint::And => Some((format!("; {OR_END};"), part.next)),
                () if is_last => None,
                () if word(text, part) == "!" => Some((format!("; {OR_END}"), part.end)),
                () if list.len() == 1 && may_fail(text, part, before) => Some((" || :".to_owned(), part.end)),
                () => None,
            };
            let goes_on = match part.joint {
                Joint::And => tail.is_some(),
                Joint::End => !is_last && list.iter().all(|part| part.joint != Joint::Or),
                Joint::Or | Joint::Background => false,
            };
            let tail = match sourced::file(text, part).filter(|_| goes_on) {
                Some(_) => Some(sourced::and_commands_as_they_were(tail, part)),
                None => tail,
            };
            if let Some((tail, next)) = tail {
                result.push_str(&text[at..part.end]);
                result.push_str(&tail);
                at = next;
            }
        }
    }
    result + &text[at..]
}

fn of<'a>(text: &'a str, part: &Part) -> &'a str {
    &text[part.start..part.end]
}

/// Returns the first word of a part.
fn word<'a>(text: &'a str, part: &Part) -> &'a str {
    of(text, part).split_whitespace().next().unwrap_or_default()
}

/// Tells whether a list asks something and prepares something if it is so.
fn only_prepares(text: &str, list: &[Part]) -> bool {
    let asks = |part: &Part| {
        of(text, part).trim_start_matches("! ").split_whitespace().next().is_some_and(|word| ASKING.contains(&word))
    };
    let assigns = |word: &str| {
        word.split_once('=').is_some_and(|(name, _)| name.chars().all(|c| c.is_alphanumeric() || c == '_'))
    };
    let prepares = |part: &Part| PREPARING.contains(&word(text, part)) || assigns(word(text, part));
    list.len() > 1 && asks(&list[0]) && list[1..].iter().all(prepares)
}

/// Tells whether nothing is said by the failure of a command: it ends a server, or makes a value that is looked at later.
fn may_fail(text: &str, part: &Part, before: Option<&Part>) -> bool {
    let ends = |part: &Part| ENDING.contains(&word(text, part)) && !of(text, part).contains(" -0");
    let waits = word(text, part) == "wait" && before.is_some_and(ends);
    ends(part) || waits || KEPT.captures(of(text, part)).is_some_and(|found| is_compared(&text[part.end..], &found[1]))
}

fn is_compared(rest: &str, name: &str) -> bool {
    let uses = |text: &str| {
        text.match_indices('$').any(|(at, _)| {
            let after = text[at + 1..].trim_start_matches('{').strip_prefix(name);
            after.is_some_and(|after| !after.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
        })
    };
    Reader::parts(rest).into_iter().flatten().any(|part| {
        let compares = COMPARING.contains(&word(rest, &part)) || of(rest, &part).contains('|');
        compares && uses(of(rest, &part))
    })
}

/// Reads a text up to where something of it cannot be understood.
struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// What ends the compound commands that are open.
    open: Vec<&'static str>,
    /// The delimiters of the texts that begin behind this line.
    here: Vec<String>,
    parts: Vec<Part>,
    start: Option<usize>,
    end: usize,
    /// A command begins here.
    begins: bool,
    /// What came last wants more, also on the next line.
    wants: bool,
}

impl<'a> Reader<'a> {
    /// Returns the pipelines at the top of a text; none where it cannot be understood.
    fn parts(text: &'a str) -> Option<Vec<Part>> {
        let (open, here, parts) = (Vec::new(), Vec::new(), Vec::new());
        let mut reader = Self { text, at: 0, open, here, parts, start: None, end: 0, begins: true, wants: false };
        while reader.at < text.len() {
            reader.take()?;
        }
        reader.close(Joint::End);
        (reader.open.is_empty() && reader.here.is_empty() && !reader.wants).then_some(reader.parts)
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn take(&mut self) -> Option<()> {
        let rest = self.rest();
        let operators =
            ["<<<", "&&", "||", ";;", "<<", ">&", "<&", "&>", ">|", "|", ";", "&", "(", ")", "<", ">", "\n"];
        match operators.into_iter().find(|operator| rest.starts_with(operator)) {
            Some(operator) => {
                self.at += operator.len();
                self.take_operator(operator)
            }
            None if rest.starts_with("\\\n") => self.skip(2),
            None if rest.starts_with([' ', '\t', '\r']) => self.skip(1),
            None if rest.starts_with('#') => self.skip(rest.find('\n').unwrap_or(rest.len())),
            None => self.take_word(),
        }
    }

    fn skip(&mut self, length: usize) -> Option<()> {
        self.at += length;
        Some(())
    }

    fn take_operator(&mut self, operator: &str) -> Option<()> {
        match operator {
            "\n" => {
                if !self.wants {
                    self.close(Joint::End);
                }
                self.skip_here_texts()
            }
            "&&" => self.join(Joint::And),
            "||" => self.join(Joint::Or),
            "|" => {
                self.taken(operator.len());
                (self.begins, self.wants) = (true, true);
                Some(())
            }
            ";" => self.close(Joint::End),
            "&" => self.close(Joint::Background),
            ";;" => self.begin(),
            "<<" => self.take_here_delimiter(),
            "(" => {
                self.taken(operator.len());
                self.open.push(")");
                self.begin()
            }
            ")" => {
                match self.open.last() {
                    Some(&")") => _ = self.open.pop(),
                    Some(&"esac") => {}
                    _ => return None,
                }
                self.taken(operator.len());
                self.begin()
            }
            _ => {
                self.taken(operator.len());
                self.begins = false;
                Some(())
            }
        }
    }

    /// What was just read belongs to the pipeline at hand.
    fn taken(&mut self, length: usize) {
        if self.open.is_empty() {
            self.start.get_or_insert(self.at - length);
        }
        (self.end, self.wants) = (self.at, false);
    }

    fn begin(&mut self) -> Option<()> {
        self.begins = true;
        Some(())
    }

    fn join(&mut self, joint: Joint) -> Option<()> {
        self.close(joint)?;
        self.wants = true;
        Some(())
    }

    /// Ends a pipeline where it stands at the top.
    fn close(&mut self, joint: Joint) -> Option<()> {
        self.begins = true;
        if self.open.is_empty()
            && let Some(start) = self.start.take()
        {
            self.parts.push(Part { start, end: self.end, joint, next: self.at });
        }
        Some(())
    }

    fn take_word(&mut self) -> Option<()> {
        let word = self.read_word()?;
        self.taken(word.len());
        let is_end = COMPOUND.iter().any(|(_, end)| *end == word);
        if self.open.last() == Some(&"]]") {
            self.close_compound(word == "]]");
        } else if let Some((_, end)) = COMPOUND.iter().find(|(begin, _)| self.begins && *begin == word) {
            self.open.push(end);
            self.begins = matches!(word, "if" | "while" | "until" | "{");
        } else if self.begins && is_end {
            (self.open.last() == Some(&word)).then_some(())?;
            self.close_compound(true);
        } else {
            self.begins &= LEADING.contains(&word);
        }
        Some(())
    }

    fn read_word(&mut self) -> Option<&'a str> {
        let start = self.at;
        while let length @ 1.. = piece(self.rest(), &|c| c.is_whitespace() || ";|&()<>".contains(c))? {
            self.at += length;
        }
        Some(&self.text[start..self.at])
    }

    fn close_compound(&mut self, closes: bool) {
        if closes {
            self.open.pop();
        }
        self.begins = false;
    }

    fn take_here_delimiter(&mut self) -> Option<()> {
        self.taken("<<".len());
        self.at += usize::from(self.rest().starts_with('-'));
        self.at += self.rest().len() - self.rest().trim_start_matches([' ', '\t']).len();
        let delimiter = self.read_word()?.replace(['\'', '"', '\\'], "");
        self.here.push(delimiter);
        self.end = self.at;
        Some(())
    }

    fn skip_here_texts(&mut self) -> Option<()> {
        for delimiter in std::mem::take(&mut self.here) {
            loop {
                let line = self.rest().split('\n').next().filter(|_| !self.rest().is_empty())?;
                self.at = (self.at + line.len() + 1).min(self.text.len());
                if line.trim_start_matches('\t') == delimiter {
                    break;
                }
            }
        }
        Some(())
    }
}

/// Returns the length of the next piece of a word, a character or what is quoted or put in by the shell; 0 at the end of
/// the word, none where a piece has no end.
fn piece(rest: &str, ends: &dyn Fn(char) -> bool) -> Option<usize> {
    let Some(c) = rest.chars().next() else { return Some(0) };
    Some(match c {
        '\\' => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
        '\'' => rest[1..].find('\'')? + 2,
        '"' => 1 + upto(&rest[1..], '"')?,
        '`' => rest[1..].find('`')? + 2,
        '$' if rest[1..].starts_with('(') => 2 + upto(&rest[2..], ')')?,
        '$' if rest[1..].starts_with('{') => 2 + upto(&rest[2..], '}')?,
        c if ends(c) => 0,
        c => c.len_utf8(),
    })
}

/// Returns the length up to and with the character that ends what has begun; within, quotes and brackets are passed over.
fn upto(rest: &str, end: char) -> Option<usize> {
    let mut at = 0;
    loop {
        let here = &rest[at..];
        match here.chars().next()? {
            c if c == end => return Some(at + 1),
            '(' if end == ')' => at += 1 + upto(&here[1..], ')')?,
            '\'' if end != ')' => at += 1,
            _ => at += piece(here, &|_| false)?,
        }
    }
}

#[cfg(test)]
mod tests;
