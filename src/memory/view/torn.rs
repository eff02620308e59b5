//! What a power cut leaves of a file that was not synced: cut at the end of a page, or whole pages of zeros.

const PAGE: usize = 4096;

/// Tells whether bytes may be torn ones, before it is known of what.
pub(super) fn may_be(found: &[u8]) -> bool {
    found.len().is_multiple_of(PAGE) || found.contains(&0)
}

/// Tells whether bytes are what may be left of the whole ones.
pub(super) fn is_left_of(found: &[u8], whole: &[u8]) -> bool {
    let fits = found.len() == whole.len() || found.len() < whole.len() && found.len().is_multiple_of(PAGE);
    let page_fits = |(found, whole): (&[u8], &[u8])| whole.starts_with(found) || found.iter().all(|byte| *byte == 0);
    fits && found.chunks(PAGE).zip(whole.chunks(PAGE)).all(page_fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lost_pages_is_torn_and_what_lost_words_is_an_edit() {
        let whole = b"some words\n".repeat(1000);
        let zeroed = |pages: std::ops::Range<usize>| {
            let mut torn = whole.clone();
            torn[pages.start * PAGE..(pages.end * PAGE).min(whole.len())].fill(0);
            torn
        };
        let torn = [vec![], whole[..PAGE].to_vec(), whole[..2 * PAGE].to_vec(), zeroed(0..1), zeroed(1..3)];
        for torn in &torn {
            assert!(may_be(torn) && is_left_of(torn, &whole));
        }
        let other = b"other word\n".repeat(1000);
        for edited in [&whole[..5000], &other[..PAGE], b"\0", &[&whole[..], b"\0"].concat()] {
            assert!(!is_left_of(edited, &whole));
        }
        assert!(!may_be(&whole));
    }
}
