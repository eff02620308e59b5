//! The map in `src/lib.rs` as rules. Each rule is a function from sources to complaints, with two tests: one shows it the
//! real sources, its twin a sample that breaks the rule, which it must see.

#[path = "architecture/source.rs"]
mod source;

use source::Source;
use source::read_all;
use std::path::Path;

/// Stands on nothing but itself.
const GROUND: [&str; 8] = ["message", "event", "failure", "process", "sandbox", "secrets", "clock", "clip"];

/// Modules above the ground, each with those it may name beside the ground.
const ARROWS: [(&str, &[&str]); 14] = [
    ("main", &["cli", "config"]),
    (
        "cli",
        &[
            "config",
            "engine",
            "prompts",
            "driver",
            "provider",
            "tools",
            "gate",
            "checklist",
            "memory",
            "project",
            "transcript",
        ],
    ),
    ("config", &[]),
    ("engine", &["prompts", "driver", "provider", "tools", "gate", "checklist", "memory", "project", "transcript"]),
    ("prompts", &[]),
    ("driver", &["provider", "tools"]),
    ("provider", &[]),
    ("tools", &["memory", "checklist", "gate"]),
    ("gate", &["project"]),
    // Only what the gate's verdicts are made of; see `GATE_FOR_CHECKLIST`.
    ("checklist", &["gate"]),
    ("memory", &[]),
    ("project", &[]),
    ("transcript", &[]),
    ("lib", &[]),
];

/// The floors of the engine, from the ground up: each may name those below it.
const FLOORS: [&str; 11] =
    ["budget", "settings", "facts", "workspace", "pick", "custody", "verify", "session", "prepare", "run", "commands"];

/// What the checklist may name of the gate: the check and what one run of it found, never the running.
const GATE_FOR_CHECKLIST: [&str; 9] =
    ["Check", "Verdict", "Finding", "Red", "Kind", "Rules", "Skips", "check", "verdict"];

/// Words that may stand in one place only, and that place.
const CONFINED: [(&str, &[&str]); 20] = [
    ("git2::", &["memory/", "project/"]),
    ("libgit2_sys::", &["memory/"]),
    ("reqwest::", &["provider/"]),
    ("hyper::", &["provider/"]),
    ("hyper_util::", &["provider/"]),
    ("rustls::", &["provider/"]),
    ("minijinja::", &["prompts/"]),
    ("clap::", &["cli/"]),
    ("clap_complete::", &["cli/"]),
    ("println!", &["cli/output.rs"]),
    ("print!", &["cli/output.rs"]),
    ("eprintln!", &["cli/output.rs"]),
    ("eprint!", &["cli/output.rs"]),
    ("io::stdout(", &["cli/output.rs"]),
    ("io::stderr(", &["cli/output.rs"]),
    // Children get their group, their limits and their environment in one place.
    ("std::process::Command", &["process.rs", "process/"]),
    // The world is taken once, so that tests can give another.
    ("std::env::var", &["config/environment.rs"]),
    ("std::env::current_dir", &["config/environment.rs"]),
    ("Timestamp::now", &["clock.rs"]),
    ("SystemTime", &["clock.rs"]),
];

/// Names that say nothing; a thing without a home changes the map.
const NAMELESS: [&str; 8] = ["util", "utils", "common", "helper", "helpers", "manager", "misc", "shared"];

/// Lines of code in one file.
const LINES: usize = 400;

fn sources() -> Vec<Source> {
    read_all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"))
}

/// A module names only what the map lets it name.
fn wrong_arrows(sources: &[Source]) -> Vec<String> {
    let mut complaints = Vec::new();
    for source in sources {
        let from = source.top();
        for names in source.crate_paths() {
            let to = names[0].as_str();
            if !may_name(from, &names) && is_module(to) {
                complaints.push(format!("{}: `{from}` must not name `{}`", source.path, names.join("::")));
            }
        }
    }
    complaints
}

