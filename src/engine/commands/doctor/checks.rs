//! Whether the programs are there that checks and the init script start.

use super::Finding;
use super::Machine;
use super::commands;
use super::commands::is_built_in;
use super::programs::way_to_get;
use crate::engine::counted;
use crate::engine::workspace::Workspace;
use crate::gate::Check;
use crate::gate::Kind;
use crate::process;
use crate::project::read_beneath;
use crate::sandbox;
use anyhow::Result;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Spellings of the folder with memory's check files.
const CHECKS: [&str; 2] = ["$LONGHAUL_CHECKS/", "${LONGHAUL_CHECKS}/"];

/// No script is larger.
const LARGEST: u64 = 1 << 20;

/// How deep scripts that start scripts are followed.
const DEPTH: usize = 3;

/// Programs by name, each with who needs it.
type Needed = BTreeMap<String, BTreeSet<String>>;

/// Collects what texts start.
struct Reader<'a, 'b> {
    ws: &'a Workspace<'b>,
    needed: Needed,
}

/// Looks for the programs that the checks start.
pub(super) fn checks(ws: &mut Workspace, machine: &Machine<'_>) -> Result<Vec<Finding>> {
    let checklist = ws.committed_checklist()?.0;
    let mut reader = Reader { ws, needed: Needed::new() };
    let mut count = 0;
    for feature in checklist.features() {
        if let Some(check) = feature.check.as_ref().filter(|check| check.kind == Kind::Command) {
            count += 1;
            reader.read_check(check, &format!("check of {}", feature.id));
        }
    }
    let needed = reader.needed;
    let mut findings = missing("check", &needed, ws, machine);
    if findings.is_empty() {
        let names: Vec<&str> = needed.keys().map(String::as_str).collect();
        findings.push(Finding::ok(
            "check",
            match (count, names.as_slice()) {
                (0, _) => "there are no checks yet".to_owned(),
                (1, []) => "1 check starts no program".to_owned(),
                (_, []) => format!("{count} checks start no program"),
                (_, names) => format!("{}, every program is there: {}", counted(count, "check"), names.join(", ")),
            },
        ));
    }
    Ok(findings)
}

/// Looks at the init script that memory names, and for what it starts.
pub(super) fn init_script(ws: &mut Workspace, machine: &Machine<'_>) -> Result<Vec<Finding>> {
    const TOPIC: &str = "init";
    let Some(script) = ws.init_script()? else {
        return Ok(vec![Finding::ok(TOPIC, "no init script is named: the project starts nothing")]);
    };
    let path = ws.project.root().join(&script);
    let Ok(Some(bytes)) = read_beneath(ws.project.root(), Path::new(&script), LARGEST) else {
        let text = format!("the init script `{script}` is not there, or cannot be read");
        return Ok(vec![Finding::missing(TOPIC, text, "write it, or name another one in init.md")]);
    };
    let text = String::from_utf8_lossy(&bytes);
    let executable = path.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0);
    let first_line = text.lines().next().unwrap_or_default();
    if text.starts_with("#!") && text.contains("\r\n") {
        let text =
            format!("`{script}` has line ends of Windows, which its first line and `sh` take for part of a name");
        return Ok(vec![Finding::missing(
            TOPIC,
            text,
            "save it with plain line ends, and set `eol=lf` in .gitattributes",
        )]);
    }
    let how = match interpreter(first_line) {
        Some(_) if executable => format!("`{script}` begins with `{first_line}`"),
        None if executable => {
            let text = format!("`{script}` is executable, but its first line is not `#!` and a program");
            return Ok(vec![Finding::missing(TOPIC, text, "begin it with `#!/bin/sh`")]);
        }
        _ => format!("`{script}` is not executable, so `sh` runs it"),
    };
    let mut reader = Reader { ws, needed: Needed::new() };
    if executable {
        reader.need_interpreter(first_line, &script);
    }
    if !executable || interpreter(first_line).is_some_and(|name| name.ends_with("sh")) {
        reader.read_script_text(&text, &script, DEPTH);
    }
    let needed = reader.needed;
    let mut findings = missing(TOPIC, &needed, ws, machine);
    findings.insert(0, Finding::ok(TOPIC, how));
    Ok(findings)
}

