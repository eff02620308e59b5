//! The commits longhaul makes in the user's repository.

use super::Changes;
use super::Identity;
use super::Marks;
use super::Project;
use super::built::is_object_by_bytes;
use super::command::refusal;
use super::name_of;
use super::names::bytes_of;
use super::path_of;
use anyhow::Context;
use anyhow::Result;
use std::borrow::Cow;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Untracked files above this size stay out of longhaul's commits. Tracked ones are committed whatever their size, and
/// told: left out, they would make the tree uncommitted for ever, and the project has decided that it wants them.
const LARGE: u64 = 10 << 20;

/// The folder with memory's view.
const OWN: &str = ".longhaul";

const SECRET: &str = "its name looks like a secret";
const REVEALING: &str = "it holds a value that longhaul keeps secret, such as its key";
const UNREADABLE: &str = "it cannot be read";

/// Names of files and folders, at any depth, that tools make by themselves and nobody commits.
const MADE_BY_TOOLS: [&str; 9] = [
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".tox",
    ".coverage",
    "node_modules",
    ".venv",
    ".DS_Store",
];

/// What a leftover commit took and what it left where it lies.
#[derive(Clone, Debug, Default)]
pub struct Leftover {
    /// The new commit; absent when nothing was left over.
    pub commit: Option<String>,
    /// Untracked files left out, each with the reason.
    pub left_out: Vec<(String, Cow<'static, str>)>,
    /// Files above 10 MB that were taken, since git tracks them.
    pub large: Vec<String>,
    /// Files that were taken though they hold a value that longhaul keeps secret, since git tracks them.
    pub revealing: Vec<String>,
    /// Untracked files that tools make by themselves; no feature rests on their being committed.
    pub made_by_tools: Vec<String>,
    /// Files below our own folder that were staged or committed, taken out of the index.
    pub own: Vec<String>,
}

/// Runs `git` with a list on its standard input, on some index.
type OnIndex<'a> = &'a dyn Fn(&[&str], Vec<u8>) -> Result<()>;

impl Project {
    /// Commits what a session left uncommitted, except untracked files that are as `before` says, that look like secrets,
    /// that hold one of ours or that are large.
    ///
    /// A merge or a rebase that the session left open is committed as it lies: nothing is thrown away.
    pub fn commit_leftover(&self, message: &str, before: &Marks) -> Result<Leftover> {
        let own = self.take_out_own()?;
        let (take, mut leftover) = self.select(before)?;
        leftover.own = own;
        if take.is_empty() && leftover.own.is_empty() {
            return Ok(leftover);
        }
        let secret = leftover.left_out.iter().filter(|(_, reason)| [SECRET, REVEALING].contains(&reason.as_ref()));
        self.unstage(secret.map(|(path, _)| path))?;
        let refused = self.add_all(take, &|args, list| self.git_changing(args, Some(list)).map(drop))?;
        leftover.left_out.extend(refused.into_iter().map(|(path, why)| (path, why.into())));
        // Taking files out of the index and back in leaves nothing; an open merge is ended by a commit all the same.
        let staged = self.git(&["diff", "--cached", "--name-only", "-z"], None)?;
        if staged.is_empty() && !self.repository.path().join("MERGE_HEAD").exists() {
            return Ok(leftover);
        }
        self.commit(&["commit", "--quiet", "--no-verify", "--allow-empty-message", "-m", message])?;
        leftover.commit = self.head()?.map(|head| head.commit);
        Ok(leftover)
    }

    /// Takes our own folder out of the index: whoever checks such a commit out would have another's memory there.
    fn take_out_own(&self) -> Result<Vec<String>> {
        let listing = self.git(&["ls-files", "-z", "--", OWN], None)?;
        let own: Vec<String> = listing.split(|byte| *byte == 0).filter(|path| !path.is_empty()).map(name_of).collect();
        self.unstage(own.iter())?;
        Ok(own)
    }

    /// Takes paths out of the index; the files stay.
    fn unstage<'a>(&self, paths: impl Iterator<Item = &'a String>) -> Result<()> {
        let list: Vec<u8> = paths.flat_map(|path| bytes_of(path).into_iter().chain([0])).collect();
        if list.is_empty() {
            return Ok(());
        }
        self.git_changing(&["update-index", "--force-remove", "-z", "--stdin"], Some(list)).map(drop)
    }

