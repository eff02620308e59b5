//! The hard closure of a check: the files that decide its result beside the product itself.
//!
//! They are the scripts of memory's `checks/` that it names, the files it names that look like tests, judge, or hold what is
//! expected, and what its `closure` patterns match; product files never are unless a pattern says so. Texts of scripts count
//! like the command.

use crate::gate::Check;
use crate::gate::CheckFiles;
use crate::gate::each;
use crate::gate::executed;
use crate::gate::executed::Deciding;
use crate::gate::guessed::Known;
use crate::gate::named;
use crate::gate::named::Named;
use crate::gate::names;
use crate::gate::pin::Mode;
use crate::gate::pin::Pinned;
use crate::gate::walk::Walk;
use crate::gate::words;
use crate::project;
use crate::project::Project;
use anyhow::Context;
use anyhow::Result;
use globset::GlobBuilder;
use globset::GlobSet;
use globset::GlobSetBuilder;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::path::Path;

/// Which files of a closure are read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Reading {
    /// All: they are to be pinned.
    All,
    /// Those that are compared with a pin; of others it is enough that they are there.
    Pinned,
}

/// Returns the files that the check's hard closure holds now, by path: pinned, they are what is approved.
///
/// # Errors
/// A usage failure where they cannot be read, or are too many, too large or too deep.
pub fn closure(project: &Project, check: &Check, files: &CheckFiles, reading: Reading) -> Result<Vec<Pinned>> {
    let named = Named::of(project.root(), check, files, Known::InFolder(project.root()));
    files_of(project.root(), &named, check, files, reading)
}

/// Returns the files of the approved check's hard closure as they lie in `folder`, which holds a tree of the project. A
/// name that meant nothing at approval means nothing here.
pub(in crate::gate) fn closure_in(
    folder: &Path,
    project: &Project,
    check: &Check,
    files: &CheckFiles,
    reading: Reading,
) -> Result<Vec<Pinned>> {
    let named = Named::of(project.root(), check, files, Known::InPins(&check.pins));
    files_of(folder, &named, check, files, reading)
}

fn files_of(folder: &Path, named: &Named, check: &Check, files: &CheckFiles, reading: Reading) -> Result<Vec<Pinned>> {
    let patterns = Patterns::of(check, &named.project)?;
    let mut walk = Walk::new(folder, &patterns.unwanted, (reading == Reading::Pinned).then_some(&check.pins));
    for path in named.project.iter().chain(&patterns.literal) {
        walk.over(path, path, &|_| true)?;
    }
    for (folder, part) in &named.folders {
        let is_itself = |path: &Path| path == Path::new(folder);
        walk.over(folder, folder, &|path| is_itself(path) || path.to_str().is_none_or(|path| part.holds(path)))?;
    }
    for (root, pattern) in &patterns.roots {
        walk.over(root, pattern, &|path| patterns.wanted.is_match(path))?;
    }
    let memory = named.memory.iter().map(|name| of_memory(name, files)).map(|file| (file.path.clone(), file));
    let all: BTreeMap<String, Pinned> = memory.chain(walk.found()).collect();
    Ok(all.into_values().collect())
}

/// Returns memory's files of the check's hard closure.
pub(in crate::gate) fn memory_closure(project: &Project, check: &Check, files: &CheckFiles) -> Vec<Pinned> {
    let named = Named::of(project.root(), check, files, Known::InPins(&check.pins));
    named.memory.iter().map(|name| of_memory(name, files)).collect()
}

fn of_memory(name: &str, files: &CheckFiles) -> Pinned {
    let bytes = files.get(name).map(<[u8]>::to_vec);
    Pinned { path: format!("checks/{name}"), id: bytes.as_deref().map(project::blob_id), mode: Mode::Plain, bytes }
}

/// A text that a check runs.
pub(in crate::gate) struct Text {
    /// None for those of the check itself, which a shell runs.
    pub name: Option<String>,
    pub text: String,
}

/// Returns the texts that run: the command, its setup and what it waits for, and the scripts of memory that they name.
pub(in crate::gate) fn named_texts(check: &Check, files: &CheckFiles) -> Vec<Text> {
    let setup = check.setup.as_deref().filter(|setup| *setup != "init");
    let own = [Some(check.run.as_str()), setup, check.ready.as_deref()].into_iter().flatten();
    let mut texts: Vec<Text> = own.map(|text| Text { name: None, text: text.to_owned() }).collect();
    let mut known = BTreeSet::new();
    let mut at = 0;
    while let Some(text) = texts.get(at) {
        let words = words::words(&words::spelled_out(&text.text));
        for name in words.iter().filter_map(|word| words::memory_name(word)).flat_map(|name| files.below(&name)) {
            if known.insert(name.clone()) {
                let text = files.get(&name).map(lossy);
                texts.extend(text.map(|text| Text { name: Some(name), text }));
            }
        }
        at += 1;
    }
    texts
}

/// The same without their names.
pub(in crate::gate) fn texts(check: &Check, files: &CheckFiles) -> Vec<String> {
    named_texts(check, files).into_iter().map(|text| text.text).collect()
}

/// Returns the script of the project that decides a check alone and is not pinned: whoever writes it decides.
pub fn unpinned_script(project: &Project, check: &Check) -> Option<String> {
    let root = project.root().to_string_lossy();
    let root = root.trim_end_matches('/');
    let bases = named::bases_in_project(&words::words(&words::spelled_out(&check.run)), &check.cwd, root);
    let paths = |script: &String| -> Vec<String> {
        bases.iter().filter_map(|base| words::project_path(script, base, root)).collect()
    };
    let is_there = |path: &&String| Known::InFolder(project.root()).holds(path);
    let on_path: Vec<String> = executed::sole_scripts_on_path(&check.run).iter().flat_map(paths).collect();
    let named = executed::sole_script(&check.run).as_ref().map(paths).unwrap_or_default();
    let path = on_path.iter().chain(&named).find(is_there).or(named.last())?;
    Some(path).filter(|path| !words::looks_like_test(path) && !check.pins.contains_key(*path)).cloned()
}

