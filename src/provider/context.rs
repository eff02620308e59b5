//! What the service is asked to do by itself with a conversation that grows, as far as it takes that.
//!
//! Names and beta headers come from the settings, since they change with the service. What an endpoint refuses is left
//! out from then on; the driver clears by itself what is still too much.

use super::Settings;
use super::wire::names_place;
use serde_json::Value;
use serde_json::json;

/// Tool results that the service leaves in place, and the tokens of the window for which it leaves one: a result may fill a
/// tenth of a small window.
const KEEP: u64 = 5;
const WINDOW_OF_ONE: u64 = 40_000;
/// The share of the window that one clearing gains at least: each one costs the cache behind it.
const STEP: f64 = 0.15;
/// The share of the window at which the conversation is summed up.
const COMPACT_AT: f64 = 0.75;
/// The service sums up no shorter conversation.
const SHORTEST_COMPACTED: u64 = 50_000;

/// The edits and headers that are still asked for.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    edits: Vec<String>,
    betas: Vec<String>,
    clear_at: f64,
}

impl Asked {
    /// Asks for everything the settings name.
    pub(super) fn of(settings: &Settings) -> Self {
        let Settings { edits, edit_betas, clear_at, .. } = settings;
        Self { edits: edits.clone(), betas: edit_betas.clone(), clear_at: *clear_at }
    }

    /// Returns the beta headers that go with the edits.
    pub(super) fn betas(&self) -> &[String] {
        if self.edits.is_empty() { &[] } else { &self.betas }
    }

    /// Renders `context_management` for a model with this window; none when nothing is asked for.
    pub(super) fn render(&self, window: u64) -> Option<Value> {
        let edits: Vec<Value> = self.sent(window).into_iter().map(|(_, edit)| edit).collect();
        (!edits.is_empty()).then(|| json!({"edits": edits}))
    }

    /// Leaves out what a refusal names, and returns it in words; none when it names nothing of this.
    pub(super) fn leave_out(&mut self, refusal: &str, window: u64) -> Option<String> {
        let mut named = self.named(&blamed(refusal), window);
        if named.is_empty() {
            named = self.named(refusal, window);
        }
        if named.is_empty() && ["context_management", "anthropic-beta"].iter().any(|word| refusal.contains(word)) {
            named.clone_from(&self.edits);
        }
        self.edits.retain(|name| !named.contains(name));
        self.betas.retain(|name| !named.contains(name));
        let named: Vec<String> = named.iter().map(|name| format!("`{name}`")).collect();
        (!named.is_empty()).then(|| named.join(", "))
    }

    /// Returns the edits and headers that a text names, by their place or by their name, in the order of the settings.
    fn named(&self, text: &str, window: u64) -> Vec<String> {
        let sent = self.sent(window).into_iter().map(|(name, _)| name).enumerate();
        let placed: Vec<String> =
            sent.filter(|(at, _)| names_place(text, "edits", *at)).map(|(_, name)| name).collect();
        let all = self.edits.iter().chain(self.betas());
        all.filter(|name| placed.contains(name) || text.contains(name.as_str())).cloned().collect()
    }

    fn sent(&self, window: u64) -> Vec<(String, Value)> {
        let share = |share: f64| (window as f64 * share) as u64;
        let tokens = |value: u64| json!({"type": "input_tokens", "value": value});
        let edit = |name: &String| {
            let mut edit = json!({"type": name});
            if name.starts_with("clear_tool_uses_") {
                edit["trigger"] = tokens(share(self.clear_at));
                edit["keep"] = json!({"type": "tool_uses", "value": (window / WINDOW_OF_ONE).clamp(1, KEEP)});
                edit["clear_at_least"] = tokens(share(STEP));
                edit["exclude_tools"] = json!(["memory"]);
            } else if name.starts_with("clear_thinking_") {
                // The usual is to drop it turn by turn, which costs the cache behind it each time.
                edit["keep"] = json!("all");
            } else if name.starts_with("compact_") {
                if share(COMPACT_AT) < SHORTEST_COMPACTED {
                    return None;
                }
                edit["trigger"] = tokens(share(COMPACT_AT));
            }
            Some((name.clone(), edit))
        };
        if window == 0 { Vec::new() } else { self.edits.iter().filter_map(edit).collect() }
    }
}

