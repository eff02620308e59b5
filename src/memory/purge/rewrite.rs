//! Commits, trees and blobs made anew without what is removed. What never had it keeps its id.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;
use std::time::Instant;

use anyhow::Context;
use anyhow::Result;
use git2::ObjectType;
use git2::Oid;
use git2::Sort;

use crate::failure::Failure;
use crate::memory::fsck::refs::Refs;
use crate::memory::purge::Purged;
use crate::memory::purge::Purging;
use crate::memory::purge::Readable;
use crate::memory::purge::commit;
use crate::memory::purge::json;
use crate::memory::purge::own::Form;
use crate::memory::purge::own::Own;
use crate::memory::purge::refs;
use crate::memory::repository::Repository;
use crate::memory::repository::branch;
use crate::memory::repository::loose::Loose;
use crate::memory::repository::object;
use crate::memory::repository::object::Object;
use crate::memory::repository::object::Signed;
use crate::memory::repository::tree;
use crate::memory::repository::tree::Trees;
use crate::secrets::HIDDEN;
use crate::secrets::Secrets;

/// The shortest beginning of an id that stands for a commit in a text.
const SHORTEST_ID: usize = 7;
const FULL_ID: usize = 40;

/// What is removed, and what never is.
pub(super) struct Task<'t> {
    pub(super) values: &'t Secrets,
    pub(super) own: Own,
    pub(super) readable: &'t Readable,
    pub(super) purging: Purging,
}

/// A history on its way to its new form.
pub(super) struct Rewriting<'r> {
    repository: &'r Repository,
    values: &'r Secrets,
    task: &'r Task<'r>,
    /// What each blob and tree becomes, by the folder or file of the layout as which it stands there.
    objects: HashMap<(Oid, Option<String>), Oid>,
    /// What each commit becomes that gets another id.
    commits: BTreeMap<String, Oid>,
    purged: Purged,
}

impl<'r> Rewriting<'r> {
    pub(super) fn of(repository: &'r Repository, task: &'r Task<'r>) -> Self {
        let (objects, commits) = (HashMap::new(), BTreeMap::new());
        Self { repository, values: task.values, task, objects, commits, purged: Purged::default() }
    }

    /// Makes all commits anew that the newest one or some ref leads to, oldest first; how far that is, is told when it takes
    /// long.
    pub(super) fn all(&mut self, head: Option<Oid>, notice: &dyn Fn(&str)) -> Result<()> {
        let mut walk = self.repository.git.revwalk().context("could not walk over the memory's history")?;
        walk.set_sorting(Sort::TOPOLOGICAL | Sort::REVERSE)?;
        for commit in refs::commits(self.repository, head)? {
            walk.push(commit).with_context(|| format!("could not read the commit `{commit}` of the memory"))?;
        }
        let ids: Vec<Oid> = walk.collect::<Result<_, _>>().context("could not walk over the memory's history")?;
        let mut pace = Pace::from(Instant::now());
        for (number, id) in ids.iter().enumerate() {
            self.commit(*id)?;
            if pace.is_time(Instant::now()) {
                notice(&format!("looking through the history: {} of {} commits", number + 1, ids.len()));
            }
        }
        Ok(())
    }

    /// Makes the commit that tells of the purge, on top of what the newest one has become.
    pub(super) fn telling(&self, head: Oid, signed: &Signed<'_>) -> Result<Oid> {
        let tree = self.repository.git.find_commit(head)?.tree_id();
        let telling = object::commit(tree, Some(head), signed)?;
        self.keep(&telling)?;
        Ok(telling.id)
    }

    pub(super) fn purged(&self) -> Purged {
        self.purged.clone()
    }

    /// Returns the id that a commit has now.
    pub(super) fn new_id(&self, old: Oid) -> Oid {
        self.commits.get(&old.to_string()).copied().unwrap_or(old)
    }

