//! Files that a text reads into its own shell, where they may take over the commands behind them.

use crate::gate::each::Part;
use crate::gate::each::Reader;
use crate::gate::each::word;
use crate::gate::words;

/// Gives the commands by which checks decide back to the shell. What is unset here no function can take over; an alias
/// counts from the next line on.
const AS_THEY_WERE: &str = "; unset -f test grep egrep fgrep diff cmp comm false sh bash unalias; \
     unalias test [ grep egrep fgrep diff cmp comm false sh bash 2>/dev/null || :";

/// Returns the files that a text reads into its own shell and behind which it goes on; those of memory are approved.
pub fn sourced(text: &str) -> Vec<String> {
    let parts = Reader::parts(text).unwrap_or_default();
    let before_others = parts.len().saturating_sub(1);
    parts[..before_others].iter().filter_map(|part| file(text, part)).collect()
}

/// Puts behind a part that reads a file in what gives the commands back, beside what comes behind it anyway.
pub(super) fn and_commands_as_they_were(tail: Option<(String, usize)>, part: &Part) -> (String, usize) {
    let (tail, next) = tail.unwrap_or((String::new(), part.end));
    match tail.strip_suffix(';') {
        Some(tail) => (format!("{tail}{AS_THEY_WERE};"), next),
        None => (format!("{tail}{AS_THEY_WERE}"), next),
    }
}

/// Returns the file that a part of a text reads in.
pub(super) fn file(text: &str, part: &Part) -> Option<String> {
    let is_sourcing = matches!(word(text, part), "." | "source");
    let file = words::words(&text[part.start..part.end]).into_iter().nth(1).filter(|_| is_sourcing)?;
    words::memory_name(&file).is_none().then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::each::each_counts;

    #[test]
    fn what_a_text_reads_into_its_own_shell_is_known() {
        for (text, file) in [
            (". ./lib.sh; test \"$(greet)\" = yes", "./lib.sh"),
            ("source lib.sh && test \"$(greet)\" = yes", "lib.sh"),
            ("[ -f lib.sh ] && . ./lib.sh\ngreet", "./lib.sh"),
        ] {
            assert_eq!(sourced(text), [file], "{text}");
            assert!(each_counts(text).contains("unset -f test"), "{}", each_counts(text));
        }
        for text in [
            ". ./verify.sh",
            "test \"$(sh -c '. ./lib.sh; greet')\" = yes; echo ok",
            "(. ./lib.sh; greet); true",
            ". \"$LONGHAUL_CHECKS/lib.sh\"; must_be a b",
            "./app.sh; true",
        ] {
            assert_eq!(sourced(text), [""; 0], "{text}");
            assert!(!each_counts(text).contains("unset -f"), "{text}");
        }
    }
}
