//! Trees as git stores them, changed without an index: of a commit only the folders on the way to a change are made anew.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Context;
use anyhow::Result;
use git2::ObjectType;
use git2::Oid;

use crate::memory::repository::object::Object;

/// Bytes of an id.
const ID: usize = 20;
const FILE: &[u8] = b"100644";
const FOLDER: &[u8] = b"40000";
const LINK: &[u8] = b"120000";
pub(in crate::memory) const SUBMODULE: &[u8] = b"160000";

/// One row of a tree.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in crate::memory) struct Row<'t> {
    pub(in crate::memory) mode: &'t [u8],
    pub(in crate::memory) name: &'t [u8],
    pub(in crate::memory) id: Oid,
}

impl Row<'_> {
    pub(in crate::memory) fn is_folder(&self) -> bool {
        self.mode == FOLDER
    }

    /// Tells whether it is a file with bytes of its own; links and submodules are foreign here.
    pub(in crate::memory) fn is_file(&self) -> bool {
        !self.is_folder() && self.mode != LINK && self.mode != SUBMODULE
    }
}

/// Returns the rows of a tree.
pub(in crate::memory) fn rows(tree: &[u8]) -> Rows<'_> {
    Rows(tree)
}

/// Walks over the rows of a tree; what does not read as one ends it with an error.
pub(in crate::memory) struct Rows<'t>(&'t [u8]);

impl<'t> Iterator for Rows<'t> {
    type Item = Result<Row<'t>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let row = self.row();
        if row.is_none() {
            self.0 = &[];
        }
        Some(row.context("a tree of the memory is no tree"))
    }
}

impl<'t> Rows<'t> {
    fn row(&mut self) -> Option<Row<'t>> {
        let space = self.0.iter().position(|byte| *byte == b' ')?;
        let end = space + self.0[space..].iter().position(|byte| *byte == 0)?;
        let id = Oid::from_bytes(self.0.get(end + 1..end + 1 + ID)?).ok()?;
        let row = Row { mode: &self.0[..space], name: &self.0[space + 1..end], id };
        self.0 = &self.0[end + 1 + ID..];
        Some(row)
    }
}

/// Where the bytes of trees come from.
pub(in crate::memory) trait Trees {
    fn tree(&self, id: Oid) -> Result<Arc<[u8]>>;
}

/// What becomes of one name in a folder.
enum Change<'c> {
    File(&'c [u8]),
    Gone,
    /// Changes further down.
    Below(BTreeMap<&'c str, Change<'c>>),
}

/// Makes the tree that `base` becomes by these changes, a path and its new bytes each or none to remove it. New objects go to
/// `made`, innermost first; the last one is the tree itself, even if it was there before.
pub(in crate::memory) fn change(
    trees: &dyn Trees,
    base: Option<Oid>,
    changes: &[(&str, Option<&[u8]>)],
    made: &mut Vec<Object>,
) -> Result<Oid> {
    let mut below = BTreeMap::new();
    for (path, bytes) in changes {
        enter(&mut below, path, *bytes);
    }
    match folder(trees, base, &below, made)? {
        Some(id) => Ok(id),
        None => push(ObjectType::Tree, Vec::new(), made),
    }
}

/// Notes a change under the first name of its path; a later one of the same path wins.
fn enter<'c>(below: &mut BTreeMap<&'c str, Change<'c>>, path: &'c str, bytes: Option<&'c [u8]>) {
    let Some((name, rest)) = path.split_once('/') else {
        match (below.get(path), bytes) {
            // The file that goes is the one in whose place a folder comes.
            (Some(Change::Below(_)), None) => {}
            // What is removed below it goes with the folder.
            (_, bytes) => drop(below.insert(path, bytes.map_or(Change::Gone, Change::File))),
        }
        return;
    };
    let change = below.entry(name).or_insert_with(|| Change::Below(BTreeMap::new()));
    match (&mut *change, bytes) {
        (Change::Below(inner), _) => enter(inner, rest, bytes),
        // Below what becomes a file nothing is left to remove.
        (Change::File(_), None) => {}
        (Change::File(_) | Change::Gone, _) => {
            let mut inner = BTreeMap::new();
            enter(&mut inner, rest, bytes);
            *change = Change::Below(inner);
        }
    }
}

/// Makes one folder anew; none when nothing is left in it.
fn folder(
    trees: &dyn Trees,
    base: Option<Oid>,
    changes: &BTreeMap<&str, Change<'_>>,
    made: &mut Vec<Object>,
) -> Result<Option<Oid>> {
    let old = base.map(|id| trees.tree(id)).transpose()?.unwrap_or_else(|| Arc::new([]));
    let mut new: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    let mut left: BTreeMap<&[u8], &Change<'_>> =
        changes.iter().map(|(name, change)| (name.as_bytes(), change)).collect();
    for row in rows(&old) {
        let row = row?;
        match left.remove(row.name) {
            None => new.push(place(row.mode, row.name, row.id)),
            Some(change) => new.extend(changed(trees, row.name, Some(&row), change, made)?),
        }
    }
    for (name, change) in left {
        new.extend(changed(trees, name, None, change, made)?);
    }
    if new.is_empty() {
        return Ok(None);
    }
    new.sort();
    let bytes = new.into_iter().flat_map(|(_, row)| row).collect();
    push(ObjectType::Tree, bytes, made).map(Some)
}