    /// Puts paths into an index as they lie here, and returns those that git refuses, each with the reason; `git` runs a
    /// command on that index.
    pub(super) fn add_all(&self, paths: Vec<String>, git: OnIndex) -> Result<Vec<(String, String)>> {
        // git refuses to add what such a path holds; to the commit, the file that was there is gone.
        let (gone, take): (Vec<String>, Vec<String>) = paths.into_iter().partition(|path| self.cannot_be_added(path));
        let list = |paths: &[String]| paths.iter().flat_map(|path| bytes_of(path).into_iter().chain([0])).collect();
        if !gone.is_empty() {
            git(&["update-index", "--force-remove", "-z", "--stdin"], list(&gone))?;
        }
        let add = ["add", "-A", "--pathspec-from-file=-", "--pathspec-file-nul"];
        if take.is_empty() {
            return Ok(Vec::new());
        }
        let Err(error) = git(&add, list(&take)) else { return Ok(Vec::new()) };
        if refusal(&error).is_none() {
            return Err(error);
        }
        // One path that git refuses, such as a name it takes for its own, must not keep out the rest.
        let mut refused = Vec::new();
        for path in take {
            if let Err(error) = git(&add, list(std::slice::from_ref(&path))) {
                let Some(why) = refusal(&error) else { return Err(error) };
                refused.push((path, format!("git refuses to add it: {why}")));
            }
        }
        Ok(refused)
    }

    /// Tells whether [`Project::commit_leftover`] would find anything to take.
    pub fn has_leftover(&self, before: &Marks) -> Result<bool> {
        Ok(!self.select(before)?.0.is_empty())
    }

    /// Takes nothing: what [`Project::commit_leftover`] would have taken is left out, for this reason.
    pub fn leave_leftover(&self, before: &Marks, reason: &'static str) -> Result<Leftover> {
        let (take, mut leftover) = self.select(before)?;
        leftover.left_out.extend(take.into_iter().map(|path| (path, reason.into())));
        Ok(leftover)
    }

    /// Parts what is uncommitted into the paths to take and what is left out, each with the reason.
    pub(super) fn select(&self, before: &Marks) -> Result<(Vec<String>, Leftover)> {
        if let Some(head) = self.head()? {
            // git would leave what it cannot name as deleted, or fail on it.
            self.entries(&head.tree)?;
        }
        let Changes { tracked: mut take, added, untracked, submodules } = self.changes()?;
        let mut leftover = Leftover::default();
        for path in added {
            if let Some(reason) = self.secret_in(&path) {
                take.retain(|taken| *taken != path);
                leftover.left_out.push((path, reason.into()));
            }
        }
        let (unreadable, readable) = take.into_iter().partition(|path| self.is_unreadable(path));
        take = readable;
        leftover.left_out.extend(Vec::into_iter(unreadable).map(|path| (path, UNREADABLE.into())));
        leftover.revealing = take.iter().filter(|path| self.reveals(path)).cloned().collect();
        leftover.large = take.iter().filter(|path| self.size(path) > LARGE).cloned().collect();
        let tracked =
            if untracked.iter().any(|path| object_end(path).is_some()) { self.tracked_names()? } else { Vec::new() };
        let is_object = |path: &str| {
            let is_new = object_end(path).is_some_and(|end| !tracked.iter().any(|known| known.ends_with(end)));
            is_new && is_object_by_bytes(&self.root.join(path_of(path)))
        };
        let made: (Vec<String>, Vec<String>) =
            untracked.into_iter().partition(|path| is_made_by_tools(&lossy(path)) || is_object(path));
        leftover.made_by_tools = made.0;
        for path in made.1.into_iter().filter(|path| !self.is_untouched(path, before)) {
            match self.reason_to_leave_out(&path) {
                Some(reason) => leftover.left_out.push((path, reason.into())),
                None => take.push(path),
            }
        }
        let inside = submodules.into_iter().filter(|path| !before.contains_key(path));
        leftover.left_out.extend(inside.map(|path| (path, "its changes are inside a submodule".into())));
        Ok((take, leftover))
    }

    /// Makes the empty first commit on which baselines stand; the index and the files stay as they are.
    pub fn first_commit(&self, message: &str) -> Result<String> {
        let tree = self.git_changing_line(&["mktree"])?;
        let commit = self.commit(&["commit-tree", &tree, "-m", message])?;
        self.git_changing(&["update-ref", "-m", message, "HEAD", &commit], None)?;
        Ok(commit)
    }

    /// Keeps `commit` reachable as `refs/longhaul/base/<n>`, so that a rewritten branch cannot lose it.
    pub fn keep_base(&self, commit: &str) -> Result<()> {
        let id = git2::Oid::from_str(commit).with_context(|| format!("`{commit}` is no commit id"))?;
        let mut highest = 0;
        for reference in
            self.repository.references_glob("refs/longhaul/base/*").context("could not list the base refs")?
        {
            let reference = reference.context("could not read a base ref")?;
            if reference.target() == Some(id) {
                return Ok(());
            }
            let name = String::from_utf8_lossy(reference.name_bytes()).into_owned();
            highest = highest.max(name.rsplit('/').next().and_then(|number| number.parse().ok()).unwrap_or(0));
        }
        let name = format!("refs/longhaul/base/{}", highest + 1);
        // By git, where it is held: a link in place of the folder of refs would lead our own hand elsewhere.
        let reason = "longhaul: baseline";
        self.git_changing(&["update-ref", "--no-deref", "-m", reason, &name, commit, ""], None)
            .with_context(|| format!("could not write `{name}`"))?;
        Ok(())
    }

