//! The layers settings come from, lowest first: defaults, the user's file, the project's file, variables, the command line.
//!
//! What a project's file may change is decided in `narrow`, because that file comes with the code and nobody vouched for it.

use super::file::Entries;
use super::file::File;
use super::narrow;
use super::setting::Given;
use super::setting::Setting;
use super::setting::Source;
use super::trust::Trust;
use crate::failure::Failure;
use anyhow::Result;
use std::collections::BTreeMap;
use std::path::Path;
use toml::Value;

/// The defaults, and with them the list of all settings.
pub const DEFAULTS: &str = include_str!("default.toml");

/// Variables with our prefix that are no settings: longhaul sets them for its commands, its tests read them, or they are
/// about the terminal.
const OTHER_VARIABLES: [&str; 5] =
    ["LONGHAUL_CHECKS", "LONGHAUL_OWNER", "LONGHAUL_PAGER", "LONGHAUL_PHASE", "LONGHAUL_TEST_NO_SKIP"];

/// Below this likeness a suggestion would be a guess.
const LIKE: f64 = 0.8;

/// Where settings are looked for.
#[derive(Debug, Default)]
pub struct Sources<'a> {
    pub user: Option<File>,
    pub project: Option<File>,
    /// How far the project's file is trusted.
    pub trust: Trust,
    pub variables: Option<&'a BTreeMap<String, String>>,
    /// `section.key` and value, in the order given; the last one wins.
    pub flags: &'a [(String, String)],
}

/// All settings, each with the value that holds.
#[derive(Debug)]
pub(super) struct Layers {
    held: BTreeMap<String, Setting>,
    /// Prices of models in the user's file.
    pub(super) prices: Vec<(String, Value, Source)>,
    /// What a person should know about values that do not count.
    pub(super) notes: Vec<String>,
}

impl Layers {
    /// Lays all sources on top of each other.
    pub(super) fn gather(sources: &Sources<'_>) -> Result<Self> {
        let mut layers = Self::defaults()?;
        if let Some(file) = &sources.user {
            layers.take_user(file)?;
        }
        let own = layers.own_settings(sources)?;
        if let Some(file) = &sources.project {
            layers.take_project(file, &own, sources.trust)?;
        }
        for setting in own {
            layers.held.insert(setting.key.clone(), setting);
        }
        Ok(layers)
    }

    /// Returns a setting; all of them are in the defaults.
    pub(super) fn get(&self, key: &str) -> Result<&Setting> {
        self.held.get(key).ok_or_else(|| anyhow::anyhow!("`{key}` is missing in the built-in defaults"))
    }

    /// Returns each value as it was given, and where it came from.
    pub(super) fn values(&self) -> BTreeMap<String, (String, Source)> {
        let value = |setting: &Setting| (setting.given.to_string(), setting.source.clone());
        self.held.iter().map(|(key, setting)| (key.clone(), value(setting))).collect()
    }

    fn defaults() -> Result<Self> {
        let file = File { path: "default.toml".into(), text: DEFAULTS.to_owned() };
        let settings = file.entries()?.settings.into_iter().map(|entry| {
            let given = Given::Typed(entry.value);
            (entry.key.clone(), Setting { key: entry.key, given, source: Source::Default })
        });
        Ok(Self { held: settings.collect(), prices: Vec::new(), notes: Vec::new() })
    }

    fn take_user(&mut self, file: &File) -> Result<()> {
        let Entries { settings, prices, empty } = file.entries()?;
        self.refuse_unknown_sections(&file.path, &empty)?;
        for entry in settings {
            let source = Source::User { file: file.path.clone(), line: entry.line };
            self.know(&entry.key, &source)?;
            let setting = Setting { key: entry.key.clone(), given: Given::Typed(entry.value), source };
            self.held.insert(entry.key, setting);
        }
        for entry in prices {
            self.prices.push((entry.key, entry.value, Source::User { file: file.path.clone(), line: entry.line }));
        }
        Ok(())
    }

