//! Every change of the memory: under the write lock, one commit, durable before the view follows and the call is answered.

use std::thread;
use std::time::Duration;

use anyhow::Result;
use anyhow::bail;
use serde_json::Value;

use crate::memory::change::Change;
use crate::memory::command::Command;
use crate::memory::guard;
use crate::memory::guard::Policy;
use crate::memory::index;
use crate::memory::lock::WriteLock;
use crate::memory::path;
use crate::memory::path::MemoryPath;
use crate::memory::plan;
use crate::memory::plan::Outcome;
use crate::memory::projection;
use crate::memory::repository;
use crate::memory::repository::Moved;
use crate::memory::repository::Signed;
use crate::memory::snapshot::Snapshot;
use crate::memory::store::Store;
use crate::memory::trailers;
use crate::memory::trailers::Author;
use crate::memory::trailers::Origin;
use crate::memory::view::View;
use crate::message::ToolResult;

/// How often a write starts over when something without the lock moves the branch.
pub(super) const TRIES: usize = 20;
/// How long a lock file of git's may be in the way. Whoever holds the write lock may then remove it: only a killed
/// process leaves one for so long.
const GIT_LOCK: Duration = Duration::from_millis(500);

/// What became of a commit.
pub(super) enum Committed {
    Done(String),
    /// There was nothing to change.
    Unchanged,
    /// The branch moved in between.
    Stale,
}

impl Store {
    /// Runs a call of the memory tool. What is wrong with the call is a result; an error is for the session.
    pub fn run(&mut self, input: &Value, origin: &Origin) -> Result<ToolResult> {
        let command = match Command::parse(input) {
            Ok(command) => command,
            Err(text) => return Ok(ToolResult::error(text)),
        };
        // Before anything else is said about the command: a hint at how to word it better would invite another try.
        if let Some(text) = guard::forbidden(self.policy, origin.author, &command.writes()) {
            return Ok(ToolResult::error(text));
        }
        let _lock = match command.writes().is_empty() {
            true => None,
            false => Some(self.lock()?),
        };
        for _ in 0..TRIES {
            self.take_in(&command.writes(), origin)?;
            let head = self.head()?;
            let snapshot = Snapshot::of(&self.repository, head.clone());
            let plan = match plan::plan(&snapshot, &command, self.caps.view_chars)? {
                Outcome::Answer(answer) => {
                    self.note_use(origin, &command);
                    return Ok(answer);
                }
                Outcome::Write(plan) => plan,
            };
            let changes = (plan.changes.as_slice(), plan.kind);
            if let Some(text) = guard::refusal(self.policy, &self.caps, origin.author, changes, &snapshot)? {
                return Ok(ToolResult::error(text));
            }
            if let Some(text) = self.obstacle(&plan.changes, &snapshot)? {
                return Ok(ToolResult::error(text));
            }
            let message = trailers::compose(&plan.subject, "", origin, Some(input));
            let changes = self.with_index(&snapshot, &plan.changes)?;
            match self.commit(head.as_deref(), &changes, origin.author, &message)? {
                Committed::Done(commit) => self.show_changes(&changes, &commit),
                Committed::Unchanged => {}
                Committed::Stale => continue,
            }
            self.note_use(origin, &command);
            return Ok(ToolResult::text(plan.answer));
        }
        bail!("{}", busy())
    }

    /// Writes files as one commit and returns its id; longhaul's own way, which no rule about who may write what binds.
    /// Without a difference nothing is committed and the newest commit is returned.
    pub fn write(&mut self, subject: &str, changes: &[Change], origin: &Origin) -> Result<String> {
        self.write_told(subject, "", changes, origin)
    }

