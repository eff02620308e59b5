//! Secrets without a known form: a value that looks drawn at random, beside a word that says it is a key.

use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::Regex;

use crate::secrets::rules;

/// Words that name a secret.
const WORDS: &str = "(?i)(?:secret|token|passw(?:or)?d|passwort|kennwort|passphrase|api[\\s_-]?key|access[_-]?key|private[_-]?key|auth[_-]?key|\
                     encryption[_-]?key|signing[_-]?key|credentials?|authorization|bearer|basic)";

#[expect(clippy::unwrap_used, reason = "the expression is fixed, and tests of this folder compile it")]
static NAMES: LazyLock<Regex> = LazyLock::new(|| Regex::new(WORDS).unwrap());

/// Such a word, what assigns, and the value.
#[expect(clippy::unwrap_used, reason = "the expression is fixed, and tests of this folder compile it")]
static ASSIGNED: LazyLock<Regex> = LazyLock::new(|| {
    // Shorter words, which others begin with, only where they end.
    let name = format!(r"(?:{WORDS}[a-z0-9_-]{{0,24}}|(?i:\b|_|-)(?i:pass|pwd|psk))");
    // A sign, the end of a tag or of a column, or a call.
    let assigns = r#"["'`]?(?:\s{0,3}|[ \t]{0,40})(?i:=>|:=|={1,2}|:|\||>|\(|\s(?:is|was|ist|lautet)\s|\s)(?:\s{0,3}|[ \t]{0,40})"#;
    // A block of YAML, or an object of JSON that has the value.
    let within = r#"(?i:[>|][+-]?\s{1,40}|\{\s{0,8}["']?[a-z]{1,10}["']?\s{0,3}:\s{0,3})?"#;
    let value =
        r#"(?i:(?:bearer|basic|token)\s{1,3})?["'`]?(?P<s>[A-Za-z0-9+/_=.~!@#%^&*-][A-Za-z0-9+/_=.~!@#%^&*$-]{11,})"#;
    Regex::new(&format!("{name}{assigns}{within}{value}")).unwrap()
});

/// Tells whether a variable is named like a secret.
pub fn names_one(variable: &str) -> bool {
    NAMES.is_match(variable.as_bytes()) || variable.to_uppercase().ends_with("_KEY")
}

/// Bits that each character must carry.
const BITS: f64 = 3.0;
/// A value with fewer characters may be a name, and has to look more like a drawn one.
const LONG: usize = 16;
/// Letters that a word has at least, on the average, where a person wrote it.
const WORD: usize = 4;
/// What the name of a key that is no secret ends with.
const PUBLIC: &[u8] = b"publickey";

/// Returns where such values are.
pub(super) fn find(text: &[u8]) -> impl Iterator<Item = Range<usize>> + '_ {
    let named = ASSIGNED.captures_iter(text).filter_map(|captures| Some((captures.get(0)?, captures.name("s")?)));
    let secret = named.filter(|(whole, value)| looks_drawn(value.as_bytes()) && !is_public(&text[..whole.start()]));
    secret.map(|(_, value)| value.range())
}

/// Tells whether what stands before the word says that the value may be known, as in `PublicKeyToken`.
fn is_public(before: &[u8]) -> bool {
    let letters = before.iter().rev().take(2 * PUBLIC.len()).filter(|byte| byte.is_ascii_alphabetic());
    letters.take(PUBLIC.len()).map(u8::to_ascii_lowercase).eq(PUBLIC.iter().rev().copied())
}

/// Tells whether a value looks as if it was drawn at random: no words, no path, no name in a program.
fn looks_drawn(value: &[u8]) -> bool {
    let count = |is: fn(&u8) -> bool| value.iter().filter(|byte| is(byte)).count();
    let (digits, letters) = (count(u8::is_ascii_digit), count(u8::is_ascii_alphabetic));
    let word = if value.len() < LONG { WORD - 1 } else { WORD };
    letters >= 4
        && digits >= 1
        && value.len() <= word * words(value)
        && !made_of_words(value)
        && entropy(value) >= BITS
        && !is_address(value)
        && !rules::stands_for_one(value)
}

/// Tells whether a value is an address on a block chain, which is public.
fn is_address(value: &[u8]) -> bool {
    value.len() == 42 && value.strip_prefix(b"0x").is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
}

/// Counts the words of a value, as names in programs are put together: a change to capitals, or to digits and back.
fn words(value: &[u8]) -> usize {
    let begins = |pair: &[u8]| {
        let (before, now) = (pair[0], pair[1]);
        now.is_ascii_uppercase() && !before.is_ascii_uppercase() || now.is_ascii_digit() != before.is_ascii_digit()
    };
    1 + value.windows(2).filter(|pair| begins(pair)).count()
}

/// Tells whether a value is put together from words and numbers, such as a path, a version or an id with a date.
fn made_of_words(value: &[u8]) -> bool {
    let parts = value.split(|byte| b"-_./=:#@%&+~".contains(byte)).filter(|part| !part.is_empty());
    let is_word = |part: &[u8]| {
        let letters = part.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        let one_case = part[..letters].iter().skip(1).all(u8::is_ascii_lowercase)
            || part[..letters].iter().all(u8::is_ascii_uppercase);
        one_case && part.len() <= 16 && part[letters..].iter().all(u8::is_ascii_digit)
    };
    parts.clone().all(is_word)
}

/// Returns the bits a character carries, by how often each is there.
fn entropy(value: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    value.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    let all = value.len() as f64;
    let shares = counts.iter().filter(|count| **count > 0).map(|count| f64::from(*count) / all);
    -shares.map(|share| share * share.log2()).sum::<f64>()
}
