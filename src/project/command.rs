//! Runs the `git` program in the user's repository.

use super::Project;
use super::committed;
use super::misplaced::require_shallow_list;
use super::no_git_folder;
use crate::failure::Failure;
use crate::failure::Kind;
use crate::process;
use crate::process::Errors;
use crate::process::Exit;
use crate::process::Interrupt;
use crate::process::Leftovers;
use crate::sandbox;
use anyhow::Result;
use anyhow::bail;
use std::path::Path;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;
use std::time::Instant;

/// Longest time one `git` command may take; large trees on slow disks need minutes.
pub(super) const LIMIT: Duration = Duration::from_secs(600);
/// How long another git may keep a lock that ours needs, and how long is waited between two tries.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(50);
/// Most bytes of a listing that are read; a longer one is an error, never cut in silence.
const LISTING: usize = 256 << 20;

const NO_END: &str = "`git status` there shows whether it ends: a filter that git runs may not, \
    `git config --get-regexp '^filter\\.'` lists them";

/// Lines of what git says of a failure that are told.
const SAID: usize = 10;

/// What is said of a file that carries a mark against changes.
const FIXED: &str = "Operation not permitted";

/// What git says where the machine is at fault, or another git, and not what it was asked to do.
const OF_THE_MACHINE: [&str; 10] = [
    "No space left",
    "Disk quota exceeded",
    "Read-only file system",
    "Input/output error",
    "Too many open files",
    "Cannot allocate memory",
    "out of memory",
    "insufficient permission",
    FIXED,
    ".lock'",
];

/// What git says of a filter that is a process of its own and went away.
const OF_PROCESSES: [&str; 3] =
    ["the remote end hung up unexpectedly", "initialization for subprocess '", "external filter '"];

/// A working tree other than the project's, with its index.
#[derive(Clone, Debug)]
pub struct Elsewhere {
    pub folder: PathBuf,
    pub index: PathBuf,
}

/// Quotes a path for a list that colons part.
fn quoted(path: &str) -> String {
    format!("\"{}\"", path.replace('\\', "\\\\").replace('"', "\\\""))
}

impl Project {
    /// Runs `git` with hooks, monitors, signing and prompts off, and returns what it printed.
    pub(super) fn git(&self, args: &[&str], stdin: Option<Vec<u8>>) -> Result<Vec<u8>> {
        self.finish(args, &self.command(args, stdin))
    }

    /// Runs a `git` that only reads, and does something else meanwhile. One that is held ends all others when it has ended,
    /// and so comes first.
    pub(super) fn git_beside<T>(&self, args: &[&str], meanwhile: impl FnOnce() -> T) -> (Result<Vec<u8>>, T) {
        if self.held.is_some() {
            return (self.git(args, None), meanwhile());
        }
        if let Err(refused) = self.require_own() {
            return (Err(refused), meanwhile());
        }
        let command = self.command(args, None);
        thread::scope(|scope| {
            let git = scope.spawn(|| run_past_others(|| run_free(&command)));
            let done = meanwhile();
            let finished = git.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            (self.judge(args, finished), done)
        })
    }

    /// Runs `git` with an index other than the user's.
    pub(super) fn git_with(&self, index: &Path, args: &[&str], stdin: Option<Vec<u8>>) -> Result<Vec<u8>> {
        let mut command = self.command(args, stdin);
        command.env.insert("GIT_INDEX_FILE".into(), index.to_string_lossy().into_owned());
        self.finish(args, &command)
    }

    /// Runs `git` on another working tree.
    pub(super) fn git_elsewhere(&self, place: &Elsewhere, args: &[&str], stdin: Option<Vec<u8>>) -> Result<Vec<u8>> {
        let mut command = self.command(args, stdin);
        command.env.insert("GIT_INDEX_FILE".into(), place.index.to_string_lossy().into_owned());
        command.env.insert("GIT_WORK_TREE".into(), place.folder.to_string_lossy().into_owned());
        command.dir.clone_from(&place.folder);
        self.finish(args, &command)
    }

    /// Runs `git` so that it stores objects in another folder, and sees those there and the project's.
    pub(super) fn git_storing(&self, objects: &Path, args: &[&str], stdin: Option<Vec<u8>>) -> Result<Vec<u8>> {
        let mut command = self.command(args, stdin);
        let own = quoted(&self.common_dir.join("objects").to_string_lossy());
        let places = [
            ("GIT_OBJECT_DIRECTORY", objects.to_string_lossy().into_owned()),
            ("GIT_ALTERNATE_OBJECT_DIRECTORIES", own),
        ];
        command.env.extend(places.map(|(name, place)| (name.to_owned(), place)));
        self.finish(args, &command)
    }

