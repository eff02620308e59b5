//! Long texts, cut at a character.

/// Cuts the middle out of a text of more than `most` characters; `None` when it fits.
pub fn ends(text: &str, most: usize) -> Option<String> {
    let count = text.chars().count();
    if count <= most {
        return None;
    }
    let gap_of = |left_out: usize| format!("\n[… {left_out} of {count} characters left out …]\n");
    let room = most.saturating_sub(gap_of(count).chars().count());
    let (head, tail) = (room - room / 2, room / 2);
    let end_of_head = start_of(text, head);
    let start_of_tail = start_of(text, count - tail);
    Some(format!("{}{}{}", &text[..end_of_head], gap_of(count - head - tail), &text[start_of_tail..]))
}

/// Cuts a text after `most` characters and says so.
pub fn head(text: &str, most: usize) -> String {
    let cut = start_of(text, most);
    if cut == text.len() { text.to_owned() } else { format!("{}…", &text[..cut]) }
}

fn start_of(text: &str, character: usize) -> usize {
    text.char_indices().nth(character).map_or(text.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_stay_and_the_whole_keeps_its_limit() {
        let text = format!("head{}tail", "ä".repeat(1000));
        let cut = ends(&text, 100).unwrap();
        assert!(cut.starts_with("headä") && cut.ends_with("ätail"), "{cut}");
        assert!(cut.contains("[… ") && cut.contains(" of 1008 characters left out …]"), "{cut}");
        assert!(cut.chars().count() <= 100);
        assert_eq!(ends(&text, 1008), None);
    }

    #[test]
    fn a_head_is_cut_at_a_character() {
        assert_eq!((head("äöü", 2), head("äöü", 3)), ("äö…".to_owned(), "äöü".to_owned()));
    }
}