/// Returns the test that a check names, not by a path, and that is not there: whoever writes it decides.
pub fn unwritten_test(project: &Project, check: &Check, files: &CheckFiles) -> Option<String> {
    Named::of(project.root(), check, files, Known::InFolder(project.root())).unwritten.into_iter().next()
}

/// Returns the files that a check compares and that are not pinned: nobody can tell which of them is expected, and whoever
/// writes that decides.
pub fn untold_expectations(project: &Project, check: &Check, files: &CheckFiles) -> Vec<String> {
    let named = Named::of(project.root(), check, files, Known::InFolder(project.root()));
    let is_pinned = |path: &String| {
        check.pins.keys().any(|pin| pin == path || pin.strip_prefix(path).is_some_and(|rest| rest.starts_with('/')))
    };
    named.untold.into_iter().filter(|path| !is_pinned(path)).collect()
}

/// Tells whether a test runner decides the check; without pins it runs whatever tests it finds.
pub fn runs_what_it_finds(project: &Project, check: &Check, files: &CheckFiles) -> bool {
    !Deciding::of(check, files, project.root(), project.root()).is_none()
        || named_texts(check, files).iter().any(|text| text.is_for_shell() && executed::starts_other_runner(&text.text))
}

/// Returns the code of the project that a check reads into its own shell, and that is not pinned: whoever writes it can
/// change what the commands behind it do. What an environment brings along is no code of the project.
pub fn unpinned_source(project: &Project, check: &Check) -> Option<String> {
    let root = project.root().to_string_lossy();
    let is_own = |file: &String| {
        let path = words::project_path(file, &check.cwd, root.trim_end_matches('/'));
        let is_pinned = |path: &String| check.pins.contains_key(path) || words::looks_like_test(path);
        names::is_code(file) && !file.contains('$') && path.is_some_and(|path| !is_pinned(&path))
    };
    each::sourced(&check.run).into_iter().find(is_own)
}

/// Returns the patterns by which a check finds files that it runs, and of which nothing is pinned: whoever changes these
/// files decides.
pub fn unpinned_patterns(project: &Project, check: &Check, files: &CheckFiles) -> Vec<String> {
    let root = project.root().to_string_lossy();
    let texts = named_texts(check, files).into_iter().filter(Text::is_for_shell);
    let patterns = texts.flat_map(|text| executed::patterns_run(&text.text));
    let is_pinned = |pattern: &String| {
        let path = words::project_path(pattern, &check.cwd, root.trim_end_matches('/')).unwrap_or_default();
        let start = words::fixed_part(&path);
        words::looks_like_test(&path) || !start.is_empty() && check.pins.keys().any(|pin| pin.starts_with(&start))
    };
    patterns.filter(|pattern| !is_pinned(pattern)).collect()
}

/// Tells whether a check runs doctest in such a way that it says nothing where it finds no example.
pub fn runs_silent_doctest(check: &Check, files: &CheckFiles) -> bool {
    named_texts(check, files).iter().any(|text| text.is_for_shell() && executed::runs_silent_doctest(&text.text))
}

/// Returns the program that decides a check by what its own files say, such as `make`; without pins whoever writes these, or
/// the tests that they name, decides.
pub fn deciding_task(project: &Project, check: &Check, files: &CheckFiles) -> Option<String> {
    Deciding::of(check, files, project.root(), project.root()).task().map(str::to_owned)
}

/// The patterns of a check, and those among the words it names.
struct Patterns {
    /// Pattern-free entries: a file or a folder.
    literal: Vec<String>,
    /// Folders in which a match can lie, each with one of the patterns.
    roots: BTreeMap<String, String>,
    wanted: GlobSet,
    unwanted: GlobSet,
}

impl Patterns {
    fn of(check: &Check, named: &BTreeSet<String>) -> Result<Self> {
        let (out, into): (Vec<&str>, Vec<&str>) =
            check.closure.iter().map(String::as_str).partition(|pattern| pattern.starts_with('!'));
        let into: Vec<&str> =
            into.into_iter().map(|pattern| pattern.trim_start_matches("./").trim_end_matches('/')).collect();
        let all: Vec<&str> = into
            .iter()
            .copied()
            .chain(named.iter().map(String::as_str))
            .filter(|path| words::is_pattern(path))
            .collect();
        Ok(Self {
            literal: into.into_iter().filter(|path| !words::is_pattern(path)).map(str::to_owned).collect(),
            roots: all.iter().map(|pattern| (words::fixed_part(pattern), (*pattern).to_owned())).collect(),
            wanted: set(&all)?,
            unwanted: set(&out.iter().map(|pattern| pattern.trim_start_matches('!')).collect::<Vec<_>>())?,
        })
    }
}

/// Makes a set that matches each pattern and, when it names a folder, all below it.
fn set(patterns: &[&str]) -> Result<GlobSet> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        for pattern in [(*pattern).to_owned(), format!("{}/**", pattern.trim_end_matches('/'))] {
            let glob = GlobBuilder::new(&pattern).literal_separator(true).build();
            // A word of a command that is no good pattern matches nothing; a bad `closure` was refused when it was read.
            set.add(glob.or_else(|_| GlobBuilder::new(&globset::escape(&pattern)).build())?);
        }
    }
    set.build().context("could not read the `closure` patterns")
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
