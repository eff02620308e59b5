//! Which scripts the pinned files of a check start that are not pinned themselves.
//!
//! It reads no language: it looks for names of scripts that test in the texts of files that start programs. What it finds is
//! only told of, since such a script may as well be the product.

use crate::gate::Check;
use crate::gate::executed;
use crate::gate::names;
use crate::gate::words;
use crate::gate::written::Written;
use crate::project;
use crate::project::Project;
use regex::Regex;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;

/// A larger file is not read.
const LARGEST: u64 = 256 * 1024;

/// What code starts programs by.
const STARTING: [&str; 9] =
    ["subprocess", "os.system", "popen", "exec", "spawn", "command", "system(", "getoutput", "`sh "];

static LITERAL: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#""([^"\n]*)"|'([^'\n]*)'|`([^`\n]*)`"#).expect("a regular expression written here"));

/// Returns the scripts of the project, each behind the pinned file that starts it.
pub fn unpinned_started(project: &Project, check: &Check) -> Vec<(String, String)> {
    let pinned = check.pins.iter().filter(|(_, pin)| pin.is_some()).map(|(path, _)| path);
    let read = |path: &String| project::read_beneath(project.root(), Path::new(path), LARGEST).ok().flatten();
    let is_script = |path: &String| {
        let tests = names::judges(path, &[]) || words::looks_like_test(path);
        tests && !names::is_data(path) && !check.pins.contains_key(path) && project.root().join(path).is_file()
    };
    let mut found = Vec::new();
    for by in pinned {
        let text = read(by).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
        let folder = by.rsplit_once('/').map_or("", |(folder, _)| folder);
        let started: BTreeSet<String> = started(by, &text)
            .iter()
            .filter_map(|word| {
                let mut paths = ["", folder].into_iter().filter_map(|base| words::project_path(word, base, ""));
                paths.find(is_script)
            })
            .collect();
        found.extend(started.into_iter().map(|script| (by.clone(), script)));
    }
    found
}

/// Returns the words of a file that may name what it starts.
fn started(path: &str, text: &str) -> Vec<String> {
    let begin = text.lines().next().filter(|line| line.starts_with("#!")).unwrap_or_default();
    if path.ends_with("sh") || begin.ends_with("sh") {
        let namings = executed::namings(text, &Written::by([text])).into_iter();
        return namings.filter(|naming| naming.role == executed::Role::Judges).map(|naming| naming.word).collect();
    }
    let lower = text.to_lowercase();
    if !names::is_code(path) || !STARTING.iter().any(|mark| lower.contains(mark)) {
        return Vec::new();
    }
    let literals = LITERAL.captures_iter(text).filter_map(|found| found.iter().skip(1).flatten().next());
    literals.flat_map(|literal| words::words(literal.as_str())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_code_starts_is_found_in_its_literals() {
        for (path, text) in [
            ("tests/a.py", "import subprocess\nsubprocess.run(['sh', 'e2e.sh'])\n"),
            ("tests/a.py", "import os\nassert os.system(\"sh e2e.sh --all\") == 0\n"),
            ("a.test.js", "require('child_process').execSync(`sh e2e.sh`)\n"),
            ("a_test.go", "out, err := exec.Command(\"sh\", \"e2e.sh\").Output()\n"),
            ("tests/a.rs", "Command::new(\"sh\").arg(\"e2e.sh\").status()\n"),
            ("tests/a.sh", "cd .\nsh e2e.sh || exit 1\n"),
            ("tests/a", "#!/bin/sh\ntest \"$(sh e2e.sh)\" = ok\n"),
        ] {
            assert!(started(path, text).contains(&"e2e.sh".to_owned()), "{text}: {:?}", started(path, text));
        }
        for (path, text) in [
            ("tests/a.py", "assert name() == 'e2e.sh'\n"),
            ("tests/a.txt", "exec 'e2e.sh'\n"),
            ("tests/a.sh", "# sh e2e.sh\nsh app.sh\n"),
        ] {
            assert!(!started(path, text).contains(&"e2e.sh".to_owned()), "{text}");
        }
    }
}
