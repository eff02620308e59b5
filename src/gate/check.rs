//! A check as the checklist holds it: the command, its limits, and the files that decide with it.

use crate::clock::duration;
use crate::gate::empty::is_blank;
use serde::de::DeserializeOwned;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;
use sha2::Digest;
use sha2::Sha256;
use std::collections::BTreeMap;
use std::time::Duration;

/// Who decides.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Kind {
    /// The exit code of a command.
    #[default]
    Command,
    /// A person.
    Manual,
}

/// The rules by which a check was approved: which of its commands must pass, and which files are pinned. Rules that came
/// later do not turn what was approved before.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Rules {
    /// Each line must pass.
    #[default]
    First,
    /// Each command must pass.
    Now,
}

/// The end-to-end check of a feature.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Check {
    /// Text for `sh`, which stops at the first command that fails.
    pub run: String,
    /// Folder below the project's root.
    pub cwd: String,
    /// How long one run may take; with none, the setting decides.
    pub timeout: Option<Duration>,
    /// `init` for the init script, else text for `sh`.
    pub setup: Option<String>,
    /// Text for `sh`, tried until it exits with 0.
    pub ready: Option<String>,
    /// How many passes in a row it takes.
    pub runs: u32,
    /// Patterns below the project's root; `!` takes out.
    pub closure: Vec<String>,
    pub network: bool,
    pub kind: Kind,
    /// Text the output must hold; it can refuse a pass, never make one.
    pub expect: Option<String>,
    pub approved_by: String,
    /// What the files it depends on were at approval, as [`crate::gate::Pinned::pin`] writes it; none: absent. Files of
    /// memory's `checks/` are named `checks/…`, a project's own folder of that name `./checks/…`.
    pub pins: BTreeMap<String, Option<String>>,
    /// What tools load by themselves, as it was at approval; none: not recorded. It does not decide.
    pub soft: Option<BTreeMap<String, String>>,
    pub rules: Rules,
}

/// Why a check cannot be read.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Problem {
    /// The field inside the check, when it is one field's fault.
    pub field: Option<String>,
    pub reason: String,
}

const KEYS: [&str; 14] = [
    "run",
    "cwd",
    "timeout",
    "setup",
    "ready",
    "runs",
    "closure",
    "network",
    "kind",
    "expect",
    "approved_by",
    "pins",
    "soft",
    "rules",
];

impl Check {
    /// How the checklist names the rules of now.
    pub const RULES: u64 = 2;

    /// Makes a check of a command alone.
    pub fn command(run: &str) -> Self {
        Self { run: run.to_owned(), cwd: ".".to_owned(), runs: 1, ..Self::default() }
    }

    /// Reads the form the checklist holds, or a command alone as text.
    pub fn read(value: &Value) -> Result<Self, Problem> {
        let fields = match value {
            Value::String(run) => return Self::command(run).validated(),
            Value::Object(fields) => fields,
            _ => return Err(problem(None, "expected the text of a command, or an object with `run`")),
        };
        let kind = match field::<String>(fields, "kind")?.as_deref() {
            None | Some("command") => Kind::Command,
            Some("manual") => Kind::Manual,
            Some(other) => {
                return Err(problem("kind", format!("expected `command` or `manual`, found `{other}`")));
            }
        };
        let timeout = field::<Value>(fields, "timeout")?.map(|timeout| read_duration(&timeout)).transpose()?;
        let check = Self {
            run: field(fields, "run")?.unwrap_or_default(),
            cwd: field(fields, "cwd")?.unwrap_or_else(|| ".".to_owned()),
            timeout,
            setup: field(fields, "setup")?,
            ready: field(fields, "ready")?,
            runs: field(fields, "runs")?.unwrap_or(1),
            closure: field(fields, "closure")?.unwrap_or_default(),
            network: field(fields, "network")?.unwrap_or_default(),
            kind,
            expect: field(fields, "expect")?,
            approved_by: field(fields, "approved_by")?.unwrap_or_default(),
            pins: field(fields, "pins")?.unwrap_or_default(),
            soft: field(fields, "soft")?,
            rules: if field::<u64>(fields, "rules")? >= Some(Self::RULES) { Rules::Now } else { Rules::First },
        };
        check.validated()
    }

