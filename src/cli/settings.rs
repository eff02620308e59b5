//! Turns what was configured into what the engine needs.

use super::Context;
use super::sandbox::Commands;
use crate::config;
use crate::config::Checkout;
use crate::config::Config;
use crate::config::Review;
use crate::config::Tools;
use crate::engine::budget::limits::Limit;
use crate::engine::budget::limits::Limits;
use crate::engine::budget::limits::Price;
use crate::engine::budget::limits::Prices;
use crate::engine::settings::Extract;
use crate::engine::settings::Read;
use crate::engine::settings::Recall;
use crate::engine::settings::Settings;
use crate::gate;
use crate::memory::Caps;
use crate::memory::Screen;
use crate::provider;
use crate::provider::ModelSetting;
use crate::provider::Secret;
use crate::sandbox;
use crate::secrets;
use crate::secrets::Scanner;
use crate::secrets::Secrets;
use crate::tools;
use crate::tools::Declared;
use anyhow::Result;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// Time between TERM and KILL.
const GRACE: Duration = Duration::from_secs(1);
/// Bytes kept of a check's output at each end.
const KEEP: usize = 64 * 1024;

/// Settles everything for one command.
pub(super) fn settle(config: &Config, read: Read, context: &Context, commands: Commands) -> Result<Settings> {
    let variables = &context.environment.variables;
    let key = variables.get(&config.provider.key_env).filter(|key| !key.trim().is_empty());
    let (secret_names, secrets) = secrets(config, variables);
    context.output.hide(&secrets);
    let inner = sandbox::environment(variables, &config.sandbox.pass_env, &secret_names);
    let sandbox_settings = super::sandbox::settle(config, context, commands)?;
    Ok(Settings {
        model: config.agent.model.clone(),
        max_tokens: config.agent.max_tokens,
        window: config.agent.window,
        clear_at: config.context.clear_at,
        provider: key.map(|key| service(config, key)),
        missing_key: config.provider.key_env.clone(),
        limits: limits(&config.budget),
        prices: prices(config),
        recall: recall(config),
        attempts: config.run.attempts,
        breaker: config.run.breaker,
        final_sweep: config.run.final_sweep,
        sweep_budget: config.run.sweep_budget,
        init_timeout: config.run.init_timeout,
        review: config.gate.review == Review::Ask,
        gate: gate::Settings {
            sandbox: sandbox_settings.clone(),
            timeout: config.gate.timeout,
            idle: config.gate.idle,
            grace: GRACE,
            keep: KEEP,
            environment: inner.clone(),
            scratch: variables.get("TMPDIR").map_or_else(std::env::temp_dir, PathBuf::from),
            tool_home: variables.get("HOME").map(PathBuf::from),
            checkout: match config.gate.checkout {
                Checkout::Auto => gate::Checkout::Auto,
                Checkout::Clean => gate::Checkout::Clean,
                Checkout::InPlace => gate::Checkout::InPlace,
            },
            prepare: config.gate.prepare.clone(),
            strict: config.gate.strict,
            soft_closure: config.gate.soft_closure.clone(),
            secrets: scanner(config, &secrets),
        },
        sandbox: sandbox_settings,
        sandbox_foreseen: super::sandbox::foreseen(config),
        tool_limits: tool_limits(config.run.init_timeout, config.agent.window),
        tools: match config.provider.tools {
            Tools::Typed => Declared::Typed,
            Tools::Custom => Declared::Custom,
        },
        caps: caps(&config.memory),
        screen: Screen::new(scanner(config, &secrets)),
        expire_unused: days(config.memory.expire_unused),
        outer: without(&context.environment.outside(), &secret_names),
        inner: with_home(inner, variables),
        secrets,
        session_start: config.hooks.session_start.clone(),
        session_end: config.hooks.session_end.clone(),
        hook_timeout: config.hooks.timeout,
        read,
    })
}

/// Returns the names of the variables that hold secrets of ours, and their values, to which belongs what is passed on to
/// commands under a name that says so.
fn secrets(config: &Config, variables: &BTreeMap<String, String>) -> (Vec<String>, Secrets) {
    let names = vec![config.provider.key_env.clone(), "ANTHROPIC_AUTH_TOKEN".to_owned()];
    let passed = config.sandbox.pass_env.iter().filter(|name| secrets::names_one(name));
    let values = Secrets::new(names.iter().chain(passed).filter_map(|name| variables.get(name)).cloned());
    (names, values)
}

