//! Text from outside made safe for a terminal: what would act, or hide, is shown as an escape instead.
//!
//! Nothing is taken out, because a person must see that something was there. Styling is added by `output` afterwards, so
//! no escape sequence in the text itself can ever be meant.

use serde_json::Value;
use std::borrow::Cow;
use std::fmt::Write;

/// Makes text safe and keeps its lines; a line end of Windows becomes one of ours.
pub(super) fn block(text: &str) -> Cow<'_, str> {
    let text: Cow<'_, str> = if text.contains("\r\n") { text.replace("\r\n", "\n").into() } else { text.into() };
    match escape(&text, |c| c == '\n' || c == '\t') {
        Some(escaped) => escaped.into(),
        None => text,
    }
}

/// Makes text safe for one line: line ends and tabs are shown too.
pub(super) fn line(text: &str) -> Cow<'_, str> {
    escape(text, |_| false).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// Renders JSON that is safe to show and still the same value: what would act or hide is written as `\u…`.
pub(super) fn json(value: &Value) -> String {
    let mut safe = String::new();
    for c in value.to_string().chars() {
        if acts_or_hides(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                write!(safe, "\\u{unit:04x}").ok();
            }
        } else {
            safe.push(c);
        }
    }
    safe
}

/// Returns the text with escapes, or none when it is safe as it is.
fn escape(text: &str, keep: fn(char) -> bool) -> Option<String> {
    let first = text.find(|c| acts_or_hides(c) && !keep(c))?;
    let mut safe = String::with_capacity(text.len() + 16);
    safe.push_str(&text[..first]);
    let mut before = text[..first].chars().next_back();
    for c in text[first..].chars() {
        if !acts_or_hides(c) || keep(c) || shapes_emoji(before, c) {
            safe.push(c);
        } else {
            safe.extend(escaped(c));
        }
        before = Some(c);
    }
    Some(safe)
}

fn escaped(c: char) -> Box<dyn Iterator<Item = char>> {
    match c {
        '\n' | '\r' | '\t' => Box::new(c.escape_default()),
        _ => Box::new(c.escape_unicode()),
    }
}

/// Tells whether this is the one harmless use of a variation selector: a single one after a symbol.
fn shapes_emoji(before: Option<char>, c: char) -> bool {
    c == '\u{fe0f}' && before.is_some_and(|before| !before.is_ascii() && !acts_or_hides(before))
}

/// Tells whether a terminal would act on the character, or a reader not see it.
fn acts_or_hides(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    matches!(c,
        '\u{80}'..='\u{9f}'                           // C1 controls, among them CSI in one character
        | '\u{ad}' | '\u{34f}' | '\u{61c}'              // soft hyphen, grapheme joiner, Arabic letter mark
        | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{3164}' | '\u{ffa0}' // fillers
        | '\u{180b}'..='\u{180f}' | '\u{fe00}'..='\u{fe0f}' // variation selectors
        | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{206f}' // zero width, direction marks and isolates
        | '\u{2028}'..='\u{202e}'                     // line and paragraph ends, direction overrides
        | '\u{feff}' | '\u{fff0}'..='\u{fffb}'          // byte order mark, interlinear annotations
        | '\u{1d173}'..='\u{1d17a}' | '\u{1bca0}'..='\u{1bca3}' // invisible format characters
        | '\u{e0000}'..='\u{e0fff}'                   // tags and further selectors
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes texts from a seed, dense in what is dangerous, so that a failure can be repeated.
    fn texts(count: usize) -> impl Iterator<Item = String> {
        const SPICE: &str = "\r\n\t\x1b[]0;\x07\u{9b}\u{202e}\u{200d}\u{fe0f}\u{e0041}\u{feff}\\u{}❤é漢👩";
        let spice: Vec<char> = SPICE.chars().collect();
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut next = move |below: u32| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u32 % below
        };
        (0..count).map(move |_| {
            let length = next(40);
            let mut one = |_| match next(3) {
                0 => char::from_u32(next(0x11_0000)).unwrap_or('x'),
                1 => char::from(next(128) as u8),
                _ => spice[next(spice.len() as u32) as usize],
            };
            (0..length).map(&mut one).collect()
        })
    }

    fn is_dangerous(c: char) -> bool {
        c.is_control() || matches!(c as u32, 0x200b..=0x200f | 0x202a..=0x202e | 0x2066..=0x2069 | 0xe0000..=0xe007f)
    }

    #[test]
    fn no_character_of_unicode_gets_through_that_acts_or_hides() {
        for c in '\0'..=char::MAX {
            let shown = line(c.encode_utf8(&mut [0; 4])).into_owned();
            assert!(!shown.chars().any(is_dangerous), "U+{:04X}", c as u32);
            let unchanged = shown.starts_with(c);
            assert_eq!(unchanged, !acts_or_hides(c), "U+{:04X}", c as u32);
        }
    }

    #[test]
    fn whatever_comes_leaves_safe_and_stays_so() {
        for text in texts(20_000) {
            let shown = block(&text).into_owned();
            assert!(!shown.chars().any(|c| is_dangerous(c) && c != '\n' && c != '\t'), "{text:?}");
            assert_eq!(block(&shown), shown, "a second time changes nothing: {text:?}");
            assert!(!line(&text).chars().any(is_dangerous), "{text:?}");
            let kept: String = text.chars().filter(char::is_ascii_alphanumeric).collect();
            assert!(is_subsequence(&kept, &shown), "nothing is lost: {text:?}");
        }
    }

    fn is_subsequence(small: &str, large: &str) -> bool {
        let mut rest = large.chars();
        small.chars().all(|c| rest.any(|other| other == c))
    }

    #[test]
    fn ordinary_text_stays_as_it_is() {
        let text = "fn main() {\n\tprintln!(\"héllo 漢字 🚀 «ok»\");\n}\n";
        assert!(matches!(block(text), Cow::Borrowed(same) if same == text));
        assert_eq!(block("❤\u{fe0f} ✔\u{fe0f}"), "❤\u{fe0f} ✔\u{fe0f}");
    }

    #[test]
    fn attacks_are_shown_as_what_they_are() {
        let cases = [
            ("\x1b]0;owned\x07", r"\u{1b}]0;owned\u{7}"),
            ("\u{9b}31mred", r"\u{9b}31mred"),
            ("all passed\rfailed: 3", r"all passed\rfailed: 3"),
            ("dir\r\nnext", "dir\nnext"),
            ("\u{202e}gpj.exe", r"\u{202e}gpj.exe"),
            ("a\u{200b}b\u{200d}c", r"a\u{200b}b\u{200d}c"),
            ("x\u{e0068}\u{e0069}", r"x\u{e0068}\u{e0069}"),
            ("a\u{fe0f}", r"a\u{fe0f}"),
            ("❤\u{fe0f}\u{fe0f}", "❤\u{fe0f}\\u{fe0f}"),
        ];
        for (text, expected) in cases {
            assert_eq!(block(text), expected);
        }
        assert_eq!(line("two\n\tlines"), r"two\n\tlines");
    }

    #[test]
    fn safe_json_is_still_the_same_value() {
        let value = serde_json::json!({"text": "a\u{202e}b\u{9b}\u{e0041}\n", "漢": [1.50, null]});
        let shown = json(&value);
        assert_eq!(shown, r#"{"text":"a\u202eb\u009b\udb40\udc41\n","漢":[1.5,null]}"#);
        assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), value);
        for text in texts(2000) {
            let value = Value::String(text);
            let shown = json(&value);
            assert!(!shown.chars().any(is_dangerous));
            assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), value);
        }
    }
}