    fn take_project(&mut self, file: &File, own: &[Setting], trust: Trust) -> Result<()> {
        let Entries { settings, prices, empty } = file.entries()?;
        self.refuse_unknown_sections(&file.path, &empty)?;
        if let Some(entry) = prices.first() {
            let key = format!("prices.\"{}\"", entry.key);
            return Err(narrow::untrusted(&key, &file.path, entry.line, "a project cannot set prices").into());
        }
        for entry in settings {
            let source = Source::Project { file: file.path.clone(), line: entry.line };
            self.know(&entry.key, &source)?;
            let wanted = Setting { key: entry.key, given: Given::Typed(entry.value), source };
            let overridden = own.iter().any(|setting| setting.key == wanted.key);
            match narrow::judge(&wanted, self.get(&wanted.key)?, overridden, trust) {
                narrow::Ruling::Counts => drop(self.held.insert(wanted.key.clone(), wanted)),
                narrow::Ruling::DoesNotCount(note) => self.notes.extend(note),
            }
        }
        Ok(())
    }

    /// Collects what variables and the command line say; both are the user's own word for this one run.
    fn own_settings(&self, sources: &Sources<'_>) -> Result<Vec<Setting>> {
        let mut own = Vec::new();
        for (name, value) in sources.variables.into_iter().flatten().filter(|(_, value)| !value.is_empty()) {
            if let Some(key) = self.key_of_variable(name)? {
                let source = Source::Variable(name.clone());
                own.push(Setting { key, given: Given::Text(value.clone()), source });
            }
        }
        for (key, value) in sources.flags {
            self.know(key, &Source::CommandLine)?;
            own.push(Setting { key: key.clone(), given: Given::Text(value.clone()), source: Source::CommandLine });
        }
        Ok(own)
    }

    fn key_of_variable(&self, name: &str) -> Result<Option<String>> {
        // Variables come sorted, so our own name for the base address comes later and wins over the SDKs'.
        if name == "ANTHROPIC_BASE_URL" {
            return Ok(Some("provider.base_url".to_owned()));
        }
        if !name.starts_with("LONGHAUL_") || OTHER_VARIABLES.contains(&name) {
            return Ok(None);
        }
        if let Some(key) = self.held.keys().find(|key| variable_of(key) == name) {
            return Ok(Some(key.clone()));
        }
        let known = self.held.keys().map(|key| variable_of(key));
        let failure = Failure::usage(format!("the variable `{name}` is no setting of longhaul"));
        Err(suggest(failure, name, known).into())
    }

    fn know(&self, key: &str, source: &Source) -> Result<()> {
        if self.held.contains_key(key) {
            return Ok(());
        }
        let failure = Failure::usage(format!("unknown setting `{key}` {}", source.place()));
        Err(suggest(failure, key, self.held.keys().cloned()).into())
    }

    fn refuse_unknown_sections(&self, path: &Path, empty: &[(String, usize)]) -> Result<()> {
        let mut known: Vec<String> =
            self.held.keys().filter_map(|key| Some(key.split_once('.')?.0.to_owned())).collect();
        known.push("prices".to_owned());
        known.dedup();
        if let Some((section, line)) = empty.iter().find(|(section, _)| !known.contains(section)) {
            let text = format!("unknown section `{section}` in `{}`, line {line}", path.display());
            return Err(suggest(Failure::usage(text), section, known.into_iter()).into());
        }
        Ok(())
    }
}

/// Returns the variable that gives a setting.
pub fn variable_of(key: &str) -> String {
    format!("LONGHAUL_{}", key.replace('.', "_").to_uppercase())
}

/// Adds the known name that is most like the unknown one, if one is.
fn suggest(failure: Failure, unknown: &str, known: impl Iterator<Item = String>) -> Failure {
    let (_, unknown_key) = unknown.split_once('.').unwrap_or(("", unknown));
    let best = known
        .map(|name| {
            let (_, key) = name.split_once('.').unwrap_or(("", &name));
            // The right key in the wrong section, or in none, is the commonest slip.
            let moved = if key == unknown_key { 0.99 } else { 0.0 };
            (strsim::jaro_winkler(unknown, &name).max(moved), name)
        })
        .filter(|(likeness, _)| *likeness >= LIKE)
        .max_by(|(one, _), (other, _)| one.total_cmp(other));
    match best {
        Some((_, name)) => failure.hint(format!("did you mean `{name}`?")),
        None => failure.hint("see the README for all settings"),
    }
}
