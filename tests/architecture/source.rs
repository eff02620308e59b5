//! Source files as the rules see them: without comments, without the inside of texts, without test code.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// One file below `src`.
pub(crate) struct Source {
    /// Relative to `src`, with `/`.
    pub(crate) path: String,
    /// The code that is built into the program, line by line as in the file.
    pub(crate) code: String,
    /// Everything, comments and tests included.
    pub(crate) text: String,
}

impl Source {
    /// Takes a file apart.
    pub(crate) fn new(path: &str, text: &str) -> Self {
        let code = without_tests(&without_comments(text));
        Self { path: path.to_owned(), code, text: text.to_owned() }
    }

    /// Returns the module below the crate's root this file belongs to; `lib` and `main` for the roots.
    pub(crate) fn top(&self) -> &str {
        let first = self.path.split('/').next().unwrap_or_default();
        first.strip_suffix(".rs").unwrap_or(first)
    }

    /// Returns how many modules deep the file is: 1 for `gate/mod.rs`, 2 for `gate/check.rs`.
    fn depth(&self) -> usize {
        let folders = self.path.matches('/').count();
        if self.path.ends_with("/mod.rs") { folders } else { folders + 1 }
    }

    /// Lists the paths of other modules of the crate, each as its names: `crate::gate::Check` is `["gate", "Check"]`.
    pub(crate) fn crate_paths(&self) -> Vec<Vec<String>> {
        let up = "super::".repeat(self.depth());
        ["crate::", &up].iter().flat_map(|start| paths_after(&self.code, start)).collect()
    }
}

/// Reads all files below a folder; those that are only built for tests are left out.
pub(crate) fn read_all(folder: &Path) -> Vec<Source> {
    let mut sources = Vec::new();
    read_into(folder, "", &mut sources);
    let for_tests: BTreeSet<String> = sources.iter().flat_map(test_modules).collect();
    let is_for_tests = |path: &str| {
        let module = path.strip_suffix(".rs").unwrap_or(path);
        for_tests.iter().any(|tests| module == tests || module.starts_with(&format!("{tests}/")))
    };
    sources.retain(|source| !is_for_tests(&source.path));
    sources
}

fn read_into(folder: &Path, below: &str, sources: &mut Vec<Source>) {
    let mut entries: Vec<fs::DirEntry> =
        fs::read_dir(folder).and_then(Iterator::collect).expect("the folder can be listed");
    entries.sort_by_key(|entry| entry.file_name());
    for entry in entries {
        let path = format!("{below}{}", entry.file_name().to_str().expect("a name in UTF-8"));
        if entry.path().is_dir() {
            read_into(&entry.path(), &format!("{path}/"), sources);
        } else if path.ends_with(".rs") {
            sources.push(Source::new(&path, &fs::read_to_string(entry.path()).expect("a readable file")));
        }
    }
}

/// Lists the modules in files of their own that a file declares for tests only, as paths without `.rs`.
fn test_modules(source: &Source) -> Vec<String> {
    let folder = match source.path.strip_suffix("/mod.rs") {
        Some(folder) => format!("{folder}/"),
        None => format!("{}/", source.path.trim_end_matches(".rs")),
    };
    let code = without_comments(&source.text);
    let after = |at: usize| code[at..].split(['{', ';']).next().unwrap_or_default().to_owned();
    let items = code.match_indices(TEST).map(|(at, _)| after(at + TEST.len()));
    let named = |item: String| Some(format!("{folder}{}", item.split_once("mod ")?.1.trim()));
    items.filter_map(named).collect()
}

const TEST: &str = "#[cfg(test)]";

/// Takes out every item that is marked for tests.
fn without_tests(code: &str) -> String {
    let mut rest = code;
    let mut kept = String::new();
    while let Some(at) = rest.find(TEST) {
        kept.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = end_of_item(rest);
        kept.extend(rest[..end].chars().filter(|c| *c == '\n'));
        rest = &rest[end..];
    }
    kept + rest
}

fn end_of_item(code: &str) -> usize {
    let mut depth = 0usize;
    for (at, c) in code.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 1 => return at + 1,
            '}' => depth -= 1,
            ';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    code.len()
}

/// Takes out comments and the inside of texts; line ends stay.
fn without_comments(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let skipped = skip(rest, kept.chars().next_back());
        if skipped > 0 {
            kept.extend(rest[..skipped].chars().filter(|c| *c == '\n'));
            kept.push(' ');
        } else {
            kept.push(c);
        }
        rest = &rest[skipped.max(c.len_utf8())..];
    }
    kept
}