    /// Reads each new commit with its folder as git does, while the old ones are still in their place.
    pub(super) fn require_sound(&self) -> Result<()> {
        for id in self.commits.values() {
            let read = || {
                let commit = self.repository.git.find_commit(*id)?;
                commit.tree().map(|tree| tree.len())
            };
            read().with_context(|| format!("the commit {id} would not be sound"))?;
        }
        Ok(())
    }

    /// Returns what a file outside of the history becomes: without the values, and with the new ids of commits.
    pub(super) fn file(&self, path: &Path, bytes: &[u8]) -> Changed {
        let hidden = match self.task.own.form(path) {
            Form::Text => json::Hidden { bytes: self.values.hide_in(bytes), left: false },
            Form::Json => json::hide(bytes, self.values),
            Form::Fixed => json::Hidden { bytes: bytes.to_owned(), left: self.values.find(bytes).next().is_some() },
        };
        let removed = if hidden.bytes == bytes { Removed::Nothing } else { Removed::Values };
        let new = Some(self.with_new_ids(&hidden.bytes, FULL_ID)).filter(|new| *new != bytes);
        Changed { new, removed, left: hidden.left }
    }

    /// Returns what the last part of a path outside of the history becomes.
    pub(super) fn name(&self, path: &Path) -> Changed {
        let old = path.file_name().unwrap_or_default().as_bytes();
        let hidden = self.values.hide_in(old);
        match hidden == old {
            true => Changed { new: None, removed: Removed::Nothing, left: false },
            false if self.task.own.is_name(path) => Changed { new: None, removed: Removed::Nothing, left: true },
            false => Changed { new: Some(self.with_new_ids(&hidden, FULL_ID)), removed: Removed::Values, left: false },
        }
    }

    fn commit(&mut self, id: Oid) -> Result<()> {
        self.purged.looked_at += 1;
        let old = self.read(id)?;
        let end = old.windows(2).position(|two| two == b"\n\n").unwrap_or(old.len());
        let (head, message) = old.split_at(end);
        let hidden = self.values.hide_in(message);
        if commit::read_back(&hidden) != commit::read_back(message) {
            let text = format!("the text stands in what longhaul reads back from the commit {id}: nothing was touched");
            return Err(Failure::usage(text).hint("give a text that ends with its line").into());
        }
        self.purged.messages += usize::from(hidden != message);
        let mut new = self.head_of_commit(head)?;
        new.extend(self.with_new_ids(&hidden, SHORTEST_ID));
        let new = match new == old {
            true => return Ok(()),
            // A signature is that of the old text.
            false => Object::new(ObjectType::Commit, commit::without_signature(&new))?,
        };
        self.purged.commits += 1;
        self.commits.insert(id.to_string(), new.id);
        self.keep(&new)
    }

    /// Points the lines above a commit's text at what their objects have become.
    fn head_of_commit(&mut self, head: &[u8]) -> Result<Vec<u8>> {
        let mut lines = Vec::new();
        for line in head.split(|byte| *byte == b'\n') {
            let (key, value) = line.split_at(line.iter().position(|byte| *byte == b' ').map_or(0, |space| space + 1));
            let id = std::str::from_utf8(value).ok().and_then(|text| Oid::from_str(text).ok());
            lines.push(match (key, id) {
                (b"tree ", Some(id)) => format!("tree {}", self.tree(id, "")?).into_bytes(),
                (b"parent ", Some(id)) => format!("parent {}", self.new_id(id)).into_bytes(),
                (b"author " | b"committer ", _) => [key, &commit::person(value, self.values)].concat(),
                _ => [key, &self.values.hide_in(value)].concat(),
            });
        }
        Ok(lines.join(&b'\n'))
    }