/// Returns what a refusal says of the things it refuses: beside them the service lists what it would have taken.
fn blamed(refusal: &str) -> String {
    const TAKEN: [&str; 5] = [" expected", " should be ", " must be ", " one of ", " supported values"];
    let parts = refusal.split(['\n', ';']).flat_map(|part| part.split(". ")).map(|part| {
        let end = TAKEN.iter().filter_map(|word| part.find(word)).min();
        &part[..end.unwrap_or(part.len())]
    });
    parts.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked() -> Asked {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Asked {
            edits: texts(&["clear_thinking_1", "clear_tool_uses_1", "compact_1"]),
            betas: texts(&["context-1", "compact-1"]),
            clear_at: 0.5,
        }
    }

    fn names(asked: &Asked) -> Vec<&str> {
        asked.edits.iter().chain(asked.betas()).map(String::as_str).collect()
    }

    #[test]
    fn the_edits_are_measured_by_the_window() {
        let tokens = |value: u64| json!({"type": "input_tokens", "value": value});
        let expected = json!({"edits": [
            {"type": "clear_thinking_1", "keep": "all"},
            {"type": "clear_tool_uses_1", "trigger": tokens(100_000), "keep": {"type": "tool_uses", "value": 5},
             "clear_at_least": tokens(30_000), "exclude_tools": ["memory"]},
            {"type": "compact_1", "trigger": tokens(150_000)},
        ]});
        assert_eq!(asked().render(200_000), Some(expected));
    }

    #[test]
    fn a_short_window_is_not_summed_up_and_an_unknown_one_is_left_alone() {
        let short = asked().render(60_000).unwrap();
        assert_eq!(short["edits"].as_array().unwrap().len(), 2);
        assert_eq!(short["edits"][1]["keep"]["value"], 1, "several would leave nothing to clear");
        assert_eq!(asked().render(0), None);
        assert_eq!(Asked { edits: Vec::new(), ..asked() }.render(200_000), None);
        assert!(Asked { edits: Vec::new(), ..asked() }.betas().is_empty());
    }

    #[test]
    fn a_refusal_takes_out_what_it_names() {
        let cases: [(&str, &str, &[&str]); 5] = [
            (
                "context_management.edits.2: Input tag 'compact_1' found using 'type' does not match any of the expected \
                 tags: 'clear_tool_uses_1', 'clear_thinking_1'",
                "`compact_1`",
                &["clear_thinking_1", "clear_tool_uses_1", "context-1", "compact-1"],
            ),
            (
                "`clear_thinking_1` strategy requires `thinking` to be enabled or adaptive",
                "`clear_thinking_1`",
                &["clear_tool_uses_1", "compact_1", "context-1", "compact-1"],
            ),
            (
                "Unexpected value(s) `compact-1` for the `anthropic-beta` header.",
                "`compact-1`",
                &["clear_thinking_1", "clear_tool_uses_1", "compact_1", "context-1"],
            ),
            (
                "context_management: Extra inputs are not permitted",
                "`clear_thinking_1`, `clear_tool_uses_1`, `compact_1`",
                &[],
            ),
            (
                "the `anthropic-beta` header is not known here",
                "`clear_thinking_1`, `clear_tool_uses_1`, `compact_1`",
                &[],
            ),
        ];
        take_out(&cases);
        assert_eq!(asked().leave_out("max_tokens: too large", 200_000), None);
    }

    /// Beside what it refuses, the service lists what it would have taken.
    #[test]
    fn a_refusal_of_two_takes_out_both_and_no_other() {
        let cases: [(&str, &str, &[&str]); 6] = [
            (
                "compact_1 and clear_tool_uses_1",
                "`clear_tool_uses_1`, `compact_1`",
                &["clear_thinking_1", "context-1", "compact-1"],
            ),
            (
                "Input tag 'compact_1' does not match any of the expected tags: 'clear_tool_uses_1', 'clear_thinking_1'",
                "`compact_1`",
                &["clear_thinking_1", "clear_tool_uses_1", "context-1", "compact-1"],
            ),
            (
                "context_management.edits.0.type: Input should be 'clear_tool_uses_1' or 'compact_1'",
                "`clear_thinking_1`",
                &["clear_tool_uses_1", "compact_1", "context-1", "compact-1"],
            ),
            (
                "context_management.edits.0: Input should be 'clear_tool_uses_1'. `compact_1` is not available to you",
                "`clear_thinking_1`, `compact_1`",
                &["clear_tool_uses_1", "context-1", "compact-1"],
            ),
            (
                "context_management.edits.0: Field required\ncontext_management.edits.2: Field required",
                "`clear_thinking_1`, `compact_1`",
                &["clear_tool_uses_1", "context-1", "compact-1"],
            ),
            (
                "this is not one of the edits for this model: clear_tool_uses_1",
                "`clear_tool_uses_1`",
                &["clear_thinking_1", "compact_1", "context-1", "compact-1"],
            ),
        ];
        take_out(&cases);
    }

    fn take_out(cases: &[(&str, &str, &[&str])]) {
        for (refusal, told, left) in cases {
            let mut asked = asked();
            assert_eq!(asked.leave_out(refusal, 200_000).as_deref(), Some(*told), "{refusal}");
            assert_eq!(names(&asked), *left, "{refusal}");
        }
    }
}
