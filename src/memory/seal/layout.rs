//! What may lie in the repository's folder beside objects and refs. Whatever else git would obey there, such as another
//! place for objects or other parents of commits, nobody of us put there: it is set aside.

use std::fs;
use std::io;
use std::io::ErrorKind;
use std::path::Path;
use std::path::PathBuf;

use anyhow::Context;
use anyhow::Result;

use crate::memory::aside;
use crate::memory::repository::branch::BRANCH;
use crate::memory::repository::exchange;
use crate::memory::repository::new_repository::CONFIG;

/// Names that no memory has, each with what git would do.
const REDIRECTIONS: [(&str, &str); 8] = [
    ("objects/info/alternates", "git takes objects from elsewhere by it"),
    ("objects/info/http-alternates", "git takes objects from elsewhere by it"),
    ("info/grafts", "git shows other parents of commits by it"),
    ("info/attributes", "git changes what it shows by it"),
    ("shallow", "git hides the history by it"),
    ("refs/replace", "git shows other objects in the place of ours by it"),
    ("commondir", "git takes refs and objects from elsewhere by it"),
    ("config.worktree", "git takes settings from it"),
];

/// Settings that a person may give; all others, git would run or follow.
const SETTINGS: [&str; 4] = ["gc.", "pack.", "repack.", "user."];
const OWN_SETTINGS: [(&str, &[&str]); 7] = [
    ("core.repositoryformatversion", &["0"]),
    ("core.filemode", &["true", "false"]),
    ("core.bare", &["true"]),
    ("core.fsync", &[]),
    ("core.fsyncobjectfiles", &[]),
    ("core.compression", &[]),
    ("core.logallrefupdates", &[]),
];

/// The locks of git beside those of the refs.
const LOCKS: [&str; 5] = ["HEAD.lock", "packed-refs.lock", "config.lock", "index.lock", "shallow.lock"];

/// Something that has no place in the repository.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in crate::memory) struct Foreign {
    /// Where, relative to the repository.
    pub(in crate::memory) name: String,
    pub(in crate::memory) why: String,
    /// Whether a power cut may have done it, since nobody says anything with an empty file, or a git that a person ran.
    pub(super) innocent: bool,
}

/// Finds what has no place there. Cheap: it is done before every write.
pub(in crate::memory) fn look(repository: &Path) -> Vec<Foreign> {
    let mut found = Vec::new();
    let mut take = |name: &str, why: &str, innocent| {
        found.push(Foreign { name: name.to_owned(), why: why.to_owned(), innocent });
    };
    for (name, why) in REDIRECTIONS {
        if fs::symlink_metadata(repository.join(name)).is_ok() && !is_empty_folder(&repository.join(name)) {
            take(name, why, false);
        }
    }
    for hook in hooks(repository) {
        take(&format!("hooks/{hook}"), "git runs it", false);
    }
    if packed_replacements(repository).is_some() {
        take("packed-refs", "git shows other objects in the place of ours by its refs/replace", false);
    }
    if let Some((why, emptied)) = foreign_text(&repository.join("HEAD"), &|text| head_fault(text)) {
        take("HEAD", &why, emptied);
    }
    if let Some((why, emptied)) = foreign_text(&repository.join("config"), &|text| config_fault(repository, text)) {
        take("config", &why, emptied);
    }
    found
}

/// Returns the files and folders that are as they were as long as [`look`] finds nothing new.
pub(super) fn rests_on(repository: &Path) -> impl Iterator<Item = PathBuf> {
    let names = REDIRECTIONS.iter().map(|(name, _)| *name).chain(["hooks", "packed-refs", "HEAD", "config"]);
    names.flat_map(|name| with_folder(repository, name))
}

/// Returns what lies at a name, if anything does, and the innermost folder there is that would have it: no name comes into
/// a folder without a change of that.
pub(super) fn with_folder(repository: &Path, name: &str) -> impl Iterator<Item = PathBuf> {
    let is_there = |path: &&Path| fs::symlink_metadata(path).is_ok();
    let path = repository.join(name);
    let folder = path.ancestors().skip(1).find(is_there).map(Path::to_owned);
    folder.into_iter().chain(Some(path).filter(|path| is_there(&path.as_path())))
}

