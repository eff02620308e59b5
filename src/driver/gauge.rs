//! How full the model's window is: measured by the service, estimated for what came after.

use serde_json::Value;
use serde_json::json;

use crate::message::Reply;

/// The share of the window above which no reply fits any more.
pub(super) const WINDOW_FULL: f64 = 0.95;

/// Bytes of a token, until a reply tells.
const USUAL_RATIO: f64 = 3.5;
/// What a measured ratio is held to: a wild one comes from an endpoint that counts otherwise.
const RATIOS: (f64, f64) = (2.0, 6.0);
/// Tokens of an image, whatever its bytes.
const IMAGE: f64 = 2_000.0;

/// How large a part of a conversation is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Size {
    /// All bytes as JSON.
    pub(super) bytes: usize,
    /// Those that are data of images.
    pub(super) image_bytes: usize,
    pub(super) images: usize,
}

impl Size {
    /// Measures content blocks.
    pub(super) fn of(blocks: &[Value]) -> Self {
        let mut size = Self { bytes: blocks.iter().map(|block| block.to_string().len()).sum(), ..Self::default() };
        blocks.iter().for_each(|block| size.add_images(block));
        size
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            bytes: self.bytes + other.bytes,
            image_bytes: self.image_bytes + other.image_bytes,
            images: self.images + other.images,
        }
    }

    pub(super) fn minus(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_sub(other.bytes),
            image_bytes: self.image_bytes.saturating_sub(other.image_bytes),
            images: self.images.saturating_sub(other.images),
        }
    }

    /// Returns the bytes that the model reads as text.
    pub(super) fn text(&self) -> usize {
        self.bytes - self.image_bytes
    }

    fn add_images(&mut self, block: &Value) {
        if block["type"] == "image" {
            self.images += 1;
            self.image_bytes += block["source"]["data"].as_str().map_or(0, str::len);
        }
        block["content"].as_array().into_iter().flatten().for_each(|inner| self.add_images(inner));
    }
}

/// What is known of the tokens of a conversation.
pub(super) struct Gauge {
    window: u64,
    /// Bytes a token.
    ratio: f64,
    /// Tokens at the newest measuring, and how large the conversation was then.
    measured: u64,
    at: Size,
    /// The service took something out: bytes and tokens are no longer of the same conversation.
    edited: bool,
}

impl Gauge {
    /// Knows nothing yet; a window of 0 is unknown, and never full.
    pub(super) fn new(window: u64) -> Self {
        Self { window, ratio: USUAL_RATIO, measured: 0, at: Size::default(), edited: false }
    }

    /// Takes over what a reply tells; `size` is that of the conversation with the reply in it.
    pub(super) fn learn(&mut self, reply: &Reply, size: Size) {
        if reply.context == 0 {
            return;
        }
        let of_text = reply.context as f64 - size.images as f64 * IMAGE;
        self.edited |= is_edited(reply);
        if !self.edited && of_text > 0.0 {
            self.ratio = (size.text() as f64 / of_text).clamp(RATIOS.0, RATIOS.1);
        }
        self.set(reply.context, size);
    }

    /// Puts an estimate in the place of tokens that a reply does not tell, so that budgets bind and the record shows it;
    /// `size` is that of the conversation it answers. Tells whether it had to.
    pub(super) fn complete(&self, reply: &mut Reply, size: Size) -> bool {
        let content = reply.content();
        let (asked, said) = (reply.usage.prompts() > 0, reply.usage.output > 0 || content.is_empty());
        if asked && said {
            return false;
        }
        if !reply.raw["usage"].is_object() {
            reply.raw["usage"] = json!({});
        }
        let (before, after) = (self.tokens(size), self.tokens(size.plus(Size::of(&content))));
        if !asked {
            reply.usage.input = before as u64;
            reply.raw["usage"]["input_tokens"] = json!(reply.usage.input);
        }
        if !said {
            reply.usage.output = (after - before) as u64;
            reply.raw["usage"]["output_tokens"] = json!(reply.usage.output);
        }
        true
    }

    /// Takes over a count of a conversation of this size.
    pub(super) fn set(&mut self, tokens: u64, size: Size) {
        (self.measured, self.at) = (tokens, size);
    }

    /// Returns the tokens of a conversation of this size.
    pub(super) fn tokens(&self, size: Size) -> f64 {
        self.measured as f64 + self.fresh(size)
    }

    /// Returns the share of the window that these tokens fill.
    pub(super) fn share(&self, tokens: f64) -> f64 {
        if self.window == 0 { 0.0 } else { tokens / self.window as f64 }
    }