    /// Finds a key that means nothing to a check, with the one it was perhaps meant to be. A checklist may hold such
    /// keys; someone who types a new check has made a mistake.
    pub fn unknown_key(value: &Value) -> Option<Problem> {
        let unknown = value.as_object()?.keys().find(|key| !KEYS.contains(&key.as_str()))?;
        let closest =
            KEYS.iter().max_by(|a, b| strsim::jaro_winkler(a, unknown).total_cmp(&strsim::jaro_winkler(b, unknown)))?;
        let hint = match strsim::jaro_winkler(closest, unknown) > 0.75 {
            true => format!("did you mean `{closest}`?"),
            false => format!("known are {}", KEYS.map(|key| format!("`{key}`")).join(", ")),
        };
        Some(problem(unknown.as_str(), format!("not a key of a check; {hint}")))
    }

    /// Tells whether the command holds nothing that could run.
    pub fn is_blank(&self) -> bool {
        self.kind == Kind::Command && is_blank(&self.run)
    }

    /// Returns the digest of everything that decides the result; who approved it does not.
    pub fn digest(&self) -> String {
        let timeout = self.timeout.map(|timeout| timeout.as_secs_f64());
        let manual = self.kind == Kind::Manual;
        let deciding = json!([
            self.run,
            self.cwd,
            timeout,
            self.setup,
            self.ready,
            self.runs,
            self.closure,
            self.network,
            manual,
            self.expect,
            self.pins,
        ]);
        // Of what was approved by the first rules the digest stays.
        let by_rules = if self.rules == Rules::Now { format!(" {}", Self::RULES) } else { String::new() };
        format!("{:x}", Sha256::digest(format!("{deciding}{by_rules}")))
    }

    /// Names what decides beside the product: files of memory, pinned files of the project, or the command alone.
    pub fn form(&self) -> &'static str {
        let of_memory = |path: &String| path.starts_with("checks/");
        match () {
            () if self.pins.is_empty() => "the command",
            () if self.pins.keys().all(of_memory) => "files of memory",
            () if self.pins.keys().any(of_memory) => "files of memory and of the project",
            () => "files of the project",
        }
    }

    fn validated(self) -> Result<Self, Problem> {
        if self.run.trim().is_empty() && self.kind == Kind::Command {
            return Err(problem("run", "a check needs a command to run"));
        }
        if self.run.contains('\0') {
            return Err(problem("run", "a command cannot hold a NUL character"));
        }
        if self.runs == 0 {
            return Err(problem("runs", "a check must run at least once"));
        }
        let outside = self.cwd.starts_with('/') || self.cwd.split('/').any(|part| part == "..");
        if outside {
            return Err(problem("cwd", format!("`{}` is not a folder below the project's root", self.cwd)));
        }
        for pattern in &self.closure {
            globset::Glob::new(pattern.trim_start_matches('!'))
                .map_err(|error| problem("closure", format!("`{pattern}` is not a pattern: {}", error.kind())))?;
        }
        Ok(self)
    }
}

fn problem<'a>(field: impl Into<Option<&'a str>>, reason: impl Into<String>) -> Problem {
    Problem { field: field.into().map(str::to_owned), reason: reason.into() }
}

/// Reads a field; one that is missing or null is none.
fn field<T: DeserializeOwned>(fields: &Map<String, Value>, name: &str) -> Result<Option<T>, Problem> {
    let value = fields.get(name).filter(|value| !value.is_null());
    value.map(|value| T::deserialize(value).map_err(|error| problem(name, error.to_string()))).transpose()
}

