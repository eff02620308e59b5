//! What the service is asked to do by itself with a conversation that grows, as far as it takes that.
//!
//! Names and beta headers come from the settings, since they change with the service. What an endpoint refuses is left
//! out from then on; the driver clears by itself what is still too much.

use super::Settings;
use serde_json::Value;
use serde_json::json;

/// Tool results that the service leaves in place.
const KEEP: u32 = 5;
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
        // The place is surer than a name: the service lists what it would have taken beside what it did not.
        let placed = self.sent(window).into_iter().map(|(name, _)| name).enumerate();
        let by_place = placed.filter(|(at, _)| refusal.contains(&format!("edits.{at}"))).map(|(_, name)| name);
        let mut named: Vec<String> = by_place.collect();
        if named.is_empty() {
            let all = self.edits.iter().chain(self.betas());
            named = all.filter(|name| refusal.contains(name.as_str())).cloned().collect();
        }
        if named.is_empty() && ["context_management", "anthropic-beta"].iter().any(|word| refusal.contains(word)) {
            named.clone_from(&self.edits);
        }
        self.edits.retain(|name| !named.contains(name));
        self.betas.retain(|name| !named.contains(name));
        let named: Vec<String> = named.iter().map(|name| format!("`{name}`")).collect();
        (!named.is_empty()).then(|| named.join(", "))
    }

    fn sent(&self, window: u64) -> Vec<(String, Value)> {
        let share = |share: f64| (window as f64 * share) as u64;
        let tokens = |value: u64| json!({"type": "input_tokens", "value": value});
        let edit = |name: &String| {
            let mut edit = json!({"type": name});
            if name.starts_with("clear_tool_uses_") {
                edit["trigger"] = tokens(share(self.clear_at));
                edit["keep"] = json!({"type": "tool_uses", "value": KEEP});
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
        assert_eq!(asked().render(60_000).unwrap()["edits"].as_array().unwrap().len(), 2);
        assert_eq!(asked().render(0), None);
        assert_eq!(Asked { edits: Vec::new(), ..asked() }.render(200_000), None);
        assert!(Asked { edits: Vec::new(), ..asked() }.betas().is_empty());
    }

    #[test]
    fn a_refusal_takes_out_what_it_names() {
        let cases: [(&str, &str, &[&str]); 6] = [
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
            (
                "compact_1 and clear_tool_uses_1",
                "`clear_tool_uses_1`, `compact_1`",
                &["clear_thinking_1", "context-1", "compact-1"],
            ),
        ];
        for (refusal, told, left) in cases {
            let mut asked = asked();
            assert_eq!(asked.leave_out(refusal, 200_000).as_deref(), Some(told), "{refusal}");
            assert_eq!(names(&asked), left, "{refusal}");
        }
        assert_eq!(asked().leave_out("max_tokens: too large", 200_000), None);
    }
}
