//! What a path inside memory may look like. Checked once, when a [`MemoryPath`] is made.

use std::fmt;

/// The name of the memory's root, as the model writes it.
pub(super) const ROOT: &str = "/memories";

/// The longest path in bytes, as on Linux.
const LONGEST_PATH: usize = 4096;
/// The longest name in bytes, as on most file systems.
const LONGEST_NAME: usize = 255;

/// A path inside memory. Construction is the only check.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct MemoryPath {
    /// Components joined by `/`; empty for the root.
    clean: String,
    names_folder: bool,
}

/// Why a path is refused; the text is for the model.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PathError(String);

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PathError {}

impl MemoryPath {
    /// Checks a path as the model writes it: `/memories` or something below it.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        match text.strip_prefix(ROOT) {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => Self::check(rest, text),
            _ => Err(PathError(format!("Path must start with /memories, got: {text}"))),
        }
    }

    /// Checks a path relative to the root, such as `notes/db.md`.
    pub fn relative(text: &str) -> Result<Self, PathError> {
        Self::check(text, text)
    }

    /// Returns the path relative to the root, without empty components; `""` is the root.
    pub fn as_str(&self) -> &str {
        &self.clean
    }

    /// Returns the path as the model writes it.
    pub fn shown(&self) -> String {
        shown(&self.clean)
    }

    /// Tells whether this is the memory's root.
    pub fn is_root(&self) -> bool {
        self.clean.is_empty()
    }

    /// Tells whether the text ended with a slash, as only a folder's may.
    pub(in crate::memory) fn names_folder(&self) -> bool {
        self.names_folder
    }

    fn check(rest: &str, text: &str) -> Result<Self, PathError> {
        if rest.len() > LONGEST_PATH {
            return Err(PathError(format!("Path is longer than {LONGEST_PATH} bytes")));
        }
        if rest.split('/').any(|name| name == "..") || climbs_when_decoded(rest) {
            return Err(PathError(format!("Path {text} would escape /memories directory")));
        }
        let names: Vec<&str> = rest.split('/').filter(|name| !name.is_empty() && *name != ".").collect();
        for name in &names {
            check_name(name)?;
        }
        Ok(Self { clean: names.join("/"), names_folder: rest.ends_with('/') || rest.ends_with("/.") })
    }
}

/// Returns a clean relative path as the model writes it.
pub(in crate::memory) fn shown(clean: &str) -> String {
    if clean.is_empty() { ROOT.to_owned() } else { format!("{ROOT}/{clean}") }
}

/// Tells whether `path` is `folder` or lies below it; the root holds everything.
pub(in crate::memory) fn is_at_or_below(path: &str, folder: &str) -> bool {
    folder.is_empty() || path == folder || is_below(path, folder)
}

/// Tells whether `path` lies below `folder`.
pub(in crate::memory) fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// Returns the folders above a path, outermost first, without the root.
pub(in crate::memory) fn parents(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

fn check_name(name: &str) -> Result<(), PathError> {
    let shown: String = name.chars().filter(|c| !is_unprintable(*c)).take(80).collect();
    let refuse = |why: &str| Err(PathError(format!("The name `{shown}` is not allowed in a path: {why}")));
    if name.len() > LONGEST_NAME {
        return refuse("it is longer than 255 bytes");
    }
    if name.contains('\\') {
        return refuse("it holds a backslash; use `/` between folders");
    }
    if name.chars().any(is_unprintable) {
        return refuse("it holds a control or direction character");
    }
    if is_git_folder(name) {
        return refuse("git could take it for its own folder; use another name");
    }
    if [".gitattributes", ".gitignore", ".gitmodules"].contains(&without_invisible(name).to_lowercase().as_str()) {
        return refuse("git reads files of this name; use another name");
    }
    Ok(())
}

/// Characters that would forge rows of a listing or hide what a name is.
fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
        || matches!(c, '\u{E0000}'..='\u{E007F}')
}