    /// Writes files as [`Store::write`] does, with a text that says more than the subject.
    pub fn write_told(&mut self, subject: &str, body: &str, changes: &[Change], origin: &Origin) -> Result<String> {
        for Change { path, .. } in changes {
            let checked = MemoryPath::relative(path)?;
            if checked.is_root() || checked.as_str() != path {
                bail!("`{path}` is no path of a memory file; write it like `notes/db.md`");
            }
        }
        let _lock = self.lock()?;
        let paths: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
        let message = trailers::compose(subject, body, origin, None);
        for _ in 0..TRIES {
            self.take_in(&paths, origin)?;
            let head = self.head()?;
            let changes = self.with_index(&Snapshot::of(&self.repository, head.clone()), changes)?;
            match self.commit(head.as_deref(), &changes, origin.author, &message)? {
                Committed::Done(commit) => {
                    self.show_changes(&changes, &commit);
                    return Ok(commit);
                }
                Committed::Unchanged => {
                    return head.ok_or_else(|| anyhow::anyhow!("nothing to write to an empty memory: `{subject}`"));
                }
                Committed::Stale => {}
            }
        }
        bail!("{}", busy())
    }

    pub(super) fn lock(&self) -> Result<WriteLock> {
        WriteLock::take(&self.place.state, &self.notice)
    }

    /// Remembers which notes a call of the agent read or wrote. That it could not be written down is told, and no more: the
    /// call itself is answered.
    fn note_use(&self, origin: &Origin, command: &Command) {
        if self.policy == Policy::Free || origin.author != Author::Agent {
            return;
        }
        let notes = command.names().into_iter().filter(|path| index::is_note(path));
        if let Err(error) = self.mark_used(notes) {
            (self.notice)(&format!("it is not kept which notes are used: {error:#}"));
        }
    }

    /// Adds the change of the index that belongs to changes of notes.
    pub(super) fn with_index(&self, snapshot: &Snapshot<'_>, changes: &[Change]) -> Result<Vec<Change>> {
        match self.policy {
            Policy::Free => Ok(changes.to_vec()),
            Policy::Project => index::follow(snapshot, changes, self.clock.today()),
        }
    }

    /// Says what lies, not taken in, where a new file is to be shown.
    fn obstacle(&self, changes: &[Change], snapshot: &Snapshot<'_>) -> Result<Option<String>> {
        for Change { path, bytes } in changes {
            if bytes.is_none() || snapshot.entry(path)?.is_some() {
                continue;
            }
            if let Some(found) = View::of(&self.place).scan(path)?.into_keys().next() {
                return Ok(Some(format!(
                    "Error: in the memory folder something that memory cannot hold, such as a link, lies at {}. \
                     Instead: use another name",
                    path::shown(&found)
                )));
            }
        }
        Ok(None)
    }

    pub(super) fn commit(
        &self,
        parent: Option<&str>,
        changes: &[Change],
        author: Author,
        message: &str,
    ) -> Result<Committed> {
        let changes: Vec<_> = changes.iter().map(|change| (change.path.as_str(), change.bytes.as_deref())).collect();
        let signed = Signed {
            author: author.name(),
            committer: Author::Longhaul.name(),
            seconds: self.clock.now().as_second(),
            message,
        };
        let Some(commit) = repository::write_commit(&self.repository, parent, &changes, &signed)? else {
            return Ok(Committed::Unchanged);
        };
        let subject = message.lines().next().unwrap_or_default();
        let mut waited = Duration::ZERO;
        loop {
            match repository::move_branch(&self.repository, &commit, parent, subject)? {
                Moved::Yes => {
                    self.watch.follow(&commit);
                    return Ok(Committed::Done(commit));
                }
                Moved::Stale => return Ok(Committed::Stale),
                Moved::Locked if waited < GIT_LOCK => {
                    let pause = Duration::from_millis(10);
                    thread::sleep(pause);
                    waited += pause;
                }
                Moved::Locked => {
                    if !repository::remove_locks(&self.repository)? {
                        bail!("the memory's branch is locked, and no lock file is there to remove");
                    }
                    waited = Duration::ZERO;
                }
            }
        }
    }