fn may_name(from: &str, names: &[String]) -> bool {
    let to = names[0].as_str();
    if from == "checklist" && to == "gate" {
        return names.get(1).is_some_and(|name| GATE_FOR_CHECKLIST.contains(&name.as_str()));
    }
    let arrows = ARROWS.iter().find(|(module, _)| *module == from).map_or(&[][..], |(_, arrows)| arrows);
    to == from || GROUND.contains(&to) || arrows.contains(&to)
}

/// Within the engine a part names no part above it.
fn climbing(sources: &[Source]) -> Vec<String> {
    let floor = |name: &str| FLOORS.iter().position(|floor| *floor == name);
    let mut complaints = Vec::new();
    for source in sources {
        let Some(inside) = source.path.strip_prefix("engine/") else { continue };
        let part = inside.split('/').next().unwrap_or_default();
        let part = part.strip_suffix(".rs").unwrap_or(part);
        let Some(own) = floor(part) else {
            if part != "mod" {
                complaints.push(format!("{}: `{part}` has no floor in tests/architecture.rs", source.path));
            }
            continue;
        };
        let named = source.crate_paths();
        let above = named.iter().filter(|names| {
            names[0] == "engine" && names.get(1).and_then(|name| floor(name)).is_some_and(|other| other > own)
        });
        complaints.extend(above.map(|names| format!("{}: `{part}` must not name `{}`", source.path, names.join("::"))));
    }
    complaints
}

/// Tells modules from what a crate's root may hold beside them, such as macros.
fn is_module(name: &str) -> bool {
    GROUND.contains(&name) || ARROWS.iter().any(|(module, _)| *module == name)
}

/// A confined word stands only in its home.
fn strays(sources: &[Source]) -> Vec<String> {
    let mut complaints = Vec::new();
    for source in sources {
        for (word, homes) in CONFINED.iter().filter(|(word, _)| has_word(&source.code, word)) {
            if !homes.iter().any(|home| source.path.starts_with(home)) {
                complaints.push(format!("{}: `{word}` belongs to {}", source.path, homes.join(" and ")));
            }
        }
    }
    complaints
}

/// Looks for a word that is not the end of a longer one.
fn has_word(code: &str, word: &str) -> bool {
    code.match_indices(word).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}

/// No file has more code than a person takes in.
fn oversized(sources: &[Source]) -> Vec<String> {
    let lines = |source: &Source| source.code.lines().filter(|line| !line.trim().is_empty()).count();
    let large = sources.iter().filter(|source| lines(source) > LINES);
    large.map(|source| format!("{}: {} lines of code, more than {LINES}", source.path, lines(source))).collect()
}

/// Every name in a path says what is in there.
fn nameless(sources: &[Source]) -> Vec<String> {
    let is_nameless = |source: &&Source| {
        source.path.split('/').any(|name| NAMELESS.contains(&name.strip_suffix(".rs").unwrap_or(name)))
    };
    sources.iter().filter(is_nameless).map(|source| format!("{}: the name says nothing", source.path)).collect()
}

/// The map in the crate's documentation, the declared modules, the files and the arrows above name the same modules.
fn off_the_map(sources: &[Source]) -> Vec<String> {
    let Some(root) = sources.iter().find(|source| source.path == "lib.rs") else { return vec!["no lib.rs".to_owned()] };
    let mut complaints = Vec::new();
    let mut tops: Vec<&str> = sources.iter().map(Source::top).filter(|top| !matches!(*top, "lib" | "main")).collect();
    tops.dedup();
    let on_map = |module: &str| {
        root.text.lines().any(|line| line.starts_with("//! |") && line.contains(&format!("[`{module}`]")))
    };
    for top in tops {
        if !on_map(top) {
            complaints.push(format!("`{top}` is missing on the map in src/lib.rs"));
        }
        if !root.code.contains(&format!("pub mod {top};")) {
            complaints.push(format!("`{top}` is not declared in src/lib.rs"));
        }
        if !is_module(top) {
            complaints.push(format!("`{top}` has no arrows in tests/architecture.rs"));
        }
    }
    complaints
}

/// Where safe code cannot say what has to be said: a switch of libgit2's, descriptors that nobody here has opened.
const UNSAFE: [&str; 2] = ["memory/repository/durability.rs", "process/own.rs"];

