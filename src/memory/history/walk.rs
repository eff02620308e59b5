//! Commits from the newest back, one at a time, so that what is shown first is found first.

use anyhow::Result;
use git2::Oid;

use crate::memory::history::entry::Entry;
use crate::memory::history::filter::Filter;
use crate::memory::history::filter::Fit;
use crate::memory::history::follow::Followed;
use crate::memory::history::graph::Graph;
use crate::memory::history::trailers;
use crate::memory::repository;
use crate::memory::repository::Repository;
use crate::memory::store::Store;

/// The commits that fit, newest first; each is looked for when it is asked for.
pub struct Walk<'s> {
    repository: &'s Repository,
    filter: Filter,
    next: Option<At>,
    left: usize,
    path: Option<Followed>,
    /// Only where a path is looked for, which it makes quick.
    graph: Option<Graph>,
}

/// A commit, by its place in the graph where it has one.
#[derive(Clone, Copy)]
enum At {
    Place(usize),
    Id(Oid),
}

impl Store {
    /// Walks over the commits that fit, newest first.
    pub fn walk(&self, filter: &Filter) -> Result<Walk<'_>> {
        let path = filter.path.as_ref().filter(|path| !path.is_root()).map(Followed::new);
        let graph = path.as_ref().and_then(|_| Graph::open(&self.repository.objects()));
        let head = self.head()?.map(|head| repository::oid(&head)).transpose()?;
        let mut walk = Walk {
            repository: &self.repository,
            filter: filter.clone(),
            next: None,
            left: filter.limit.unwrap_or(usize::MAX),
            path,
            graph,
        };
        walk.next = head.map(|head| walk.at(head));
        Ok(walk)
    }
}

impl Iterator for Walk<'_> {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        while let Some(at) = self.next.take().filter(|_| self.left > 0) {
            match self.look(at) {
                Ok(None) => {}
                Ok(Some(entry)) => {
                    self.left -= 1;
                    return Some(Ok(entry));
                }
                Err(error) => {
                    self.next = None;
                    return Some(Err(error));
                }
            }
        }
        None
    }
}