/// Tells whether git, on any system, could take the name for `.git`.
fn is_git_folder(name: &str) -> bool {
    let plain = without_invisible(name).to_ascii_lowercase();
    // A stream suffix names the same folder on NTFS.
    let plain = plain.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
    plain == ".git"
        || plain.strip_prefix("git~").is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

/// Drops the characters that some file systems ignore in names.
fn without_invisible(name: &str) -> String {
    let invisible = |c: char| {
        matches!(c, '\u{00AD}' | '\u{034F}' | '\u{FEFF}' | '\u{200B}'..='\u{200F}' | '\u{2060}'..='\u{206F}')
            || matches!(c, '\u{FE00}'..='\u{FE0F}' | '\u{180B}'..='\u{180F}')
    };
    name.chars().filter(|c| !invisible(*c)).collect()
}

/// Tells whether percent-decoding, once or more often, would make a `..` component, a separator or a NUL.
fn climbs_when_decoded(text: &str) -> bool {
    let mut bytes = text.as_bytes().to_vec();
    loop {
        let (decoded, separators) = decode_percent(&bytes);
        if separators || decoded.split(|b| *b == b'/').any(|name| name == b"..") {
            return true;
        }
        // Each round that changes something makes the text shorter, so this ends.
        if decoded.len() == bytes.len() {
            return false;
        }
        bytes = decoded;
    }
}

/// Decodes once; also tells whether a slash, backslash or NUL came out.
fn decode_percent(bytes: &[u8]) -> (Vec<u8>, bool) {
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut separators = false;
    let mut rest = bytes;
    while let Some((&first, tail)) = rest.split_first() {
        let value = if first == b'%' { tail.get(..2).and_then(hex) } else { None };
        match value {
            Some(byte) => {
                separators |= matches!(byte, b'/' | b'\\' | 0);
                decoded.push(byte);
                rest = &tail[2..];
            }
            None => {
                decoded.push(first);
                rest = tail;
            }
        }
    }
    (decoded, separators)
}

fn hex(digits: &[u8]) -> Option<u8> {
    let digit = |b: u8| char::from(b).to_digit(16);
    let value = digit(digits[0])? * 16 + digit(digits[1])?;
    u8::try_from(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        MemoryPath::parse(text).expect_err(text).to_string()
    }

    fn clean(text: &str) -> String {
        MemoryPath::parse(text).unwrap_or_else(|error| panic!("{text}: {error}")).as_str().to_owned()
    }

    #[test]
    fn empty_and_dot_components_are_folded() {
        assert_eq!(clean("/memories"), "");
        assert_eq!(clean("/memories//./"), "");
        assert_eq!(clean("/memories//a/./b"), "a/b");
    }

    /// T01.
    #[test]
    fn only_the_memory_and_what_is_below_it_is_named() {
        for text in ["", "/", "/memoriesx", "/Memories/a", " /memories", "memories/a", "/memories../a"] {
            assert_eq!(refused(text), format!("Path must start with /memories, got: {text}"));
        }
    }

    /// T02.
    #[test]
    fn climbing_is_refused_plain_and_encoded() {
        for text in ["/..", "/a/../b", "/%2e%2e/a", "/.%2E", "/%252e%252e", "/%25252e./a"] {
            let text = format!("/memories{text}");
            assert_eq!(refused(&text), format!("Path {text} would escape /memories directory"));
        }
        for text in ["/a%2fb", "/a%5Cb", "/a%00", "/a%252Fb"] {
            refused(&format!("/memories{text}"));
        }
    }

    #[test]
    fn other_percent_signs_and_dots_are_ordinary() {
        for text in ["100%.txt", "a%20b", "%", "%2", "v1..v2", "..x", "z..", "...", "%2e"] {
            assert_eq!(clean(&format!("/memories/{text}")), text);
        }
    }

    /// T07.
    #[test]
    fn names_git_could_take_for_its_own_are_refused() {
        for name in [".git", ".GIT", ".git.", ".git ", "git~1", "GIT~2", ".g\u{200c}it", ".git::$INDEX_ALLOCATION"] {
            refused(&format!("/memories/{name}/config"));
        }
        for name in [".gitignore", ".GitModules", ".gitattributes"] {
            refused(&format!("/memories/a/{name}"));
        }
        for name in ["git", ".github", "git~", "gitx~1", ".git-notes"] {
            assert_eq!(clean(&format!("/memories/{name}")), name);
        }
    }

    #[test]
    fn names_that_would_forge_rows_or_hide_are_refused() {
        for name in
            ["a\nb", "a\tb", "\u{1b}[2J", "a\u{7f}", "a\u{85}", "a\u{202e}b", "a\u{2066}b", "a\u{e0041}", "a\\b"]
        {
            refused(&format!("/memories/{name}"));
        }
    }

    #[test]
    fn names_have_at_most_255_bytes() {
        let fits = "é".repeat(127);
        assert_eq!(clean(&format!("/memories/{fits}")), fits);
        refused(&format!("/memories/{fits}éé"));
        refused(&format!("/memories/{}", "a/".repeat(3000)));
    }

    #[test]
    fn parents_come_outermost_first() {
        assert_eq!(parents("a/b/c").collect::<Vec<_>>(), ["a", "a/b"]);
        assert!(is_below("a/b", "a") && !is_below("ab", "a") && !is_below("a", "a"));
    }
}
