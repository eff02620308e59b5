//! The written form of a script: TOML, read with line numbers so that a mistake is found at once.

use super::script::Script;
use super::script::Step;
use super::script::StepCall;
use super::script::StepError;
use super::script::StepFault;
use anyhow::Context;
use anyhow::Result;
use anyhow::anyhow;
use anyhow::ensure;
use serde_json::Map;
use serde_json::Value;
use std::ops::Range;
use std::time::Duration;
use toml::Spanned;
use toml::de::DeTable;
use toml::de::DeValue;

const REPLY_KEYS: [&str; 10] =
    ["text", "thinking", "tools", "stop_reason", "usage", "status", "headers", "error", "cut", "silence"];

impl Script {
    /// Reads a script; `name` stands for it in messages.
    pub fn parse(text: &str, name: &str) -> Result<Self> {
        let source = Source { text, name };
        let table =
            DeTable::parse(text).map_err(|error| source.error(error.span().unwrap_or_default(), error.message()))?;
        source.known_keys(table.get_ref(), &["session", "side"], "the script")?;
        let sessions = table.get_ref().get("session");
        let sessions = sessions.with_context(|| format!("the script `{name}` holds no `[[session]]`"))?;
        let sessions = source.conversations(sessions, "session")?;
        let side = table.get_ref().get("side").map(|side| source.conversations(side, "side")).transpose()?;
        Ok(Self { name: name.to_owned(), sessions, side: side.unwrap_or_default() })
    }
}

/// A script's text, to find lines in.
struct Source<'a> {
    text: &'a str,
    name: &'a str,
}

type Spot<'a> = Spanned<DeValue<'a>>;

