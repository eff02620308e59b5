//! What can be reached from where, and what is missing on the way.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::collections::HashSet;

use git2::ObjectType;
use git2::Oid;

use crate::memory::fsck::inventory::Inventory;
use crate::memory::history::trailers;
use crate::memory::history::trailers::Author;
use crate::memory::repository::object;
use crate::memory::repository::object::Object;
use crate::memory::repository::tree;

/// An object that something names and that is not there as a whole.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Missing {
    pub(super) kind: ObjectType,
    /// Where in the memory; empty for a commit and for the root.
    pub(super) path: String,
    /// The commit that was looked at; for a commit the one after it.
    pub(super) commit: Option<Oid>,
}

/// A walk over commits, their folders and files, newest first; each object is looked at once.
pub(super) struct Walk<'i> {
    inventory: &'i Inventory,
    seen: HashSet<Oid>,
    pub(super) commits: usize,
    /// Sessions of which longhaul wrote something.
    pub(super) sessions: BTreeSet<u32>,
    pub(super) missing: BTreeMap<Oid, Missing>,
}

impl<'i> Walk<'i> {
    pub(super) fn of(inventory: &'i Inventory) -> Self {
        Self { inventory, seen: HashSet::new(), commits: 0, sessions: BTreeSet::new(), missing: BTreeMap::new() }
    }

    /// Walks from an object that something names.
    pub(super) fn from(&mut self, root: Oid) {
        let mut next = vec![(root, None)];
        while let Some((id, after)) = next.pop() {
            if !self.seen.insert(id) {
                continue;
            }
            let read = self.inventory.read(id);
            // A person may name anything with a tag.
            if let Some(named) = read.as_ref().and_then(object::named_by_tag) {
                next.push((named, None));
                continue;
            }
            let Some(commit) = read.as_ref().and_then(object::parts_of_commit) else {
                self.miss(id, ObjectType::Commit, "", after);
                continue;
            };
            self.commits += 1;
            self.sessions.extend(read.as_ref().and_then(session));
            self.folder(commit.tree, "", id);
            next.extend(commit.parents.into_iter().map(|parent| (parent, Some(id))));
        }
    }

    fn folder(&mut self, root: Oid, path: &str, commit: Oid) {
        let mut next = vec![(root, path.to_owned())];
        while let Some((id, path)) = next.pop() {
            if !self.seen.insert(id) {
                continue;
            }
            let rows = self.inventory.read(id).filter(|found| found.kind == ObjectType::Tree).map(|found| found.bytes);
            // Git knows it without an object.
            let empty = || Oid::hash_object(ObjectType::Tree, b"").is_ok_and(|empty| empty == id).then(Vec::new);
            let Some(rows) = rows.or_else(empty) else {
                self.miss(id, ObjectType::Tree, &path, Some(commit));
                continue;
            };
            for row in tree::rows(&rows) {
                let Ok(row) = row else {
                    self.miss(id, ObjectType::Tree, &path, Some(commit));
                    break;
                };
                let name = String::from_utf8_lossy(row.name);
                let below = if path.is_empty() { name.into_owned() } else { format!("{path}/{name}") };
                match row.is_folder() {
                    true => next.push((row.id, below)),
                    false if self.seen.insert(row.id) && row.is_file() && !self.inventory.has(row.id) => {
                        self.miss(row.id, ObjectType::Blob, &below, Some(commit));
                    }
                    false => {}
                }
            }
        }
    }

    fn miss(&mut self, id: Oid, kind: ObjectType, path: &str, commit: Option<Oid>) {
        self.missing.insert(id, Missing { kind, path: path.to_owned(), commit });
    }
}

/// Tells whether one commit came after another.
pub(super) fn descends(inventory: &Inventory, commit: Oid, from: Oid) -> bool {
    let (mut seen, mut next) = (HashSet::new(), vec![commit]);
    while let Some(id) = next.pop() {
        if seen.insert(id) {
            let read = inventory.read(id);
            next.extend(read.as_ref().and_then(object::parts_of_commit).into_iter().flat_map(|parts| parts.parents));
        }
    }
    commit != from && seen.contains(&from)
}

/// Returns the session of which a commit of longhaul's own tells.
fn session(commit: &Object) -> Option<u32> {
    let text = String::from_utf8_lossy(&commit.bytes);
    let (head, message) = text.split_once("\n\n")?;
    let author = format!("\nauthor {} <", Author::Longhaul.name());
    let trailers = trailers::parse(message).trailers;
    trailers::value(&trailers, "Session").filter(|_| head.contains(&author))?.parse().ok()
}

/// Tells whether a commit and all its folders are there; its files may be missing.
pub(super) fn has_folders(inventory: &Inventory, commit: Oid) -> bool {
    let Some(commit) = inventory.read(commit).as_ref().and_then(object::parts_of_commit) else { return false };
    let mut walk = Walk::of(inventory);
    walk.folder(commit.tree, "", commit.tree);
    walk.missing.values().all(|missing| missing.kind == ObjectType::Blob)
}

impl Missing {
    /// Says what is lost with it.
    pub(super) fn told(&self, id: Oid) -> String {
        let short = |id: Oid| id.to_string()[..7].to_owned();
        let at = self.commit.map(|commit| format!(" as it was at the commit {}", short(commit))).unwrap_or_default();
        match self.kind {
            ObjectType::Commit => {
                let after = self.commit.map(|after| format!(" before {}", short(after))).unwrap_or_default();
                format!("the commit {}{after} is missing, and with it the way to all older ones", short(id))
            }
            ObjectType::Tree if self.path.is_empty() => format!("the list of all files{at} is missing ({})", short(id)),
            ObjectType::Tree => format!("the folder `{}`{at} is missing ({})", self.path, short(id)),
            _ => format!("the file `{}`{at} is missing ({})", self.path, short(id)),
        }
    }
}
