//! One setting: its value as given, where it came from, and how it is read as the type it must have.

use crate::clock::duration;
use crate::failure::Failure;
use anyhow::Result;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;
use toml::Value;

/// Where a value came from; later ones win.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Source {
    Default,
    User { file: PathBuf, line: usize },
    Project { file: PathBuf, line: usize },
    Variable(String),
    CommandLine,
}

impl Source {
    /// Says where the value stands, with the preposition.
    pub(super) fn place(&self) -> String {
        let preposition = if *self == Self::CommandLine { "on" } else { "in" };
        format!("{preposition} {self}")
    }
}

impl Source {
    /// Says what becomes of a value that is not accepted.
    fn way_out(&self) -> String {
        match self {
            Self::Variable(name) => {
                format!("change it, or `unset {name}`: the settings files or the default hold then")
            }
            Self::CommandLine => "change it, or leave it out: the settings files or the default hold then".to_owned(),
            Self::Default | Self::User { .. } | Self::Project { .. } => {
                "change the line, or take it out: the default holds then".to_owned()
            }
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => formatter.write_str("the default"),
            Self::User { file, line } | Self::Project { file, line } => {
                write!(formatter, "`{}`, line {line}", file.display())
            }
            Self::Variable(name) => write!(formatter, "the variable `{name}`"),
            Self::CommandLine => formatter.write_str("the command line"),
        }
    }
}

/// A value as somebody wrote it.
#[derive(Clone, Debug)]
pub(super) enum Given {
    /// From a file: it has a type of its own.
    Typed(Value),
    /// From a variable or the command line: the setting decides how it is read.
    Text(String),
}

impl fmt::Display for Given {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Typed(value) => write!(formatter, "{value}"),
            Self::Text(text) => formatter.write_str(text),
        }
    }
}

/// A setting with the value that holds.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    pub(super) key: String,
    pub(super) given: Given,
    pub(super) source: Source,
}

impl Setting {
    pub(super) fn text(&self) -> Result<String> {
        match &self.given {
            Given::Typed(Value::String(text)) | Given::Text(text) => Ok(text.clone()),
            Given::Typed(_) => self.refuse("text in quotes"),
        }
    }

    pub(super) fn filled(&self) -> Result<String> {
        let text = self.text()?;
        if text.trim().is_empty() { self.refuse("text that is not empty") } else { Ok(text) }
    }

    /// Reads one of the values a setting can have.
    pub(super) fn choice<T: Copy>(&self, values: &[(&str, T)]) -> Result<T> {
        let given = self.text().unwrap_or_default();
        match values.iter().find(|(name, _)| *name == given) {
            Some((_, value)) => Ok(*value),
            None => self.refuse(&one_of(values.iter().map(|(name, _)| *name))),
        }
    }

    pub(super) fn boolean(&self) -> Result<bool> {
        match &self.given {
            Given::Typed(Value::Boolean(value)) => Ok(*value),
            Given::Text(text) if text == "true" => Ok(true),
            Given::Text(text) if text == "false" => Ok(false),
            _ => self.refuse("`true` or `false`"),
        }
    }

    /// Reads a whole number between two bounds, both included.
    pub(super) fn whole<T: TryFrom<i64>>(&self, least: i64, most: i64) -> Result<T> {
        let number = match &self.given {
            Given::Typed(Value::Integer(number)) => Some(*number),
            Given::Text(text) => i64::from_str(text.trim()).ok(),
            Given::Typed(_) => None,
        };
        let within =
            number.filter(|number| (least..=most).contains(number)).and_then(|number| T::try_from(number).ok());
        match within {
            Some(number) => Ok(number),
            None if most == i64::MAX => self.refuse(&format!("a whole number of at least {least}")),
            None => self.refuse(&format!("a whole number from {least} to {most}")),
        }
    }

    /// Reads an amount; never negative, never endless.
    pub(super) fn amount(&self) -> Result<f64> {
        match amount_of(&self.given) {
            Some(amount) => Ok(amount),
            None => self.refuse("a number that is not negative"),
        }
    }

    /// Reads a duration that may be none.
    pub(super) fn duration_or_off(&self) -> Result<Duration> {
        match duration_of(&self.given) {
            Some(duration) => Ok(duration),
            None => self.refuse("a duration such as \"15m\", \"1h30m\" or \"0.5s\", or 0 for none"),
        }
    }

    pub(super) fn duration(&self) -> Result<Duration> {
        match duration_of(&self.given) {
            Some(duration) if !duration.is_zero() => Ok(duration),
            _ => self.refuse("a duration above zero such as \"15m\", \"1h30m\" or \"0.5s\""),
        }
    }

