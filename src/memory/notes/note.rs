//! The head of a note: what it is called, what it says in one line, and of which kind it is.
//!
//! Read leniently and by hand: what models write there, such as an unquoted `: ` in a description, is no valid YAML.

use std::fmt;

/// The folder of the notes.
pub const NOTES: &str = "notes";

/// The line before and after the front matter.
const FENCE: &str = "---";

/// What a note says of itself.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in crate::memory) struct Front {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) kind: NoteKind,
}

/// What a note is about.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum NoteKind {
    /// Who the user is and what they want.
    User,
    /// What the user, or a check, said of the work.
    Feedback,
    /// What holds in this project.
    Project,
    /// Where something is found.
    Reference,
    /// A word that is none of these: such a note is kept, and neither listed nor recalled.
    Unknown(String),
}

impl NoteKind {
    /// Reads the word of a note's `type`.
    pub(super) fn of(word: &str) -> Self {
        match word.to_lowercase().as_str() {
            "user" => Self::User,
            "feedback" => Self::Feedback,
            "project" => Self::Project,
            "reference" => Self::Reference,
            _ => Self::Unknown(word.to_owned()),
        }
    }
}

impl fmt::Display for NoteKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::User => "user",
            Self::Feedback => "feedback",
            Self::Project => "project",
            Self::Reference => "reference",
            Self::Unknown(word) => word,
        })
    }
}

impl Front {
    /// Reads the front matter of a note.
    ///
    /// # Errors
    /// What is missing, as the rest of a sentence.
    pub(in crate::memory) fn read(bytes: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())?;
        let mut lines = text.trim_start_matches('\u{feff}').lines();
        if lines.next().map(str::trim_end) != Some(FENCE) {
            return Err(format!("its first line is not `{FENCE}`"));
        }
        let lines: Vec<&str> = lines.collect();
        let end = lines.iter().position(|line| line.trim_end() == FENCE);
        let head = &lines[..end.ok_or_else(|| format!("no line `{FENCE}` ends its front matter"))?];
        let (name, description) = (field(head, "name")?, field(head, "description")?);
        Ok(Self { name, description, kind: NoteKind::of(word(&field(head, "type")?)) })
    }
}

/// Returns what a key is given, once; else what is wrong with it.
fn field(head: &[&str], key: &str) -> Result<String, String> {
    match head.iter().filter(|line| given(line, key).is_some()).count() {
        0 | 1 => value(head, key).ok_or_else(|| format!("its front matter has no `{key}`")),
        many => Err(format!("its front matter has {many} lines `{key}`")),
    }
}

/// Returns what a line gives a key.
fn given<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.strip_prefix(key)?.trim_start().strip_prefix(':')
}

/// Returns a word without the comment behind it. A description keeps what looks like one: `see #12` is no comment.
fn word(text: &str) -> &str {
    unquoted(text.split_once(" #").map_or(text, |(word, _)| word).trim())
}

/// Returns the value of a key, if it has one; lines that are indented below it belong to it.
fn value(head: &[&str], key: &str) -> Option<String> {
    let mut lines = head.iter();
    let first = lines.find_map(|line| given(line, key))?.trim();
    let first = Some(first).filter(|first| !matches!(*first, ">" | "|" | ">-" | "|-"));
    let more = lines.take_while(|line| line.starts_with([' ', '\t'])).map(|line| line.trim());
    let words: Vec<&str> = first.into_iter().chain(more).filter(|part| !part.is_empty()).collect();
    let text = words.join(" ");
    // What YAML writes for no value.
    let is_none = matches!(text.as_str(), "~" | "null" | "Null" | "NULL");
    Some(unquoted(&text).to_owned()).filter(|text| !is_none && !text.is_empty())
}

fn unquoted(text: &str) -> &str {
    let inner = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    inner('"').or_else(|| inner('\'')).unwrap_or(text)
}

/// Shows the form of a note, after what is wrong with one.
pub(in crate::memory) fn form(path: &str, wrong: &str) -> String {
    format!(
        "Error: {path} is no note: {wrong}. Instead: write it again, beginning with these lines; `type` is user, \
         feedback, project or reference\n\
         {FENCE}\nname: a-short-name\ndescription: in one line, what it says, so that a later session sees whether it \
         needs it\ntype: project\n{FENCE}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn front(name: &str, description: &str, kind: NoteKind) -> Front {
        Front { name: name.to_owned(), description: description.to_owned(), kind }
    }

    #[test]
    fn what_people_and_models_write_is_read() {
        for (text, expected) in [
            (
                "---\nname: db\ndescription: the port\ntype: project\n---\nbody",
                front("db", "the port", NoteKind::Project),
            ),
            ("\u{feff}---\r\ntype: User\r\nname: db\r\ndescription: x\r\n---\r\n", front("db", "x", NoteKind::User)),
            ("---\nname: 'db'\ndescription: \"a: b\"\ntype: feedback\n---", front("db", "a: b", NoteKind::Feedback)),
            (
                "---\nname: db\ndescription: use: this\ntype: reference\n---",
                front("db", "use: this", NoteKind::Reference),
            ),
            (
                "---\nname: db\ndescription: >\n  two\n  lines\nmetadata:\n  type: user\ntype: idea\n---",
                front("db", "two lines", NoteKind::Unknown("idea".to_owned())),
            ),
            (
                "---\nname: db\ndescription: see #12\ntype: \"project\"  # yes\n---",
                front("db", "see #12", NoteKind::Project),
            ),
            (
                "---\nname: \"~\"\ndescription: null and void\ntype: user\n---",
                front("~", "null and void", NoteKind::User),
            ),
        ] {
            assert_eq!(Front::read(text.as_bytes()), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        for (text, wrong) in [
            ("", "its first line is not `---`"),
            ("postgres\n---\nname: db\n", "its first line is not `---`"),
            ("---\nname: db\n---\ndescription: x\n", "its front matter has no `description`"),
            ("---\nname: db\ndescription:\ntype: project\n---", "its front matter has no `description`"),
            ("---\nnames: db\ndescription: x\n---", "its front matter has no `name`"),
            ("---\nname: db\ndescription: x\n---", "its front matter has no `type`"),
            ("---\nname: db\ndescription: x\ntype: project\n", "no line `---` ends its front matter"),
            ("---\nname: db\ndescription: ~\ntype: project\n---", "its front matter has no `description`"),
            ("---\nname: null\ndescription: x\ntype: project\n---", "its front matter has no `name`"),
            ("---\nname: db\nname : pg\ndescription: x\ntype: user\n---", "its front matter has 2 lines `name`"),
        ] {
            assert_eq!(Front::read(text.as_bytes()), Err(wrong.to_owned()), "{text}");
        }
        assert!(Front::read(b"---\n\xff").is_err());
        let shown = form("/memories/notes/a", "x");
        let (_, example) = shown.split_once('\n').unwrap();
        assert!(Front::read(example.as_bytes()).is_ok(), "the form that is shown is one that is taken");
    }
}
