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
pub(super) struct Front {
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
    pub(super) fn read(bytes: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())?;
        let mut lines = text.trim_start_matches('\u{feff}').lines();
        if lines.next().map(str::trim_end) != Some(FENCE) {
            return Err(format!("its first line is not `{FENCE}`"));
        }
        let head: Vec<&str> = lines.by_ref().take_while(|line| line.trim_end() != FENCE).collect();
        let field = |name: &str| {
            let value = value(&head, name).filter(|value| !value.is_empty());
            value.ok_or_else(|| format!("its front matter has no `{name}`"))
        };
        Ok(Self { name: field("name")?, description: field("description")?, kind: NoteKind::of(&field("type")?) })
    }
}

/// Returns the value of a key; lines that are indented below it belong to it.
fn value(head: &[&str], key: &str) -> Option<String> {
    let mut lines = head.iter();
    let first = lines.find_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix(':'))?.trim();
    let first = Some(first).filter(|first| !matches!(*first, ">" | "|" | ">-" | "|-"));
    let more = lines.take_while(|line| line.starts_with([' ', '\t'])).map(|line| line.trim());
    let words: Vec<&str> = first.into_iter().chain(more).filter(|part| !part.is_empty()).collect();
    Some(unquoted(&words.join(" ")).to_owned())
}

fn unquoted(text: &str) -> &str {
    let inner = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    inner('"').or_else(|| inner('\'')).unwrap_or(text)
}

/// Shows the form of a note, after what is wrong with one.
pub(super) fn form(path: &str, wrong: &str) -> String {
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
            // Without a second fence the head has no end; what it says is there all the same.
            ("---\nname: db\ndescription: x\ntype: project\n", front("db", "x", NoteKind::Project)),
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
        ] {
            assert_eq!(Front::read(text.as_bytes()), Err(wrong.to_owned()), "{text}");
        }
        assert!(Front::read(b"---\n\xff").is_err());
        let shown = form("/memories/notes/a", "x");
        let (_, example) = shown.split_once('\n').unwrap();
        assert!(Front::read(example.as_bytes()).is_ok(), "the form that is shown is one that is taken");
    }
}