fn unsafe_code(sources: &[Source]) -> Vec<String> {
    let unsafe_ones =
        sources.iter().filter(|source| has_word(&source.code, "unsafe {") && !UNSAFE.contains(&source.path.as_str()));
    unsafe_ones.map(|source| format!("{}: unsafe code", source.path)).collect()
}

/// Shows a rule the real sources.
fn holds(rule: fn(&[Source]) -> Vec<String>) {
    let sources = sources();
    assert!(sources.len() > 20, "the sources were not found");
    let complaints = rule(&sources);
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

/// Shows a rule one sample file.
fn complaints(rule: fn(&[Source]) -> Vec<String>, path: &str, text: &str) -> Vec<String> {
    rule(&[Source::new(path, text)])
}

#[test]
fn arrows_point_down() {
    holds(wrong_arrows);
}

#[test]
fn the_engine_stands_on_its_own_floors() {
    holds(climbing);
}

#[test]
fn a_part_of_the_engine_that_names_one_above_it_is_seen() {
    let wrong = [
        (
            "engine/workspace/mod.rs",
            "use crate::engine::session::mend;",
            "`workspace` must not name `engine::session::mend`",
        ),
        (
            "engine/session/hook.rs",
            "fn a() { crate::engine::run::run(x) }",
            "`session` must not name `engine::run::run`",
        ),
        ("engine/pick.rs", "use crate::engine::commands::feature;", "`pick` must not name `engine::commands::feature`"),
        ("engine/queue/mod.rs", "", "`queue` has no floor in tests/architecture.rs"),
    ];
    for (path, text, complaint) in wrong {
        assert_eq!(complaints(climbing, path, text), [format!("{path}: {complaint}")]);
    }
    for (path, text) in [
        ("engine/run/mod.rs", "use crate::engine::session::hold; use crate::engine::counted;"),
        ("engine/mod.rs", "pub mod run;"),
        ("cli/run.rs", "use crate::engine::run;"),
    ] {
        assert_eq!(complaints(climbing, path, text), Vec::<String>::new());
    }
}

#[test]
fn a_wrong_arrow_is_seen() {
    let wrong = [
        ("memory/store.rs", "use crate::gate::Verdict;", "memory/store.rs: `memory` must not name `gate::Verdict`"),
        ("gate/mod.rs", "fn f() { super::memory::x() }", "gate/mod.rs: `gate` must not name `memory::x`"),
        ("clock.rs", "use crate::{event, config::Config};", "clock.rs: `clock` must not name `config::Config`"),
        ("tools/bash.rs", "use crate::engine::run;", "tools/bash.rs: `tools` must not name `engine::run`"),
        ("driver/api.rs", "use crate::memory::Store;", "driver/api.rs: `driver` must not name `memory::Store`"),
        ("engine/run/mod.rs", "use crate::cli::Output;", "engine/run/mod.rs: `engine` must not name `cli::Output`"),
        (
            "engine/run/mod.rs",
            "use crate::config::Config;",
            "engine/run/mod.rs: `engine` must not name `config::Config`",
        ),
        ("checklist/file.rs", "use crate::gate::Gate;", "checklist/file.rs: `checklist` must not name `gate::Gate`"),
    ];
    for (path, text, complaint) in wrong {
        assert_eq!(complaints(wrong_arrows, path, text), [complaint]);
    }
    let right = [
        ("checklist/file.rs", "use crate::gate::Verdict;"),
        ("engine/run/mod.rs", "use crate::memory::Store; use crate::event::Event;"),
        ("cli/run.rs", "use crate::engine::run; use crate::config::Config;"),
        ("sandbox/plain.rs", "use crate::process::Interrupt;"),
    ];
    for (path, text) in right {
        assert_eq!(complaints(wrong_arrows, path, text), [""; 0]);
    }
}

#[test]
fn confined_words_stay_at_home() {
    holds(strays);
}

#[test]
fn a_stray_word_is_seen() {
    let wrong = [
        ("gate/closure.rs", "use git2::Oid;", "gate/closure.rs: `git2::` belongs to memory/ and project/"),
        ("engine/run/mod.rs", "reqwest::get(x)", "engine/run/mod.rs: `reqwest::` belongs to provider/"),
        ("tools/mod.rs", "let e = minijinja::Environment::new();", "tools/mod.rs: `minijinja::` belongs to prompts/"),
        ("config/mod.rs", "#[derive(clap::Args)]", "config/mod.rs: `clap::` belongs to cli/"),
        ("cli/run.rs", "println!(\"x\")", "cli/run.rs: `println!` belongs to cli/output.rs"),
        ("cli/run.rs", "std::io::stdout().write(x)", "cli/run.rs: `io::stdout(` belongs to cli/output.rs"),
        (
            "gate/trial.rs",
            "std::process::Command::new(x)",
            "gate/trial.rs: `std::process::Command` belongs to process.rs and process/",
        ),
        (
            "engine/run/mod.rs",
            "std::env::var(x)",
            "engine/run/mod.rs: `std::env::var` belongs to config/environment.rs",
        ),
        ("memory/store.rs", "Timestamp::now()", "memory/store.rs: `Timestamp::now` belongs to clock.rs"),
    ];
    for (path, text, complaint) in wrong {
        assert_eq!(complaints(strays, path, text), [complaint]);
    }
    let right = [
        ("memory/repository/mod.rs", "use git2::Oid;"),
        ("gate/x.rs", "// git2::Oid\nmy_println!()"),
        ("provider/http.rs", "reqwest::get"),
    ];
    for (path, text) in right {
        assert_eq!(complaints(strays, path, text), [""; 0]);
    }
}

#[test]
fn files_are_small_enough_to_read() {
    holds(oversized);
}

#[test]
fn an_oversized_file_is_seen() {
    let long = "let a = 1;\n".repeat(LINES + 1);
    assert_eq!(complaints(oversized, "a.rs", &long), ["a.rs: 401 lines of code, more than 400"]);
    let with_tests = format!("{}// comment\n\n#[cfg(test)]\nmod tests {{\n{long}}}\n", "let a = 1;\n".repeat(LINES));
    assert_eq!(complaints(oversized, "a.rs", &with_tests), [""; 0], "comments and tests do not count");
}

#[test]
fn names_say_something() {
    holds(nameless);
}

#[test]
fn a_nameless_module_is_seen() {
    for path in ["utils.rs", "gate/helpers.rs", "engine/manager/mod.rs", "cli/common/x.rs"] {
        assert_eq!(complaints(nameless, path, "").len(), 1, "{path}");
    }
    assert_eq!(complaints(nameless, "cli/command.rs", ""), [""; 0]);
}

#[test]
fn every_module_is_on_the_map() {
    holds(off_the_map);
}

#[test]
fn a_module_off_the_map_is_seen() {
    let root = |text: &str| {
        vec![Source::new("lib.rs", text), Source::new("gate/mod.rs", ""), Source::new("gate/check.rs", "")]
    };
    let mapped = "//! | [`gate`] | whether |\npub mod gate;\n";
    assert_eq!(off_the_map(&root(mapped)), [""; 0]);
    let missing = "`gate` is missing on the map in src/lib.rs";
    assert_eq!(off_the_map(&root("//! the gate\npub mod gate;\n")), [missing]);
    assert_eq!(off_the_map(&root("//! | [`gate`] | x |\n")), ["`gate` is not declared in src/lib.rs"]);
    let unknown = [Source::new("lib.rs", "//! | [`plugins`] | x |\npub mod plugins;\n"), Source::new("plugins.rs", "")];
    assert_eq!(off_the_map(&unknown), ["`plugins` has no arrows in tests/architecture.rs"]);
}

#[test]
fn code_is_safe_but_for_one_switch() {
    holds(unsafe_code);
}

#[test]
fn unsafe_code_elsewhere_is_seen() {
    assert_eq!(complaints(unsafe_code, "process.rs", "unsafe { fork() }"), ["process.rs: unsafe code"]);
    assert_eq!(complaints(unsafe_code, "memory/repository/durability.rs", "unsafe { opts() }"), [""; 0]);
}