    fn tree(&mut self, id: Oid, folder: &str) -> Result<Oid> {
        // One of people's own is the same wherever it lies.
        let is_own = folder.is_empty() || self.task.own.is_name_in_memory(folder.trim_end_matches('/'));
        let place = (id, is_own.then(|| folder.to_owned()));
        if let Some(known) = self.objects.get(&place) {
            return Ok(*known);
        }
        let bytes = self.repository.tree(id)?;
        let mut rows = Vec::new();
        for row in tree::rows(&bytes) {
            let row = row?;
            let name = self.name_in(folder, row.name, &rows);
            let path = format!("{folder}{}", String::from_utf8_lossy(&name));
            if name != row.name {
                self.purged.paths.insert(path.clone());
            }
            let new = match row.mode {
                mode if mode == tree::SUBMODULE => row.id,
                _ if row.is_folder() => self.tree(row.id, &format!("{path}/"))?,
                _ => self.blob(row.id, &path)?,
            };
            rows.push((row.mode.to_vec(), name, new));
        }
        let new = Object::new(ObjectType::Tree, tree::of(&rows))?;
        self.objects.insert(place, new.id);
        if new.id != id {
            self.keep(&new)?;
        }
        Ok(new.id)
    }

    /// Returns what a name in a folder becomes; those of the layout stay.
    fn name_in(&mut self, folder: &str, old: &[u8], rows: &[(Vec<u8>, Vec<u8>, Oid)]) -> Vec<u8> {
        let hidden = self.values.hide_in(old);
        let path = format!("{folder}{}", String::from_utf8_lossy(old));
        match hidden != old && self.task.own.is_name_in_memory(&path) {
            true => {
                self.purged.left.insert(path.into());
                old.to_vec()
            }
            false => self.free_name(hidden, old, rows),
        }
    }

    /// Numbers a name that became one that the folder has already.
    fn free_name(&self, name: Vec<u8>, old: &[u8], rows: &[(Vec<u8>, Vec<u8>, Oid)]) -> Vec<u8> {
        let taken = |name: &[u8]| rows.iter().any(|(_, other, _)| other == name);
        if name == old || !taken(&name) {
            return name;
        }
        let numbered = (2..).map(|number| [&name[..], format!("-{number}").as_bytes()].concat());
        numbered.into_iter().find(|name| !taken(name)).unwrap_or(name)
    }

    fn blob(&mut self, id: Oid, path: &str) -> Result<Oid> {
        let is_json = self.task.own.is_json_in_memory(path);
        let place = (id, is_json.then(|| path.to_owned()));
        if let Some(known) = self.objects.get(&place) {
            if *known != id {
                self.purged.paths.insert(path.to_owned());
            }
            return Ok(*known);
        }
        let bytes = self.read(id)?;
        let hidden = match is_json {
            true => self.json(&bytes, path)?,
            false => self.values.hide_in(&bytes),
        };
        if hidden == bytes {
            self.objects.insert(place, id);
            return Ok(id);
        }
        let new = Object::new(ObjectType::Blob, hidden)?;
        self.purged.versions += 1;
        self.purged.paths.insert(path.to_owned());
        self.objects.insert(place, new.id);
        self.keep(&new)?;
        Ok(new.id)
    }

    /// Takes the values out of a version of the checklist, which has to be one then too.
    fn json(&mut self, bytes: &[u8], path: &str) -> Result<Vec<u8>> {
        let json::Hidden { bytes: hidden, left } = json::hide(bytes, self.values);
        if left {
            self.purged.left.insert(path.into());
        }
        let readable = &self.task.readable;
        match (readable(bytes), readable(&hidden)) {
            (Ok(()), Err(why)) => {
                let text = format!("`{path}` could not be read any more without the text: {why}; nothing was touched");
                Err(Failure::usage(text).hint("give the longer text around it").into())
            }
            _ => Ok(hidden),
        }
    }

