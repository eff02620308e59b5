//! What the service says it did to the conversation by itself.

use crate::message::Reply;

/// The most it has told so far: it tells with each reply what it left out of that request, the same results again.
#[derive(Default)]
pub(super) struct Edits {
    results: u64,
}

/// What one reply tells that is new.
#[derive(Debug, PartialEq)]
pub(super) struct Edit {
    /// Tool results that were left out, and how many tokens that saves.
    pub(super) results: u64,
    pub(super) tokens: u64,
    pub(super) summed_up: bool,
}

impl Edits {
    /// Takes over what a reply tells; none when nothing of it is new.
    pub(super) fn take(&mut self, reply: &Reply) -> Option<Edit> {
        let applied = reply.raw["context_management"]["applied_edits"].as_array();
        let told = |key: &str| {
            applied.into_iter().flatten().filter_map(|edit| edit[key].as_u64()).fold(0, u64::saturating_add)
        };
        let (results, tokens) = (told("cleared_tool_uses"), told("cleared_input_tokens"));
        // Without a content the summing up has failed, and nothing was taken out.
        let summed_up =
            reply.content().iter().any(|block| block["type"] == "compaction" && block["content"].is_string());
        if results <= self.results && !summed_up {
            return None;
        }
        // After a summing up the results are counted anew.
        self.results = if summed_up { results } else { self.results.max(results) };
        Some(Edit { results, tokens, summed_up })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use serde_json::json;

    fn reply(raw: Value) -> Reply {
        Reply::of(raw)
    }

    #[test]
    fn what_is_left_out_again_is_told_once_and_a_summing_up_each_time() {
        let cleared = |results: u64| {
            let edit = json!({"type": "clear_tool_uses_1", "cleared_tool_uses": results, "cleared_input_tokens": 50});
            reply(json!({"context_management": {"applied_edits": [edit]}}))
        };
        let summed = |content: Value| reply(json!({"content": [{"type": "compaction", "content": content}]}));
        let mut edits = Edits::default();
        assert_eq!(edits.take(&reply(json!({"content": []}))), None);
        assert_eq!(edits.take(&cleared(8)), Some(Edit { results: 8, tokens: 50, summed_up: false }));
        assert_eq!(edits.take(&cleared(8)), None);
        assert_eq!(edits.take(&cleared(9)).map(|edit| edit.results), Some(9));
        assert_eq!(edits.take(&summed(Value::Null)), None, "it failed");
        assert_eq!(edits.take(&summed(json!("so far"))), Some(Edit { results: 0, tokens: 0, summed_up: true }));
        assert!(edits.take(&cleared(2)).is_some());
    }
}
