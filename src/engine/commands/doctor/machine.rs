//! The machine itself: git, shells, what can hold the agent's commands.

use super::Finding;
use super::GIT_LIMIT;
use super::programs::way_to_get;
use crate::failure::Failure;
use crate::process;
use crate::process::Command;
use crate::process::Exit;
use crate::process::Interrupt;
use crate::sandbox;
use crate::sandbox::Choice;
use crate::sandbox::Lacking;
use crate::sandbox::Level;
use crate::sandbox::Mode;
use crate::sandbox::WhyPlain;
use std::collections::BTreeMap;
use std::path::Path;

/// The surroundings of a command, and what was asked for in them.
pub struct Machine<'a> {
    /// The environment longhaul itself runs in.
    outer: &'a BTreeMap<String, String>,
    /// The PATH of the agent's commands and the checks.
    pub(super) path: &'a str,
    /// The setting that says who has the network.
    network: &'a str,
    choice: Result<Choice, Failure>,
}

impl<'a> Machine<'a> {
    /// Tries out which sandbox can be had.
    pub fn new(outer: &'a BTreeMap<String, String>, path: &'a str, mode: Mode, network: &'a str) -> Self {
        Self { outer, path, network, choice: sandbox::choose(mode, outer) }
    }

    /// Returns the user's home.
    pub(super) fn home(&self) -> Option<&Path> {
        self.outer.get("HOME").map(Path::new)
    }

    /// Returns the settings with what was found to hold commands; none where nothing does.
    pub fn held(&self, settings: &sandbox::Settings) -> Option<sandbox::Settings> {
        let Ok(Choice::Bubblewrap(found)) = &self.choice else { return None };
        Some(sandbox::Settings { level: Level::Bubblewrap, bwrap: found.program.clone(), ..settings.clone() })
    }

    /// Tells whether bubblewrap will hold the commands.
    pub(super) fn confines(&self) -> bool {
        matches!(self.choice, Ok(Choice::Bubblewrap(_)))
    }
}

/// Looks at the machine.
pub fn machine(machine: &Machine<'_>) -> Vec<Finding> {
    let mut findings = vec![git(machine), sh(machine), bash(machine), level(&machine.choice), network(machine)];
    findings.push(match sandbox::probe(machine.outer).cgroups {
        Ok(_) => Finding::ok("limits", "memory and number of processes can be limited by control groups"),
        Err(Lacking { reason, way_out }) => {
            Finding::warning("limits", format!("a command can use up memory and processes: {reason}"), way_out)
        }
    });
    findings.push(homes(machine));
    findings
}

fn git(machine: &Machine<'_>) -> Finding {
    let path = machine.outer.get("PATH").map_or(machine.path, String::as_str);
    let environment = BTreeMap::from([("PATH".to_owned(), path.to_owned())]);
    let command = Command::new("git", &["--version"], Path::new("/"), environment).limit(GIT_LIMIT);
    let finished = process::run(&command, &Interrupt::new());
    match finished.exit {
        Exit::Code(0) => Finding::ok("git", finished.output.text().trim()),
        Exit::TimedOut => {
            let way_out = "`command -v git` says which one that is";
            Finding::missing("git", format!("`git` does not end: {}", Exit::TimedOut), way_out)
        }
        exit => Finding::missing("git", format!("`git` does not run: {exit}"), get("git")),
    }
}

fn sh(machine: &Machine<'_>) -> Finding {
    match process::find_program("sh", machine.path, Path::new("/")) {
        Some(program) => Finding::ok("sh", program.display().to_string()),
        None => Finding::missing(
            "sh",
            format!("there is no `sh` on the PATH `{}`", machine.path),
            "set PATH to hold the folder of `sh`",
        ),
    }
}

fn bash(machine: &Machine<'_>) -> Finding {
    match process::find_program("bash", machine.path, Path::new("/")) {
        Some(program) => Finding::ok("bash", program.display().to_string()),
        None => Finding::warning("bash", "not found; the agent's commands run with `sh`", get("bash")),
    }
}

fn get(program: &str) -> String {
    way_to_get(program).unwrap_or_default()
}

fn level(choice: &Result<Choice, Failure>) -> Finding {
    const TOPIC: &str = "sandbox";
    match choice {
        Ok(Choice::Bubblewrap(found)) => {
            Finding::ok(TOPIC, format!("{} at {}", found.version, found.program.display()))
        }
        Ok(Choice::Plain(WhyPlain::AskedFor)) => Finding::warning(
            TOPIC,
            "plain mode, as `sandbox.mode` says: the agent's commands run as you",
            "set `sandbox.mode` to `auto`",
        ),
        Ok(Choice::Plain(WhyPlain::Lacking(Lacking { reason, way_out }))) => Finding::warning(
            TOPIC,
            format!("plain mode, so the agent's commands run as you: bubblewrap cannot be had ({reason})"),
            way_out,
        ),
        Err(failure) => Finding::missing(TOPIC, &failure.message, failure.hint.as_deref().unwrap_or_default()),
    }
}

fn network(machine: &Machine<'_>) -> Finding {
    let setting = machine.network;
    if !machine.confines() {
        let text = format!("every command has your network: `sandbox.network` (`{setting}`) needs bubblewrap");
        return Finding::warning("network", text, "see `sandbox` above");
    }
    Finding::ok(
        "network",
        match setting {
            "on" => "every command has your network (`sandbox.network` is `on`)".to_owned(),
            "off" => "no command has a network (`sandbox.network` is `off`)".to_owned(),
            _ => format!("only the first set-up has your network (`sandbox.network` is `{setting}`)"),
        },
    )
}

fn homes(machine: &Machine<'_>) -> Finding {
    let found: Vec<String> = match machine.home() {
        Some(home) => {
            let there = sandbox::TOOL_HOMES.iter().filter(|tool| home.join(tool).exists());
            there.map(|tool| format!("~/{tool}")).collect()
        }
        None => Vec::new(),
    };
    Finding::ok(
        "tools",
        match found.as_slice() {
            [] => "no tools in your home that commands would need".to_owned(),
            found => format!("commands find what lies in {}", found.join(", ")),
        },
    )
}
