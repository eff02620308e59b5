//! Commits from the newest back, those of all branches that were merged, one at a time, so that what is shown first is found
//! first.

use std::cmp::Ordering;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::HashSet;
use std::rc::Rc;

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
use crate::memory::seal::shortcuts;
use crate::memory::store::Store;

/// The commits that fit, the newest first of all that may come next, as `git log` has them; each is looked for when it is
/// asked for.
pub struct Walk<'s> {
    repository: &'s Repository,
    filter: Filter,
    next: BinaryHeap<Next>,
    /// What was ever to come next: a commit may lead to several.
    seen: HashSet<At>,
    left: usize,
    /// Only where a path is looked for, which it makes quick.
    graph: Option<Graph>,
}

/// A commit, by its place in the graph where it has one.
#[derive(Clone, Copy, Eq, Hash, PartialEq)]
enum At {
    Place(usize),
    Id(Oid),
}

/// What the history is walked by.
struct Step {
    tree: Oid,
    seconds: i64,
    parents: Vec<At>,
}

/// A commit that is to be looked at.
struct Next {
    /// The newest is the greatest, and of two of one second the one that was found first.
    rank: (i64, Reverse<usize>),
    at: At,
    /// One that cannot be read is no error before it is its turn.
    step: Result<Step>,
    path: Option<Rc<Followed>>,
}

impl Ord for Next {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank.cmp(&other.rank)
    }
}

impl PartialOrd for Next {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Next {
    fn eq(&self, other: &Self) -> bool {
        self.rank == other.rank
    }
}

impl Eq for Next {}

impl Store {
    /// Walks over the commits that fit, newest first.
    pub fn walk(&self, filter: &Filter) -> Result<Walk<'_>> {
        let path = filter.path.as_ref().filter(|path| !path.is_root()).map(|path| Rc::new(Followed::new(path)));
        let is_sure = path.is_some() && shortcuts::are_ours(&self.place.repository, &self.place.state);
        let graph = is_sure.then(|| Graph::open(&self.repository.objects())).flatten();
        let head = self.head()?.map(|head| repository::oid(&head)).transpose()?;
        let mut walk = Walk {
            repository: &self.repository,
            filter: filter.clone(),
            next: BinaryHeap::new(),
            seen: HashSet::new(),
            left: filter.limit.unwrap_or(usize::MAX),
            graph,
        };
        if let Some(at) = head.map(|head| walk.at(head)) {
            let step = walk.step(at);
            walk.add(at, step, path, 0);
        }
        Ok(walk)
    }
}

impl Iterator for Walk<'_> {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.left > 0
            && let Some(next) = self.next.pop()
        {
            match self.look(next) {
                Ok(None) => {}
                Ok(Some(entry)) => {
                    self.left -= 1;
                    return Some(Ok(entry));
                }
                Err(error) => {
                    self.next.clear();
                    return Some(Err(error));
                }
            }
        }
        None
    }
}

/// Whether a commit changed what is looked for, and the commits to go on to, each with the name that the path has there.
struct Onward {
    changes: bool,
    to: Vec<(At, Result<Step>, Option<Rc<Followed>>)>,
}

