//! Commits, trees and blobs made anew without what is removed. What never had it keeps its id.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::time::Duration;
use std::time::Instant;

use anyhow::Context;
use anyhow::Result;
use git2::ObjectType;
use git2::Oid;
use git2::Sort;

use crate::memory::fsck::refs::Refs;
use crate::memory::purge::Purged;
use crate::memory::purge::Purging;
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

/// A history on its way to its new form.
pub(super) struct Rewriting<'r> {
    repository: &'r Repository,
    values: &'r Secrets,
    purging: Purging,
    /// What each blob, tree and tag becomes.
    objects: HashMap<Oid, Oid>,
    /// What each commit becomes that gets another id.
    commits: BTreeMap<String, Oid>,
    purged: Purged,
}

impl<'r> Rewriting<'r> {
    pub(super) fn of(repository: &'r Repository, values: &'r Secrets, purging: Purging) -> Self {
        let (objects, commits) = (HashMap::new(), BTreeMap::new());
        Self { repository, values, purging, objects, commits, purged: Purged::default() }
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

    /// Returns the id that a commit, or another object, has now.
    pub(super) fn new_id(&self, old: Oid) -> Oid {
        let commit = self.commits.get(&old.to_string());
        commit.or_else(|| self.objects.get(&old)).copied().unwrap_or(old)
    }

    /// Returns what a file outside of the history becomes: without the values, and with the new ids of commits; none when it
    /// stays as it is.
    pub(super) fn elsewhere(&self, bytes: &[u8]) -> Option<(Vec<u8>, Removed)> {
        let hidden = self.values.hide_in(bytes);
        let removed = if hidden == bytes { Removed::Nothing } else { Removed::Values };
        let named = self.with_new_ids(&hidden, FULL_ID);
        (named != bytes).then_some((named, removed))
    }

    fn commit(&mut self, id: Oid) -> Result<()> {
        self.purged.looked_at += 1;
        let old = self.read(id)?;
        let end = old.windows(2).position(|two| two == b"\n\n").unwrap_or(old.len());
        let (head, message) = old.split_at(end);
        let hidden = self.values.hide_in(message);
        self.purged.messages += usize::from(hidden != message);
        let mut new = self.head_of_commit(head)?;
        new.extend(self.with_new_ids(&hidden, SHORTEST_ID));
        let new = match new == old {
            true => return Ok(()),
            // A signature is that of the old text.
            false => Object::new(ObjectType::Commit, without_signature(&new))?,
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
                _ => self.values.hide_in(line),
            });
        }
        Ok(lines.join(&b'\n'))
    }

    fn tree(&mut self, id: Oid, folder: &str) -> Result<Oid> {
        if let Some(known) = self.objects.get(&id) {
            return Ok(*known);
        }
        let bytes = self.repository.tree(id)?;
        let mut rows = Vec::new();
        for row in tree::rows(&bytes) {
            let row = row?;
            let name = self.free_name(self.values.hide_in(row.name), row.name, &rows);
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
        self.objects.insert(id, new.id);
        if new.id != id {
            self.keep(&new)?;
        }
        Ok(new.id)
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
        if let Some(known) = self.objects.get(&id) {
            if *known != id {
                self.purged.paths.insert(path.to_owned());
            }
            return Ok(*known);
        }
        let bytes = self.read(id)?;
        let hidden = self.values.hide_in(&bytes);
        if hidden == bytes {
            self.objects.insert(id, id);
            return Ok(id);
        }
        let new = Object::new(ObjectType::Blob, hidden)?;
        self.purged.versions += 1;
        self.purged.paths.insert(path.to_owned());
        self.objects.insert(id, new.id);
        self.keep(&new)?;
        Ok(new.id)
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
            let new_name = String::from_utf8_lossy(&self.with_new_ids(&self.values.hide_in(name.as_bytes()), FULL_ID))
                .replace(HIDDEN, "removed");
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
        match self.purging {
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

/// Leaves the signature out of a commit.
fn without_signature(commit: &[u8]) -> Vec<u8> {
    let end = commit.windows(2).position(|two| two == b"\n\n").unwrap_or(commit.len());
    let (head, message) = commit.split_at(end);
    let mut within = false;
    let kept = head.split(|byte| *byte == b'\n').filter(|line| {
        within = line.starts_with(b"gpgsig") || within && line.starts_with(b" ");
        !within
    });
    [kept.collect::<Vec<_>>().join(&b'\n'), message.to_vec()].concat()
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
