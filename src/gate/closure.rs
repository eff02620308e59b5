//! The hard closure of a check: the files that decide its result beside the product itself.
//!
//! They are the scripts of memory's `checks/` that it names, the files it names that look like tests, and what its
//! `closure` patterns match; product files never are unless a pattern says so. Texts of scripts count like the command.

use crate::gate::Check;
use crate::gate::CheckFiles;
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
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What tools write beside tests by themselves, and what is ours.
const PASSED_OVER: [&str; 6] = [".git", ".longhaul", "node_modules", "__pycache__", ".pytest_cache", ".mypy_cache"];

/// One file of a closure as it lies there now.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Pinned {
    /// As in [`Check::pins`].
    pub path: String,
    /// Git's id of the bytes; none when there is no such file.
    pub id: Option<String>,
    pub bytes: Vec<u8>,
}

/// Returns the files that the check's hard closure holds now, by path.
pub fn closure(project: &Project, check: &Check, files: &CheckFiles) -> Result<Vec<Pinned>> {
    let named = Named::of(project.root(), check, files);
    let mut pinned = BTreeMap::new();
    for name in named.memory {
        let bytes = files.get(&name).map(<[u8]>::to_vec);
        pinned.insert(format!("checks/{name}"), bytes);
    }
    let patterns = Patterns::of(check, &named.project)?;
    for path in named.project.iter().chain(&patterns.literal) {
        collect(project.root(), path, &patterns, &|_| true, &mut pinned)?;
    }
    for folder in &patterns.roots {
        collect(project.root(), folder, &patterns, &|path| patterns.wanted.is_match(path), &mut pinned)?;
    }
    let with_id = |(path, bytes): (String, Option<Vec<u8>>)| {
        let id = bytes.as_deref().map(project::blob_id);
        Pinned { path, id, bytes: bytes.unwrap_or_default() }
    };
    Ok(pinned.into_iter().map(with_id).collect())
}

/// What the texts of a check name.
struct Named {
    memory: BTreeSet<String>,
    project: BTreeSet<String>,
}

impl Named {
    fn of(root: &Path, check: &Check, files: &CheckFiles) -> Self {
        let root = root.to_string_lossy();
        let root = root.trim_end_matches('/');
        let mut named = Self { memory: BTreeSet::new(), project: BTreeSet::new() };
        let setup = check.setup.as_deref().filter(|setup| *setup != "init");
        let mut texts: Vec<String> = [Some(check.run.as_str()), setup, check.ready.as_deref()]
            .into_iter()
            .flatten()
            .map(str::to_owned)
            .collect();
        while let Some(text) = texts.pop() {
            let words = words::words(&words::spelled_out(&text));
            for name in words.iter().filter_map(|word| words::memory_name(word)).flat_map(|name| files.below(&name)) {
                texts.extend(files.get(&name).filter(|_| !named.memory.contains(&name)).map(lossy));
                named.memory.insert(name);
            }
            named.add_tests(&words, &check.cwd, root);
        }
        named
    }

    /// Adds the words that look like tests, read in the check's folder and in each that a text changes to.
    fn add_tests(&mut self, words: &[String], cwd: &str, root: &str) {
        let entered = words.windows(2).filter(|pair| pair[0] == "cd");
        let mut bases = vec![cwd.to_owned()];
        bases.extend(entered.filter_map(|pair| words::project_path(&pair[1], cwd, root)));
        for base in &bases {
            // Alone, and in a folder that was entered, such a word is a command or a script's name.
            let at_root = matches!(base.as_str(), "" | ".");
            let told = words.iter().filter(|word| at_root || !words::is_command_word(word));
            let paths = told.filter_map(|word| words::project_path(word, base, root));
            self.project.extend(paths.filter(|path| words::looks_like_test(path)));
        }
    }
}

/// The patterns of a check, and those among the words it names.
struct Patterns {
    /// Pattern-free entries: a file or a folder.
    literal: Vec<String>,
    /// Folders in which a match can lie.
    roots: BTreeSet<String>,
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
            roots: all.iter().map(|pattern| words::fixed_part(pattern)).collect(),
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

/// Collects a file, or all below a folder. What is neither is collected as absent, unless it is a pattern.
fn collect(
    root: &Path,
    path: &str,
    patterns: &Patterns,
    wanted: &dyn Fn(&str) -> bool,
    into: &mut BTreeMap<String, Option<Vec<u8>>>,
) -> Result<()> {
    let name = path.rsplit('/').next().unwrap_or_default();
    if PASSED_OVER.contains(&name) || patterns.unwanted.is_match(path) {
        return Ok(());
    }
    let full = root.join(path);
    let context = || format!("could not read `{path}`, a file of the check");
    let kind = match fs::symlink_metadata(&full) {
        Ok(metadata) => Some(metadata.file_type()),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => None,
        Err(error) => return Err(error).with_context(context),
    };
    if kind.is_some_and(|kind| kind.is_dir()) {
        for entry in fs::read_dir(&full).with_context(context)? {
            let entry = entry.with_context(context)?.file_name();
            let below =
                if path.is_empty() { lossy(entry.as_bytes()) } else { format!("{path}/{}", lossy(entry.as_bytes())) };
            collect(root, &below, patterns, wanted, into)?;
        }
        return Ok(());
    }
    let bytes = match kind {
        Some(kind) if kind.is_file() => Some(fs::read(&full).with_context(context)?),
        Some(kind) if kind.is_symlink() => Some(link_bytes(&full).with_context(context)?),
        _ => None,
    };
    let absent_pattern = bytes.is_none() && words::is_pattern(path);
    if wanted(path) && !absent_pattern {
        into.insert(pin_name(path), bytes);
    }
    Ok(())
}

/// Returns what decides behind a link: where it leads and, if that is a file, what is in it.
fn link_bytes(link: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = fs::read_link(link)?.as_os_str().as_bytes().to_vec();
    if fs::metadata(link).is_ok_and(|target| target.is_file()) {
        bytes.push(b'\n');
        bytes.extend(fs::read(link)?);
    }
    Ok(bytes)
}

/// Keeps a project's own `checks/` apart from memory's.
fn pin_name(path: &str) -> String {
    if path.starts_with("checks/") { format!("./{path}") } else { path.to_owned() }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