impl Reader<'_, '_> {
    fn read_check(&mut self, check: &Check, who: &str) {
        let setup = check.setup.as_ref().filter(|setup| setup.as_str() != "init");
        for text in [Some(&check.run), check.ready.as_ref(), setup].into_iter().flatten() {
            self.read(text, who, &check.cwd, DEPTH, Trusting::Every);
        }
    }

    /// Notes what a text starts, and follows the scripts that it gives to a shell.
    fn read(&mut self, text: &str, who: &str, cwd: &str, depth: usize, which: Trusting) {
        for words in commands::commands(text) {
            let name = words[0].as_str();
            let plain = !name.contains(['/', '$', '*', '=', '%', '<', '>', '"']) && !is_built_in(name);
            // A path that is not there may be made by what is installed first.
            let is_there = name.starts_with('/') && Path::new(name).is_file();
            if is_there || plain && (which == Trusting::Every || way_to_get(name).is_some()) {
                self.needed.entry(name.to_owned()).or_default().insert(who.to_owned());
            }
            if depth == 0 {
                continue;
            }
            if let Some(inner) = commands::inner_text(&words) {
                self.read(inner, who, cwd, depth - 1, which);
            } else if let Some(script) = commands::script(&words)
                && let Some(text) = self.script(script, cwd)
            {
                self.read_script_text(&text, who, depth - 1);
            }
        }
    }

    /// Of a longer text only well-known programs are noted: it cannot be read as surely as one line.
    fn read_script_text(&mut self, text: &str, who: &str, depth: usize) {
        self.read(text, who, ".", depth, Trusting::Known);
    }

    fn need_interpreter(&mut self, first_line: &str, who: &str) {
        if let Some(name) = interpreter(first_line) {
            self.needed.entry(name).or_default().insert(who.to_owned());
        }
    }

    /// Returns the text of a script of memory's, or of the project's.
    fn script(&self, word: &str, cwd: &str) -> Option<String> {
        let bytes = match CHECKS.iter().find_map(|folder| word.strip_prefix(folder)) {
            Some(name) => self.ws.memory.read(&format!("checks/{name}")).ok().flatten()?,
            None => {
                let (root, path) = (self.ws.project.root(), Path::new(cwd).join(word));
                read_beneath(root, path.strip_prefix(root).unwrap_or(&path), LARGEST).ok().flatten()?
            }
        };
        String::from_utf8(bytes).ok()
    }
}

/// Which words of a text are taken for programs.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Trusting {
    Every,
    Known,
}

/// Returns the program that a first line names: its path, or what `env` looks for.
fn interpreter(first_line: &str) -> Option<String> {
    let mut words = first_line.strip_prefix("#!")?.split_whitespace();
    let program = words.next()?;
    let looked_for = words.find(|word| !word.starts_with('-'));
    match looked_for.filter(|_| program.ends_with("/env")) {
        Some(name) => Some(name.to_owned()),
        None => Some(program.to_owned()),
    }
}

/// Looks for each program where a check would.
fn missing(topic: &'static str, needed: &Needed, ws: &Workspace, machine: &Machine<'_>) -> Vec<Finding> {
    let look = |(name, who): (&String, &BTreeSet<String>)| {
        let who = who.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        match process::find_program(name, machine.path, Path::new("/")) {
            None => {
                let text = format!("`{name}` is not on the PATH that commands get; needed by: {who}");
                let unknown = || format!("install `{name}`, or put its folder on the PATH you start longhaul with");
                Some(Finding::missing(topic, text, way_to_get(name).unwrap_or_else(unknown)))
            }
            Some(program) if machine.confines() && !program.starts_with(ws.project.root()) => {
                let hidden = sandbox::hidden(&ws.settings.sandbox, &program)?;
                let text = format!("`{name}` {}; needed by: {who}", hidden.reason());
                Some(Finding::warning(topic, text, hidden.way_out()))
            }
            Some(_) => None,
        }
    };
    needed.iter().filter_map(look).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_names_a_program() {
        for (line, name) in [
            ("#!/bin/sh", Some("/bin/sh")),
            ("#!/bin/bash -eu", Some("/bin/bash")),
            ("#! /usr/bin/env python3", Some("python3")),
            ("#!/usr/bin/env -S node --x", Some("node")),
            ("echo", None),
            ("#!", None),
        ] {
            assert_eq!(interpreter(line).as_deref(), name, "{line}");
        }
    }
}