    /// Brings the view up to a commit that changed these files. The commit is durable already, so a view that cannot
    /// follow now is told and catches up later.
    fn show_changes(&self, changes: &[Change], commit: &str) {
        let view = View::of(&self.place);
        let show = || {
            // Removals first: a new file may need the place of an old folder.
            for change in changes.iter().filter(|change| change.bytes.is_none()) {
                view.remove(&change.path)?;
            }
            for Change { path, bytes } in changes {
                if let Some(bytes) = bytes {
                    view.put(path, bytes)?;
                }
            }
            projection::remember(&self.place.state, &self.place.view, commit)
        };
        if let Err(error) = show() {
            (self.notice)(&format!("memory is written, but its view lags: {error:#}"));
        }
    }
}

pub(super) fn busy() -> String {
    format!("something else keeps moving the memory's branch `main`: gave up after {TRIES} tries")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;
    use std::process;
    use std::sync::Arc;
    use std::sync::Mutex;

    use serde_json::json;

    use super::*;
    use crate::memory::ToolUse;
    use crate::memory::fixture;
    use crate::memory::fixture::Memory;

    fn in_session() -> Origin {
        Origin {
            author: Author::Agent,
            session: Some(7),
            feature: Some("login".to_owned()),
            also: Vec::new(),
            tool_use: Some(ToolUse { id: "toolu_01".to_owned(), turn: 12 }),
            project_commit: Some("c0ffee".to_owned()),
        }
    }

    #[test]
    fn the_first_write_into_an_empty_store_is_committed() {
        let mut memory = Memory::project(&[]);
        assert_eq!(memory.store.head().unwrap(), None);

        let answer = memory.create("docs/db.md", "postgres\n");

        assert_eq!(answer, ToolResult::text("File created successfully at: /memories/docs/db.md"));
        assert_eq!(memory.git(&["show", "main:docs/db.md"]), "postgres\n");
        assert_eq!(memory.shown("docs/db.md").as_deref(), Some("postgres\n"));
        assert_eq!(memory.subjects(), ["memory: create docs/db.md"]);
    }

    #[test]
    fn plain_git_reads_the_history_as_a_story() {
        let mut memory = Memory::project(&[("features.json", "{}")]);
        for input in [
            json!({"command": "create", "path": "/memories/docs/db.md", "file_text": "a\n"}),
            json!({"command": "str_replace", "path": "/memories/docs/db.md", "old_str": "a", "new_str": "b"}),
            json!({"command": "insert", "path": "/memories/docs/db.md", "insert_line": 1, "insert_text": "c"}),
            json!({"command": "rename", "old_path": "/memories/docs", "new_path": "/memories/old"}),
            json!({"command": "delete", "path": "/memories/old"}),
        ] {
            assert!(!memory.store.run(&input, &in_session()).unwrap().is_error, "{input}");
        }

        assert_eq!(
            memory.git(&["log", "--format=%an %cn: %s"]),
            "agent longhaul: memory: delete old\n\
             agent longhaul: memory: rename docs to old\n\
             agent longhaul: memory: insert into docs/db.md\n\
             agent longhaul: memory: edit docs/db.md\n\
             agent longhaul: memory: create docs/db.md\n\
             longhaul longhaul: memory: seed features.json\n"
        );
        let trailers = memory.git(&["log", "-1", "--format=%(trailers:only,unfold)"]);
        let digest = trailers::input_digest(&json!({"command": "delete", "path": "/memories/old"}));
        assert_eq!(
            trailers.trim_end(),
            format!("Session: 7\nFeature: login\nTool-Use: toolu_01 turn 12 {digest}\nProject-Commit: c0ffee")
        );
        assert_eq!(memory.git(&["fsck", "--strict"]), "");
        assert_eq!(memory.git(&["log", "-1", "--format=%at"]), "1800000000\n");
    }

    #[test]
    fn a_write_that_changes_nothing_makes_no_commit() {
        let mut memory = Memory::project(&[("docs/a", "x")]);
        let head = memory.store.head().unwrap();
        let same = json!({"command": "str_replace", "path": "/memories/docs/a", "old_str": "x", "new_str": "x"});
        assert!(!memory.run(&same).is_error);
        assert_eq!(Some(memory.write("docs/a", "x")), head);
        assert_eq!(memory.store.head().unwrap(), head);
    }

    #[test]
    fn a_persons_edit_is_taken_in_before_the_agent_writes_over_it() {
        let mut memory = Memory::project(&[("docs/a", "one\n")]);
        memory.edit("docs/a", "one\nby hand\n");

        let input = json!({"command": "insert", "path": "/memories/docs/a", "insert_line": 2, "insert_text": "two"});
        assert!(!memory.run(&input).is_error);

        assert_eq!(memory.committed("docs/a").as_deref(), Some("one\nby hand\ntwo\n"));
        assert_eq!(memory.subjects()[..2], ["memory: insert into docs/a", "memory: adopt docs/a"]);
        assert_eq!(memory.git(&["log", "-1", "--skip=1", "--format=%an"]), "external\n");
        assert_eq!(memory.inspect().adopted, ["docs/a"]);
    }

    #[test]
    fn longhauls_own_write_keeps_what_was_put_in_the_files_place() {
        let mut memory = Memory::project(&[("features.json", "true state")]);
        memory.edit("features.json", "forged");
        memory.write("features.json", "next state");

        assert_eq!(memory.shown("features.json").as_deref(), Some("next state"));
        let findings = memory.inspect();
        assert!(findings.tampered());
        assert_eq!(fs::read_to_string(&findings.set_aside[0].1).unwrap(), "forged");
    }

    #[test]
    fn only_clean_paths_are_written() {
        let mut memory = Memory::project(&[]);
        for path in ["", "/", "a/", "a//b", "./a", "../a", ".git/config", "a/.git"] {
            let written = memory.store.write("x", &[Change::put(path, "x")], &Origin::of(Author::Longhaul));
            assert!(written.is_err(), "{path:?}");
        }
    }

    #[test]
    fn what_a_killed_process_leaves_does_not_block_and_is_swept_up() {
        let mut memory = Memory::project(&[("a", "x")]);
        let lock = memory.place.repository.join("refs/heads/main.lock");
        fs::write(&lock, "").unwrap();
        let half = memory.place.repository.join("objects/tmp_object_git2_0123");
        fs::write(&half, "half").unwrap();
        memory.write("a", "y");
        memory.inspect();
        assert_eq!(memory.committed("a").as_deref(), Some("y"));
        assert!(!lock.exists() && !half.exists());
    }

    #[test]
    fn writers_at_the_same_time_lose_nothing() {
        let memory = Memory::free(&[]);
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let mut store = memory.open_again();
                scope.spawn(move || {
                    for number in 0..10 {
                        let path = format!("/memories/{writer}/{number}");
                        let input = json!({"command": "create", "path": path, "file_text": "x"});
                        assert!(!store.run(&input, &Origin::of(Author::Agent)).unwrap().is_error);
                    }
                });
            }
        });
        assert_eq!(memory.subjects().len(), 40);
        assert_eq!(memory.store.list().unwrap().len(), 40);
        assert_eq!(memory.git(&["fsck", "--strict"]), "");
    }

    #[test]
    fn who_writes_without_the_lock_loses_nothing_either() {
        let mut memory = Memory::free(&[("start", "x")]);
        let other = repository::open(&memory.place.repository).unwrap();
        let foreign = move || {
            for number in 0..20 {
                let path = format!("foreign/{number}");
                let signed = Signed { author: "f", committer: "f", seconds: 0, message: "foreign" };
                loop {
                    let head = repository::head(&other).unwrap();
                    let changes = [(path.as_str(), Some(&b"x"[..]))];
                    let commit = repository::write_commit(&other, head.as_deref(), &changes, &signed).unwrap().unwrap();
                    if repository::move_branch(&other, &commit, head.as_deref(), "f").unwrap() == Moved::Yes {
                        break;
                    }
                }
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(foreign);
            for number in 0..20 {
                memory.write(&format!("ours/{number}"), "x");
            }
        });
        assert_eq!(memory.store.list().unwrap().len(), 41);
        assert_eq!(memory.subjects().len(), 41);
    }

    #[test]
    fn a_view_that_cannot_follow_is_told_and_catches_up() {
        let mut memory = Memory::project(&[("a", "x")]);
        let told = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&told);
        memory.store.on_notice(move |text| heard.lock().unwrap().push(text.to_owned()));
        // A state folder without its record stands for a disk that refuses: the name is taken by a folder.
        let record = memory.place.state.join("view.json");
        fs::remove_file(&record).unwrap();
        fs::create_dir(&record).unwrap();
        memory.store.show_changes(&[Change::put("a", "y")], &"0".repeat(40));
        assert!(told.lock().unwrap()[0].contains("its view lags"), "{told:?}");

        fs::remove_dir(&record).unwrap();
        memory.edit("a", "x");
        assert!(memory.inspect().is_empty());
    }

    /// Runs this test again in a process of its own, with a home whose git settings would change everything.
    #[test]
    fn the_users_git_settings_do_nothing() {
        const CHILD: &str = "LONGHAUL_TEST_MEMORY_OF_CHILD";
        if let Some(folder) = std::env::var_os(CHILD) {
            let mut store = Store::open_or_create_free(Path::new(&folder), fixture::clock()).unwrap();
            let input = json!({"command": "create", "path": "/memories/a.txt", "file_text": "a\r\nb\n"});
            assert!(!store.run(&input, &Origin::of(Author::Agent)).unwrap().is_error);
            return;
        }
        let signing = "[user]\nname = Somebody\nemail = some@body\nsigningkey = K\n[commit]\ngpgsign = true\n\
                       [gpg]\nprogram = SIGN\n[core]\nautocrlf = true\nlogAllRefUpdates = always\nhooksPath = HOOKS\n[init]\ntemplateDir = HOOKS\n";
        for settings in [signing, "[init]\ndefaultBranch = trunk\n[core]\nbare = false\nrepositoryformatversion = 9\n"]
        {
            let home = tempfile::tempdir().unwrap();
            let marker = home.path().join("was-run");
            let program = home.path().join("hooks/program");
            fs::create_dir_all(home.path().join("hooks/hooks")).unwrap();
            fs::write(&program, format!("#!/bin/sh\ntouch {}\nexit 1\n", marker.display())).unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
            for hook in ["pre-commit", "post-commit", "reference-transaction"] {
                fs::copy(&program, home.path().join("hooks/hooks").join(hook)).unwrap();
                fs::copy(&program, home.path().join("hooks").join(hook)).unwrap();
            }
            let settings = settings
                .replace("SIGN", program.to_str().unwrap())
                .replace("HOOKS", home.path().join("hooks").to_str().unwrap());
            let config = home.path().join(".gitconfig");
            fs::write(&config, &settings).unwrap();

            let child = process::Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "memory::write::tests::the_users_git_settings_do_nothing"])
                .env_clear()
                .env("HOME", home.path())
                .env(CHILD, home.path().join("store"))
                .output()
                .unwrap();

            assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
            let repository = home.path().join("store/memory.git");
            let commit = fixture::git(&repository, &["cat-file", "commit", "main"]);
            assert!(commit.contains("author agent <agent@longhaul.invalid> 1800000000 +0000\n"), "{commit}");
            assert!(commit.contains("committer longhaul <longhaul@longhaul.invalid> 1800000000 +0000\n"), "{commit}");
            assert!(!commit.contains("gpgsig"), "{commit}");
            assert_eq!(fixture::git(&repository, &["show", "main:a.txt"]), "a\r\nb\n");
            assert!(!marker.exists() && !repository.join("hooks").exists() && !repository.join("logs").exists());
            assert_eq!(fs::read_to_string(&config).unwrap(), settings);
            assert!(!fs::read_to_string(repository.join("config")).unwrap().contains("user"));
        }
    }
}