impl Foreign {
    /// Says what was found and where it is kept.
    pub(in crate::memory) fn told(&self, kept: Option<&Path>) -> String {
        let kept = kept.map(|kept| format!("; what was found is kept as `{}`", kept.display())).unwrap_or_default();
        format!("`{}` of the memory's repository was put in order ({}){kept}", self.name, self.why)
    }
}

/// Returns the lock files of those who change refs or settings.
pub(in crate::memory) fn locks(repository: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        LOCKS.iter().map(|name| repository.join(name)).filter(|path| fs::symlink_metadata(path).is_ok()).collect();
    let mut folders = vec![repository.join("refs")];
    while let Some(folder) = folders.pop() {
        // A folder that is gone has no locks.
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            match entry.file_type() {
                // No ref is named so, nor a folder of refs.
                _ if entry.path().extension().is_some_and(|end| end == "lock") => found.push(entry.path()),
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                _ => {}
            }
        }
    }
    found
}

/// Moves it into a folder and puts what belongs there in its place; returns where it is kept, if there was anything.
pub(in crate::memory) fn set_aside(repository: &Path, foreign: &Foreign, keep_in: &Path) -> Result<Option<PathBuf>> {
    let path = repository.join(&foreign.name);
    let doing = || format!("could not set `{}` aside", path.display());
    let kept = aside::keep(&path, &format!("memory.git/{}", foreign.name), keep_in).with_context(doing)?;
    let text = match foreign.name.as_str() {
        "HEAD" => head_text(),
        "config" => CONFIG.to_owned(),
        "packed-refs" => kept.as_deref().map(without_replacements).transpose().with_context(doing)?.unwrap_or_default(),
        _ => return Ok(kept),
    };
    exchange::put(&path, text.as_bytes()).with_context(doing)?;
    Ok(kept)
}

fn head_text() -> String {
    format!("ref: {BRANCH}\n")
}

/// Says what is wrong with a file of which `fault` knows how it has to be.
fn foreign_text(path: &Path, fault: &dyn Fn(&str) -> Option<String>) -> Option<(String, bool)> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Some(("it was gone".to_owned(), true)),
        // What cannot be looked at now, the caller will meet.
        Err(_) => return None,
        Ok(found) if !found.is_file() => return Some(("it is no plain file".to_owned(), false)),
        Ok(_) => {}
    }
    let bytes = fs::read(path).ok()?;
    if bytes.iter().all(|byte| *byte == 0) {
        return Some(("it was emptied".to_owned(), true));
    }
    fault(&String::from_utf8_lossy(&bytes)).map(|why| (why, false))
}

fn head_fault(text: &str) -> Option<String> {
    (text.trim_end() != head_text().trim_end()).then(|| "it does not name the branch `main`".to_owned())
}

fn config_fault(repository: &Path, text: &str) -> Option<String> {
    if text == CONFIG {
        return None;
    }
    let Ok(entries) = settings(&repository.join("config")) else { return Some("it cannot be read".to_owned()) };
    let foreign = entries.into_iter().find(|(name, value)| !is_harmless(name, value));
    foreign.map(|(name, _)| format!("it sets `{name}`"))
}

fn settings(path: &Path) -> Result<Vec<(String, String)>, git2::Error> {
    let config = git2::Config::open(path)?;
    let (mut all, mut entries) = (Vec::new(), config.entries(None)?);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        all.push((text(entry.name_bytes()), if entry.has_value() { text(entry.value_bytes()) } else { String::new() }));
    }
    Ok(all)
}

fn is_harmless(name: &str, value: &str) -> bool {
    let own = OWN_SETTINGS.iter().find(|(own, _)| *own == name);
    match own {
        Some((_, values)) => values.is_empty() || values.contains(&value),
        None => SETTINGS.iter().any(|prefix| name.starts_with(prefix)),
    }
}

fn hooks(repository: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(repository.join("hooks")) else { return Vec::new() };
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| !name.ends_with(".sample")).collect()
}

fn is_empty_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
        && fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

fn packed_replacements(repository: &Path) -> Option<()> {
    let text = fs::read(repository.join("packed-refs")).ok()?;
    let text = String::from_utf8_lossy(&text);
    text.lines().any(is_replacement).then_some(())
}

