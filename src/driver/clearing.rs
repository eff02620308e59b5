//! What is taken out of a conversation that grows too large: old tool results, each replaced by a pointer to its text, and
//! the middle of new ones that would not fit.
//!
//! Where the service clears by itself there is nothing left to do here. Each clearing costs the cache behind it, so it
//! takes out much at once.

use std::collections::BTreeMap;

use serde_json::Value;

use super::conversation::Conversation;
use super::gauge::Gauge;
use super::gauge::Size;
use super::gauge::WINDOW_FULL;
use crate::message::text_of;
use crate::tools::Artifacts;

/// Points of the window above the service's own clearing, at which ours begins.
const ABOVE: f64 = 0.15;
/// What is left of the window's content after one clearing, if there is so much to take out.
const BELOW: f64 = 0.35;
/// A clearing that gains less than this share of the window is not worth the cache.
const WORTH: f64 = 0.1;
/// The service takes requests of 32 MB, and the newest results stay.
const MOST_BYTES: usize = 8 << 20;
/// With more images in a request, the service takes smaller ones only.
const MOST_IMAGES: usize = 20;
/// The newest tool results, which stay while they fill no more than this share of the window: else little would be gained.
const KEEP: usize = 5;
const KEPT: f64 = 0.15;
/// Results that are not much longer than their pointer stay.
const SMALLEST: usize = 1_000;
/// What the window holds once new results were shortened.
const FITS: f64 = 0.65;
/// The part that is left of new results where nothing but the service knows how long is too long.
const LEFT: usize = 4;
/// Characters that tell where the rest of a shortened result is.
const POINTER: usize = 300;

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

impl Cleared {
    /// Takes over what else was.
    pub(super) fn take(&mut self, other: Self) {
        self.results.extend(other.results);
        self.failure = self.failure.take().or(other.failure);
    }
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
    let old = conversation.old_results((KEEP, gauge.most_bytes(KEPT)), SMALLEST);
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

/// Shortens the newest results where they do not fit, although the model has not seen them: else the session would be over.
/// `size` is that of the whole request, `freed` what was taken out before.
pub(super) fn shorten(
    conversation: &mut Conversation,
    gauge: &Gauge,
    (size, freed): (Size, Size),
    reason: Reason,
    artifacts: &Artifacts,
) -> Cleared {
    let mut cleared = Cleared::default();
    let too_long = match reason {
        Reason::Measure { .. } => gauge.share(gauge.tokens(size)) > WINDOW_FULL,
        Reason::Refused => true,
    };
    if !too_long {
        return cleared;
    }
    let newest = conversation.newest_results(SMALLEST);
    let all: usize = newest.iter().map(|new| new.size.text()).sum();
    let room = match reason {
        Reason::Measure { .. } => all.saturating_sub(gauge.bytes(gauge.share(gauge.tokens(size)) - FITS)),
        // The old ones were the larger part.
        Reason::Refused if freed.text() > all => all,
        Reason::Refused => all / LEFT,
    };
    let each = room / newest.len().max(1);
    for new in newest.into_iter().filter(|new| new.size.images == 0 && new.size.text() > each) {
        match ends(conversation.result(&new), new.size, each, artifacts) {
            Ok(text) => {
                conversation.replace(&new, &text);
                cleared.results.insert(new.id, text);
            }
            Err(error) => cleared.failure = Some(format!("{error:#}")),
        }
    }
    cleared
}

/// Returns both ends of a result of this size, in about so many bytes, with where the whole is.
fn ends(content: &Value, size: Size, bytes: usize, artifacts: &Artifacts) -> anyhow::Result<String> {
    let text = text_of(content);
    // As JSON, a character may be several bytes.
    let most = text.chars().count() * bytes / size.text().max(1);
    Ok(artifacts.show(&text, most.saturating_sub(POINTER).max(SMALLEST / 2))?.joined())
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