/// Returns how many bytes at the start of the code are a comment or a literal; 0 when it begins with neither.
fn skip(code: &str, before: Option<char>) -> usize {
    let to_end_of = |end: &str, from: usize| code[from..].find(end).map_or(code.len(), |at| from + at + end.len());
    if code.starts_with("//") {
        return code.find('\n').unwrap_or(code.len());
    }
    if code.starts_with("/*") {
        return to_end_of("*/", 2);
    }
    let raw = code.strip_prefix('r').filter(|_| !before.is_some_and(|c| c.is_alphanumeric() || c == '_'));
    let hashes = raw.map_or(0, |raw| raw.len() - raw.trim_start_matches('#').len());
    if raw.is_some_and(|raw| raw[hashes..].starts_with('"')) {
        return to_end_of(&format!("\"{}", "#".repeat(hashes)), hashes + 2);
    }
    if code.starts_with('"') {
        return end_of_text(code, '"');
    }
    let mut after_quote = code.strip_prefix('\'').unwrap_or_default().chars();
    let is_char = match after_quote.next() {
        Some('\\') => true,
        Some(_) => after_quote.next() == Some('\''),
        None => false,
    };
    if is_char { end_of_text(code, '\'') } else { 0 }
}

fn end_of_text(code: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in code.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    code.len()
}

/// Lists the paths that follow a start; a group in braces gives one each.
fn paths_after(code: &str, start: &str) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    for (at, _) in code.match_indices(start) {
        // `super::super::` holds `super::` too, and `my_crate::` holds `crate::`.
        let before = code[..at].chars().next_back();
        if !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
            collect(&code[at + start.len()..], &mut Vec::new(), &mut paths);
        }
    }
    paths
}

/// Collects the path, or the paths of a group, at the start of the code; returns what is left of the code.
fn collect<'a>(code: &'a str, names: &mut Vec<String>, paths: &mut Vec<Vec<String>>) -> &'a str {
    let code = code.trim_start();
    if let Some(mut group) = code.strip_prefix('{') {
        while !group.is_empty() && !group.starts_with('}') {
            group = collect(group, &mut names.clone(), paths).trim_start();
            group = group.trim_start_matches([',', ' ', '\n']);
        }
        return group.strip_prefix('}').unwrap_or(group);
    }
    let end = code.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '*').unwrap_or(code.len());
    if end == 0 {
        // Not a path after all; go on behind it, so that a group always ends.
        return code.get(1..).unwrap_or_default();
    }
    names.push(code[..end].to_owned());
    match code[end..].strip_prefix("::") {
        Some(rest) if !rest.starts_with('<') => collect(rest, names, paths),
        _ => {
            paths.push(names.clone());
            let rest = &code[end..];
            let alias = rest
                .trim_start()
                .strip_prefix("as ")
                .map(|alias| alias.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_'));
            alias.unwrap_or(rest)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(path: &str, text: &str) -> Vec<String> {
        Source::new(path, text).crate_paths().iter().map(|names| names.join("::")).collect()
    }

    #[test]
    fn all_ways_to_name_a_module_are_seen() {
        let text = "use crate::memory::Store;\nuse crate::{gate::{Check, verdict::Verdict as V}, clock};\n\
                    fn f() { crate::project::blob_id(b\"\") }\nlet x: crate::tools::Box<'a> = 'c';\n";
        let expected =
            ["memory::Store", "gate::Check", "gate::verdict::Verdict", "clock", "project::blob_id", "tools::Box"];
        assert_eq!(paths("engine/run/mod.rs", text), expected);
        assert_eq!(paths("gate/check.rs", "use super::super::cli;\nuse super::verdict;"), ["cli"]);
        assert_eq!(paths("gate/mod.rs", "use super::cli::Output;"), ["cli::Output"]);
    }

    #[test]
    fn comments_texts_and_tests_do_not_count() {
        let text = "// crate::a\n/* crate::b */\nlet t = \"crate::c \\\" crate::d\"; let r = r#\"crate::e\"#;\n\
                    let c = '\"'; let l: &'a str = crate::real::x;\n\
                    #[cfg(test)]\nmod tests {\n use crate::f;\n fn g() { let s = \"}\"; }\n}\n\
                    #[cfg(test)]\nuse crate::h;\nuse crate::after::y;\n";
        assert_eq!(paths("cli/x.rs", text), ["real::x", "after::y"]);
        assert_eq!(Source::new("x.rs", text).code.matches('\n').count(), text.matches('\n').count());
    }

    #[test]
    fn files_built_for_tests_are_known_by_their_parent() {
        let parent = |path| {
            Source::new(path, "#[cfg(test)]\nmod tests;\n#[cfg(test)]\npub(in crate::cli) mod capture;\nmod real;")
        };
        assert_eq!(test_modules(&parent("cli/output.rs")), ["cli/output/tests", "cli/output/capture"]);
        assert_eq!(test_modules(&parent("config/mod.rs")), ["config/tests", "config/capture"]);
    }
}
