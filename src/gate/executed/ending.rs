//! Whether a runner came to its end: where the code under test ends it early, it leaves exit code 0 and no summary.
//!
//! A summary is asked for only where it must be seen if the check ended well. How it looks differs by version, plugin and
//! options; so little is asked for, and nothing of a runner that was told to say less.

use crate::gate::executed::commands::Shown;
use crate::gate::executed::runners::Runner;
use crate::gate::words;
use regex::Regex;

/// A runner that has to tell its end.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Owed {
    runner: Runner,
    extent: Extent,
    /// Files with tests that it runs as programs of their own.
    programs: Vec<String>,
}

impl Owed {
    pub(super) fn is_of(&self, runner: Runner) -> bool {
        self.runner == runner
    }
}

/// How much of what a runner prints has to be its own.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Extent {
    All,
    /// Tests print between its lines.
    Last,
    /// It may start programs that report in ways of their own.
    Begun,
    /// Nothing can be told of it, nor of another one beside it.
    Unknown,
}

/// How a runner in whose own process the code under test runs tells its end.
struct Ending {
    runner: Runner,
    name: &'static str,
    on_errors: bool,
    /// What each of its programs says when it begins, or once more when it is over.
    begins: Option<&'static str>,
    told: &'static str,
    /// What it says of failures there.
    failed: Option<&'static str>,
    /// Options and variables by which it says less, or in another form.
    quiet: &'static [&'static str],
    /// Files of a project that may tell it so, and by which words.
    settings: (&'static [&'static str], &'static [&'static str]),
}

