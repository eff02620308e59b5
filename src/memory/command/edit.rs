//! The two edits of a text, as pure functions.

use crate::memory::command::page;

/// Why a replacement cannot be made.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum NotUnique {
    Absent,
    /// The lines, from 1, at which the text begins.
    Several(Vec<usize>),
}

/// A text after an edit, and the lines (from 1) worth showing.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Replaced {
    pub(super) text: String,
    pub(super) first: usize,
    pub(super) last: usize,
}

/// Replaces `old`, which must occur exactly once, counted from the left without overlap.
pub(super) fn replace(text: &str, old: &str, new: &str) -> Result<Replaced, NotUnique> {
    if old.is_empty() {
        return Err(NotUnique::Absent);
    }
    let starts: Vec<usize> = text.match_indices(old).map(|(at, _)| at).collect();
    let start = match starts[..] {
        [] => return Err(NotUnique::Absent),
        [start] => start,
        _ => return Err(NotUnique::Several(starts.iter().map(|at| line_of(text, *at)).collect())),
    };
    let line = line_of(text, start);
    let changed = format!("{}{new}{}", &text[..start], &text[start + old.len()..]);
    let all = page::lines(&changed).len();
    let last = (line + new.matches('\n').count() + 2).min(all);
    let first = line.saturating_sub(2).clamp(1, last);
    Ok(Replaced { text: changed, first, last })
}

/// Inserts whole lines after line `after`, which must be at most [`count`].
pub(super) fn insert(text: &str, after: usize, inserted: &str) -> String {
    let at = match after {
        0 => 0,
        _ => text.match_indices('\n').nth(after - 1).map_or(text.len(), |(at, _)| at + 1),
    };
    let (before, behind) = text.split_at(at);
    let mut changed = before.to_owned();
    if !before.is_empty() && !before.ends_with('\n') {
        changed.push('\n');
    }
    changed.push_str(inserted);
    if !inserted.ends_with('\n') {
        changed.push('\n');
    }
    changed.push_str(behind);
    changed
}

/// Counts the lines of a text; an empty one has none.
pub(super) fn count(text: &str) -> usize {
    if text.is_empty() { 0 } else { page::lines(text).len() }
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replacement_shows_two_lines_around_the_whole_change() {
        let replaced = replace("1\n2\n3\n4\n5\n6\n7", "4", "x\ny").unwrap();
        assert_eq!((replaced.first, replaced.last), (2, 7));
        assert_eq!(replaced.text, "1\n2\n3\nx\ny\n5\n6\n7");
    }

    #[test]
    fn removing_the_last_line_still_shows_something() {
        let replaced = replace("a\nb\nc\nd\n", "d\n", "").unwrap();
        assert_eq!((replaced.first, replaced.last), (2, 3));
        let replaced = replace("a\n", "a\n", "").unwrap();
        assert_eq!((replaced.first, replaced.last), (1, 1));
    }

    #[test]
    fn matches_are_counted_without_overlap() {
        assert_eq!(replace("aaa", "aa", "b").unwrap().text, "ba");
        assert_eq!(replace("aaaa\naa", "aa", "b"), Err(NotUnique::Several(vec![1, 1, 2])));
        assert_eq!(replace("a", "", "b"), Err(NotUnique::Absent));
    }

    #[test]
    fn inserted_text_becomes_whole_lines() {
        assert_eq!(insert("a\nb", 2, "c"), "a\nb\nc\n");
        assert_eq!(insert("a\nb", 1, "c"), "a\nc\nb");
        assert_eq!(insert("", 0, ""), "\n");
        assert_eq!(insert("a\n", 1, "b\n\n"), "a\nb\n\n");
        assert_eq!(count(""), 0);
        assert_eq!(count("a\n"), 1);
    }
}
