//! The `hand_over` tool: the agent's own words at the end of a session.

use serde_json::Value;

use crate::tools::input::Input;
use crate::tools::input::ToolError;

/// What the agent says when it ends the session. Claims, kept as such.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct HandOver {
    pub done: String,
    pub remaining: String,
    pub next: String,
    /// Why the check itself looks wrong; the feature then waits for a person.
    pub check_problem: Option<String>,
}

impl HandOver {
    /// Reads the words from a call's input.
    pub(super) fn read(input: &Value) -> Result<Self, ToolError> {
        let input = Input::new(input, &["done", "remaining", "next", "check_problem"])?;
        let or_nothing =
            |field: &str| Ok::<_, ToolError>(input.text_if_given(field)?.unwrap_or_default().trim().to_owned());
        let problem = or_nothing("check_problem")?;
        Ok(Self {
            done: input.words("done")?.to_owned(),
            remaining: or_nothing("remaining")?,
            next: or_nothing("next")?,
            check_problem: (!problem.is_empty()).then_some(problem),
        })
    }

    /// Changes each of the texts.
    pub(super) fn map(self, change: impl Fn(&str) -> String) -> Self {
        Self {
            done: change(&self.done),
            remaining: change(&self.remaining),
            next: change(&self.next),
            check_problem: self.check_problem.as_deref().map(change),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_empty_check_problem_is_none() {
        let input = json!({"done": " the form \n", "check_problem": " ", "next": null});
        let expected = HandOver { done: "the form".to_owned(), ..HandOver::default() };
        assert_eq!(HandOver::read(&input).unwrap(), expected);
        let input = json!({"done": "nothing", "check_problem": "it calls a wrong port"});
        assert_eq!(HandOver::read(&input).unwrap().check_problem.as_deref(), Some("it calls a wrong port"));
    }

    #[test]
    fn saying_nothing_is_told() {
        for input in [json!({}), json!({"done": ""}), json!({"done": 7})] {
            assert!(
                matches!(HandOver::read(&input), Err(ToolError::TellModel(text)) if text.starts_with("`done` is "))
            );
        }
    }
}
