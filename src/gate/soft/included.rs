//! What the files of a build tool include: with `make` a rule in them counts like one of the `Makefile`.

use crate::gate::soft::Soft;
use crate::gate::words;
use globset::GlobBuilder;
use regex::Captures;
use regex::Regex;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Begins what is kept of a file that is known by this alone.
pub(super) const BY: &str = "included ";

/// A larger file is not read for what it includes.
pub(super) const LARGEST: usize = 256 << 10;

/// Most files that are read, those that include others and those that are included.
const READ: usize = 100;

/// Words before the names of the files.
const WORDS: [&str; 6] = ["include", "-include", "sinclude", "import", "import?", "!include"];

/// A variable, or a function whose patterns are kept.
static VARIABLE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\$[({](?:wildcard\s+)?([^(){}$\s]*[/*.][^(){}$\s]*)[)}]|\$[({][^(){}]*[)}]")
        .expect("a regular expression written here")
});

/// Returns those of the tracked files, each with its id, that a `Makefile` or the like includes; `read` gives the bytes of an id.
pub(super) fn included(tracked: &[(String, String)], read: &dyn Fn(&str) -> Option<Vec<u8>>) -> Soft {
    let ids: BTreeMap<&str, &str> = tracked.iter().map(|(path, id)| (path.as_str(), id.as_str())).collect();
    let mut roots: Vec<&str> = ids.keys().copied().filter(|path| includes(path)).collect();
    roots.sort_by_key(|path| path.matches('/').count());
    let mut known: BTreeSet<&str> = roots.iter().copied().collect();
    let (mut found, mut at) = (Soft::new(), 0);
    while let Some(path) = roots.get(at).copied().filter(|_| at < READ) {
        let text = ids.get(path).and_then(|id| read(id)).unwrap_or_default();
        for name in named(&String::from_utf8_lossy(&text)) {
            for (new, id) in meant(&name, path, &ids) {
                if known.insert(new) {
                    found.insert(new.to_owned(), format!("{BY}{id}"));
                    roots.push(new);
                }
            }
        }
        at += 1;
    }
    found
}

/// Tells whether a file may include others: it is read by `make` or `just`.
fn includes(path: &str) -> bool {
    let name = words::name(path).to_lowercase();
    matches!(name.as_str(), "makefile" | "gnumakefile" | "justfile" | ".justfile") || name.ends_with(".mk")
}

/// Returns the names that a text includes, variables and functions in them as `*`.
fn named(text: &str) -> Vec<String> {
    let text = text.replace("\\\n", " ");
    let included = text.lines().filter_map(|line| {
        let line = line.trim().split('#').next().unwrap_or_default();
        let (word, names) = line.split_once(char::is_whitespace)?;
        WORDS.contains(&word).then(|| names.to_owned())
    });
    let names = included.flat_map(|names| words_of(&names));
    names.map(|name| name.trim_matches(['"', '\'']).to_owned()).filter(|name| !name.is_empty()).collect()
}

/// Splits names at blanks; what stands for another text, as `$(wildcard *.inc)`, is one name.
fn words_of(names: &str) -> Vec<String> {
    let (mut words, mut depth) = (vec![String::new()], 0_usize);
    for c in names.chars() {
        match c {
            ')' | '}' => depth = depth.saturating_sub(1),
            c if c.is_whitespace() && depth == 0 => words.push(String::new()),
            '(' | '{' => depth += 1,
            _ => {}
        }
        if let Some(word) = words.last_mut().filter(|_| !c.is_whitespace() || depth > 0) {
            word.push(c);
        }
    }
    words
}

/// Returns the tracked files that a name in the file `of` means: relative to that, or to the project's root.
fn meant<'a>(name: &str, of: &str, ids: &BTreeMap<&'a str, &'a str>) -> Vec<(&'a str, &'a str)> {
    let pattern = VARIABLE.replace_all(name, |found: &Captures| match found.get(1) {
        Some(function) => function.as_str().to_owned(),
        None => "*".to_owned(),
    });
    let (pattern, folder) = (pattern.trim_start_matches("*/"), of.rsplit_once('/').map_or("", |(folder, _)| folder));
    let paths = [folder, ""].into_iter().filter_map(|base| words::project_path(pattern, base, ""));
    let globs = paths.filter_map(|path| GlobBuilder::new(&path).literal_separator(true).build().ok());
    let matchers: Vec<_> = globs.map(|glob| glob.compile_matcher()).collect();
    let means = |path: &&str| matchers.iter().any(|matcher| matcher.is_match(path));
    ids.iter().filter(|(path, _)| means(path)).map(|(path, id)| (*path, *id)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_makefile_includes_is_found_also_through_what_it_includes() {
        let texts = [
            (
                "Makefile",
                "include build/rules.inc $(ROOT)/more.inc # no.inc\n-include \\\n  opt.inc\ninclude $(wildcard parts/*.inc)\n",
            ),
            ("build/rules.inc", "SHELL := /bin/true\nsinclude deep.inc\n"),
            ("build/deep.inc", "include ../Makefile\n"),
            ("web/justfile", "import 'recipes.just'\n"),
            ("web/recipes.just", ""),
            ("more.inc", ""),
            ("opt.inc", ""),
            ("parts/a.inc", ""),
            ("parts/b.txt", ""),
            ("no.inc", ""),
            ("src/include.rs", "include no.inc\n"),
        ];
        let tracked: Vec<(String, String)> =
            texts.iter().map(|(path, _)| ((*path).to_owned(), format!("id {path}"))).collect();
        let read =
            |id: &str| texts.iter().find(|(path, _)| id.ends_with(path)).map(|(_, text)| text.as_bytes().to_vec());
        let found = included(&tracked, &read);
        let expected = ["build/deep.inc", "build/rules.inc", "more.inc", "opt.inc", "parts/a.inc", "web/recipes.just"];
        assert_eq!(found.keys().collect::<Vec<_>>(), expected);
        assert_eq!(found["more.inc"], "included id more.inc");
    }

    #[test]
    fn of_many_files_some_are_read() {
        let tracked: Vec<(String, String)> = (0..1000).map(|n| (format!("{n:04}.mk"), n.to_string())).collect();
        let count = std::cell::Cell::new(0);
        let read = |_: &str| {
            count.set(count.get() + 1);
            None
        };
        assert!(included(&tracked, &read).is_empty() && count.get() == READ);
    }
}