fn tool_limits(init_timeout: Duration, window: u64) -> tools::Limits {
    let limits = tools::Limits::default();
    tools::Limits { init: limits.usual.min(init_timeout), shown: tools::Limits::shown_in(window), ..limits }
}

/// What longhaul holds itself is a secret whatever the settings allow.
fn scanner(config: &Config, secrets: &Secrets) -> Scanner {
    match config.memory.secrets {
        config::Secrets::Refuse => Scanner::new(secrets.clone()),
        config::Secrets::Allow => Scanner::of_known(secrets.clone()),
    }
}

fn caps(memory: &config::Memory) -> Caps {
    Caps {
        file_bytes: memory.file_bytes,
        files: memory.files,
        view_chars: memory.view_chars,
        path_bytes: memory.path_bytes,
        path_depth: memory.path_depth,
        index_lines: memory.index_lines,
        index_bytes: memory.index_bytes,
    }
}

fn recall(config: &Config) -> Recall {
    let (model, model_setting) = extract_model(config);
    Recall {
        notes: config.recall.notes,
        small_model: config.agent.small_model.clone(),
        extract: config.recall.extract.then(|| Extract {
            model: model.to_owned(),
            model_setting,
            turns: config.recall.extract_turns,
            tokens: config.recall.extract_tokens,
            pause: config.recall.extract_pause,
        }),
    }
}

fn service(config: &Config, key: &str) -> provider::Settings {
    provider::Settings {
        base_url: config.provider.base_url.clone(),
        key: Some(Secret::new(key)),
        key_env: config.provider.key_env.clone(),
        version: config.provider.version.clone(),
        betas: config.provider.betas.clone(),
        edits: config.context.edits.clone(),
        edit_betas: config.context.betas.clone(),
        clear_at: config.context.clear_at,
        outage_budget: config.provider.outage_budget,
        ..provider::Settings::default()
    }
}

/// Reads a time as days, at least one; none at all as never.
pub(super) fn days(time: Duration) -> Option<u32> {
    let days = time.as_secs().div_ceil(24 * 3600);
    u32::try_from(days).ok().filter(|days| *days > 0)
}

fn limits(budget: &config::Budget) -> Limits {
    Limits {
        run: limit(&budget.run),
        session: limit(&budget.session),
        feature: limit(&budget.feature),
        turns_per_session: Some(budget.turns_per_session).filter(|turns| *turns > 0),
    }
}

/// Reads zero as no limit.
fn limit(limit: &config::Limit) -> Limit {
    Limit {
        usd: Some(limit.usd).filter(|usd| *usd > 0.0),
        tokens: Some(limit.tokens).filter(|tokens| *tokens > 0),
        time: Some(limit.time).filter(|time| !time.is_zero()),
        sessions: Some(limit.sessions).filter(|sessions| *sessions > 0),
    }
}

fn prices(config: &Config) -> Prices {
    let price = |model: &str| {
        let (price, _) = config.prices.of(model)?;
        let config::Price { input, output, cache_write, cache_read } = price;
        Some(Price { input, output, cache_write, cache_read })
    };
    Prices {
        model: price(&config.agent.model),
        small: price(
            Some(config.agent.small_model.as_str()).filter(|small| !small.is_empty()).unwrap_or(&config.agent.model),
        ),
        extract: price(extract_model(config).0),
    }
}

/// The model that writes notes after a session, and where its name comes from.
fn extract_model(config: &Config) -> (&str, ModelSetting) {
    let models = [
        (config.recall.extract_model.as_str(), ModelSetting::ExtractModel),
        (&config.agent.small_model, ModelSetting::SmallModel),
    ];
    models.into_iter().find(|(model, _)| !model.is_empty()).unwrap_or((&config.agent.model, ModelSetting::Model))
}

/// The environment of git and of the user's own hooks: everything but our keys.
fn without(variables: &BTreeMap<String, String>, secrets: &[String]) -> BTreeMap<String, String> {
    variables
        .iter()
        .filter(|(name, _)| !secrets.contains(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// In plain mode the agent's commands keep the user's home, where their tools and their git identity live.
fn with_home(mut inner: BTreeMap<String, String>, outer: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let git = ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"];
    for name in git.iter().chain(&["HOME", "XDG_CONFIG_HOME"]) {
        if let Some(value) = outer.get(*name) {
            inner.insert((*name).to_owned(), value.clone());
        }
    }
    inner
}