    /// Lets all refs lead to what their objects have become, the branch aside. A tag with a text of its own becomes a plain
    /// one, and what is no commit is let go.
    pub(super) fn move_refs(&self) -> Result<()> {
        let git = &self.repository.git;
        let all = Refs::read(git.path())?.good;
        for name in all.keys().filter(|name| *name != branch::BRANCH) {
            let mut reference = git.find_reference(name)?;
            if reference.target().is_none() {
                continue;
            }
            let new = reference.peel_to_commit().ok().map(|commit| self.new_id(commit.id()));
            let new_name = self.name_of_ref(name);
            match new {
                Some(new) if new_name == *name && reference.target() == Some(new) => continue,
                Some(new) => drop(git.reference(&new_name, new, true, "purged")?),
                None => {}
            }
            if new.is_none() || new_name != *name {
                reference.delete().with_context(|| format!("could not remove the memory's ref `{name}`"))?;
            }
        }
        Ok(())
    }

    /// Returns what the name of a ref becomes: what stands before what a person gave it, such as `refs/tags/`, stays.
    fn name_of_ref(&self, name: &str) -> String {
        let kind = name.match_indices('/').nth(1).map_or(0, |(at, _)| at + 1);
        let (kind, given) = name.split_at(kind);
        let given = self.with_new_ids(&self.values.hide_in(given.as_bytes()), FULL_ID);
        format!("{kind}{}", String::from_utf8_lossy(&given).replace(HIDDEN, "removed"))
    }

    /// Puts the new ids of commits in the place of old ones, which are written with at least so many digits.
    fn with_new_ids(&self, text: &[u8], shortest: usize) -> Vec<u8> {
        if self.commits.is_empty() {
            return text.to_owned();
        }
        let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let runs = text.chunk_by(|one, next| is_digit(one) == is_digit(next));
        runs.flat_map(|run| self.renamed(run, shortest).unwrap_or_else(|| run.to_vec())).collect()
    }

    /// Returns as many digits of a commit's new id as its old one is written with.
    fn renamed(&self, old: &[u8], shortest: usize) -> Option<Vec<u8>> {
        let text = std::str::from_utf8(old).ok().filter(|text| (shortest..=FULL_ID).contains(&text.len()))?;
        let mut fitting = self.commits.range(text.to_owned()..).take_while(|(id, _)| id.starts_with(text));
        let (_, new) = fitting.next().filter(|_| fitting.next().is_none())?;
        Some(new.to_string().as_bytes()[..text.len()].to_vec())
    }

    fn keep(&self, object: &Object) -> Result<()> {
        match self.task.purging {
            Purging::Look => Ok(()),
            Purging::Remove => Loose(&self.repository.objects()).write(object),
        }
    }

    fn read(&self, id: Oid) -> Result<Vec<u8>> {
        let odb = self.repository.git.odb().context("could not open the memory's objects")?;
        let object = odb.read(id).with_context(|| format!("could not read the object `{id}` of the memory"))?;
        Ok(object.data().to_vec())
    }
}

/// What a file or a name outside of the history becomes.
pub(super) struct Changed {
    /// None when it stays as it is.
    pub(super) new: Option<Vec<u8>>,
    pub(super) removed: Removed,
    /// Whether a value stands where it has to stay.
    pub(super) left: bool,
}

/// What was removed from a file, beside ids that changed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Removed {
    Nothing,
    Values,
}

/// When work that takes long says how far it is: after a second, and then every ten.
struct Pace(Instant);

impl Pace {
    fn from(start: Instant) -> Self {
        Self(start + Duration::from_secs(1))
    }

    fn is_time(&mut self, now: Instant) -> bool {
        let is_time = now >= self.0;
        if is_time {
            self.0 = now + Duration::from_secs(10);
        }
        is_time
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_work_says_how_far_it_is_after_a_second_and_then_every_ten() {
        let start = Instant::now();
        let mut pace = Pace::from(start);
        let said = (0..25_000).step_by(100).filter(|at| pace.is_time(start + Duration::from_millis(*at)));
        assert_eq!(said.collect::<Vec<u64>>(), [1000, 11_000, 21_000]);
    }
}
