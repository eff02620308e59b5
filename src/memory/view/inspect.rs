//! The view looked at: edits taken in, everything else brought back to the newest commit.

use std::path::Path;

use anyhow::Result;
use anyhow::bail;

use crate::memory::change::Change;
use crate::memory::history::trailers;
use crate::memory::history::trailers::Author;
use crate::memory::history::trailers::Origin;
use crate::memory::notes::index::INDEX;
use crate::memory::notes::note::NOTES;
use crate::memory::repository;
use crate::memory::repository::contents;
use crate::memory::repository::contents::Entry;
use crate::memory::repository::snapshot::Snapshot;
use crate::memory::rules::guard::Policy;
use crate::memory::rules::path;
use crate::memory::seal::Depth;
use crate::memory::store::Store;
use crate::memory::view::View;
use crate::memory::view::adoption;
use crate::memory::view::adoption::Findings;
use crate::memory::view::compare;
use crate::memory::view::compare::Scope;
use crate::memory::view::torn;
use crate::memory::write;
use crate::memory::write::Committed;

impl Store {
    /// Compares the whole view with the newest commit: takes edits in, shows anew what lags or is missing, puts
    /// protected files back and keeps what was found there in `keep_in`. Also tells what writes found on their way
    /// since the last inspection.
    pub fn inspect(&mut self, origin: &Origin, keep_in: &Path) -> Result<Findings> {
        let _lock = self.lock()?;
        if !self.watches() {
            return Ok(Findings::default());
        }
        self.keep_seal(Depth::Everything)?;
        repository::sweep(&self.repository.objects())?;
        View::of(&self.place).prepare()?;
        self.settle(Scope::Everything, origin, keep_in)?;
        Ok(std::mem::take(&mut self.pending))
    }

    /// Takes in what a person changed at these paths, so that a write never covers it.
    pub(in crate::memory) fn take_in(&mut self, paths: &[&str], origin: &Origin) -> Result<()> {
        if paths.is_empty() {
            return Ok(());
        }
        // A kill between commit and view left files that lag: the whole view is brought up first.
        let up_to_date = self.last_shown() == self.known_head()?;
        // The index is written anew with each note: what a person put there is looked at first.
        let touches_notes = |path: &&str| path::is_at_or_below(NOTES, path) || path::is_at_or_below(path, NOTES);
        let follows = self.policy == Policy::Project && paths.iter().any(touches_notes);
        let with_index = [paths, if follows { &[INDEX] } else { &[][..] }].concat();
        let scope = if up_to_date { Scope::Paths(&with_index) } else { Scope::Everything };
        let keep_in = self.keep_in.clone();
        self.settle(scope, origin, &keep_in)
    }

    fn settle(&mut self, scope: Scope<'_>, origin: &Origin, keep_in: &Path) -> Result<()> {
        let mut findings = Findings::default();
        if !self.watches() {
            return Ok(());
        }
        for _ in 0..write::TRIES {
            // After a try in vain only what was moved aside has happened.
            findings.adopted.clear();
            findings.projected.clear();
            findings.refused.clear();
            if let Scope::Paths(paths) = scope {
                self.keep_seal(Depth::Paths(&[paths, &[INDEX]].concat()))?;
            }
            self.put_branch_back()?;
            let head = self.known_head()?;
            let snapshot = Snapshot::of(&self.repository, head.clone());
            let view = View::of(&self.place);
            let last = self.last_shown();
            let was_shown = |path: &str, found: &[u8]| self.was_shown(last.as_deref(), path, found);
            let mut differences = compare::compare(&view, &snapshot, &was_shown, scope)?;
            self.merge_overtaken(last.as_deref(), &snapshot, &mut differences)?;
            let todo =
                adoption::sort(differences, (&view, &snapshot), (self.policy, &self.screen), keep_in, &mut findings)?;
            let mut shown = head.clone();
            if !todo.adopt.is_empty() {
                let (subject, body) = adoption::message(&todo.adopt);
                let message = trailers::compose(&subject, &body, &origin.found(), None);
                let adopt = self.with_index(&snapshot, &todo.adopt)?;
                match self.commit(head.as_deref(), &adopt, Author::External, &message)? {
                    Committed::Done(commit) => {
                        shown = Some(commit);
                        show_index(&view, &adopt)?;
                    }
                    Committed::Unchanged => {}
                    Committed::Stale => continue,
                }
            }
            for path in &todo.hide {
                view.remove(path)?;
            }
            // What was taken in may have changed the index, which may have to be shown anew itself.
            let snapshot = Snapshot::of(&self.repository, shown.clone());
            for path in &todo.show {
                if let Some(bytes) = snapshot.read(path)? {
                    view.put(path, &bytes)?;
                }
            }
            // A view that was looked at in part is up to date only if it was before.
            if let Some(shown) = shown
                && last.as_ref() != Some(&shown)
            {
                self.remember_shown(&shown)?;
            }
            self.pending.extend(findings);
            return Ok(());
        }
        bail!("{}", write::busy())
    }