fn read_duration(value: &Value) -> Result<Duration, Problem> {
    let duration = value.as_str().and_then(duration::parse).filter(|duration| !duration.is_zero());
    duration.ok_or_else(|| {
        problem("timeout", format!("expected a time such as \"30s\", \"1.5s\" or \"5m\", found {value}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_alone_is_a_command() {
        assert_eq!(Check::read(&json!("make test")), Ok(Check::command("make test")));
    }

    #[test]
    fn all_fields_are_read() {
        let value = json!({
            "run": "sh \"$LONGHAUL_CHECKS/login.sh\"", "cwd": "web", "timeout": "1.5s", "setup": "init", "ready": "true",
            "runs": 3, "closure": ["tests/**", "!tests/tmp/**"], "network": true, "kind": "command", "expect": "ok",
            "approved_by": "initializer", "pins": {"checks/login.sh": "abc", "tests/x": null},
            "soft": {"conftest.py": "abc"}, "rules": 2, "mine": 1,
        });
        let expected = Check {
            run: "sh \"$LONGHAUL_CHECKS/login.sh\"".to_owned(),
            cwd: "web".to_owned(),
            timeout: Some(Duration::from_millis(1500)),
            setup: Some("init".to_owned()),
            ready: Some("true".to_owned()),
            runs: 3,
            closure: vec!["tests/**".to_owned(), "!tests/tmp/**".to_owned()],
            network: true,
            kind: Kind::Command,
            expect: Some("ok".to_owned()),
            approved_by: "initializer".to_owned(),
            pins: BTreeMap::from([
                ("checks/login.sh".to_owned(), Some("abc".to_owned())),
                ("tests/x".to_owned(), None),
            ]),
            soft: Some(BTreeMap::from([("conftest.py".to_owned(), "abc".to_owned())])),
            rules: Rules::Now,
        };
        assert_eq!(Check::read(&value), Ok(expected));
    }

    #[test]
    fn what_cannot_be_a_check_names_the_field() {
        let cases = [
            (json!(3), None, "expected the text of a command, or an object with `run`"),
            (json!({}), Some("run"), "a check needs a command to run"),
            (json!({"run": 3}), Some("run"), "invalid type: number, expected a string"),
            (
                json!({"run": "x", "timeout": 5}),
                Some("timeout"),
                "expected a time such as \"30s\", \"1.5s\" or \"5m\", found 5",
            ),
            (
                json!({"run": "x", "timeout": "0s"}),
                Some("timeout"),
                "expected a time such as \"30s\", \"1.5s\" or \"5m\", found \"0s\"",
            ),
            (json!({"run": "x", "runs": 0}), Some("runs"), "a check must run at least once"),
            (json!({"run": "x", "cwd": "a/../.."}), Some("cwd"), "`a/../..` is not a folder below the project's root"),
            (json!({"run": "x", "kind": "magic"}), Some("kind"), "expected `command` or `manual`, found `magic`"),
            (
                json!({"run": "x", "closure": ["a[", "b"]}),
                Some("closure"),
                "`a[` is not a pattern: unclosed character class; missing ']'",
            ),
        ];
        for (value, field, reason) in cases {
            assert_eq!(Check::read(&value), Err(problem(field, reason)), "{value}");
        }
    }

    #[test]
    fn an_unknown_key_comes_with_a_suggestion() {
        let unknown = |value| Check::unknown_key(&value).map(|problem| problem.reason);
        assert_eq!(
            unknown(json!({"run": "x", "timout": "5m"})).unwrap(),
            "not a key of a check; did you mean `timeout`?"
        );
        assert!(unknown(json!({"run": "x", "zzz": 1})).unwrap().contains("known are `run`, `cwd`"));
        assert_eq!(unknown(json!({"run": "x"})), None);
    }

    #[test]
    fn a_timeout_is_written_as_in_the_settings() {
        let timeout = |text: &str| Check::read(&json!({"run": "x", "timeout": text})).ok()?.timeout;
        let seconds = |text| timeout(text).map(|duration| duration.as_secs_f64());
        let good = ["5m", "30s", "1.5s", "200ms", "2h", "1h30m"];
        assert_eq!(good.map(seconds), [300.0, 30.0, 1.5, 0.2, 7200.0, 5400.0].map(Some));
        assert_eq!(["5", "m", "-1s", "1.2.3s", "5 m", "1e9h", "", "0", "off"].map(seconds), [None; 9]);
    }

    #[test]
    fn the_digest_follows_what_decides_and_nothing_else() {
        let check = Check::command("true");
        let approved = Check { approved_by: "somebody".to_owned(), ..check.clone() };
        let pinned = Check { pins: BTreeMap::from([("tests/x".to_owned(), None)]), ..check.clone() };
        let soft = Check { soft: Some(BTreeMap::from([("conftest.py".to_owned(), "1".to_owned())])), ..check.clone() };
        assert_eq!([approved.digest(), soft.digest()], [check.digest(), check.digest()]);
        assert_ne!(check.digest(), pinned.digest());
        assert_ne!(check.digest(), Check::command("false").digest());
        assert_ne!(check.digest(), Check { rules: Rules::Now, ..check.clone() }.digest());
        let before = "c9c5549c3773aad31a748d49aa72625be06c7928624c16601f2b27591482a6cd";
        assert_eq!(check.digest(), before, "the digest of a check without rules is the one it always had");
    }
}