impl Walk<'_> {
    /// Looks at one commit and goes on to the one before; none when it does not fit.
    fn look(&mut self, at: At) -> Result<Option<Entry>> {
        let (tree, parent) = self.step(at)?;
        self.next = parent;
        if !self.changes_path(at, tree, parent)? {
            return Ok(None);
        }
        let commit = repository::commit(self.repository, &self.id(at)?.to_string())?;
        let message = trailers::parse(&commit.message);
        match self.filter.fits(&commit.author, &message.trailers) {
            Fit::Yes => Ok(Some(Entry::of(commit, message))),
            Fit::No => Ok(None),
            Fit::Older => {
                self.next = None;
                Ok(None)
            }
        }
    }

    fn changes_path(&mut self, at: At, tree: Oid, parent: Option<At>) -> Result<bool> {
        let Some(mut path) = self.path.take() else { return Ok(true) };
        let ruled_out = match (at, &self.graph) {
            (At::Place(place), Some(graph)) => !graph.may_change(place, &path.key),
            _ => false,
        };
        let changes = !ruled_out && {
            let old = parent.map(|parent| self.step(parent)).transpose()?;
            path.differs(self.repository, old.map(|(tree, _)| tree), tree)?
        };
        self.path = Some(path);
        Ok(changes)
    }

    /// Returns a commit's tree and the commit before it.
    fn step(&self, at: At) -> Result<(Oid, Option<At>)> {
        if let (At::Place(place), Some(graph)) = (at, &self.graph)
            && let Some(known) = graph.known(place)
        {
            return Ok((known.tree, known.parent.map(At::Place)));
        }
        let (tree, parent) = repository::tree_and_parent(self.repository, self.id(at)?)?;
        Ok((tree, parent.map(|parent| self.at(parent))))
    }

    fn at(&self, id: Oid) -> At {
        self.graph.as_ref().and_then(|graph| graph.find(id)).map_or(At::Id(id), At::Place)
    }

    fn id(&self, at: At) -> Result<Oid> {
        match at {
            At::Id(id) => Ok(id),
            At::Place(place) => {
                let id = self.graph.as_ref().and_then(|graph| graph.id(place));
                id.ok_or_else(|| {
                    anyhow::anyhow!(
                        "git's commit-graph of the memory is damaged; remove `objects/info/commit-graph` there"
                    )
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::memory::change::Change;
    use crate::memory::fixture::Memory;
    use crate::memory::history::entry::Touch;
    use crate::memory::history::entry::Touched;
    use crate::memory::history::trailers::Author;
    use crate::memory::history::trailers::Origin;
    use crate::memory::rules::path::MemoryPath;

    fn rename(memory: &mut Memory, from: &str, to: &str) {
        let (from, to) = (format!("/memories/{from}"), format!("/memories/{to}"));
        assert!(!memory.run(&json!({"command": "rename", "old_path": from, "new_path": to})).is_error);
    }

    fn of(memory: &Memory, path: &str) -> Vec<String> {
        let filter = Filter { path: Some(MemoryPath::relative(path).unwrap()), ..Filter::default() };
        memory.store.walk(&filter).unwrap().map(|entry| entry.unwrap().subject).collect()
    }

    /// Asks for a path with git's file and without; both have to find the same.
    fn of_both(memory: &Memory, path: &str) -> Vec<String> {
        let file = memory.place.repository.join("objects/info/commit-graph");
        let plain = of(memory, path);
        memory.git(&["commit-graph", "write", "--reachable", "--changed-paths"]);
        assert!(file.exists());
        assert_eq!(of(memory, path), plain, "{path} with the graph");
        std::fs::remove_file(file).unwrap();
        plain
    }

    #[test]
    fn a_file_is_followed_to_its_older_names_and_past_its_absence() {
        let mut memory = Memory::project(&[("docs/old", "1\n2\n3\n4\n"), ("docs/other", "x")]);
        rename(&mut memory, "docs/old", "plans/new");
        memory.write("plans/new", "1\n2\n3\n4\n5\n");
        memory.run(&json!({"command": "delete", "path": "/memories/plans/new"}));
        memory.write("docs/other", "y");
        memory.write("plans/new", "again");

        let seeds = ["memory: seed plans/new", "memory: delete plans/new", "memory: seed plans/new"];
        let older = ["memory: rename docs/old to plans/new", "memory: seed docs/old"];
        assert_eq!(of_both(&memory, "plans/new"), [&seeds[..], &older].concat());
        assert_eq!(of_both(&memory, "docs/old"), older, "the older name ends where it went");
        assert_eq!(of_both(&memory, "docs/other"), ["memory: seed docs/other"; 2]);
        assert_eq!(of_both(&memory, "never"), [""; 0]);
    }

    #[test]
    fn a_folder_is_followed_too() {
        let mut memory = Memory::project(&[("a/x", "1"), ("a/deep/y", "2"), ("b/z", "1")]);
        rename(&mut memory, "a", "c/moved");
        memory.write("c/moved/x", "3");
        let expected =
            ["memory: seed c/moved/x", "memory: rename a to c/moved", "memory: seed a/deep/y", "memory: seed a/x"];
        assert_eq!(of_both(&memory, "c/moved"), expected);
        assert_eq!(of_both(&memory, "c/moved/deep/y"), ["memory: rename a to c/moved", "memory: seed a/deep/y"]);
    }

    #[test]
    fn a_file_that_moved_and_changed_at_once_is_known_by_what_is_alike() {
        let lines = |last: &str| format!("{}{last}\n", "a line that stays as it is\n".repeat(20));
        let mut memory = Memory::project(&[("old", &lines("one"))]);
        let changes = [Change::remove("old"), Change::put("new", lines("two")), Change::put("other", "x")];
        memory.store.write("move", &changes, &Origin::of(Author::Longhaul)).unwrap();
        assert_eq!(of_both(&memory, "new"), ["move", "memory: seed old"]);
        let newest = memory.store.walk(&Filter::default()).unwrap().next().unwrap().unwrap();
        let renamed = Touched { path: "new".to_owned(), how: Touch::Renamed { from: "old".to_owned() } };
        assert_eq!(
            memory.store.touched(&newest).unwrap(),
            [renamed, Touched { path: "other".to_owned(), how: Touch::Added }]
        );
    }

    #[test]
    fn commits_after_the_graph_was_written_are_found_too() {
        let mut memory = Memory::project(&[("a", "1"), ("b", "1")]);
        memory.git(&["commit-graph", "write", "--reachable", "--changed-paths"]);
        memory.write("a", "2");
        memory.write("b", "2");
        assert_eq!(of(&memory, "a"), ["memory: seed a"; 2]);
    }

    #[test]
    fn what_is_not_asked_for_is_not_looked_for() {
        let mut memory = Memory::project(&[("a", "1"), ("a", "2"), ("a", "3")]);
        // Opened anew, since what was read once is remembered, and what is missing is made again.
        memory.store = memory.open_again();
        let first = memory.git(&["rev-parse", "HEAD~2"]).trim().to_owned();
        std::fs::remove_file(memory.place.repository.join(format!("objects/{}/{}", &first[..2], &first[2..]))).unwrap();
        let mut walk = memory.store.walk(&Filter::default()).unwrap();
        assert_eq!(walk.next().unwrap().unwrap().subject, "memory: seed a", "though the first one is gone");
        assert_eq!(walk.next().unwrap().unwrap().subject, "memory: seed a", "nor is what it changed");
        assert!(walk.next().unwrap().is_err());
        assert!(walk.next().is_none());
    }
}
