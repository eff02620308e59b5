//! What the agent is told in the course of a session.

use anyhow::Result;
use serde::Serialize;

use super::Recalled;
use super::render;

const ALMOST_FULL: &str = include_str!("../../templates/prompts/almost_full.md");
const CUT_OFF: &str = include_str!("../../templates/prompts/cut_off.md");
const EMPTY: &str = include_str!("../../templates/prompts/empty.md");
const REPEATED: &str = include_str!("../../templates/prompts/repeated.md");
const RECALLED: &str = include_str!("../../templates/prompts/recalled.md");

/// The texts that may be needed on the way.
#[derive(Clone, Debug, Serialize)]
pub struct Nudges {
    /// Most tokens of a reply.
    pub max_tokens: u32,
    /// How many times as long one after a cut may be.
    pub larger: u32,
    /// Equal rounds of calls in a row, from which on the agent is told.
    pub repeated: u32,
    /// As many end the session.
    pub futile: u32,
}

impl Nudges {
    /// Asks for a hand-over, close to the end of the window.
    pub fn almost_full(&self) -> Result<String> {
        line("prompts/almost_full.md", ALMOST_FULL, self)
    }

    /// Says that a reply was cut off; the rest of a sentence.
    pub fn cut_off(&self) -> Result<String> {
        line("prompts/cut_off.md", CUT_OFF, self)
    }

    /// Says that a reply was empty.
    pub fn empty(&self) -> Result<String> {
        line("prompts/empty.md", EMPTY, self)
    }

    /// Says that a call brought nothing new.
    pub fn repeated(&self) -> Result<String> {
        line("prompts/repeated.md", REPEATED, self)
    }
}

/// Notes given in the course of a session.
#[derive(Clone, Debug, Serialize)]
pub struct Reminder {
    pub recalled: Vec<Recalled>,
}

impl Reminder {
    /// Renders them after old results were taken out.
    pub fn render(&self) -> Result<String> {
        line("prompts/recalled.md", RECALLED, self)
    }
}

fn line<T: Serialize>(name: &str, template: &str, values: &T) -> Result<String> {
    Ok(render(name, template, values)?.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nudges_name_their_numbers() {
        let nudges = Nudges { max_tokens: 1000, larger: 2, repeated: 3, futile: 6 };
        assert!(nudges.almost_full().unwrap().ends_with("call `hand_over` now."));
        let cut = nudges.cut_off().unwrap();
        assert!(
            cut.starts_with("your reply was cut off at 1000 tokens; the next one may be 2 times as long."),
            "{cut}"
        );
        assert!(nudges.empty().unwrap().starts_with("Your last reply was empty"));
        let repeated = nudges.repeated().unwrap();
        assert!(repeated.starts_with("This is at least the third time in a row"), "{repeated}");
        assert!(repeated.ends_with("After 6 times in a row the session ends."), "{repeated}");
    }

    #[test]
    fn notes_on_the_way_are_data_with_their_age() {
        let note =
            |path: &str| Recalled { path: path.to_owned(), age: "written today".to_owned(), text: "x".to_owned() };
        let text = Reminder { recalled: vec![note("notes/a.md"), note("notes/b.md")] }.render().unwrap();
        let expected = "at now:\n\n<data source=\"/memories/notes/a.md, written today\">\nx\n</data>\n\n<data source=";
        assert!(text.contains(expected), "{text}");
        assert!(text.ends_with("</data>"), "{text}");
    }
}