    /// Runs a `git` that changes something, and so only under the run lock. When longhaul is killed meanwhile, the next
    /// one ends it, and does not meet its lock on the index.
    pub(super) fn git_changing(&self, args: &[&str], stdin: Option<Vec<u8>>) -> Result<Vec<u8>> {
        let mut command = self.command(args, stdin);
        sandbox::mark(&mut command.env, &self.common_dir);
        self.finish(args, &command)
    }

    fn command(&self, args: &[&str], stdin: Option<Vec<u8>>) -> process::Command {
        let fixed = ["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "commit.gpgSign=false"];
        let quiet = ["-c", "gc.auto=0", "-c", "maintenance.auto=false", "--literal-pathspecs"];
        let mut command = process::Command::new("git", &[], &self.root, self.environment.clone());
        command.args = fixed.iter().chain(&quiet).chain(args).map(Into::into).collect();
        if let Some(path) = command.env.get_mut("PATH") {
            *path = process::path_outside(path, &self.root);
        }
        command.env.insert("GIT_TERMINAL_PROMPT".into(), "0".into());
        committed::pin_down(&mut command.env, self.repository.path(), &self.common_dir, &self.root);
        command.stdin = stdin;
        command.limit = self.limit;
        command.keep = LISTING;
        command.errors = Errors::Apart;
        // As a rule nothing is left, and to make sure by reading the list of all processes takes longer than most commands.
        command.leftovers = Leftovers::Keep;
        command
    }

    fn finish(&self, args: &[&str], command: &process::Command) -> Result<Vec<u8>> {
        self.require_own()?;
        self.judge(args, run_past_others(|| self.run_once(command)))
    }

    /// Refuses to let `git` look at another repository than the one that was opened.
    fn require_own(&self) -> Result<()> {
        self.require_same_pointer()?;
        require_shallow_list(&self.common_dir)
    }

    /// Returns what a `git` printed, or says why it failed.
    fn judge(&self, args: &[&str], finished: process::Finished) -> Result<Vec<u8>> {
        let name = args.iter().copied().find(|arg| !arg.starts_with('-') && !arg.contains('=')).unwrap_or_default();
        match finished.exit {
            Exit::Code(0) if finished.output.size as usize <= LISTING => Ok(finished.output.head),
            Exit::Code(0) => bail!("`git {name}` printed {} bytes, more than can be read", finished.output.size),
            Exit::NotStarted(reason) => Err(Failure::new(Kind::Failed, format!("could not run `git`: {reason}"))
                .hint("install git and see that it is on PATH")
                .into()),
            _ if !self.is_git_folder() => Err(no_git_folder(&self.root, &self.common_dir).into()),
            exit => {
                // Some reasons, such as `nothing to commit`, are told as data.
                let said = [finished.errors.text(), finished.output.last_lines(5)];
                let said = said.iter().map(|text| text.trim()).find(|text| !text.is_empty());
                let said = said.map_or_else(|| "it said nothing".to_owned(), first_lines);
                let text = format!("`git {name}` failed in `{}` ({exit}): {said}", self.root.display());
                match way_out(&said, &self.common_dir) {
                    None if exit == Exit::TimedOut => Err(Failure::new(Kind::Failed, text).hint(NO_END).into()),
                    Some(hint) => Err(Failure::new(Kind::Integrity, text).hint(hint).into()),
                    None => bail!(text),
                }
            }
        }
    }

    fn run_once(&self, command: &process::Command) -> process::Finished {
        let Some(held) = &self.held else { return run_free(command) };
        let finished = held.sandbox.run(command);
        // A filter of a repository inside may have left something that would write into the next checkout.
        held.sandbox.end();
        finished
    }

    /// Tells whether git still takes the git folder for one; a session's own commands may take it apart.
    fn is_git_folder(&self) -> bool {
        let head = self.repository.path().join("HEAD");
        head.symlink_metadata().is_ok() && ["refs", "objects"].iter().all(|name| self.common_dir.join(name).is_dir())
    }

    /// Runs `git` and returns its output as one trimmed line of text.
    pub(super) fn git_line(&self, args: &[&str]) -> Result<String> {
        Ok(line(&self.git(args, None)?))
    }

    /// Runs a changing `git` and returns its output as one trimmed line of text.
    pub(super) fn git_changing_line(&self, args: &[&str]) -> Result<String> {
        Ok(line(&self.git_changing(args, None)?))
    }
}

/// Runs a `git` outside of any sandbox. A person's interrupt ends the session, not the commit that saves its work.
fn run_free(command: &process::Command) -> process::Finished {
    process::run(command, &Interrupt::new())
}

/// Runs a `git`, and again for a while where another one has a lock: a person's `git status` takes one too.
fn run_past_others(run: impl Fn() -> process::Finished) -> process::Finished {
    let until = Instant::now() + PATIENCE;
    loop {
        let finished = run();
        let said = finished.errors.text();
        let is_locked = finished.exit == Exit::Code(128) && said.contains(".lock': File exists");
        if !is_locked || Instant::now() >= until {
            return finished;
        }
        thread::sleep(PAUSE);
    }
}

/// Says how a repository is got going again in which a git fails whatever it is asked to do.
fn way_out(said: &str, git_folder: &Path) -> Option<String> {
    let filter =
        ["clean filter '", "smudge filter '"].iter().find_map(|words| said.split_once(words)?.1.split_once('\''));
    if let Some((name, _)) = filter {
        return Some(format!(
            "`.gitattributes` or `{}` gives files to that filter: take the line out where it should not be there, install what \
             the filter runs, or let files go without it: `git config --unset filter.{name}.required`",
            git_folder.join("info/attributes").display()
        ));
    }
    // A filter that runs as a process of its own goes without a word of git's about which it was.
    if OF_PROCESSES.iter().any(|words| said.contains(words)) {
        return Some(
            "a filter that git needs did not start: `git config --get-regexp '^filter\\.'` shows which there are and what they \
             run; install that (such as git-lfs), or let files go without it: `git config --unset filter.NAME.required`"
                .to_owned(),
        );
    }
    said.contains(FIXED).then(|| unfix(git_folder))
}

/// Says how marks are taken away that keep files from being changed, whatever their permissions.
pub(super) fn unfix(git_folder: &Path) -> String {
    let path = git_folder.display();
    format!(
        "`lsattr -aR '{path}'` shows what is marked as not to be changed; `chattr -R -i -a '{path}'`, as root, takes that away"
    )
}

/// Returns why git refused these very files; none where anything else may be at fault.
pub(super) fn refusal(error: &anyhow::Error) -> Option<String> {
    let text = error.to_string();
    if !text.starts_with("`git ") {
        return None;
    }
    let (_, said) = text.split_once(" (exit code ").and_then(|(_, rest)| rest.split_once("): "))?;
    let of_files = !OF_THE_MACHINE.iter().any(|words| said.contains(words));
    of_files.then(|| said.lines().last().unwrap_or_default().trim().to_owned())
}

/// Cuts what git said of a failure: what it goes on with is its manual.
fn first_lines(said: &str) -> String {
    let lines: Vec<&str> = said.lines().take(SAID).collect();
    let more = if said.lines().count() > SAID { "\n…" } else { "" };
    lines.join("\n") + more
}

fn line(output: &[u8]) -> String {
    String::from_utf8_lossy(output).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;

    #[test]
    fn what_git_refuses_of_files_is_told_from_a_fault_of_the_machine() {
        let refused = |said: &str| refusal(&anyhow!("`git add` failed in `/p` (exit code 128): {said}"));
        assert_eq!(refused("hint: x\nfatal: BOM is required in 'a'").as_deref(), Some("fatal: BOM is required in 'a'"));
        for machine in [
            "fatal: unable to write: No space left on device",
            "fatal: Unable to create '/p/.git/index.lock': File exists.\n\nAnother git process seems to be running",
            "error: insufficient permission for adding an object to repository database .git/objects",
        ] {
            assert_eq!(refused(machine), None, "{machine}");
        }
        assert_eq!(refusal(&anyhow!("`git add` failed in `/p` (timed out): it said nothing")), None);
        assert_eq!(refusal(&Failure::new(Kind::Integrity, "x (exit code 1): y").into()), None);
    }

    #[test]
    fn a_git_that_fails_whatever_it_does_has_a_way_out() {
        let out = |said| way_out(said, Path::new("/p/.git")).unwrap_or_default();
        assert!(out("fatal: a: clean filter 'z' failed").contains("`git config --unset filter.z.required`"));
        assert!(
            out("error: unable to create temporary file: Operation not permitted")
                .contains("chattr -R -i -a '/p/.git'")
        );
        assert!(
            out("git-lfs filter-process: 1: git-lfs: not found\nfatal: the remote end hung up unexpectedly")
                .contains("install that (such as git-lfs)")
        );
        assert_eq!(out("fatal: bad object"), "");
    }

    #[test]
    fn a_manual_is_cut() {
        assert_eq!(first_lines("one\ntwo"), "one\ntwo");
        assert_eq!(first_lines(&"line\n".repeat(11)), "line\n".repeat(10) + "…");
    }
}