const ENDINGS: [Ending; 9] = [
    Ending {
        runner: Runner::Pytest,
        name: "pytest",
        on_errors: false,
        begins: None,
        // Plugins render it in ways of their own.
        told: r"(?i)\b\d+ +(?:x?passed|x?failed|errors?|skipped|deselected)\b|\bpassed\b\W{0,3}\d|^Ran \d+ tests?|no tests ran|tests? collected",
        failed: Some(r"^=* ?(?:[^\n]*, )?(\d+ (?:failed|errors?))\b[^\n]* in [\d.]+s\b"),
        quiet: &[
            "--tap",
            "--tap-stream",
            "--rich",
            "no:terminal",
            "no:terminalreporter",
            "--verbosity",
            "PYTEST_ADDOPTS",
        ],
        settings: (
            &["pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg"],
            &["--tap", "--rich", "no:terminal", "--verbosity"],
        ),
    },
    Ending {
        runner: Runner::Unittest,
        name: "unittest",
        on_errors: true,
        begins: None,
        told: r"Ran \d+ tests? in [\d.]+s(?s:.*?)\b(?:OK|FAILED|NO TESTS RAN)\b",
        failed: Some(r"^(FAILED \([^)\n]*\))"),
        quiet: &[],
        settings: (&[], &[]),
    },
    Ending {
        runner: Runner::Cargo,
        name: "cargo test",
        on_errors: false,
        begins: Some(r"^running \d+ tests?$"),
        told: r"^test result: ",
        failed: Some(r"^test result: (FAILED\. \d+ passed; \d+ failed)"),
        quiet: &["--no-run", "--list", "--format", "--help", "-h", "-Z"],
        settings: (&[], &[]),
    },
    Ending {
        runner: Runner::Jest,
        name: "jest",
        on_errors: true,
        begins: None,
        told: r"\bTests: +\d|^No tests found",
        failed: Some(r"^Tests: +(?:[^\n]*, )?(\d+ failed)"),
        quiet: &["--reporters", "--json", "--listTests", "--showConfig", "--config", "-c"],
        settings: (
            &[
                "package.json",
                "jest.config.js",
                "jest.config.ts",
                "jest.config.mjs",
                "jest.config.cjs",
                "jest.config.json",
            ],
            &["reporters"],
        ),
    },
    Ending {
        runner: Runner::Mocha,
        name: "mocha",
        on_errors: false,
        begins: None,
        told: r"\b\d+ passing\b",
        failed: Some(r"^ *(\d+ failing)$"),
        quiet: &["--reporter", "-R", "--config", "--pass-on-failing-test-suite"],
        settings: (
            &[
                "package.json",
                ".mocharc.js",
                ".mocharc.cjs",
                ".mocharc.mjs",
                ".mocharc.json",
                ".mocharc.jsonc",
                ".mocharc.yml",
                ".mocharc.yaml",
            ],
            &["reporter", "pass-on-failing"],
        ),
    },
    Ending {
        runner: Runner::Node,
        name: "node",
        on_errors: false,
        begins: None,
        told: r"^(?:#|ℹ) pass +\d",
        failed: Some(r"^(?:#|ℹ) (fail +[1-9]\d*)$"),
        quiet: &["--test-reporter", "--test-reporter-destination", "NODE_OPTIONS"],
        settings: (&[], &[]),
    },
    Ending {
        runner: Runner::Vitest,
        name: "vitest",
        on_errors: false,
        begins: None,
        told: r"^ *Test Files +\S|^No test files found",
        failed: Some(r"^ *Tests +(\d+ failed)\b"),
        quiet: &[
            "--reporter",
            "--config",
            "-c",
            "--root",
            "-r",
            "--mergeReports",
            "--help",
            "-h",
            "--version",
            "-v",
            "bench",
            "list",
            "init",
        ],
        settings: (
            &[
                "vitest.config.js",
                "vitest.config.ts",
                "vitest.config.mjs",
                "vitest.config.mts",
                "vitest.config.cjs",
                "vitest.config.cts",
                "vite.config.js",
                "vite.config.ts",
                "vite.config.mjs",
                "vite.config.mts",
                "vite.config.cjs",
                "vite.config.cts",
            ],
            // One that takes its settings from elsewhere may find them there.
            &["reporters", "mergeConfig", "export {", "export *"],
        ),
    },
    // A test that ends its program ends that alone, and passes by its exit code. What it printed is shown if asked for.
    Ending {
        runner: Runner::Nextest,
        name: "nextest",
        on_errors: true,
        begins: Some(r"^ *running 1 test$"),
        told: r"^ *test result: ",
        failed: None,
        quiet: &["--retries", "NEXTEST_RETRIES"],
        settings: (&[".config/nextest.toml"], &["retries"]),
    },
    // Of each package it says `ok` by its exit code; that its tests came to their end says the package itself.
    Ending {
        runner: Runner::Go,
        name: "go test",
        on_errors: false,
        begins: Some(r"^ok\s+\S+\s+(?:\(cached\)|[\d.]+s)(?:\s|$)"),
        told: r"PASS$",
        failed: None,
        quiet: &["-json", "-list", "-c", "-n", "-exec", "-args", "GOFLAGS"],
        settings: (&[], &[]),
    },
];

/// By which the tests of a program of cargo print between its lines.
const LOUD: [&str; 4] = ["--nocapture", "--no-capture", "--show-output", "RUST_TEST_NOCAPTURE"];

/// Options of `go test` behind which comes no value.
const GO_FLAGS: [&str; 4] = ["-race", "-short", "-failfast", "-cover"];

/// What in a manifest tells that not every program of cargo says when it begins.
const OWN_HARNESS: [&str; 2] = ["harness", "[workspace]"];

/// Programs and their words that only start the runner behind them; the first ones also by a path.
const INTERPRETERS: [&str; 5] = ["python", "python3", "coverage", "c8", "nyc"];
const STARTERS: [&str; 15] = [
    "run", "poetry", "uv", "uvx", "pipenv", "hatch", "pdm", "rye", "npx", "pnpm", "yarn", "bunx", "exec", "nice",
    "xvfb-run",
];

/// The texts of the project's files, as they are read from where a command runs.
pub(super) type Files<'a> = &'a dyn Fn(&str) -> Vec<String>;

