//! Edits in a view that was behind: since it was last shown, another view or process wrote the same file.

use std::collections::BTreeMap;

use anyhow::Context;
use anyhow::Result;
use git2::MergeFileInput;

use crate::memory::repository;
use crate::memory::repository::contents;
use crate::memory::repository::snapshot::Snapshot;
use crate::memory::rules::guard;
use crate::memory::store::Store;
use crate::memory::view::compare::Difference;

impl Store {
    /// Puts edits together with what was written since the commit that the view showed. Where both changed the same lines
    /// neither is given up: the newer state stays, and the edit becomes one that is kept beside it.
    pub(super) fn merge_overtaken(
        &self,
        shown: Option<&str>,
        newest: &Snapshot<'_>,
        differences: &mut BTreeMap<String, Difference>,
    ) -> Result<()> {
        let Some(shown) = shown.filter(|shown| self.known_head().is_ok_and(|head| head.as_deref() != Some(shown)))
        else {
            return Ok(());
        };
        let base = Snapshot::of(&self.repository, Some(shown.to_owned()));
        for (path, difference) in differences.iter_mut() {
            let Difference::Edited(found) = difference else { continue };
            // What one cannot read any more, such as a state before a purge, is nothing to build on.
            let Ok(before) = base.entry(path) else { continue };
            if guard::is_guarded(self.policy, path) || before == newest.entry(path)? {
                continue;
            }
            let [old, new] = [&base, newest].map(|snapshot| snapshot.read(path));
            let (old, new) = (old?.unwrap_or_default(), new?.unwrap_or_default());
            *difference = match merge(&old, &new, found)? {
                Some(merged) if merged == new => Difference::Lags,
                Some(merged) => Difference::Merged(merged),
                None => Difference::Overtaken(format!(
                    "the memory has a newer state of it, commit {}, and both changed the same lines",
                    self.last_change(path)?
                )),
            };
        }
        Ok(())
    }

    /// Returns the beginning of the id of the newest commit that changed a path.
    fn last_change(&self, path: &str) -> Result<String> {
        let entry = |id: Option<&str>| contents::entry(&self.repository, id, path);
        let mut at = self.head()?.context("the memory has no commit")?;
        let newest = entry(Some(&at))?;
        while let Some(parent) = repository::commit(&self.repository, &at)?.parent {
            if entry(Some(&parent))? != newest {
                break;
            }
            at = parent;
        }
        Ok(at[..7].to_owned())
    }
}

