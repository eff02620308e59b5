//! Names of files as text that can be turned back: git's are bytes, and ours go into JSON and before people.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// Spells a path as text: as it is, or between quotes with the bytes that are no text as `\xff`, as git quotes it in its
/// own way.
pub fn name_of(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        // What already looks quoted must not be read back as something else.
        Ok(text) if !text.starts_with('"') => text.to_owned(),
        _ => format!("\"{}\"", bytes.escape_ascii()),
    }
}

/// Returns the path that [`name_of`] spelled.
pub fn path_of(name: &str) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes_of(name)))
}

/// Returns the bytes that [`name_of`] spelled.
pub(super) fn bytes_of(name: &str) -> Vec<u8> {
    let quoted = name.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    quoted.and_then(unescape).unwrap_or_else(|| name.as_bytes().to_vec())
}

/// Undoes what `escape_ascii` does; none where it did not.
fn unescape(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match (byte, byte == b'\\') {
            (byte, false) => byte,
            _ => match rest.next()? {
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'x' => {
                    let digits = [rest.next()?, rest.next()?];
                    u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
                }
                plain => plain,
            },
        });
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_text_and_can_be_turned_back() {
        for bytes in [
            b"src/a b.rs".as_slice(),
            "gr\u{fc}n".as_bytes(),
            b"gr\xfcn/a\\x20\n\t\"b\".rs",
            b"\"quoted\\xff\"",
            b"\"",
            b"a\\xff",
        ] {
            let name = name_of(bytes);
            assert_eq!(bytes_of(&name), bytes, "{name}");
        }
        assert_eq!(name_of(b"src/a b.rs"), "src/a b.rs");
        assert_eq!(name_of(b"gr\xfcn"), r#""gr\xfcn""#);
        // What nobody has spelled is taken as it is.
        assert_eq!(path_of("\"\\x\""), PathBuf::from("\"\\x\""));
    }
}
