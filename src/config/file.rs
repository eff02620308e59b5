//! A settings file taken apart: which settings it gives, each with its line.

use crate::failure::Failure;
use crate::failure::Kind;
use anyhow::Context;
use anyhow::Result;
use std::fs;
use std::io::ErrorKind;
use std::io::Read;
use std::path::Path;
use std::path::PathBuf;
use toml::Value;
use toml::de::DeTable;

/// Larger files are no settings; refusing them early keeps a wrong path cheap.
const LARGEST: u64 = 1 << 20;

/// A settings file as it was read.
#[derive(Clone, Debug)]
pub struct File {
    pub path: PathBuf,
    pub text: String,
}

impl File {
    /// Reads a file; none when there is no such file.
    pub fn read(path: &Path) -> Result<Option<Self>> {
        let shown = path.display();
        // A pipe would hold us for ever, a device would never end.
        if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            return Err(Failure::usage(format!("`{shown}` is no plain file")).hint("move it out of the way").into());
        }
        let opened = match fs::File::open(path) {
            Ok(opened) => opened,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
            Err(error) => {
                return Err(Failure::new(Kind::Failed, format!("could not open the settings `{shown}`: {error}"))
                    .hint("it must be yours to read: check owner and permissions, and that HOME is your own home")
                    .into());
            }
        };
        let mut bytes = Vec::new();
        let limited = &mut opened.take(LARGEST + 1);
        limited.read_to_end(&mut bytes).with_context(|| format!("could not read the settings `{shown}`"))?;
        if bytes.len() as u64 > LARGEST {
            return Err(Failure::usage(format!("`{shown}` is larger than 1 MiB, which no settings file is")).into());
        }
        let text = String::from_utf8(bytes)
            .map_err(|_| Failure::usage(format!("`{shown}` is not UTF-8 text")).hint("save it as UTF-8"))?;
        Ok(Some(Self { path: path.to_owned(), text }))
    }

    /// Takes the file apart.
    pub(super) fn entries(&self) -> Result<Entries> {
        let spans = DeTable::parse(&self.text).map_err(|error| self.refuse(&error))?;
        let values: toml::Table = toml::from_str(&self.text).map_err(|error| self.refuse(&error))?;
        let mut entries = Entries::default();
        for (section, content) in spans.get_ref() {
            let name = section.get_ref().to_string();
            let line = self.line(section.span().start);
            let (Some(table), Value::Table(given)) = (content.get_ref().as_table(), &values[&name]) else {
                entries.settings.push(Entry { key: name.clone(), line, value: values[&name].clone() });
                continue;
            };
            if table.is_empty() {
                entries.empty.push((name.clone(), line));
            }
            for (key, _) in table {
                let line = self.line(key.span().start);
                let key = key.get_ref().to_string();
                let value = given[&key].clone();
                match name.as_str() {
                    "prices" => entries.prices.push(Entry { key, line, value }),
                    _ => entries.settings.push(Entry { key: format!("{name}.{key}"), line, value }),
                }
            }
        }
        Ok(entries)
    }

    fn refuse(&self, error: &toml::de::Error) -> Failure {
        let line = error.span().map_or(1, |span| self.line(span.start));
        let message = error.message().replace('\n', ", ");
        Failure::usage(format!("could not read `{}`, line {line}: {message}", self.path.display()))
    }

    fn line(&self, at: usize) -> usize {
        let before = self.text.as_bytes().iter().take(at);
        1 + before.filter(|byte| **byte == b'\n').count()
    }
}

/// What a settings file says.
#[derive(Debug, Default)]
pub(super) struct Entries {
    /// Settings by `section.key`.
    pub(super) settings: Vec<Entry>,
    /// Prices by model.
    pub(super) prices: Vec<Entry>,
    /// Sections without a single setting: their names can be misspelt too.
    pub(super) empty: Vec<(String, usize)>,
}

/// One line of a settings file.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) line: usize,
    pub(super) value: Value,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_plain_file_is_refused_before_it_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
        assert!(File::read(&path).unwrap_err().to_string().ends_with("config.toml` is no plain file"));
        assert!(File::read(folder.path()).is_err());
        assert!(File::read(&folder.path().join("other.toml")).unwrap().is_none());
    }

    fn file(text: &str) -> File {
        File { path: PathBuf::from("config.toml"), text: text.to_owned() }
    }

    #[test]
    fn every_setting_knows_its_line() {
        let text =
            "# mine\n[budget]\nusd = 5\n\n[agent]\nmodel = \"m\"\nrun.attempts = 2\n[prices.\"m-1.5\"]\ninput = 1\n";
        let entries = file(text).entries().unwrap();

        let lines: Vec<_> = entries.settings.iter().map(|entry| (entry.key.as_str(), entry.line)).collect();
        assert!(lines.contains(&("budget.usd", 3)), "{lines:?}");
        assert!(lines.contains(&("agent.model", 6)), "{lines:?}");
        assert_eq!((entries.prices[0].key.as_str(), entries.prices[0].line), ("m-1.5", 8));
    }

    #[test]
    fn what_is_no_toml_is_refused_with_its_line() {
        for (text, line) in [("a = 1\nb = = 2\n", 2), ("[run]\nattempts = 1\nattempts = 2\n", 3), ("x = 1e\n", 1)] {
            let error = file(text).entries().unwrap_err().to_string();
            assert!(error.starts_with(&format!("could not read `config.toml`, line {line}: ")), "{error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn a_missing_file_is_none_and_a_strange_one_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        assert!(File::read(&path).unwrap().is_none());
        assert!(File::read(&path.join("below")).unwrap().is_none());

        fs::write(&path, b"\xff\xfe").unwrap();
        let error = File::read(&path).unwrap_err().to_string();
        assert_eq!(error, format!("`{}` is not UTF-8 text", path.display()));

        fs::write(&path, vec![b'#'; LARGEST as usize + 1]).unwrap();
        assert!(File::read(&path).unwrap_err().to_string().ends_with("larger than 1 MiB, which no settings file is"));
    }
}
