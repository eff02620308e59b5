//! What models cost: a dated table of ours, over which the user's own prices lie.

use super::setting::Source;
use crate::failure::Failure;
use anyhow::Context;
use anyhow::Result;
use std::collections::BTreeMap;
use toml::Value;

/// The table.
const TABLE: &str = include_str!("prices.toml");

/// What a model costs, in USD per million tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    pub input: f64,
    pub output: f64,
    pub cache_write: f64,
    pub cache_read: f64,
}

/// The prices that are known.
#[derive(Clone, Debug, Default)]
pub struct Prices {
    own: BTreeMap<String, Price>,
    table: BTreeMap<String, Price>,
    /// The day of the table.
    as_of: String,
}

impl Prices {
    /// Reads the table, and the user's own prices.
    pub(super) fn read(own: &[(String, Value, Source)]) -> Result<Self> {
        let table: toml::Table = toml::from_str(TABLE).context("could not read the table of prices")?;
        let models = table.get("models").and_then(Value::as_table).into_iter().flatten();
        let ours = |(model, value): (&String, &Value)| read_price(model, value, "the table of prices");
        Ok(Self {
            own: own
                .iter()
                .map(|(model, value, source)| read_price(model, value, &source.to_string()))
                .collect::<Result<_>>()?,
            table: models.map(ours).collect::<Result<_>>()?,
            as_of: table.get("as_of").and_then(Value::as_str).unwrap_or_default().to_owned(),
        })
    }

    /// Returns what a model costs, and where that is known from. A name that ends in a date is looked up without it too.
    pub fn of(&self, model: &str) -> Option<(Price, String)> {
        let own = |name: &str| self.own.get(name).map(|price| (*price, "your config.toml".to_owned()));
        let table =
            |name: &str| self.table.get(name).map(|price| (*price, format!("longhaul's table of {}", self.as_of)));
        own(model).or_else(|| table(model)).or_else(|| table(undated(model)))
    }
}

/// Takes the date from a model's name, such as `-20251101`.
fn undated(model: &str) -> &str {
    let is_date = |end: &str| end.len() == 8 && end.bytes().all(|byte| byte.is_ascii_digit());
    model.rsplit_once('-').filter(|(_, end)| is_date(end)).map_or(model, |(name, _)| name)
}

fn read_price(model: &str, value: &Value, source: &str) -> Result<(String, Price)> {
    const PARTS: [&str; 4] = ["input", "output", "cache_write", "cache_read"];
    let shown = format!("`[prices.\"{model}\"]` in {source}");
    let refuse = |text: String| {
        Failure::usage(text).hint("give input, output, cache_write and cache_read in USD per million tokens")
    };
    let table = value.as_table().ok_or_else(|| refuse(format!("{shown} is not a table")))?;
    if let Some(unknown) = table.keys().find(|key| !PARTS.contains(&key.as_str())) {
        return Err(refuse(format!("{shown} has an unknown part `{unknown}`")).into());
    }
    let part = |name: &str| {
        let given = table.get(name).ok_or_else(|| refuse(format!("{shown} has no `{name}`")))?;
        let amount = given.as_float().or_else(|| given.as_integer().map(|amount| amount as f64));
        let amount = amount.filter(|amount| amount.is_finite() && *amount >= 0.0);
        amount.ok_or_else(|| refuse(format!("{shown} has `{name} = {given}`, which is no price")))
    };
    let [input, output, cache_write, cache_read] = PARTS.map(part);
    let price = Price { input: input?, output: output?, cache_write: cache_write?, cache_read: cache_read? };
    Ok((model.to_owned(), price))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(model: &str, input: f64) -> (String, Value, Source) {
        let parts = ["input", "output", "cache_write", "cache_read"];
        let table = parts.map(|part| (part.to_owned(), Value::Float(input)));
        (model.to_owned(), Value::Table(table.into_iter().collect()), Source::Default)
    }

    #[test]
    fn the_table_is_dated_and_a_price_of_ones_own_wins() {
        let prices = Prices::read(&[own("claude-opus-5-5", 1.0), own("mine", 2.0)]).unwrap();
        let of = |model: &str| prices.of(model).map(|(price, from)| (price.input, from));
        assert_eq!(of("claude-opus-5-5"), Some((1.0, "your config.toml".to_owned())));
        assert_eq!(of("mine").map(|(input, _)| input), Some(2.0));
        assert_eq!(of("claude-opus-5"), Some((5.0, "longhaul's table of 2026-10-10".to_owned())));
        assert_eq!(of("claude-opus-4-5-20251101").map(|(input, _)| input), Some(5.0));
        assert_eq!(of("claude-opus-9"), None, "what is not known stays unknown");
        assert_eq!(of("claude-opus-5-fast"), None);
    }

    #[test]
    fn every_price_of_the_table_is_in_proportion() {
        let prices = Prices::read(&[]).unwrap();
        for (model, price) in &prices.table {
            assert!(price.output > price.input && price.cache_write > price.input, "{model}");
            assert!(price.cache_read < price.input, "{model}");
        }
        assert!(prices.as_of.parse::<jiff::civil::Date>().is_ok());
    }
}