    /// Tells whether a commit since the one the view last showed had these bytes at this path, or had what they are left
    /// of by a power cut.
    pub(in crate::memory) fn was_shown(&self, since: Option<&str>, path: &str, found: &[u8]) -> Result<bool> {
        let (blob, mut other) = (repository::blob_id(found)?, None);
        let mut next = self.head()?;
        while let Some(id) = next {
            if let Some(Entry::File(shown)) = contents::entry(&self.repository, Some(&id), path)?
                && other.as_ref() != Some(&shown)
            {
                let whole = || repository::read(&self.repository, &shown);
                if shown == blob || torn::may_be(found) && whole().is_ok_and(|whole| torn::is_left_of(found, &whole)) {
                    return Ok(true);
                }
                other = Some(shown);
            }
            if since == Some(id.as_str()) {
                return Ok(false);
            }
            next = repository::commit(&self.repository, &id)?.parent;
        }
        // It stands no more below the newest commit where a purge has put another history in the place of its own.
        let Some(since) = since else { return Ok(false) };
        let is_there = self.repository.has(repository::oid(since)?)?;
        Ok(is_there && contents::entry(&self.repository, Some(since), path)? == Some(Entry::File(blob)))
    }
}

/// Shows the index that was made for what was taken in.
fn show_index(view: &View<'_>, adopted: &[Change]) -> Result<()> {
    let index = adopted.iter().find(|change| change.path == INDEX).and_then(|change| change.bytes.as_deref());
    index.map_or(Ok(()), |bytes| view.put(INDEX, bytes))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use crate::memory::fixture::Memory;

    /// Takes the view's record back to an earlier commit, as a kill between commit and view would leave it.
    fn forget_since(memory: &Memory, commit: &str) {
        memory.store.remember_shown(commit).unwrap();
    }

    #[test]
    fn an_untouched_view_has_no_findings() {
        let mut memory = Memory::project(&[("notes/a", "x"), ("features.json", "{}")]);
        assert!(memory.inspect().is_empty());
    }

    /// T15.
    #[test]
    fn edits_are_taken_in_as_one_commit_by_external() {
        let mut memory = Memory::project(&[("notes/a", "old")]);
        memory.edit("notes/a", "new");
        memory.edit("notes/deep/b", "added");

        let findings = memory.inspect();

        assert_eq!(findings.adopted, ["notes/a", "notes/deep/b"]);
        assert!(!findings.tampered());
        assert_eq!(memory.committed("notes/deep/b").as_deref(), Some("added"));
        let log = memory.git(&["log", "-1", "--format=%an|%s|%b"]);
        assert_eq!(log.trim_end(), "external|memory: adopt 2 files|- notes/a\n- notes/deep/b");
        assert!(memory.inspect().is_empty());
    }

    #[test]
    fn a_view_that_lags_is_no_edit() {
        let mut memory = Memory::project(&[]);
        let old = memory.write("notes/a", "old");
        memory.write("notes/a", "new");
        memory.edit("notes/a", "old");
        forget_since(&memory, &old);

        assert_eq!(memory.inspect().projected, ["notes/a"]);
        assert_eq!(memory.shown("notes/a").as_deref(), Some("new"));

        // The same bytes are an edit when the view had been brought up in between.
        memory.edit("notes/a", "old");
        assert_eq!(memory.inspect().adopted, ["notes/a"]);
    }

    #[test]
    fn a_view_that_lags_by_several_commits_is_no_edit_either() {
        let mut memory = Memory::project(&[]);
        let first = memory.write("notes/a", "1");
        memory.write("notes/a", "2");
        memory.write("notes/a", "3");
        memory.edit("notes/a", "2");
        forget_since(&memory, &first);
        assert_eq!(memory.inspect().projected, ["notes/a"]);
        assert_eq!(memory.committed("notes/a").as_deref(), Some("3"));
    }

    #[test]
    fn a_lost_record_turns_no_old_version_into_an_edit() {
        let mut memory = Memory::project(&[("notes/a", "old"), ("notes/gone", "x")]);
        memory.write("notes/a", "new");
        memory.run(&serde_json::json!({"command": "delete", "path": "/memories/notes/gone"}));
        memory.edit("notes/a", "old");
        memory.edit("notes/gone", "x");
        fs::remove_file(memory.place.state.join("view.json")).unwrap();

        let findings = memory.inspect();

        assert_eq!((findings.adopted, findings.projected), (vec![], vec!["notes/a".to_owned()]));
        assert_eq!(memory.shown("notes/gone"), None);
    }

    #[test]
    fn a_missing_or_emptied_view_is_shown_anew() {
        let mut memory = Memory::project(&[("notes/a", "x"), ("features.json", "{}")]);
        fs::remove_dir_all(memory.place.view.parent().unwrap()).unwrap();
        let findings = memory.inspect();
        assert_eq!(findings.projected, ["features.json", "notes/a"]);
        assert!(!findings.tampered());

        fs::remove_dir_all(&memory.place.view).unwrap();
        fs::create_dir(&memory.place.view).unwrap();
        assert_eq!(memory.inspect().projected.len(), 2);
        assert_eq!(memory.shown("notes/a").as_deref(), Some("x"));
    }

    #[test]
    fn a_deleted_or_emptied_file_is_put_back() {
        let mut memory = Memory::project(&[("notes/a", "x"), ("notes/b", "y")]);
        fs::remove_file(memory.at("notes/a")).unwrap();
        memory.edit("notes/b", "");
        assert_eq!(memory.inspect().projected, ["notes/a", "notes/b"]);
        assert_eq!(memory.shown("notes/a").as_deref(), Some("x"));
        assert_eq!(memory.shown("notes/b").as_deref(), Some("y"));
        assert_eq!(memory.subjects().len(), 2);
    }

    #[test]
    fn what_a_power_cut_tore_is_shown_anew_and_what_a_person_cut_is_taken_in() {
        let (old, new) = ("old words\n".repeat(1000), "new words\n".repeat(1000));
        let mut memory = Memory::project(&[]);
        let shown = memory.write("notes/a", &old);
        memory.write("notes/a", &new);
        for torn in [&new[..4096], &format!("{}{}", "\0".repeat(4096), &new[4096..]), &old[..8192]] {
            forget_since(&memory, &shown);
            memory.edit("notes/a", torn);
            assert_eq!(memory.inspect().projected, ["notes/a"]);
            assert_eq!(memory.shown("notes/a").as_deref(), Some(new.as_str()));
        }
        memory.edit("notes/a", &new[..5000]);
        assert_eq!(memory.inspect().adopted, ["notes/a"]);
    }

    #[test]
    fn protected_files_are_restored_and_the_found_bytes_kept() {
        let files = [("features.json", "true"), ("checks/a.sh", "exit 1"), ("spec.md", "spec"), ("init.md", "init")];
        let mut memory = Memory::project(&files);
        let mut free = Memory::free(&files);
        for (path, _) in files {
            memory.edit(path, "forged");
            free.edit(path, "forged");
        }
        memory.edit("checks/new.sh", "planted");

        let findings = memory.inspect();

        assert!(findings.tampered() && findings.adopted.is_empty());
        assert_eq!(findings.restored, ["checks/a.sh", "checks/new.sh", "features.json", "init.md", "spec.md"]);
        for (path, text) in files {
            assert_eq!(memory.shown(path).as_deref(), Some(text), "{path}");
        }
        assert_eq!(memory.shown("checks/new.sh"), None);
        assert_eq!(fs::read_to_string(memory.kept().join("features.json")).unwrap(), "forged");
        assert_eq!(fs::read_to_string(memory.kept().join("checks__new.sh")).unwrap(), "planted");
        assert_eq!(memory.subjects().len(), 4);

        let without_policy = free.inspect();
        assert_eq!((without_policy.adopted.len(), without_policy.tampered()), (4, false));
    }

    #[test]
    fn of_the_progress_log_only_a_pure_append_is_taken_in() {
        let mut memory = Memory::project(&[("progress.md", "one\n")]);
        memory.edit("progress.md", "one\ntwo\n");
        assert_eq!(memory.inspect().adopted, ["progress.md"]);

        memory.edit("progress.md", "all new\n");
        let findings = memory.inspect();
        assert_eq!(findings.restored, ["progress.md"]);
        assert_eq!(memory.shown("progress.md").as_deref(), Some("one\ntwo\n"));
        assert_eq!(fs::read_to_string(&findings.set_aside[0].1).unwrap(), "all new\n");
    }

    #[test]
    fn what_a_person_put_into_the_index_is_kept_when_the_next_note_makes_it_anew() {
        let mut memory = Memory::project(&[]);
        let note = |name: &str| {
            let text = format!("---\nname: {name}\ndescription: about {name}\ntype: project\n---\nx\n");
            serde_json::json!({"command": "create", "path": format!("/memories/notes/{name}.md"), "file_text": text})
        };
        assert!(!memory.run(&note("one")).is_error);
        let index = memory.shown("MEMORY.md").unwrap();
        memory.edit("MEMORY.md", &format!("{index}- a line of mine\n"));

        assert!(!memory.run(&note("two")).is_error);

        let kept = fs::read_to_string(memory.store.keep_in.join("MEMORY.md")).unwrap();
        assert!(kept.ends_with("- a line of mine\n"), "{kept}");
        let index = memory.shown("MEMORY.md").unwrap();
        assert!(index.contains("two.md") && !index.contains("of mine"), "{index}");
        assert_eq!(memory.inspect().restored, ["MEMORY.md"], "it is told of");
    }

    #[test]
    fn a_file_in_a_folders_place_deletes_nothing_that_lies_in_it() {
        for is_inspected in [false, true] {
            let mut memory = Memory::free(&[("notes/a", "x"), ("notes/deep/b", "y")]);
            fs::remove_dir_all(memory.at("notes")).unwrap();
            fs::write(memory.at("notes"), "in its place").unwrap();

            if is_inspected {
                memory.inspect();
            }
            let create = serde_json::json!({"command": "create", "path": "/memories/notes/c", "file_text": "z"});
            let answer = memory.run(&create);

            assert!(!answer.is_error, "{answer:?}");
            for (path, text) in [("notes/a", "x"), ("notes/deep/b", "y"), ("notes/c", "z")] {
                assert_eq!(memory.committed(path).as_deref(), Some(text), "{path}");
                assert_eq!(memory.shown(path).as_deref(), Some(text), "{path}");
            }
        }
    }

    /// T03.
    #[test]
    fn a_link_in_a_files_place_is_moved_away_and_never_followed() {
        let mut memory = Memory::project(&[("notes/a", "x"), ("checks/c", "c")]);
        let secret = memory.outside("secret");
        fs::write(&secret, "s").unwrap();
        fs::create_dir(memory.outside("folder")).unwrap();
        fs::remove_file(memory.at("notes/a")).unwrap();
        symlink(&secret, memory.at("notes/a")).unwrap();
        fs::remove_dir_all(memory.at("checks")).unwrap();
        symlink(memory.outside("folder"), memory.at("checks")).unwrap();

        let findings = memory.inspect();

        assert_eq!(findings.set_aside.len(), 2);
        assert_eq!(findings.restored, ["checks"]);
        assert_eq!(memory.shown("notes/a").as_deref(), Some("x"));
        assert_eq!(memory.shown("checks/c").as_deref(), Some("c"));
        assert!(!memory.at("notes/a").is_symlink() && !memory.at("checks").is_symlink());
        assert_eq!(fs::read_to_string(&secret).unwrap(), "s");
        assert_eq!(fs::read_dir(memory.outside("folder")).unwrap().count(), 0);
        let kept = fs::read_to_string(memory.kept().join("notes__a")).unwrap();
        assert_eq!(kept, format!("a link to {}\n", secret.display()));
    }

    #[test]
    fn a_folder_in_a_files_place_and_a_file_in_a_folders_place_are_kept() {
        let mut memory = Memory::project(&[("a", "x"), ("d/e", "y")]);
        fs::remove_file(memory.at("a")).unwrap();
        memory.edit("a/inner", "found");
        fs::create_dir(memory.at("a/empty")).unwrap();
        fs::remove_dir_all(memory.at("d")).unwrap();
        memory.edit("d", "also found");

        memory.inspect();

        assert_eq!(memory.shown("a").as_deref(), Some("x"));
        assert_eq!(memory.shown("d/e").as_deref(), Some("y"));
        assert_eq!(fs::read_to_string(memory.kept().join("a__inner")).unwrap(), "found");
        assert_eq!(fs::read_to_string(memory.kept().join("d")).unwrap(), "also found");
        assert!(memory.inspect().is_empty());
    }

    /// T05, and T08: links, other names of a file, files that git reads.
    #[test]
    fn what_cannot_be_taken_in_stays_and_is_told() {
        let mut memory = Memory::project(&[]);
        memory.edit("keep", "x");
        symlink("/etc", memory.at("link")).unwrap();
        memory.edit(".gitignore", "x");
        memory.edit("a\nb", "x");
        let secret = memory.outside("secret");
        fs::write(&secret, "s").unwrap();
        fs::hard_link(&secret, memory.at("hard")).unwrap();

        let findings = memory.inspect();

        assert_eq!(findings.adopted, ["keep"]);
        let refused: Vec<&str> = findings.refused.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(refused, [".gitignore", "a\nb", "hard", "link"]);
        assert!(memory.at("link").is_symlink());
    }

    #[test]
    fn two_found_files_of_one_name_are_both_kept() {
        let mut memory = Memory::project(&[("spec.md", "x")]);
        for text in ["first", "second"] {
            memory.edit("spec.md", text);
            memory.inspect();
        }
        assert_eq!(fs::read_to_string(memory.kept().join("spec.md")).unwrap(), "first");
        assert_eq!(fs::read_to_string(memory.kept().join("spec.md.2")).unwrap(), "second");
    }
}