impl Source<'_> {
    fn error(&self, span: Range<usize>, message: &str) -> anyhow::Error {
        let before = self.text.as_bytes().get(..span.start).unwrap_or_default();
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        anyhow!("the script `{}`, line {line}: {message}", self.name)
    }

    fn expected(&self, spot: &Spot, key: &str, what: &str) -> anyhow::Error {
        let found = spot.get_ref().type_str();
        self.error(spot.span(), &format!("`{key}` must be {what}, and this is of type {found}"))
    }

    fn known_keys(&self, table: &DeTable, known: &[&str], place: &str) -> Result<()> {
        let Some(unknown) = table.keys().find(|key| !known.contains(&key.get_ref().as_ref())) else {
            return Ok(());
        };
        let key = unknown.get_ref();
        let near = known.iter().map(|known| (strsim::damerau_levenshtein(key, known), known)).min();
        let hint = match near {
            Some((distance, near)) if distance <= 1 + near.len() / 3 => format!("did you mean `{near}`?"),
            _ => format!("known are: {}", known.join(", ")),
        };
        Err(self.error(unknown.span(), &format!("unknown key `{key}` in {place}; {hint}")))
    }

    fn tables<'a, 't>(&self, spot: &'a Spot<'t>, key: &str) -> Result<Vec<(Range<usize>, &'a DeTable<'t>)>> {
        let wrong = |spot: &Spot| self.expected(spot, key, "an array of tables");
        let items = spot.get_ref().as_array().ok_or_else(|| wrong(spot))?;
        let table = |item: &'a Spot<'t>| Ok((item.span(), item.get_ref().as_table().ok_or_else(|| wrong(item))?));
        items.iter().map(table).collect()
    }

    /// Reads the conversations of one kind, `session` or `side`.
    fn conversations(&self, spot: &Spot, kind: &str) -> Result<Vec<Vec<Step>>> {
        let tables = self.tables(spot, kind)?;
        tables.into_iter().map(|(span, table)| self.conversation(span, table, kind)).collect()
    }

    fn conversation(&self, span: Range<usize>, table: &DeTable, kind: &str) -> Result<Vec<Step>> {
        self.known_keys(table, &["reply"], &format!("`[[{kind}]]`"))?;
        let missing = || self.error(span, &format!("this {kind} holds no `[[{kind}.reply]]`"));
        let replies = table.get("reply").ok_or_else(missing)?;
        let replies = self.tables(replies, &format!("{kind}.reply"))?;
        replies.into_iter().map(|(span, reply)| self.step(span, reply, kind)).collect()
    }

    fn step(&self, span: Range<usize>, reply: &DeTable, kind: &str) -> Result<Step> {
        self.known_keys(reply, &REPLY_KEYS, &format!("`[[{kind}.reply]]`"))?;
        let text = |key: &str| reply.get(key).map(|spot| self.text(spot, key)).transpose();
        let step = Step {
            thinking: text("thinking")?,
            text: text("text")?,
            tools: reply.get("tools").map(|spot| self.tools(spot)).transpose()?.unwrap_or_default(),
            stop_reason: reply.get("stop_reason").map(|spot| self.any_text(spot, "stop_reason")).transpose()?,
            usage: reply.get("usage").map(|spot| self.object(spot, "usage")).transpose()?.unwrap_or_default(),
            silence: reply.get("silence").map(|spot| self.silence(spot)).transpose()?.unwrap_or_default(),
            fault: self.fault(reply)?,
        };
        let says =
            ["text", "thinking", "tools", "stop_reason", "usage", "cut"].iter().find(|key| reply.contains_key(**key));
        match (&step.fault, says) {
            (Some(StepFault::Status { .. }), Some(key)) => {
                Err(self.error(span, &format!("an answer with `status` is no reply and takes no `{key}`")))
            }
            _ => Ok(step),
        }
    }

    fn fault(&self, reply: &DeTable) -> Result<Option<StepFault>> {
        let Some(spot) = reply.get("status") else {
            let stray = ["headers", "error"].iter().find_map(|key| Some((key, reply.get(*key)?)));
            if let Some((key, spot)) = stray {
                return Err(self.error(spot.span(), &format!("`{key}` goes with `status` only")));
            }
            return reply
                .get("cut")
                .map(|spot| Ok(StepFault::Cut(self.number(spot, "cut", 0..=usize::MAX)?)))
                .transpose();
        };
        let status = self.number(spot, "status", 300..=599)?;
        let headers = reply.get("headers").map(|spot| self.headers(spot)).transpose()?.unwrap_or_default();
        let error = reply.get("error").map(|spot| self.service_error(spot)).transpose()?.unwrap_or_default();
        Ok(Some(StepFault::Status { status: u16::try_from(status)?, headers, error }))
    }

    fn service_error(&self, spot: &Spot) -> Result<StepError> {
        let error = spot.get_ref().as_table().ok_or_else(|| self.expected(spot, "error", "a table"))?;
        self.known_keys(error, &["type", "message", "code"], "`error`")?;
        let text = |key: &str| error.get(key).map(|spot| self.text(spot, key)).transpose();
        Ok(StepError { kind: text("type")?, message: text("message")?, code: text("code")? })
    }

    fn headers(&self, spot: &Spot) -> Result<Vec<(String, String)>> {
        let headers = spot.get_ref().as_table().ok_or_else(|| self.expected(spot, "headers", "a table"))?;
        let header = |(key, value): (&Spanned<_>, &Spot)| {
            let name: &str = AsRef::<str>::as_ref(key.get_ref());
            let text = match value.get_ref() {
                DeValue::Integer(number) => number.as_str().to_owned(),
                DeValue::Float(number) => number.as_str().to_owned(),
                _ => self.text(value, name)?,
            };
            let sendable = hyper::header::HeaderName::try_from(name).is_ok()
                && hyper::header::HeaderValue::try_from(text.as_str()).is_ok();
            ensure!(sendable, self.error(value.span(), &format!("`{name}` cannot be sent as a header")));
            Ok((name.to_owned(), text))
        };
        headers.iter().map(|(key, value)| header((key, value))).collect()
    }

    fn tools(&self, spot: &Spot) -> Result<Vec<StepCall>> {
        let mut tools = Vec::new();
        for (span, tool) in self.tables(spot, "tools")? {
            self.known_keys(tool, &["name", "input", "id"], "`tools`")?;
            let name = tool.get("name").ok_or_else(|| self.error(span, "a tool call without `name`"))?;
            let input = tool.get("input").map(|spot| self.object(spot, "input")).transpose()?;
            tools.push(StepCall {
                name: self.text(name, "name")?,
                input: input.unwrap_or_else(|| Value::Object(Map::new())),
                id: tool.get("id").map(|spot| self.text(spot, "id")).transpose()?,
            });
        }
        Ok(tools)
    }

    fn text(&self, spot: &Spot, key: &str) -> Result<String> {
        let text = self.any_text(spot, key)?;
        ensure!(!text.trim().is_empty(), self.error(spot.span(), &format!("`{key}` is empty; leave it out")));
        Ok(text)
    }

    fn any_text(&self, spot: &Spot, key: &str) -> Result<String> {
        let text = spot.get_ref().as_str().ok_or_else(|| self.expected(spot, key, "a text"))?;
        Ok(text.to_owned())
    }

    fn number(&self, spot: &Spot, key: &str, range: std::ops::RangeInclusive<usize>) -> Result<usize> {
        let number = spot.get_ref().as_integer().and_then(|number| number.as_str().parse().ok());
        number.filter(|number| range.contains(number)).ok_or_else(|| {
            let range = if *range.end() == usize::MAX { "or above".to_owned() } else { format!("to {}", range.end()) };
            let start = if key == "status" { 300 } else { 0 };
            self.expected(spot, key, &format!("a whole number from {start} {range}"))
        })
    }

    fn silence(&self, spot: &Spot) -> Result<Duration> {
        let text = spot.get_ref().as_str().ok_or_else(|| self.expected(spot, "silence", "a time such as \"5s\""))?;
        let time = text.parse::<jiff::SignedDuration>().ok().and_then(|time| Duration::try_from(time).ok());
        time.ok_or_else(|| {
            self.error(spot.span(), &format!("`silence` must be a time such as \"5s\" or \"200ms\": `{text}`"))
        })
    }

    fn object(&self, spot: &Spot, key: &str) -> Result<Value> {
        match spot.get_ref() {
            DeValue::Table(_) => self.json(spot),
            _ => Err(self.expected(spot, key, "a table")),
        }
    }

    fn json(&self, spot: &Spot) -> Result<Value> {
        Ok(match spot.get_ref() {
            DeValue::String(text) => Value::String(text.to_string()),
            DeValue::Boolean(value) => Value::Bool(*value),
            DeValue::Integer(number) => {
                let value = i64::from_str_radix(number.as_str(), number.radix());
                Value::from(value.map_err(|_| self.error(spot.span(), "the number is too large"))?)
            }
            DeValue::Float(number) => number.as_str().parse::<f64>().map(Value::from)?,
            DeValue::Datetime(time) => Value::String(time.to_string()),
            DeValue::Array(items) => items.iter().map(|item| self.json(item)).collect::<Result<_>>()?,
            DeValue::Table(fields) => {
                let field = |(key, value): (&Spanned<_>, &Spot)| {
                    Ok((AsRef::<str>::as_ref(key.get_ref()).to_owned(), self.json(value)?))
                };
                Value::Object(fields.iter().map(|(key, value)| field((key, value))).collect::<Result<_>>()?)
            }
        })
    }
}