/// Returns what a command owes that starts this runner; `around` are the words of what called it.
pub(super) fn owed(command: &[String], around: &[String], runner: Runner, shown: Shown, files: Files) -> Option<Owed> {
    let ending = ENDINGS.iter().find(|ending| ending.runner == runner)?;
    let said: Vec<&str> = command.iter().chain(around).map(String::as_str).collect();
    let seen = if ending.on_errors { shown.err } else { shown.out };
    let (settings, words) = ending.settings;
    let settings: Vec<String> = settings.iter().flat_map(|name| files(name)).collect();
    let hushed = said.iter().any(|word| means(word, ending.quiet))
        || settings.iter().any(|text| words.iter().any(|word| text.contains(word)))
        || runner == Runner::Pytest && is_quiet(&said, &settings);
    if !seen || hushed || !is_started(command, runner) || runner == Runner::Go && !is_go_loud(command) {
        // Its programs may be among those that are counted.
        let counted = matches!(runner, Runner::Nextest | Runner::Go);
        return counted.then(|| Owed { runner, extent: Extent::Unknown, programs: Vec::new() });
    }
    let own_harness = || files("Cargo.toml").iter().any(|text| OWN_HARNESS.iter().any(|word| text.contains(word)));
    let extent = match runner {
        Runner::Cargo if said.iter().any(|word| means(word, &LOUD)) => Extent::Last,
        Runner::Cargo if said.contains(&"--manifest-path") || own_harness() => Extent::Begun,
        Runner::Nextest | Runner::Go => Extent::Begun,
        _ => Extent::All,
    };
    let of_node = |word: &&String| runner == Runner::Node && files(word).iter().any(|text| tests_when_loaded(text));
    let programs = command.iter().filter(|word| !word.starts_with('-')).filter(of_node).cloned().collect();
    Some(Owed { runner, extent, programs })
}

/// Returns what a test of this runner owes that is started as a program.
pub(super) fn owed_by_itself(program: &str, text: &str, around: &[String], shown: Shown) -> Option<Owed> {
    let (runner, seen) = match program {
        "python" | "python3" if text.contains("\n    unittest.main()") => (Runner::Unittest, shown.err),
        "node" if tests_when_loaded(text) => (Runner::Node, shown.out),
        _ => return None,
    };
    let quiet = ENDINGS.iter().find(|ending| ending.runner == runner).map_or(&[] as &[_], |ending| ending.quiet);
    let hushed = around.iter().any(|word| means(word, quiet) || word.starts_with('-'));
    (seen && !hushed).then_some(Owed { runner, extent: Extent::All, programs: Vec::new() })
}

/// Tells whether a module of JavaScript asks for tests of Node wherever it is loaded.
fn tests_when_loaded(text: &str) -> bool {
    let calls = ["test(", "it(", "describe(", "suite(", "t("];
    let parts = text.lines().filter(|line| !line.starts_with([' ', '\t'])).flat_map(|line| line.split(';'));
    text.contains("node:test") && parts.map(str::trim_start).any(|part| calls.iter().any(|call| part.starts_with(call)))
}

/// Tells whether a word is one of these options or variables, perhaps with a value.
fn means(word: &str, options: &[&str]) -> bool {
    options.contains(&word.split('=').next().unwrap_or_default())
        || options.iter().any(|option| word == format!("-p{option}"))
}

/// Tells whether a command starts this runner itself, and not a program that has a word in common with it.
fn is_started(command: &[String], runner: Runner) -> bool {
    let starts = |word: &String| {
        let name = words::name(word);
        match runner {
            Runner::Pytest => matches!(name, "pytest" | "pytest-3" | "py.test"),
            Runner::Unittest => word == "unittest",
            Runner::Cargo => matches!(word.as_str(), "test" | "t"),
            Runner::Nextest => word == "nextest",
            Runner::Go => word == "test",
            Runner::Jest => name == "jest",
            Runner::Vitest => name == "vitest",
            Runner::Mocha => matches!(name, "mocha" | "_mocha"),
            _ => word == "--test",
        }
    };
    let Some(at) = command.iter().position(starts) else { return false };
    command[..at].iter().enumerate().all(|(at, word)| match runner {
        Runner::Cargo | Runner::Nextest => word == "cargo" || word.starts_with('+'),
        Runner::Go => word == "go",
        Runner::Node => words::name(word) == "node" || word.starts_with('-'),
        _ => {
            let of_an_option = at > 0 && command[at - 1].starts_with("--");
            let name = words::name(word);
            of_an_option
                || word.starts_with('-')
                || STARTERS.contains(&word.as_str())
                || INTERPRETERS.contains(&name)
                || name.starts_with("python3.")
        }
    })
}