    /// Tells whether a count could move a conversation of this size across one of these shares of the window.
    pub(super) fn is_close(&self, size: Size, shares: &[f64]) -> bool {
        let (share, error) = (self.share(self.tokens(size)), self.share(self.fresh(size).abs()) / 2.0);
        shares.iter().any(|at| (share - at).abs() < error)
    }

    /// Returns the bytes of text that this share of the window holds.
    pub(super) fn bytes(&self, share: f64) -> usize {
        (share.max(0.0) * self.window as f64 * self.ratio) as usize
    }

    /// Returns the same, without a bound where the window is unknown.
    pub(super) fn most_bytes(&self, share: f64) -> usize {
        if self.window == 0 { usize::MAX } else { self.bytes(share) }
    }

    fn fresh(&self, size: Size) -> f64 {
        let bytes = size.text() as f64 - self.at.text() as f64;
        let images = size.images as f64 - self.at.images as f64;
        bytes / self.ratio + images * IMAGE
    }
}

/// Tells whether the service took something out of the conversation, or put a summary in its place.
fn is_edited(reply: &Reply) -> bool {
    let applied = reply.raw["context_management"]["applied_edits"].as_array().is_some_and(|edits| !edits.is_empty());
    applied || reply.content().iter().any(|block| block["type"] == "compaction")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::StopReason;
    use crate::message::Usage;

    fn reply(context: u64, raw: Value) -> Reply {
        Reply { raw, stop_reason: StopReason::EndTurn, usage: Usage::default(), context }
    }

    fn text(bytes: usize) -> Size {
        Size { bytes, ..Size::default() }
    }

    #[test]
    fn an_image_weighs_by_its_number_and_not_by_its_bytes() {
        let image = json!({"type": "image", "source": {"type": "base64", "data": "x".repeat(5000)}});
        let size =
            Size::of(&[json!({"type": "tool_result", "content": [image]}), json!({"type": "text", "text": "y"})]);
        assert_eq!((size.images, size.image_bytes), (1, 5000));
        assert!(size.text() < 200, "{size:?}");
    }

    #[test]
    fn what_came_after_a_reply_is_estimated_by_the_bytes_of_its_tokens() {
        let mut gauge = Gauge::new(1000);
        assert_eq!(gauge.tokens(text(350)), 100.0);
        gauge.learn(&reply(200, json!({})), text(1000));
        assert_eq!(gauge.tokens(text(1000)), 200.0);
        assert_eq!(gauge.tokens(text(1500)), 300.0, "five bytes a token");
        assert_eq!(gauge.tokens(text(500)), 100.0, "and less after a clearing");
        assert_eq!((gauge.share(300.0), gauge.bytes(0.1)), (0.3, 500));
    }

    #[test]
    fn a_count_is_worth_asking_for_only_where_it_decides() {
        let mut gauge = Gauge::new(1000);
        gauge.learn(&reply(500, json!({})), text(2500));
        assert!(!gauge.is_close(text(2500), &[0.5]), "it was just measured");
        assert!(gauge.is_close(text(3000), &[0.64]) && gauge.is_close(text(3000), &[0.1, 0.56]));
        assert!(!gauge.is_close(text(3000), &[0.5, 0.7]));
    }

    #[test]
    fn a_reply_without_usage_and_a_wild_one_teach_nothing() {
        let mut gauge = Gauge::new(1000);
        gauge.learn(&reply(0, json!({})), text(1000));
        assert_eq!(gauge.tokens(text(350)), 100.0);
        gauge.learn(&reply(1, json!({})), text(1000));
        assert_eq!(gauge.tokens(text(1600)), 101.0, "six bytes a token at most");
    }

    #[test]
    fn the_ratio_stays_once_the_service_has_edited() {
        let edited = [
            json!({"context_management": {"applied_edits": [{"type": "clear_tool_uses_1"}]}}),
            json!({"content": [{"type": "compaction", "content": "so far"}]}),
        ];
        for raw in edited {
            let mut gauge = Gauge::new(1000);
            gauge.learn(&reply(250, json!({})), text(1000));
            gauge.learn(&reply(50, raw), text(2000));
            gauge.learn(&reply(60, json!({})), text(2040));
            assert_eq!(gauge.tokens(text(2080)), 70.0, "four bytes a token as before");
        }
    }

    #[test]
    fn an_unknown_window_is_never_full() {
        assert_eq!((Gauge::new(0).share(1e9), Gauge::new(0).most_bytes(0.1)), (0.0, usize::MAX));
    }
}
