//! What is taken out of a conversation that grows too large: old tool results, each replaced by a pointer to its text.
//!
//! Where the service clears by itself there is nothing left to do here. Each clearing costs the cache behind it, so it
//! takes out much at once.

use std::collections::BTreeMap;

use serde_json::Value;

use super::conversation::Conversation;
use super::gauge::Gauge;
use super::gauge::Size;
use crate::message::text_of;
use crate::tools::Artifacts;

/// Points of the window above the service's own clearing, at which ours begins.
const ABOVE: f64 = 0.15;
/// What is left of the window's content after one clearing, if there is so much to take out.
const BELOW: f64 = 0.35;
/// A clearing that gains less than this share of the window is not worth the cache.
const WORTH: f64 = 0.05;
/// The service takes requests of 32 MB, and the newest results stay.
const MOST_BYTES: usize = 8 << 20;
/// With more images in a request, the service takes smaller ones only.
const MOST_IMAGES: usize = 20;
/// The newest tool results, which stay.
const KEEP: usize = 5;
/// Results that are not much longer than their pointer stay.
const SMALLEST: usize = 1_000;

/// Returns the share of the window at which something is taken out here.
pub(super) fn threshold(clear_at: f64) -> f64 {
    clear_at + ABOVE
}

/// Why something is taken out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Reason {
    /// Only if it is too much by our own measure.
    Measure { clear_at: f64 },
    /// The service says that it is too long.
    Refused,
}

/// What was taken out.
#[derive(Debug, Default)]
pub(super) struct Cleared {
    /// What now stands in place of each result, by the id of its call.
    pub(super) results: BTreeMap<String, String>,
    /// Why a result could not be kept elsewhere, and so stayed.
    pub(super) failure: Option<String>,
}

/// Takes out what is too much, oldest first; `size` is that of the whole request.
pub(super) fn clear(
    conversation: &mut Conversation,
    gauge: &Gauge,
    size: Size,
    reason: Reason,
    artifacts: &Artifacts,
) -> Cleared {
    let mut cleared = Cleared::default();
    let Some(mut goal) = Goal::of(gauge, size, reason) else { return cleared };
    // Not earlier: measuring every result takes time, and most turns clear nothing.
    let old = conversation.old_results(KEEP, SMALLEST);
    let all = old.iter().fold(Size::default(), |all, old| all.plus(old.size));
    if !goal.is_worth(gauge, all) {
        return cleared;
    }
    for old in old {
        if goal.takes(old.size) {
            match pointer(conversation.result(&old), artifacts) {
                Ok(text) => {
                    goal = goal.after(old.size);
                    cleared.results.insert(old.id.clone(), text.clone());
                    conversation.replace(&old, &text);
                }
                Err(error) => cleared.failure = Some(format!("{error:#}")),
            }
        }
    }
    cleared
}

/// What is still to be taken out.
#[derive(Debug)]
struct Goal {
    text: usize,
    bytes: usize,
    images: usize,
}

impl Goal {
    /// Returns none when nothing is too much.
    fn of(gauge: &Gauge, size: Size, reason: Reason) -> Option<Self> {
        let Reason::Measure { clear_at } = reason else {
            return Some(Self { text: usize::MAX, bytes: usize::MAX, images: usize::MAX });
        };
        let share = gauge.share(gauge.tokens(size));
        let goal = Self {
            text: if share > threshold(clear_at) { gauge.bytes(share - BELOW) } else { 0 },
            bytes: if size.bytes > MOST_BYTES { size.bytes - MOST_BYTES / 2 } else { 0 },
            images: if size.images > MOST_IMAGES { size.images - MOST_IMAGES / 2 } else { 0 },
        };
        (goal.text > 0 || goal.bytes > 0 || goal.images > 0).then_some(goal)
    }

    /// Tells whether taking out all there is would be worth it.
    fn is_worth(&self, gauge: &Gauge, all: Size) -> bool {
        self.bytes > 0 || self.images > 0 || all.text() > gauge.bytes(WORTH)
    }

    fn takes(&self, size: Size) -> bool {
        self.text > 0 || self.bytes > 0 || (self.images > 0 && size.images > 0)
    }

    fn after(self, size: Size) -> Self {
        Self {
            text: self.text.saturating_sub(size.text()),
            bytes: self.bytes.saturating_sub(size.bytes),
            images: self.images.saturating_sub(size.images),
        }
    }
}

/// Keeps a result's text and says where it is. An image is in the project, or in the session's events.
fn pointer(content: &Value, artifacts: &Artifacts) -> anyhow::Result<String> {
    let text = text_of(content);
    let images = Size::of(content.as_array().map(Vec::as_slice).unwrap_or_default()).images;
    if images > 0 && text.is_empty() {
        return Ok("[cleared to make room: an image; `view` shows it again]".to_owned());
    }
    Ok(format!("[cleared to make room: {}]", artifacts.point_to(&text)?))
}
