//! What a command printed: all of it counted and hashed, its two ends kept.

use sha2::Digest;
use sha2::Sha256;
use std::collections::VecDeque;
use std::io::Read;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Condvar;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::time::Duration;
use std::time::Instant;

/// Characters of one line that are shown.
const LINE: usize = 500;

/// The output of a command, both streams in one.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Output {
    pub head: Vec<u8>,
    /// What came last; empty when everything is in the head.
    pub tail: Vec<u8>,
    /// Bytes in all.
    pub size: u64,
    /// SHA-256 of the whole, in hex.
    pub digest: String,
    /// Whether the text that was looked for came; false when none was.
    pub found: bool,
}

impl Output {
    /// Returns the number of bytes between head and tail that were not kept.
    pub fn left_out(&self) -> u64 {
        self.size - (self.head.len() + self.tail.len()) as u64
    }

    /// Returns what was kept, with a line in place of what was not.
    pub fn kept(&self) -> Vec<u8> {
        match self.left_out() {
            0 => [self.head.as_slice(), &self.tail].concat(),
            left_out => {
                let gap = format!("\n[… {left_out} bytes left out …]\n");
                [self.head.as_slice(), gap.as_bytes(), &self.tail].concat()
            }
        }
    }

    /// Returns what was kept as text; bytes that are none are replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.kept()).into_owned()
    }

    /// Returns it with what was kept changed, so that no secret is in it; the digest stays that of the whole as it came.
    pub fn hidden(&self, hide: impl Fn(&[u8]) -> Vec<u8>) -> Self {
        let (head, tail) = (hide(&self.head), hide(&self.tail));
        let size = self.left_out() + (head.len() + tail.len()) as u64;
        Self { head, tail, size, ..self.clone() }
    }

    /// Returns the last `n` lines; of a line that is too long to read its beginning.
    pub fn last_lines(&self, n: usize) -> String {
        let text = self.text();
        let lines: Vec<&str> = text.lines().collect();
        let newest = lines[lines.len().saturating_sub(n)..].iter();
        newest.map(|line| shortened(line)).collect::<Vec<_>>().join("\n")
    }

    /// Writes what was kept to a file below `folder` named by the digest, and returns its path.
    pub fn save(&self, folder: &Path) -> std::io::Result<PathBuf> {
        std::fs::create_dir_all(folder)?;
        let path = folder.join(format!("{}.txt", self.digest));
        std::fs::write(&path, self.kept())?;
        Ok(path)
    }
}

/// Cuts a line that nobody would read to its end.
fn shortened(line: &str) -> String {
    match line.char_indices().nth(LINE) {
        Some((end, _)) => format!("{}… [{} bytes more]", &line[..end], line.len() - end),
        None => line.to_owned(),
    }
}

/// Output while it comes; a clone is another handle on the same.
#[derive(Clone)]
pub(super) struct Capture(Arc<(Mutex<Bytes>, Condvar)>);

struct Bytes {
    keep: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    size: u64,
    hash: Sha256,
    needle: Option<Needle>,
    ended: bool,
    /// When something came last.
    newest: Instant,
    /// The command was given up; what still comes goes nowhere.
    closed: bool,
}

impl Capture {
    pub(super) fn new(keep: usize) -> Self {
        Self::seeking(None, keep)
    }

    /// Looks for a text in everything that comes.
    pub(super) fn seeking(needle: Option<&str>, keep: usize) -> Self {
        let (hash, needle) = (Sha256::new(), needle.map(Needle::new));
        let (head, tail, newest) = (Vec::new(), VecDeque::new(), Instant::now());
        let bytes = Bytes { keep, head, tail, size: 0, hash, needle, ended: false, newest, closed: false };
        Self(Arc::new((Mutex::new(bytes), Condvar::new())))
    }

