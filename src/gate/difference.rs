//! How a check's files differ from what was approved, for people.

use crate::gate::pin::Mode;
use crate::gate::pin::Pin;
use crate::gate::pin::Pinned;
use similar::TextDiff;
use std::collections::BTreeMap;
use std::time::Duration;

/// A longer text would hide the other files.
const MAX_CHARS: usize = 8000;

/// Larger files are not compared line by line.
const COMPARED: usize = 1 << 20;
/// After this time a difference is told less finely.
const COMPARING: Duration = Duration::from_secs(2);

/// Compares what was pinned with what lies there now and returns the difference as text, if there is one. `pinned`
/// returns the bytes of a pinned id.
pub(in crate::gate) fn difference(
    pins: &BTreeMap<String, Option<String>>,
    now: &[Pinned],
    pinned: &dyn Fn(&str) -> Option<Vec<u8>>,
) -> Option<String> {
    let current: BTreeMap<&str, &Pinned> = now.iter().map(|file| (file.path.as_str(), file)).collect();
    let mut texts = Vec::new();
    for (path, pin) in pins {
        let there = current.get(path.as_str());
        let file = there.filter(|file| file.id.is_some());
        match (pin.as_deref().map(Pin::read), file) {
            (Some(pin), Some(file)) if pin.fits(file) => {}
            (None, None) => {}
            (Some(pin), Some(file)) if file.id.as_deref() == Some(pin.id) => texts.push(format!(
                "`{path}` has another mode than was approved: {}",
                if file.mode == Mode::Executable { "it is executable now" } else { "it is not executable now" }
            )),
            (Some(pin), Some(file)) => texts.push(changed(path, pinned(pin.id).as_deref(), file.bytes.as_deref())),
            (Some(_), None) if there.is_some_and(|there| there.mode == Mode::Special) => {
                texts.push(format!("`{path}` was a file at approval and is a pipe, a socket or a device now"));
            }
            (Some(_), None) => texts.push(format!("`{path}` was there at approval and is gone")),
            (None, Some(_)) => texts.push(format!("`{path}` was absent at approval and is there now")),
        }
    }
    let new = now.iter().filter(|file| file.id.is_some() && !pins.contains_key(&file.path));
    texts.extend(new.map(|file| format!("`{}` is new beside the files that were approved", file.path)));
    let text = texts.join("\n");
    let short: String = text.chars().take(MAX_CHARS).collect();
    match () {
        () if text.is_empty() => None,
        () if short.len() < text.len() => Some(format!("{short}\n[… the rest is left out …]")),
        () => Some(text),
    }
}

fn changed(path: &str, old: Option<&[u8]>, new: Option<&[u8]>) -> String {
    let text = |bytes: &[u8]| std::str::from_utf8(bytes).ok().filter(|text| text.len() <= COMPARED).map(str::to_owned);
    let (Some(old), Some(new)) = (old.and_then(text), new.and_then(text)) else {
        return format!("`{path}` is not what was approved");
    };
    // A diff would show the same line twice.
    if old.replace("\r\n", "\n") == new.replace("\r\n", "\n") {
        return format!(
            "`{path}` has other line ends than were approved; where git writes them so at a checkout (`core.autocrlf`, \
             `.gitattributes`), `{path} text eol=lf` in `.gitattributes` says which are meant"
        );
    }
    let diff = TextDiff::configure().timeout(COMPARING).diff_lines(old.as_str(), new.as_str());
    let shown = diff.unified_diff().header("approved", "now").to_string();
    format!("`{path}` is not what was approved\n{}", shown.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, id: Option<&str>, bytes: &str) -> Pinned {
        Pinned { path: path.to_owned(), id: id.map(str::to_owned), mode: Mode::Plain, bytes: Some(bytes.into()) }
    }

    fn pins(pairs: &[(&str, Option<&str>)]) -> BTreeMap<String, Option<String>> {
        pairs.iter().map(|(path, id)| ((*path).to_owned(), id.map(str::to_owned))).collect()
    }

    #[test]
    fn equal_files_have_no_difference() {
        let pins = pins(&[("a", Some("1")), ("b", None)]);
        assert_eq!(difference(&pins, &[file("a", Some("1"), "x"), file("b", None, "")], &|_| None), None);
    }

    #[test]
    fn every_kind_of_difference_is_told() {
        let pins = pins(&[("a", Some("1")), ("b", None), ("c", Some("3"))]);
        let now = [file("a", Some("2"), "one\nnew\n"), file("b", Some("5"), ""), file("d", Some("4"), "")];
        let expected = "`a` is not what was approved\n--- approved\n+++ now\n@@ -1,2 +1,2 @@\n one\n-old\n+new\n\
            `b` was absent at approval and is there now\n`c` was there at approval and is gone\n\
            `d` is new beside the files that were approved";
        assert_eq!(difference(&pins, &now, &|_| Some(b"one\nold\n".to_vec())).unwrap(), expected);
    }

    #[test]
    fn of_line_ends_alone_no_two_equal_lines_are_shown() {
        let told = |old: &'static str, new| {
            difference(&pins(&[("a", Some("1"))]), &[file("a", Some("2"), new)], &|_| Some(old.into())).unwrap()
        };
        for text in [told("one\ntwo\n", "one\r\ntwo\r\n"), told("one\r\ntwo\n", "one\ntwo\n")] {
            assert!(
                text.starts_with("`a` has other line ends than were approved; ") && !text.contains("one"),
                "{text}"
            );
        }
        assert!(told("one\n", "one\r\nmore\r\n").contains("+more"));
    }

    #[test]
    fn a_special_file_is_told_where_a_file_was_pinned() {
        let pipe = |path: &str| Pinned { mode: Mode::Special, ..file(path, None, "") };
        let text = difference(&pins(&[("a", Some("1"))]), &[pipe("a"), pipe("b")], &|_| None).unwrap();
        assert_eq!(text, "`a` was a file at approval and is a pipe, a socket or a device now");
    }

    #[test]
    fn large_files_are_not_compared_line_by_line() {
        let large = "line\n".repeat(COMPARED / 5 + 1);
        let text = difference(&pins(&[("a", Some("1"))]), &[file("a", Some("2"), &large)], &|_| Some(b"x".to_vec()));
        assert_eq!(text.unwrap(), "`a` is not what was approved");
        let unread = Pinned { bytes: None, ..file("a", Some("2"), "") };
        assert!(difference(&pins(&[("a", Some("1"))]), &[unread], &|_| Some(b"x".to_vec())).is_some());
    }

    #[test]
    fn bytes_that_are_no_text_are_not_shown() {
        let now = [file("a", Some("2"), "x")];
        let text = difference(&pins(&[("a", Some("1"))]), &now, &|_| Some(vec![0xff])).unwrap();
        assert_eq!(text, "`a` is not what was approved");
    }
}