/// Tells whether `go test` shows what a package prints whose tests passed: it was told so, or tests the folder it is in.
fn is_go_loud(command: &[String]) -> bool {
    let mut options = command.iter().skip(2);
    let alone = |word: &String| word.starts_with('-') && word.contains('=') || GO_FLAGS.contains(&word.as_str());
    command.iter().any(|word| word == "-v" || word == "-v=true") || options.all(alone)
}

/// Tells whether pytest is quiet enough to print no summary.
fn is_quiet(said: &[&str], settings: &[String]) -> bool {
    let count = |word: &str, letter: char| match word {
        "--quiet" => usize::from(letter == 'q'),
        "--verbose" => usize::from(letter == 'v'),
        _ => match word.strip_prefix('-') {
            Some(letters) if letters.chars().all(|c| "qvsxl".contains(c)) => letters.matches(letter).count(),
            _ => 0,
        },
    };
    let in_settings = settings.iter().flat_map(|text| text.split(|c: char| c.is_whitespace() || "\"'[],=".contains(c)));
    let quiet: usize = said.iter().copied().chain(in_settings).map(|word| count(word, 'q')).sum();
    let verbose: usize = said.iter().map(|word| count(word, 'v')).sum();
    quiet >= 2 + verbose
}

/// Returns what is wrong with the ends of these runners in what a check printed that ended well, if something is.
pub(super) fn missing(owed: &[Owed], output: &str) -> Option<String> {
    ENDINGS.iter().find_map(|ending| {
        let of_it: Vec<&Owed> = owed.iter().filter(|owed| owed.runner == ending.runner).collect();
        let first = of_it.first().filter(|_| of_it.iter().all(|owed| owed.extent != Extent::Unknown))?;
        let regex = |text: &str| Regex::new(&format!("(?m){text}")).ok();
        let told = regex(ending.told)?;
        let begun = ending.begins.and_then(regex).map_or(0, |begins| begins.find_iter(output).count());
        let wanted = match first.extent {
            Extent::All => begun.max(of_it.len()),
            Extent::Last => of_it.len(),
            Extent::Begun => begun,
            Extent::Unknown => 0,
        };
        let ends: Vec<usize> = told.find_iter(output).map(|found| found.start()).collect();
        if ends.len() < wanted {
            return Some(format!("{} printed no summary: it was ended before its end", ending.name));
        }
        if let Some(silent) = of_it.iter().flat_map(|owed| &owed.programs).find(|path| is_silent(path, output)) {
            return Some(format!("`{silent}` told node of no test in it: it was ended before its end"));
        }
        // What comes before is what its tests, or a runner in them, printed.
        let last = ends.last().copied().filter(|_| of_it.len() == 1 && (begun == 0 || first.extent == Extent::Last));
        let failed = ending.failed.and_then(regex)?;
        let said = failed
            .captures_iter(output)
            .filter(|found| found.get(0).is_some_and(|whole| whole.end() > last.unwrap_or(0)));
        said.last().map(|found| format!("the summary of {} says {}", ending.name, &found[1]))
    })
}

/// Tells whether node says of a file only that it ended well.
fn is_silent(path: &str, output: &str) -> bool {
    let path = format!(r"(?:\S*/)?{}", regex::escape(path.trim_start_matches("./")));
    let form = format!(r"(?m)^(?:# Subtest: {path}\nok \d+ - {path}$|✔ {path} \()");
    Regex::new(&form).is_ok_and(|form| form.is_match(output))
}
