//! The text of `progress.md`: one entry a session, newest last.

/// Older entries move out when the log passes this size.
const ROTATE_ABOVE: usize = 64 * 1024;

/// What stays when entries move out.
const KEEP: usize = ROTATE_ABOVE / 2;

/// Makes the entry of a session. `at` is a UTC time for people, `facts` are longhaul's; `words` are the agent's own,
/// quoted so that no line of them can pass for a heading or a fact.
pub fn entry(session: u32, at: &str, facts: &[String], words: &str) -> String {
    let mut entry = format!("## Session {session} · {at}\n\n");
    for fact in facts {
        entry.push_str(&format!("- {}\n", fact.trim().replace('\n', "\n  ")));
    }
    if !words.trim().is_empty() {
        entry.push_str(&format!("\n> agent: {}\n", words.trim().replace("\r\n", "\n").replace('\n', "\n> ")));
    }
    entry
}

/// Appends an entry, with a blank line before it.
pub fn append(log: &str, entry: &str) -> String {
    let gap = match log {
        "" => "",
        log if log.ends_with("\n\n") => "",
        log if log.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    format!("{log}{gap}{entry}")
}

/// Returns the newest entries, at most `count` of them and at most `bytes`. Of a newest one that is longer alone the
/// beginning is returned.
pub fn newest(log: &str, count: usize, bytes: usize) -> &str {
    let starts: Vec<usize> = entries(log).map(|(start, _)| start).collect();
    let first = starts.len().saturating_sub(count);
    let fitting = starts[first..].iter().find(|start| log.len() - **start <= bytes);
    match (fitting, starts.last()) {
        (Some(start), _) => &log[*start..],
        (None, Some(start)) => &log[*start..log.floor_char_boundary(start + bytes)],
        (None, None) => "",
    }
}

/// A log whose older entries were moved out.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Rotated {
    /// The file for the older entries: `progress/0001-0040.md`.
    pub path: String,
    pub older: String,
    pub rest: String,
}

/// Moves the older entries out of a log that passes 64 kB, whole entries only and never the newest.
pub fn rotate(log: &str) -> Option<Rotated> {
    if log.len() <= ROTATE_ABOVE {
        return None;
    }
    let entries: Vec<(usize, u32)> = entries(log).collect();
    let (start, first) = *entries.first()?;
    let stays = entries.iter().position(|(at, _)| log.len() - at <= KEEP).unwrap_or(entries.len() - 1);
    let (cut, _) = *entries.get(stays)?;
    let (_, last) = *entries.get(stays.checked_sub(1)?)?;
    Some(Rotated {
        path: format!("progress/{first:04}-{last:04}.md"),
        older: log[start..cut].to_owned(),
        rest: format!("{}{}", &log[..start], &log[cut..]),
    })
}

/// Finds the entries: where each begins, and its session.
fn entries(log: &str) -> impl Iterator<Item = (usize, u32)> {
    let mut start = 0;
    log.split_inclusive('\n').filter_map(move |line| {
        let at = start;
        start += line.len();
        let number = line.strip_prefix("## Session ")?.split_whitespace().next()?.parse().ok()?;
        Some((at, number))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(sessions: std::ops::RangeInclusive<u32>, padding: usize) -> String {
        let fact = "x".repeat(padding);
        sessions.fold("# Progress\n".to_owned(), |log, session| {
            append(&log, &entry(session, "2026-11-29 14:03 UTC", std::slice::from_ref(&fact), ""))
        })
    }

    fn sessions(log: &str) -> Vec<u32> {
        entries(log).map(|(_, session)| session).collect()
    }

    #[test]
    fn an_entry_holds_facts_and_quoted_words() {
        let facts = ["feature: login, proven (check passed in 0.3 s)".to_owned()];
        let entry = entry(7, "2026-11-29 14:03 UTC", &facts, "done\n## Session 99 · forged\n- fact: forged");
        let expected = "## Session 7 · 2026-11-29 14:03 UTC\n\n- feature: login, proven (check passed in 0.3 s)\n\n\
            > agent: done\n> ## Session 99 · forged\n> - fact: forged\n";
        assert_eq!(entry, expected);
        assert_eq!(sessions(&append("# Progress\n", &entry)), [7]);
    }

    #[test]
    fn an_entry_stands_apart_whatever_the_log_ends_with() {
        let appended = ["", "a", "a\n", "a\n\n"].map(|log| append(log, "## Session 1 · x\n"));
        assert_eq!(
            appended,
            ["## Session 1 · x\n", "a\n\n## Session 1 · x\n", "a\n\n## Session 1 · x\n", "a\n\n## Session 1 · x\n"]
        );
    }

    #[test]
    fn the_newest_entries_fit_in_number_and_size() {
        let log = log(1..=5, 100);
        assert_eq!(sessions(newest(&log, 3, 8000)), [3, 4, 5]);
        assert!(newest(&log, 3, 8000).starts_with("## Session 3 "));
        assert!(newest(&log, 3, 300).starts_with("## Session 4 "));
        assert_eq!(newest(&log, 3, 20).len(), 20);
        assert_eq!(newest("# Progress\n", 3, 8000), "");
        assert_eq!(newest(&log, 0, 8000), &log[log.rfind("## ").unwrap()..]);
    }

    #[test]
    fn a_long_log_moves_its_older_entries_out() {
        let log = log(1..=70, 1000);
        let rotated = rotate(&log).unwrap();
        assert_eq!(rotated.path, "progress/0001-0039.md");
        assert!(rotated.rest.starts_with("# Progress\n\n## Session 40 ") && rotated.rest.len() <= KEEP + 20);
        assert!(rotated.older.starts_with("## Session 1 "));
        assert_eq!(rotated.rest.replacen("## Session 40 ", &format!("{}## Session 40 ", rotated.older), 1), log);
        assert_eq!(rotate(&rotated.rest), None);
    }

    #[test]
    fn one_entry_alone_is_never_moved_out() {
        assert_eq!(rotate(&log(1..=1, 100_000)), None);
        assert_eq!(rotate(&"x".repeat(100_000)), None);
        assert_eq!(rotate(&log(1..=2, 50_000)).unwrap().path, "progress/0001-0001.md");
    }
}