impl Walk<'_> {
    /// Looks at one commit and goes on to those before; none when it does not fit.
    fn look(&mut self, Next { at, step, path, .. }: Next) -> Result<Option<Entry>> {
        let step = step?;
        let Onward { changes, to } = match path {
            Some(path) => self.onward_by(&path, at, &step)?,
            None => Onward { changes: true, to: step.parents.iter().map(|at| (*at, self.step(*at), None)).collect() },
        };
        let mut found = None;
        if changes {
            let commit = repository::commit(self.repository, &self.id(at)?.to_string())?;
            let message = trailers::parse(&commit.message);
            match self.filter.fits(&commit.author, &message.trailers) {
                Fit::Yes => found = Some(Entry::of(commit, message)),
                Fit::No => {}
                Fit::Older => return Ok(None),
            }
        }
        to.into_iter().for_each(|(at, read, path)| self.add(at, read, path, step.seconds));
        Ok(found)
    }

    fn add(&mut self, at: At, step: Result<Step>, path: Option<Rc<Followed>>, after: i64) {
        if self.seen.insert(at) {
            let seconds = step.as_ref().map_or(after, |step| step.seconds);
            self.next.push(Next { rank: (seconds, Reverse(self.seen.len())), at, step, path });
        }
    }

    /// Goes on as git does where a path is asked for: from a commit that has it as one before has it, only to that one; else
    /// the commit changed it. Unlike git, what is gone is looked for in all.
    fn onward_by(&self, path: &Rc<Followed>, at: At, step: &Step) -> Result<Onward> {
        let mut to = Vec::new();
        for (number, parent) in step.parents.iter().enumerate() {
            let before = self.step(*parent)?;
            let ruled_out = number == 0
                && match (at, &self.graph) {
                    (At::Place(place), Some(graph)) => !graph.may_change(place, &path.key),
                    _ => false,
                };
            if ruled_out || !path.differs(self.repository, Some(before.tree), step.tree)? {
                // Where a merge has nothing there, each of its branches may have had it once.
                if step.parents.len() > 1 && !path.differs(self.repository, None, step.tree)? {
                    let to = step.parents.iter().map(|at| (*at, self.step(*at), Some(path.clone())));
                    return Ok(Onward { changes: false, to: to.collect() });
                }
                return Ok(Onward { changes: false, to: vec![(*parent, Ok(before), Some(path.clone()))] });
            }
            to.push((*parent, before));
        }
        let follow = |(at, before): (At, Step)| {
            let older = path.before(self.repository, before.tree, step.tree)?.map(Rc::new);
            Ok((at, Ok(before), Some(older.unwrap_or_else(|| path.clone()))))
        };
        let changes = !to.is_empty() || path.differs(self.repository, None, step.tree)?;
        Ok(Onward { changes, to: to.into_iter().map(follow).collect::<Result<_>>()? })
    }

    /// Reads a commit's place in the history.
    fn step(&self, at: At) -> Result<Step> {
        if let (At::Place(place), Some(graph)) = (at, &self.graph)
            && let Some(known) = graph.known(place)
        {
            let parents = known.parents.into_iter().map(At::Place).collect();
            return Ok(Step { tree: known.tree, seconds: known.seconds, parents });
        }
        let repository::Step { tree, seconds, parents } = repository::step(self.repository, self.id(at)?)?;
        Ok(Step { tree, seconds, parents: parents.into_iter().map(|parent| self.at(parent)).collect() })
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

    /// Lets git list the commits, as if longhaul had it done.
    fn list(memory: &Memory) {
        memory.git(&["commit-graph", "write", "--reachable", "--changed-paths"]);
        shortcuts::note(&memory.place.repository, &memory.place.state).unwrap();
    }

    /// Asks for a path with git's file and without; both have to find the same.
    fn of_both(memory: &Memory, path: &str) -> Vec<String> {
        let file = memory.place.repository.join("objects/info/commit-graph");
        let plain = of(memory, path);
        list(memory);
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
        list(&memory);
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

    /// Lets a person work on a clone, on two branches, and push what was merged.
    fn merged() -> Memory {
        let mut memory = Memory::project(&[("w/a.md", "1"), ("w/b.md", "1")]);
        let clone = memory.outside("clone");
        let made =
            std::process::Command::new("git").args(["clone", "-q"]).arg(&memory.place.repository).arg(&clone).output();
        assert!(made.unwrap().status.success());
        let steps = "checkout -q -b side;put w/s.md s;commit side;mv w/s.md w/t.md;commit moved;checkout -q main;\
                     put w/m.md m;commit main;put w/a.md 2;commit edit;merge -q side;checkout -q -b other HEAD~1;\
                     put w/a.md 3;put w/o.md o;commit other;put w/b.md 2;commit unwanted;checkout -q main;\
                     merge -q -X ours other;put w/b.md 3;commit last;checkout -q -b three HEAD~2;put w/x.md x;\
                     commit x;checkout -q -b four HEAD~1;put w/y.md y;commit y;checkout -q main;merge -q three four;\
                     push -q origin main";
        for (number, step) in steps.split(';').enumerate() {
            let at = format!("{} +0000", 1_800_000_100 + number);
            let words: Vec<&str> = step.split_whitespace().collect();
            let mut git = std::process::Command::new("git");
            git.current_dir(&clone).envs([("GIT_AUTHOR_DATE", &at), ("GIT_COMMITTER_DATE", &at)]);
            git.envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_MERGE_AUTOEDIT", "no")]);
            git.args(["-c", "user.name=p", "-c", "user.email=p@x"]);
            match words.as_slice() {
                ["put", path, text] => {
                    std::fs::write(clone.join(path), text).unwrap();
                    git.args(["add", "."]);
                }
                ["commit", subject] => drop(git.args(["commit", "-q", "-m", subject])),
                ["merge", rest @ ..] => drop(git.args(["merge", "--no-ff", "--no-edit"]).args(rest)),
                words => drop(git.args(words)),
            }
            let done = git.output().unwrap();
            assert!(done.status.success(), "{step}: {}", String::from_utf8_lossy(&done.stderr));
        }
        memory.store.take_in_branch(&|_| {}).unwrap();
        memory.write("w/b.md", "4");
        memory
    }

    fn ids(memory: &Memory, filter: &Filter) -> Vec<String> {
        memory.store.walk(filter).unwrap().map(|entry| entry.unwrap().id).collect()
    }

    /// Compares with `git log`; in the order of git too.
    fn as_git(memory: &Memory, path: Option<&str>, limit: Option<usize>) {
        let wanted = path.map(|path| MemoryPath::relative(path).unwrap());
        let found = ids(memory, &Filter { path: wanted, limit, ..Filter::default() });
        let limit = limit.map(|limit| format!("-{limit}"));
        let args = ["log", "--format=%H", "main"].into_iter().chain(limit.as_deref());
        let told = memory.git(&args.chain(["--"]).chain(path).collect::<Vec<_>>());
        assert_eq!(found, told.lines().collect::<Vec<_>>(), "{path:?}");
    }

    #[test]
    fn what_a_person_merged_is_part_of_the_history_as_in_git() {
        let memory = merged();
        for with_graph in [false, true] {
            if with_graph {
                list(&memory);
            }
            for limit in [None, Some(1), Some(5)] {
                as_git(&memory, None, limit);
            }
            for path in ["w", "w/a.md", "w/b.md", "w/m.md", "w/o.md", "w/x.md", "w/y.md", "never"] {
                as_git(&memory, Some(path), None);
                as_git(&memory, Some(path), Some(2));
            }
            assert_eq!(of(&memory, "w/t.md"), ["moved", "side"], "by its older name too");
            assert_eq!(of(&memory, "w/s.md"), ["moved", "side"], "though it is gone since");
        }
        let first = memory.git(&["rev-list", "--count", "--first-parent", "main"]);
        assert_ne!(first, memory.git(&["rev-list", "--count", "main"]), "its twin: first parents alone are fewer");
    }
}
