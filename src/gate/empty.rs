//! Whether a check holds anything at all.

use crate::gate::Check;
use crate::gate::CheckFiles;
use crate::gate::Pin;
use crate::gate::stage::PinnedBytes;
use crate::gate::words;

/// Endings of files that are programs; an expected output may well be empty.
const PROGRAMS: [&str; 16] =
    ["sh", "bash", "bats", "py", "js", "mjs", "cjs", "ts", "tsx", "jsx", "rb", "pl", "php", "go", "rs", "lua"];

/// Returns what is empty: the command, or a program that it names and that is one of the check's files.
pub(in crate::gate) fn empty(check: &Check, files: &CheckFiles, root: &str, pinned: PinnedBytes) -> Option<String> {
    if is_blank(&check.run) {
        return Some("the command holds nothing but blanks and comments".to_owned());
    }
    let words = words::words(&words::spelled_out(&check.run));
    let of_memory = words.iter().filter_map(|word| words::memory_name(word));
    let blank_script = |name: &String| files.get(name).is_some_and(|bytes| is_blank(&String::from_utf8_lossy(bytes)));
    if let Some(name) = of_memory.into_iter().find(blank_script) {
        return Some(format!("`$LONGHAUL_CHECKS/{name}` holds nothing but blanks and comments"));
    }
    let paths = words.iter().filter_map(|word| words::project_path(word, &check.cwd, root));
    let mut programs = paths.filter(|path| is_program(path));
    // The pinned bytes will run, whatever lies in their place.
    let approved = |path: &String| {
        let pin = check.pins.get(path).or_else(|| check.pins.get(&format!("./{path}")))?.as_deref();
        pinned(Pin::read(pin?).id)
    };
    let blank = |path: &String| approved(path).is_some_and(|bytes| is_blank(&String::from_utf8_lossy(&bytes)));
    programs.find(blank).map(|path| format!("`{path}` holds nothing but blanks and comments"))
}

fn is_program(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    name != "__init__.py" && name.rsplit_once('.').is_some_and(|(_, ending)| PROGRAMS.contains(&ending))
}

/// Tells whether a text holds nothing but blanks and comments.
pub(in crate::gate) fn is_blank(text: &str) -> bool {
    text.lines().map(str::trim).all(|line| line.is_empty() || line.starts_with('#') || line.starts_with("//"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(run: &str, files: &[(&str, &str)], tests: &[(&str, &str)]) -> Option<String> {
        let files = CheckFiles::new(files.iter().map(|(name, text)| ((*name).to_owned(), (*text).into())).collect());
        // A file's name stands for its id.
        let pins = tests.iter().map(|(path, _)| ((*path).to_owned(), Some((*path).to_owned()))).collect();
        let bytes = |id: &str| Some(tests.iter().find(|(path, _)| *path == id)?.1.as_bytes().to_vec());
        empty(&Check { pins, ..Check::command(run) }, &files, "/project", &bytes)
    }

    #[test]
    fn blanks_and_comments_are_nothing() {
        assert!(found("# later\n\n", &[], &[]).is_some());
        assert!(found("sh $LONGHAUL_CHECKS/a.sh", &[("a.sh", "#!/bin/sh\n# to do\n")], &[]).is_some());
        assert!(found("node tests/a.js", &[], &[("tests/a.js", "// to do\n")]).is_some());
    }

    #[test]
    fn what_does_something_or_is_no_program_is_not_empty() {
        assert_eq!(found("sh $LONGHAUL_CHECKS/a.sh", &[("a.sh", "# to do\ntrue\n"), ("b.sh", "")], &[]), None);
        assert_eq!(found("cmp out tests/nothing.txt", &[], &[("tests/nothing.txt", "")]), None);
        assert_eq!(found("pytest tests/__init__.py tests", &[], &[("tests/__init__.py", "")]), None);
    }
}