fn is_replacement(line: &str) -> bool {
    line.contains(" refs/replace/")
}

/// Returns the text of a file of packed refs but for replacements; the line below one that peels it goes with it.
fn without_replacements(path: &Path) -> io::Result<String> {
    let text = fs::read_to_string(path)?;
    let mut kept = Vec::new();
    let mut dropping = false;
    for line in text.lines() {
        dropping = is_replacement(line) || dropping && line.starts_with('^');
        if !dropping {
            kept.push(line);
        }
    }
    Ok(kept.into_iter().map(|line| format!("{line}\n")).collect())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::memory::repository::new_repository;

    fn repository() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let repository = folder.path().join("memory.git");
        new_repository::create(&repository).unwrap();
        let keep_in = folder.path().join("found");
        (folder, repository, keep_in)
    }

    fn put(repository: &Path, name: &str, text: &str) {
        let path = repository.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn a_new_repository_has_nothing_foreign_and_what_git_makes_is_none_either() {
        let (_folder, repository, _) = repository();
        assert_eq!(look(&repository), []);
        let more = format!("{CONFIG}[gc]\n\tauto = 0\n[user]\n\tname = x\n");
        let others = [
            ("config", more.as_str()),
            ("packed-refs", "# pack-refs\n"),
            ("hooks/update.sample", "x"),
            ("info/refs", "x"),
        ];
        for (name, text) in others {
            put(&repository, name, text);
        }
        assert_eq!(look(&repository), []);
    }

    #[test]
    fn what_git_would_obey_is_set_aside_and_what_belongs_there_put_back() {
        let planted = [
            "[core]\n\tbare = false\n",
            "[core]\n\tbare = true\n\tworktree = /\n",
            "[core]\n\tfsmonitor = x\n",
            "[core]\n\thooksPath = x\n",
            "[include]\n\tpath = x\n",
            "[alias]\n\tlog = !x\n",
            "[broken",
        ];
        let others = REDIRECTIONS.iter().map(|(name, _)| (*name, "x")).chain([
            ("hooks/pre-auto-gc", "x"),
            ("packed-refs", "0123 refs/heads/a\n4567 refs/replace/89\n^abcd\n0123 refs/heads/b\n"),
            ("HEAD", "ref: refs/heads/other\n"),
        ]);
        for (name, text) in others.chain(planted.map(|text| ("config", text))) {
            let (_folder, repository, keep_in) = repository();
            put(&repository, name, text);
            let found = look(&repository);
            assert_eq!(found.len(), 1, "{name}: {text}: {found:?}");
            assert!(!found[0].innocent);
            let kept = set_aside(&repository, &found[0], &keep_in).unwrap().unwrap();
            assert_eq!(fs::read_to_string(kept).unwrap(), text);
            assert_eq!(look(&repository), [], "{name}");
        }
    }

    #[test]
    fn of_packed_refs_only_replacements_go() {
        let (_folder, repository, keep_in) = repository();
        put(&repository, "packed-refs", "01 refs/heads/a\n^02\n03 refs/replace/04\n^05\n06 refs/tags/b\n^07\n");
        set_aside(&repository, &look(&repository)[0], &keep_in).unwrap();
        let text = fs::read_to_string(repository.join("packed-refs")).unwrap();
        assert_eq!(text, "01 refs/heads/a\n^02\n06 refs/tags/b\n^07\n");
    }

    #[test]
    fn what_a_power_cut_empties_is_no_saying_and_a_link_is_one() {
        let (folder, repository, keep_in) = repository();
        for name in ["HEAD", "config"] {
            for text in ["", "\0\0\0\0"] {
                put(&repository, name, text);
                let found = look(&repository);
                assert!(found.len() == 1 && found[0].innocent, "{found:?}");
                set_aside(&repository, &found[0], &keep_in).unwrap();
                assert_eq!(look(&repository), []);
            }
            let elsewhere = folder.path().join(name);
            fs::rename(repository.join(name), &elsewhere).unwrap();
            symlink(&elsewhere, repository.join(name)).unwrap();
            let found = look(&repository);
            assert!(found.len() == 1 && !found[0].innocent, "{found:?}");
            set_aside(&repository, &found[0], &keep_in).unwrap();
            assert!(!repository.join(name).is_symlink());
        }
    }
}