    /// Reads to the end, also after [`Capture::take`], so that a server left alive never meets a full or broken pipe.
    pub(super) fn read(&self, mut from: impl Read) {
        let mut chunk = vec![0; 64 * 1024];
        loop {
            match from.read(&mut chunk) {
                Ok(0) => break,
                Ok(count) => self.bytes().add(&chunk[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        self.bytes().ended = true;
        self.0.1.notify_all();
    }

    /// Marks output that no pipe was opened for as ended.
    pub(super) fn close(&self) {
        self.bytes().ended = true;
    }

    /// Returns how long nothing has come.
    pub(super) fn quiet(&self) -> Duration {
        self.bytes().newest.elapsed()
    }

    /// Tells whether nothing can come any more.
    pub(super) fn ended(&self) -> bool {
        self.bytes().ended || self.bytes().closed
    }

    /// Waits for the end of the output, but not longer than `limit`.
    pub(super) fn wait_for_end(&self, limit: Duration) {
        let waited = self.0.1.wait_timeout_while(self.bytes(), limit, |bytes| !bytes.ended);
        drop(waited);
    }

    /// Takes what has come so far and keeps nothing more.
    pub(super) fn take(&self) -> Output {
        let mut bytes = self.bytes();
        bytes.closed = true;
        Output {
            head: std::mem::take(&mut bytes.head),
            tail: std::mem::take(&mut bytes.tail).into(),
            size: bytes.size,
            digest: format!("{:x}", std::mem::take(&mut bytes.hash).finalize()),
            found: bytes.needle.as_ref().is_some_and(|needle| needle.found),
        }
    }

    fn bytes(&self) -> MutexGuard<'_, Bytes> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Bytes {
    fn add(&mut self, chunk: &[u8]) {
        if self.closed {
            return;
        }
        self.size += chunk.len() as u64;
        self.newest = Instant::now();
        self.hash.update(chunk);
        if let Some(needle) = &mut self.needle {
            needle.look_in(chunk);
        }
        let room = self.keep.saturating_sub(self.head.len()).min(chunk.len());
        let (head, rest) = chunk.split_at(room);
        self.head.extend_from_slice(head);
        let rest = &rest[rest.len().saturating_sub(self.keep)..];
        let too_many = (self.tail.len() + rest.len()).saturating_sub(self.keep);
        self.tail.drain(..too_many);
        self.tail.extend(rest);
    }
}

/// A text that is looked for in bytes that come in pieces.
struct Needle {
    text: Vec<u8>,
    /// The end of what came, in which the text may have begun.
    before: Vec<u8>,
    found: bool,
}

impl Needle {
    fn new(text: &str) -> Self {
        Self { text: text.into(), before: Vec::new(), found: text.is_empty() }
    }

    fn look_in(&mut self, chunk: &[u8]) {
        if self.found {
            return;
        }
        let seen = [self.before.as_slice(), chunk].concat();
        self.found = seen.windows(self.text.len()).any(|window| window == self.text);
        self.before = seen[seen.len().saturating_sub(self.text.len() - 1)..].to_vec();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secrets::Secrets;

    fn output(text: &str, keep: usize) -> Output {
        let capture = Capture::new(keep);
        capture.read(text.as_bytes());
        capture.take()
    }

    #[test]
    fn a_character_cut_between_head_and_tail_is_whole_in_the_text() {
        assert_eq!(output("aä", 2).text(), "aä");
    }

    #[test]
    fn a_text_is_found_also_in_what_is_not_kept_and_across_pieces() {
        let found = |pieces: &[&str]| {
            let capture = Capture::seeking(Some("3 tests"), 2);
            pieces.iter().for_each(|piece| capture.bytes().add(piece.as_bytes()));
            capture.take().found
        };
        assert!(found(&["aaaa 3 tests bbbb"]) && found(&["aaaa 3", " te", "sts bbbb"]));
        assert!(!found(&["aaaa 3", "tests bbbb"]) && !found(&[]));
        assert!(!output("3 tests", 100).found, "nothing was looked for");
    }

    #[test]
    fn the_digest_is_of_the_whole_output() {
        let whole = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(output("abc", 1).digest, whole);
        assert_eq!(output("abc", 1).text(), "a\n[… 1 bytes left out …]\nc");
    }

    #[test]
    fn a_secret_is_taken_out_of_both_ends_and_nothing_else_seems_left_out() {
        let secrets = Secrets::new(["the-secret".to_owned()]);
        let text = format!("the-secret\n{}\nthe-secret", "x".repeat(50));
        for (keep, gap) in [(100, ""), (20, "\n[… 32 bytes left out …]\n")] {
            let output = output(&text, keep).hidden(|bytes| secrets.hide_in(bytes));
            assert!(!output.text().contains("the-secret"), "{}", output.text());
            assert!(output.text().contains(gap) && output.last_lines(1) == "[secret left out]", "{}", output.text());
        }
        let plain = output(&text, 100);
        assert_eq!(plain.hidden(<[u8]>::to_owned), plain);
    }

    #[test]
    fn last_lines_are_as_many_as_there_are() {
        assert_eq!(output("a\nb\nc\n", 100).last_lines(2), "b\nc");
        assert_eq!(output("a", 100).last_lines(2), "a");
    }

    #[test]
    fn what_is_saved_is_named_by_its_digest() {
        let folder = tempfile::tempdir().unwrap();
        let output = output("abc", 10);
        let path = output.save(&folder.path().join("artifacts")).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"abc");
        assert_eq!(path.file_stem().unwrap().to_str().unwrap(), output.digest);
    }
}