fn changed(
    trees: &dyn Trees,
    name: &[u8],
    old: Option<&Row<'_>>,
    change: &Change<'_>,
    made: &mut Vec<Object>,
) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
    match change {
        Change::Gone => Ok(None),
        Change::File(bytes) => Ok(Some(place(FILE, name, push(ObjectType::Blob, bytes.to_vec(), made)?))),
        Change::Below(inner) => {
            let base = old.filter(|row| row.is_folder()).map(|row| row.id);
            match (folder(trees, base, inner, made)?, old) {
                (Some(id), _) => Ok(Some(place(FOLDER, name, id))),
                // Removing below a file changes nothing of the file.
                (None, Some(row)) if !row.is_folder() => Ok(Some(place(row.mode, name, row.id))),
                (None, _) => Ok(None),
            }
        }
    }
}

/// Returns the bytes of a tree with these modes, names and ids.
pub(in crate::memory) fn of(rows: &[(Vec<u8>, Vec<u8>, Oid)]) -> Vec<u8> {
    let mut placed: Vec<_> = rows.iter().map(|(mode, name, id)| place(mode, name, *id)).collect();
    placed.sort();
    placed.into_iter().flat_map(|(_, row)| row).collect()
}

/// Returns a row, and before it what it is sorted by: folders as if their name ended with a slash.
fn place(mode: &[u8], name: &[u8], id: Oid) -> (Vec<u8>, Vec<u8>) {
    let key = if mode == FOLDER { [name, b"/"].concat() } else { name.to_vec() };
    (key, [mode, b" ", name, b"\0", id.as_bytes()].concat())
}

fn push(kind: ObjectType, bytes: Vec<u8>, made: &mut Vec<Object>) -> Result<Oid> {
    let object = Object::new(kind, bytes)?;
    let id = object.id;
    made.push(object);
    Ok(id)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::HashMap;

    use super::*;

    #[derive(Default)]
    struct Kept(RefCell<HashMap<Oid, Vec<u8>>>);

    impl Trees for Kept {
        fn tree(&self, id: Oid) -> Result<Arc<[u8]>> {
            self.0.borrow().get(&id).map(|bytes| bytes.as_slice().into()).context("no such tree")
        }
    }

    impl Kept {
        fn change(&self, base: Option<Oid>, changes: &[(&str, Option<&str>)]) -> Oid {
            let changes: Vec<_> = changes.iter().map(|(path, text)| (*path, text.map(str::as_bytes))).collect();
            let mut made = Vec::new();
            let id = super::change(self, base, &changes, &mut made).unwrap();
            self.0.borrow_mut().extend(made.into_iter().map(|object| (object.id, object.bytes)));
            id
        }

        /// Lists all files as `path=text`.
        fn files(&self, id: Oid) -> Vec<String> {
            let tree = self.tree(id).unwrap();
            let below = rows(&tree).map(Result::unwrap).flat_map(|row| {
                let name = String::from_utf8(row.name.to_vec()).unwrap();
                match row.is_folder() {
                    true => self.files(row.id).iter().map(|file| format!("{name}/{file}")).collect(),
                    false => {
                        vec![format!("{name}={}", String::from_utf8(self.tree(row.id).unwrap().to_vec()).unwrap())]
                    }
                }
            });
            below.collect()
        }
    }

    #[test]
    fn files_come_change_move_and_go_and_empty_folders_with_them() {
        let kept = Kept::default();
        let first = kept.change(None, &[("a", Some("1")), ("d/e/f", Some("2")), ("d.x", Some("3"))]);
        assert_eq!(kept.files(first), ["a=1", "d.x=3", "d/e/f=2"], "a folder is sorted as if it ended with a slash");
        let second = kept.change(Some(first), &[("a", None), ("d/e/f", None), ("d/g", Some("4"))]);
        assert_eq!(kept.files(second), ["d.x=3", "d/g=4"]);
        let third = kept.change(Some(second), &[("d/g", None), ("nothing/here", None)]);
        assert_eq!(kept.files(third), ["d.x=3"]);
        let empty = kept.change(Some(third), &[("d.x", None)]);
        assert_eq!(empty, Oid::hash_object(ObjectType::Tree, b"").unwrap());
    }

    #[test]
    fn a_file_and_a_folder_take_each_others_place_whatever_the_order() {
        let kept = Kept::default();
        let base = kept.change(None, &[("a", Some("1")), ("d/e", Some("2"))]);
        let changes = [("a", None), ("a/b", Some("3")), ("d/e", None), ("d", Some("4"))];
        for turn in 0..changes.len() {
            let mut turned = changes;
            turned.rotate_left(turn);
            assert_eq!(kept.files(kept.change(Some(base), &turned)), ["a/b=3", "d=4"], "{turned:?}");
        }
        assert_eq!(kept.change(Some(base), &[("a/x", None)]), base, "nothing lies below a file");
        assert_eq!(kept.change(Some(base), &[("a", Some("1"))]), base);
    }

    #[test]
    fn what_is_no_tree_is_an_error() {
        for bytes in [&b"100644 a"[..], b"100644 a\0short", b"x"] {
            assert!(rows(bytes).any(|row| row.is_err()), "{bytes:?}");
        }
    }
}