    /// Runs a committing command with the user's identity, or with longhaul's when there is none.
    fn commit(&self, args: &[&str]) -> Result<String> {
        if self.users_identity().is_some() {
            return self.git_changing_line(args);
        }
        let Identity { name, mail } = self.identity();
        let (name, mail) = (format!("user.name={name}"), format!("user.email={mail}"));
        self.git_changing_line(&[&["-c", &name, "-c", &mail], args].concat())
    }

    /// Lists what git tracks or is to track.
    fn tracked_names(&self) -> Result<Vec<String>> {
        let listing = self.git(&["ls-files", "-z"], None)?;
        Ok(listing.split(|byte| *byte == 0).filter(|path| !path.is_empty()).map(name_of).collect())
    }

    /// Tells whether a path leads through a link, to nothing, or to a pipe, socket or device.
    fn cannot_be_added(&self, path: &str) -> bool {
        let kind = |path: &Path| self.root.join(path).symlink_metadata().map(|metadata| metadata.file_type());
        let path = &path_of(path);
        let through_link = path
            .ancestors()
            .skip(1)
            .any(|folder| !folder.as_os_str().is_empty() && kind(folder).is_ok_and(|kind| kind.is_symlink()));
        through_link
            || match kind(path) {
                Ok(kind) => !kind.is_file() && !kind.is_dir() && !kind.is_symlink(),
                Err(error) => matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
            }
    }

    /// Tells whether a regular file cannot be read by its owner, so that git cannot add it.
    fn is_unreadable(&self, path: &str) -> bool {
        let found = self.root.join(path_of(path)).symlink_metadata();
        found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o400 == 0)
    }

    fn reason_to_leave_out(&self, path: &str) -> Option<&'static str> {
        if bytes_of(path).ends_with(b"/") {
            return Some("it is a git repository of its own");
        }
        if self.is_unreadable(path) && !looks_secret(&lossy(path)) {
            return Some(UNREADABLE);
        }
        self.secret_in(path).or((self.size(path) > LARGE).then_some("larger than 10 MB"))
    }

    /// Says why a new file must be taken for a secret, or for the place of one.
    fn secret_in(&self, path: &str) -> Option<&'static str> {
        if looks_secret(&lossy(path)) {
            return Some(SECRET);
        }
        self.reveals(path).then_some(REVEALING)
    }

    fn size(&self, path: &str) -> u64 {
        self.root.join(path_of(path)).symlink_metadata().map(|metadata| metadata.len()).unwrap_or(0)
    }
}

/// Returns a name for what only looks at it.
fn lossy(name: &str) -> String {
    String::from_utf8_lossy(&bytes_of(name)).into_owned()
}

/// Returns the end of a name of what a compiler makes of a source; a project that wants such in its commits tracks some. A
/// library that is loaded or a program may be what a check runs, so these are taken.
fn object_end(path: &str) -> Option<&'static str> {
    [".o", ".a", ".obj", ".class", ".pyc"].into_iter().find(|end| path.ends_with(end))
}

/// Tells whether a tool makes this anew whenever it is missing; in a commit it would differ after every run.
pub fn is_made_by_tools(path: &str) -> bool {
    path.split('/').any(|part| MADE_BY_TOOLS.contains(&part))
}

/// Tells whether a file of this name usually holds a key or a password.
pub fn looks_secret(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let example = [".example", ".sample", ".template", ".pub"].iter().any(|end| name.ends_with(end));
    let env = name == ".env" || name.starts_with(".env.");
    let key = [".pem", ".key", ".p12", ".pfx", ".keystore", ".jks", ".kdbx"].iter().any(|end| name.ends_with(end));
    let known = [
        ".netrc",
        ".npmrc",
        ".pypirc",
        ".git-credentials",
        "credentials.json",
        "id_rsa",
        "id_dsa",
        "id_ecdsa",
        "id_ed25519",
    ];
    !example && (env || key || known.contains(&name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::looks_secret;

    #[test]
    fn names_of_secrets_are_told_from_their_neighbours() {
        for path in [".env", "app/.env.local", "server.KEY", "deploy/id_ed25519", ".netrc"] {
            assert!(looks_secret(path), "{path}");
        }
        for path in [".env.example", "environment.rs", "id_ed25519.pub", "keys.rs", "monkey"] {
            assert!(!looks_secret(path), "{path}");
        }
    }
}
