//! Texts too large for the context: kept whole in a file of the session that the agent's commands can read, shown by
//! their two ends.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;

use anyhow::Context;
use anyhow::Result;
use sha2::Digest;
use sha2::Sha256;

use crate::clip;
use crate::process::Output;
use crate::secrets::Secrets;

/// Digits of a digest in a name: the names of many texts stay in the context.
const DIGITS: usize = 16;

/// The session's folder of kept texts, each named by its digest.
#[derive(Clone, Debug)]
pub struct Artifacts {
    folder: PathBuf,
    secrets: Secrets,
}

/// What the context gets of a text.
#[derive(Debug, PartialEq)]
pub struct Shown {
    pub text: String,
    /// Where the whole is and how to read on; none when the text is the whole.
    pub rest: Option<String>,
}

impl Artifacts {
    /// Keeps texts in `folder`; `secrets` never get there.
    pub fn new(folder: &Path, secrets: &Secrets) -> Self {
        Self { folder: folder.to_owned(), secrets: secrets.clone() }
    }

    /// Returns the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Keeps a text and returns its file.
    pub fn keep(&self, text: &str) -> Result<PathBuf> {
        let kept = self.secrets.hide(text);
        let digest = format!("{:x}", Sha256::digest(kept.as_bytes()));
        let path = self.folder.join(format!("{}.txt", &digest[..DIGITS]));
        self.write(&path, kept.as_bytes())?;
        Ok(path)
    }

    /// Shows a text of at most `most` characters whole; of a longer one both ends, and keeps it.
    pub fn show(&self, text: &str, most: usize) -> Result<Shown> {
        let Some(ends) = clip::ends(text, most) else { return Ok(Shown { text: text.to_owned(), rest: None }) };
        let path = self.keep(text)?;
        let rest = Some(format!("the whole of {} bytes is in {}", text.len(), read_on(&path)));
        Ok(Shown { text: ends, rest })
    }

    /// Shows what a command printed, in the same way, but for secrets, which nobody who prints one may know.
    pub fn show_output(&self, output: &Output, most: usize) -> Result<Shown> {
        let output = output.hidden(|bytes| self.secrets.hide_in(bytes));
        let text = output.text();
        let Some(ends) = clip::ends(&text, most) else { return Ok(Shown { text, rest: None }) };
        let path = self.folder.join(format!("{}.txt", output.digest));
        // Bytes that are no text are kept as they came.
        self.write(&path, &output.kept())?;
        let gap = match output.left_out() {
            0 => String::new(),
            left_out => format!(", but for {left_out} in its middle,"),
        };
        let rest = Some(format!("the output of {} bytes{gap} is in {}", output.size, read_on(&path)));
        Ok(Shown { text: ends, rest })
    }

    /// Keeps a text, and says how it begins and where it is.
    pub fn point_to(&self, text: &str) -> Result<String> {
        let path = self.keep(text)?;
        let first = clip::head(text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default(), 60);
        Ok(format!("{} bytes that begin with `{first}`, in `{}`", text.len(), path.display()))
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        let told = || format!("could not keep a text as `{}`", path.display());
        if path.exists() {
            return Ok(());
        }
        fs::create_dir_all(&self.folder).with_context(told)?;
        let mut file = tempfile::NamedTempFile::new_in(&self.folder).with_context(told)?;
        file.write_all(bytes).with_context(told)?;
        file.persist(path).with_context(told)?;
        Ok(())
    }
}

impl Shown {
    /// Returns the text, and below it where the rest is.
    pub fn joined(self) -> String {
        match self.rest {
            None => self.text,
            Some(rest) => format!("{}\n[{rest}]", self.text.trim_end_matches('\n')),
        }
    }
}

/// Names a file of kept text and the ways to read parts of it.
pub(super) fn read_on(path: &Path) -> String {
    format!("`{}`; read on with `sed -n 200,400p`, `grep` or `tail -c 5000`", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn artifacts(folder: &Path) -> Artifacts {
        Artifacts::new(&folder.join("artifacts"), &Secrets::new(["the-key-of-this-test".to_owned()]))
    }

    #[test]
    fn a_long_text_shows_its_ends_and_is_kept_whole_in_a_file_named_by_its_digest() {
        let folder = tempfile::tempdir().unwrap();
        let text = format!("head{}tail", "ä".repeat(5000));

        let shown = artifacts(folder.path()).show(&text, 1000).unwrap();

        assert!(shown.text.starts_with("headä") && shown.text.ends_with("ätail") && shown.text.chars().count() <= 1000);
        let digest = format!("{:x}", Sha256::digest(text.as_bytes()));
        let path = folder.path().join(format!("artifacts/{}.txt", &digest[..DIGITS]));
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        let rest = format!("the whole of 10008 bytes is in `{}`; read on with `sed", path.display());
        assert!(shown.rest.unwrap().starts_with(&rest));
    }

    #[test]
    fn a_short_text_is_shown_whole_and_kept_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let shown = artifacts(folder.path()).show("short", 5).unwrap();
        assert_eq!(shown, Shown { text: "short".to_owned(), rest: None });
        assert!(!folder.path().join("artifacts").exists());
    }

    #[test]
    fn a_secret_is_not_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = artifacts(folder.path()).keep("a the-key-of-this-test b").unwrap();
        assert_eq!(fs::read_to_string(path).unwrap(), "a [secret left out] b");
    }
}