    /// Reads a list of texts. From a variable or the command line: a TOML array, or one text that is the whole list.
    pub(super) fn list(&self) -> Result<Vec<String>> {
        let accepted = "a list of texts such as [\"a\", \"b\"]";
        let value = match &self.given {
            Given::Typed(value) => value.clone(),
            Given::Text(text) if text.trim().is_empty() => Value::Array(Vec::new()),
            Given::Text(text) if text.trim_start().starts_with('[') => {
                let table: Option<toml::Table> = toml::from_str(&format!("list = {text}")).ok();
                match table.and_then(|mut table| table.remove("list")) {
                    Some(value) => value,
                    None => return self.refuse(accepted),
                }
            }
            Given::Text(text) => Value::Array(vec![Value::String(text.clone())]),
        };
        let texts = value.as_array().map(|items| items.iter().map(|item| item.as_str().map(str::to_owned)));
        match texts.and_then(Iterator::collect) {
            Some(list) => Ok(list),
            None => self.refuse(accepted),
        }
    }

    /// Returns the value as a number that can be compared with another of the same setting.
    pub(super) fn magnitude(&self) -> Option<f64> {
        amount_of(&self.given).or_else(|| duration_of(&self.given).map(|duration| duration.as_secs_f64()))
    }

    pub(super) fn refuse<T>(&self, accepted: &str) -> Result<T> {
        let Self { key, given, source } = self;
        let place = source.place();
        let failure = Failure::usage(format!("`{key}` is `{given}` {place}; it must be {accepted}"));
        Err(failure.hint(source.way_out()).into())
    }

    /// Refuses a value that must not be shown, since it may hold a secret.
    pub(super) fn refuse_unshown<T>(&self, what: &str, way_out: &str) -> Result<T> {
        let Self { key, source, .. } = self;
        Err(Failure::usage(format!("`{key}` {what} {}", source.place())).hint(way_out).into())
    }
}

fn one_of<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

fn amount_of(given: &Given) -> Option<f64> {
    let amount = match given {
        Given::Typed(Value::Float(amount)) => *amount,
        Given::Typed(Value::Integer(amount)) => *amount as f64,
        Given::Text(text) => f64::from_str(text.trim()).ok()?,
        Given::Typed(_) => return None,
    };
    (amount.is_finite() && amount >= 0.0).then_some(amount)
}

fn duration_of(given: &Given) -> Option<Duration> {
    match given {
        Given::Typed(Value::String(text)) | Given::Text(text) => duration::parse(text),
        Given::Typed(Value::Integer(0)) => Some(Duration::ZERO),
        Given::Typed(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Setting {
        let source = Source::Variable("LONGHAUL_A_B".into());
        Setting { key: "a.b".into(), given: Given::Text(text.into()), source }
    }

    fn typed(value: impl Into<Value>) -> Setting {
        let source = Source::User { file: "config.toml".into(), line: 4 };
        Setting { key: "a.b".into(), given: Given::Typed(value.into()), source }
    }

    #[test]
    fn text_from_outside_is_read_as_what_the_setting_is() {
        assert!(text("true").boolean().unwrap());
        assert_eq!(text("12").whole::<u32>(0, 20).unwrap(), 12);
        assert_eq!(text("2.5").amount().unwrap(), 2.5);
        assert_eq!(text("90s").duration().unwrap(), Duration::from_secs(90));
        assert_eq!(text("").list().unwrap(), Vec::<String>::new());
        assert_eq!(text("echo a, b").list().unwrap(), ["echo a, b"]);
        assert_eq!(text(r#"["a", "b"]"#).list().unwrap(), ["a", "b"]);
    }

    #[test]
    fn a_wrong_value_names_key_value_source_and_what_is_accepted() {
        let cases = [
            (typed(3).text().err(), "`a.b` is `3` in `config.toml`, line 4; it must be text in quotes"),
            (
                text("yes").boolean().err(),
                "`a.b` is `yes` in the variable `LONGHAUL_A_B`; it must be `true` or `false`",
            ),
            (
                typed(0).whole::<u32>(1, i64::MAX).err(),
                "`a.b` is `0` in `config.toml`, line 4; it must be a whole number of at least 1",
            ),
            (
                typed(21).whole::<u32>(1, 20).err(),
                "`a.b` is `21` in `config.toml`, line 4; it must be a whole number from 1 to 20",
            ),
            (
                typed("x").choice(&[("on", 1), ("off", 2), ("auto", 3)]).err(),
                "`a.b` is `\"x\"` in `config.toml`, line 4; it must be `on`, `off` or `auto`",
            ),
        ];
        for (error, expected) in cases {
            assert_eq!(error.unwrap().to_string(), expected);
        }
    }

    #[test]
    fn out_of_range_is_refused_whatever_way_it_is_written() {
        assert!(text("NaN").amount().is_err());
        assert!(text("inf").amount().is_err());
        assert!(typed(-0.5).amount().is_err());
        assert!(typed(5).duration_or_off().is_err(), "a bare number has no unit");
        assert!(typed(0).duration_or_off().is_ok());
        assert!(text("off").duration().is_err());
        assert!(typed(Value::Array(vec![Value::Integer(1)])).list().is_err());
        assert!(text("[\"a\"").list().is_err());
        assert!(text(&i64::MAX.to_string()).whole::<u32>(0, i64::MAX).is_err(), "does not fit the type");
    }
}
