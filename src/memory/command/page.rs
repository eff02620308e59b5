//! A file as the model sees it: numbered lines, cut to what a view may hold, or an image.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use serde_json::json;

use crate::memory::command::Range;
use crate::memory::command::Target;
use crate::message::ToolResult;

/// The most lines that the tool's contract lets a view have.
const MOST_LINES: usize = 999_999;
/// The largest image that the service takes is 5 MB of base64.
const LARGEST_IMAGE: usize = 3_700_000;

/// Shows a file, or says why it cannot be shown.
pub(super) fn show(at: &Target, bytes: &[u8], range: Option<&Range>, view_chars: usize) -> ToolResult {
    if let Some(media_type) = image_type(at.clean(), bytes) {
        return image(at, bytes, media_type);
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return ToolResult::error(format!(
            "Error: The file {at} is not UTF-8 text ({} bytes); it can be renamed or deleted, not viewed or edited",
            bytes.len()
        ));
    };
    let lines = lines(text);
    if lines.len() > MOST_LINES {
        return ToolResult::error(format!("File {at} exceeds maximum line limit of 999,999 lines."));
    }
    match resolve(range, lines.len()) {
        Ok((first, last)) => ToolResult::text(format!(
            "Here's the content of {at} with line numbers:\n{}",
            number(&lines, first, last, view_chars)
        )),
        Err(error) => ToolResult::error(error),
    }
}

/// Splits a text into the lines a view shows: only LF ends one, and a final LF adds none.
pub(super) fn lines(text: &str) -> Vec<&str> {
    text.strip_suffix('\n').unwrap_or(text).split('\n').collect()
}

/// Numbers the lines `first..=last` (from 1), cut at `view_chars` characters with a notice.
pub(super) fn number(lines: &[&str], first: usize, last: usize, view_chars: usize) -> String {
    let mut rows: Vec<String> = Vec::new();
    let mut left = view_chars;
    for at in first..=last {
        let line = lines[at - 1];
        let length = line.chars().count();
        // The line break before each line but the first counts too.
        let needed = length + usize::from(at > first);
        if needed <= left {
            left -= needed;
            rows.push(format!("{at:6}\t{line}"));
            continue;
        }
        let mut rest = at;
        if at == first {
            let cut: String = line.chars().take(left).collect();
            rows.push(format!("{at:6}\t{cut}"));
            rows.push(format!("[line {at} is cut after {left} of its {length} characters]"));
            rest += 1;
        }
        rows.push(notice(rest, last, lines.len()));
        break;
    }
    rows.join("\n")
}

fn notice(rest: usize, last: usize, all: usize) -> String {
    let more = if rest <= last { format!(" to see on, for example [{rest}, {last}]") } else { String::new() };
    format!("[cut here: the file has {all} lines; use `view_range`{more}]")
}

fn resolve(range: Option<&Range>, all: usize) -> Result<(usize, usize), String> {
    let (first, last) = match range {
        None => return Ok((1, all)),
        Some(Range::Lines(first, last)) => (first, last),
        Some(Range::Invalid(text)) => {
            return Err(format!(
                "Error: Invalid `view_range` parameter: {text}. It should be two integers: [first, last]"
            ));
        }
    };
    let invalid = |why: String| Err(format!("Error: Invalid `view_range` parameter: [{first}, {last}]. {why}"));
    let start = usize::try_from(first.number.max(1)).unwrap_or(usize::MAX);
    if start > all {
        return invalid(format!("The file has {all} lines"));
    }
    let end = match last.number {
        -1 => all,
        number => usize::try_from(number).unwrap_or(0).min(all),
    };
    if end < start {
        return invalid("The last line should not be before the first; -1 means the end of the file".to_owned());
    }
    Ok((start, end))
}

/// Returns the media type of an image by its bytes, if its name says that it is one.
fn image_type(path: &str, bytes: &[u8]) -> Option<&'static str> {
    let name = path.to_ascii_lowercase();
    if ![".png", ".jpg", ".jpeg"].iter().any(|ending| name.ends_with(ending)) {
        return None;
    }
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        Some("image/png")
    } else if bytes.starts_with(b"\xff\xd8\xff") {
        Some("image/jpeg")
    } else {
        None
    }
}

fn image(at: &Target, bytes: &[u8], media_type: &str) -> ToolResult {
    if bytes.len() > LARGEST_IMAGE {
        let size = bytes.len();
        return ToolResult::error(format!("Error: The image {at} has {size} bytes, too many to be shown"));
    }
    let source = json!({"type": "base64", "media_type": media_type, "data": STANDARD.encode(bytes)});
    ToolResult { content: Value::Array(vec![json!({"type": "image", "source": source})]), is_error: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_at_a_line_end() {
        let lines = ["aaaa", "bbbb", "cccc"];
        assert_eq!(number(&lines, 1, 3, 14), "     1\taaaa\n     2\tbbbb\n     3\tcccc");
        assert_eq!(
            number(&lines, 1, 3, 13),
            "     1\taaaa\n     2\tbbbb\n[cut here: the file has 3 lines; use `view_range` to see on, for example [3, 3]]"
        );
    }

    #[test]
    fn a_too_long_first_line_is_cut_at_a_character() {
        let lines = ["ééééé", "b"];
        assert_eq!(
            number(&lines, 1, 2, 3),
            "     1\tééé\n[line 1 is cut after 3 of its 5 characters]\n\
             [cut here: the file has 2 lines; use `view_range` to see on, for example [2, 2]]"
        );
    }

    #[test]
    fn a_final_line_break_adds_no_line() {
        assert_eq!(lines(""), [""]);
        assert_eq!(lines("\n"), [""]);
        assert_eq!(lines("a\n\n"), ["a", ""]);
        assert_eq!(lines("a\r\nb"), ["a\r", "b"]);
    }
}
