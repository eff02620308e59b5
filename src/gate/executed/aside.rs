//! What in a text is no test: words before a command, and programs that prepare, look or print.

use crate::gate::executed::starters;
use crate::gate::words;

/// Programs that prepare, look or print; where one of them compares something of the product, that was run before.
const ASIDE: [&str; 64] = [
    "",
    ":",
    ".",
    "awk",
    "basename",
    "break",
    "case",
    "cat",
    "cd",
    "chmod",
    "cmp",
    "command",
    "continue",
    "cp",
    "cut",
    "date",
    "deactivate",
    "declare",
    "diff",
    "dirname",
    "echo",
    "esac",
    "exit",
    "export",
    "false",
    "find",
    "for",
    "grep",
    "egrep",
    "head",
    "hash",
    "jobs",
    "kill",
    "local",
    "ls",
    "mkdir",
    "mktemp",
    "mv",
    "pkill",
    "popd",
    "printf",
    "pushd",
    "pwd",
    "read",
    "readonly",
    "return",
    "rm",
    "sed",
    "set",
    "shift",
    "shopt",
    "sleep",
    "sort",
    "source",
    "tail",
    "tee",
    "touch",
    "tr",
    "trap",
    "true",
    "umask",
    "unset",
    "wait",
    "wc",
];

/// Programs of which some subcommands build or install.
const BUILDS: [(&str, &[&str]); 9] = [
    ("cargo", &["build", "check", "clean", "clippy", "doc", "fetch", "fmt", "b"]),
    ("go", &["build", "fmt", "mod", "vet", "get", "install", "generate"]),
    ("npm", &["ci", "install", "i", "prune"]),
    ("pnpm", &["install", "i", "prune"]),
    ("yarn", &["install"]),
    ("pip", &["install"]),
    ("pip3", &["install"]),
    ("uv", &["sync", "pip", "venv"]),
    ("docker", &["build", "stop", "rm", "kill", "pull"]),
];

/// Programs that look at a text and not at what it does, and what reports on a run.
const LOOKS: [&str; 19] = [
    "ruff",
    "mypy",
    "black",
    "flake8",
    "isort",
    "pylint",
    "pyright",
    "coverage",
    "eslint",
    "prettier",
    "tsc",
    "biome",
    "shellcheck",
    "golangci-lint",
    "staticcheck",
    "gofmt",
    "rustfmt",
    "git",
    "nyc",
];

/// Words before a command.
const BEFORE: [&str; 17] = [
    "if", "then", "elif", "else", "while", "until", "do", "done", "fi", "!", "time", "{", "}", "exec", "nohup", "env",
    "timeout",
];

/// Options of those that start another program behind which a value comes that is no number.
const VALUED: [&str; 7] = ["-s", "--signal", "-u", "--unset", "-C", "--chdir", "-a"];

/// Takes away what stands before a command: assignments, words of the shell, programs that start another.
pub(super) fn command_itself(words: &[String]) -> &[String] {
    let mut rest = words;
    let (mut of_a_starter, mut is_value) = (false, false);
    while let Some(word) = rest.first() {
        if let Some(behind) = starters::behind_lock(rest) {
            rest = behind;
            continue;
        }
        let assigns = word
            .split_once('=')
            .is_some_and(|(name, _)| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'));
        let number = word.starts_with(|c: char| c.is_ascii_digit() || c == '-');
        let before = BEFORE.contains(&word.as_str());
        if !(assigns || before || of_a_starter && (number || is_value)) {
            break;
        }
        is_value = of_a_starter && VALUED.contains(&word.as_str());
        of_a_starter |= matches!(word.as_str(), "env" | "timeout" | "exec" | "time");
        rest = &rest[1..];
    }
    rest
}

/// What is done to services, and runs nothing of one's own.
const SERVICES: [&str; 6] = ["up", "down", "build", "pull", "start", "stop"];

/// Tells whether a program of the system tests nothing, nor does it in what it is told to do.
pub(super) fn prepares(name: &str, words: &[String]) -> bool {
    let services = name == "docker-compose" || name == "docker" && words.get(1).is_some_and(|word| word == "compose");
    ASIDE.contains(&name)
        || services && words.iter().any(|word| SERVICES.contains(&word.as_str()))
        || BUILDS.iter().any(|(program, commands)| {
            *program == name && words.get(1).is_some_and(|command| commands.contains(&command.as_str()))
        })
}

/// Tells whether a command only looks at texts, perhaps behind `npx`, `python3 -m` and the like.
pub(super) fn looks(words: &[String]) -> bool {
    words.iter().take(4).any(|word| LOOKS.contains(&words::name(word)))
}