/// Merges two texts that were made of an older one, line by line; none where both changed the same lines, or one is no text.
fn merge(old: &[u8], new: &[u8], found: &[u8]) -> Result<Option<Vec<u8>>> {
    if [old, new, found].iter().any(|bytes| bytes.contains(&0)) {
        return Ok(None);
    }
    let [mut before, mut ours, mut theirs] = [MergeFileInput::new(), MergeFileInput::new(), MergeFileInput::new()];
    let merged = git2::merge_file(before.content(old), ours.content(new), theirs.content(found), None);
    let merged = merged.context("could not put an edit together with the newest state")?;
    Ok(merged.is_automergeable().then(|| merged.content().to_vec()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;
    use crate::memory::Place;
    use crate::memory::fixture;
    use crate::memory::fixture::Memory;
    use crate::memory::history::trailers::Author;
    use crate::memory::history::trailers::Origin;
    use crate::memory::rules::caps::Caps;
    use crate::memory::rules::guard::Policy;
    use crate::memory::view::adoption::Findings;

    const OLD: &str = "one\ntwo\nthree\nfour\nfive\n";

    /// A memory with a second view, which shows what the first one was made with.
    struct Two {
        memory: Memory,
        other: Store,
    }

    impl Two {
        fn with(path: &str) -> Self {
            let memory = Memory::project(&[(path, OLD)]);
            let root = memory.outside("other");
            fs::create_dir(&root).unwrap();
            let view = root.join(".longhaul/memory");
            let place = Place { view, trusted: root, ..memory.place.clone() };
            let other = Store::open(&place, Policy::Project, Caps::default(), fixture::clock()).unwrap();
            let mut two = Self { memory, other };
            two.look();
            two
        }

        fn at(&self, path: &str) -> PathBuf {
            self.other.place.view.join(path)
        }

        fn look(&mut self) -> Findings {
            self.other.inspect(&Origin::of(Author::External), &self.memory.kept()).unwrap()
        }
    }

    #[test]
    fn an_edit_of_other_lines_is_put_together_with_what_is_newer() {
        let mut two = Two::with("docs/a.md");
        two.memory.write("docs/a.md", &OLD.replace("one", "ONE, by the agent"));
        fs::write(two.at("docs/a.md"), OLD.replace("five", "five, by a person")).unwrap();

        let found = two.look();

        assert_eq!((found.adopted, found.refused), (vec!["docs/a.md".to_owned()], vec![]));
        let both = "ONE, by the agent\ntwo\nthree\nfour\nfive, by a person\n";
        assert_eq!(two.memory.committed("docs/a.md").as_deref(), Some(both));
        assert_eq!(fs::read_to_string(two.at("docs/a.md")).unwrap(), both, "the view shows it too");
        assert!(two.look().is_empty());
    }

    #[test]
    fn of_two_changes_of_the_same_line_the_newer_stays_and_the_other_is_kept_and_told() {
        let mut two = Two::with("docs/a.md");
        let newer = two.memory.write("docs/a.md", &OLD.replace("one", "ONE, by the agent"));
        two.memory.write("docs/b.md", "another file");
        fs::write(two.at("docs/a.md"), OLD.replace("one", "one, by a person")).unwrap();

        let found = two.look();

        assert_eq!(found.adopted, Vec::<String>::new());
        let why =
            format!("the memory has a newer state of it, commit {}, and both changed the same lines", &newer[..7]);
        assert_eq!(found.refused, [("docs/a.md".to_owned(), why)]);
        let kept = fs::read_to_string(&found.set_aside[0].1).unwrap();
        assert!(kept.starts_with("one, by a person\n"), "{kept}");
        assert_eq!(two.memory.committed("docs/a.md"), Some(OLD.replace("one", "ONE, by the agent")));
        assert_eq!(fs::read_to_string(two.at("docs/a.md")).unwrap(), OLD.replace("one", "ONE, by the agent"));
        assert!(two.look().is_empty());
    }

    #[test]
    fn an_edit_of_what_nobody_else_changed_is_taken_in_as_it_is() {
        let mut two = Two::with("docs/a.md");
        two.memory.write("docs/b.md", "another file");
        fs::write(two.at("docs/a.md"), "all is new\n").unwrap();
        assert_eq!(two.look().adopted, ["docs/a.md"]);
        assert_eq!(two.memory.committed("docs/a.md").as_deref(), Some("all is new\n"), "its twin");
    }

    #[test]
    fn the_same_edit_on_both_sides_is_none_any_more() {
        let mut two = Two::with("docs/a.md");
        two.memory.write("docs/a.md", &OLD.replace("one", "1").replace("five", "5"));
        fs::write(two.at("docs/a.md"), OLD.replace("one", "1")).unwrap();
        let found = two.look();
        assert_eq!((found.projected, found.adopted.len()), (vec!["docs/a.md".to_owned()], 0));
        assert_eq!(fs::read_to_string(two.at("docs/a.md")).unwrap(), OLD.replace("one", "1").replace("five", "5"));
    }

    #[test]
    fn what_is_no_text_is_never_put_together() {
        let _open = Memory::free(&[]);
        assert_eq!(merge(b"a\nb\nc\nd\n", b"A\nb\nc\nd\n", b"a\nb\nc\n\0D\n").unwrap(), None);
        assert!(merge(b"a\nb\nc\nd\n", b"A\nb\nc\nd\n", b"a\nb\nc\nD\n").unwrap().is_some(), "its twin");
    }
}
