//! The user's own repository: where it stands, what changed, and the commits longhaul leaves in it.
//!
//! Reading goes through libgit2; whatever compares or stores files runs the `git` program, because filters such as LFS,
//! sparse checkouts and the user's ignore rules are only right there. Hooks and file-system monitors stay off.

mod aside;
mod beneath;
mod built;
mod changes;
mod checkout;
mod command;
mod commit;
mod committed;
mod filters;
mod history;
mod identity;
mod kept;
mod lent;
mod lock_files;
mod locks;
mod mend;
mod misplaced;
mod names;
mod nested;
mod planted;
mod programs;
mod rejoin;
mod revealing;
mod root;
mod scratch;
mod standing;
mod waits;
mod written;

use crate::failure::Failure;
use crate::failure::Kind;
use crate::process::Interrupt;
use crate::sandbox;
use crate::sandbox::Git;
use crate::sandbox::Network;
use crate::sandbox::Room;
use crate::sandbox::Sandbox;
use crate::secrets::Secrets;
use anyhow::Context;
use anyhow::Result;
use git2::Repository;
use root::Pointer;
use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

pub use beneath::content_beneath;
pub use beneath::open_beneath;
pub use beneath::open_id;
pub use beneath::read_beneath;
pub use built::freshen;
pub use built::is_built;
pub use changes::Changes;
pub use changes::Marks;
pub use changes::listed;
pub use checkout::Entry;
pub use checkout::EntryKind;
pub use checkout::NotLaidOut;
pub use checkout::file_id;
pub use command::Elsewhere;
pub use commit::Leftover;
pub use commit::is_made_by_tools;
pub use commit::looks_secret;
pub use identity::Identity;
pub use kept::Kept;
pub use lent::Lent;
pub use lock_files::LockFile;
pub use lock_files::is_lock_file;
pub use lock_files::lock_files;
pub use mend::Known;
pub use mend::Mover;
pub use names::name_of;
pub use names::path_of;
pub use rejoin::Rejoined;
pub use rejoin::Ways;
pub use scratch::is_own;
pub use scratch::name as scratch_name;
pub use scratch::remove as remove_folder;
pub use standing::Standing;

/// The user's settings of git, below the home.
const GIT_SETTINGS: [&str; 4] = [".gitconfig", ".config/git/config", ".config/git/attributes", ".config/git/ignore"];

/// The same where `XDG_CONFIG_HOME` says so, below its `git`; beside them may lie credentials.
const SETTINGS_BELOW_GIT: [&str; 3] = ["config", "attributes", "ignore"];

/// How the variables begin that a held `git` is given.
const GIT_VARIABLES: [&str; 6] = ["GIT_", "HOME", "LANG", "LC_", "PATH", "XDG_CONFIG_HOME"];

/// The commit that HEAD names.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Head {
    pub commit: String,
    pub tree: String,
    /// Absent when HEAD is detached.
    pub branch: Option<String>,
}

/// A git repository with a working tree.
pub struct Project {
    root: PathBuf,
    /// What `.git` was when the project was opened.
    pointer: Pointer,
    common_dir: PathBuf,
    environment: BTreeMap<String, String>,
    repository: Repository,
    held: Option<Arc<Held>>,
    /// Longest time one `git` command may take.
    limit: Duration,
    /// Values that no new file brings into a commit.
    withheld: Secrets,
}

/// Where `git` runs when it is held: a nested repository's own settings can make it run anything.
struct Held {
    sandbox: Sandbox,
    /// The one folder for temporary files that is seen there.
    scratch: TempDir,
}

impl Project {
    /// Opens the repository around `dir`; `environment` is what `git` is run with.
    ///
    /// # Errors
    /// A usage failure when there is no repository, or one without a working tree.
    pub fn discover(dir: &Path, environment: BTreeMap<String, String>) -> Result<Self> {
        Self::find(dir, environment)?.ok_or_else(|| {
            Failure::usage(format!("`{}` is not inside a git repository", dir.display()))
                .hint("run `git init` there first, or change into your project")
                .into()
        })
    }

    /// Opens the repository around `dir` as [`Project::discover`] does; none where there is none.
    pub fn find(dir: &Path, environment: BTreeMap<String, String>) -> Result<Option<Self>> {
        waits::require_opens(dir)?;
        let found = root::open(dir);
        if let Some(torn) = torn(dir, &found) {
            return Err(torn.into());
        }
        let repository = match found {
            Ok(repository) => repository,
            Err(error) if error.code() == git2::ErrorCode::NotFound => return Ok(None),
            Err(error) => return Err(unopened(dir, &environment, &error).into()),
        };
        let root = root::root(dir, &repository)?;
        // Of a `.git` that is a link it would take the folder that the link leads into.
        repository.set_workdir(&root, false).context("could not name the working tree")?;
        let common_dir: PathBuf = repository.commondir().components().collect();
        [&root, &common_dir].into_iter().try_for_each(|path| require_text(path))?;
        let pointer = Pointer::of(&root);
        Ok(Some(Self {
            root,
            pointer,
            common_dir,
            environment,
            repository,
            held: None,
            limit: command::LIMIT,
            withheld: Secrets::default(),
        }))
    }

    /// Runs every later `git` in a sandbox of its own, with the user's settings of git but nothing else of the home. `git`
    /// says what it may do to the repository.
    pub fn hold_git(&mut self, settings: &sandbox::Settings, git: Git) -> Result<()> {
        let scratch = self.scratch_folder(&std::env::temp_dir(), "git")?;
        let home = settings.home.iter().flat_map(|home| GIT_SETTINGS.map(|name| home.join(name)));
        let named = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"].map(|name| self.environment.get(name));
        let config = self.environment.get("XDG_CONFIG_HOME").map(|config| Path::new(config).join("git"));
        let config = config.iter().flat_map(|git| SETTINGS_BELOW_GIT.map(|name| git.join(name)));
        let all = home.chain(config).chain(named.into_iter().flatten().map(PathBuf::from));
        // `/dev/null` stands for no settings, and shown as a file it could not be opened any more.
        let shown = all.filter(|path| path.is_file() || path.is_dir());
        let room = Room {
            root: self.root.clone(),
            folder: self.root.clone(),
            common_dir: self.common_dir.clone(),
            git,
            shown: shown.collect(),
            writable: vec![scratch.path().to_owned()],
            objects: None,
            held: Vec::new(),
            network: Network::Off,
        };
        // A person's interrupt ends the session, not the commit that saves its work.
        let sandbox = Sandbox::open(settings, room, &Interrupt::new())?;
        self.held = Some(Arc::new(Held { sandbox, scratch }));
        // Whatever runs in there has no use for the rest.
        self.environment.retain(|name, _| GIT_VARIABLES.iter().any(|known| name.starts_with(known)));
        Ok(())
    }

    /// Lets no later `git` take longer than this: who only looks around does not wait for one that never ends.
    pub fn limit_git(&mut self, limit: Duration) {
        self.limit = limit;
    }

    /// Returns the one folder outside of the project that a held `git` can write into.
    pub fn scratch(&self) -> Option<&Path> {
        self.held.as_ref().map(|held| held.scratch.path())
    }

    /// Makes a folder for temporary files of `git`.
    pub(crate) fn temporary(&self) -> Result<TempDir> {
        let all = self.scratch().map_or_else(std::env::temp_dir, Path::to_owned);
        self.scratch_folder(&all, "git")
    }

    /// Returns the top folder of the working tree.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the git folder that all worktrees share.
    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    /// Tells whether the working tree is still there; a session's own commands may remove it.
    pub fn exists(&self) -> bool {
        self.root.is_dir() && self.common_dir.is_dir()
    }

    /// Returns the commit that HEAD names, or none before the first commit.
    pub fn head(&self) -> Result<Option<Head>> {
        let head = match self.repository.head() {
            Ok(head) => head,
            Err(error) if error.code() == git2::ErrorCode::UnbornBranch => return Ok(None),
            Err(error) => return Err(unreadable(&error)),
        };
        let commit = head.peel_to_commit().map_err(|error| unreadable(&error))?;
        let branch = head.is_branch().then(|| String::from_utf8_lossy(head.shorthand_bytes()).into_owned());
        Ok(Some(Head { commit: commit.id().to_string(), tree: commit.tree_id().to_string(), branch }))
    }

    /// Returns the names of the local branches.
    pub fn branches(&self) -> Result<Vec<String>> {
        let branches = self.repository.branches(Some(git2::BranchType::Local));
        let name = |branch: Result<(git2::Branch, git2::BranchType), git2::Error>| {
            Ok(String::from_utf8_lossy(branch?.0.name_bytes()?).into_owned())
        };
        branches.and_then(|branches| branches.map(name).collect()).context("could not list the branches of the project")
    }
}

/// Says that HEAD leads to no commit that can be read, and the way out.
fn unreadable(error: &git2::Error) -> anyhow::Error {
    let text = format!("the commit at HEAD of the project cannot be read: {}", error.message());
    let hint = "`longhaul run` sets HEAD and its branch back where it is known what they were; `git fsck` says more";
    Failure::new(Kind::Integrity, text).hint(hint).into()
}

/// Tells of a project of ours whose git folder git does not take for one any more. It must not be taken for no project, nor
/// for a part of the one around it.
fn torn(dir: &Path, found: &Result<Repository, git2::Error>) -> Option<Failure> {
    let root = dir.ancestors().find(|folder| folder.join(".git/longhaul/memory.git").is_dir())?;
    let is_own = match found {
        Ok(found) => [Some(found.path()), found.workdir()].into_iter().flatten().any(|at| {
            let (at, root) = (at.canonicalize(), root.canonicalize());
            at.ok().zip(root.ok()).is_none_or(|(at, root)| at.starts_with(root))
        }),
        Err(error) => error.code() != git2::ErrorCode::NotFound,
    };
    if is_own {
        return None;
    }
    Some(no_git_folder(root, &root.join(".git")))
}

/// Says what is gone of a git folder that git takes for none, and the way out.
fn no_git_folder(root: &Path, git: &Path) -> Failure {
    let (shown, objects) = (git.display(), git.join("objects"));
    if !objects.is_dir() {
        let text = format!("`{}` is gone, and with it the commits of the project", objects.display());
        let hint = format!(
            "the files in `{root}` and longhaul's memory are still there. Copy `objects` back from a backup or another clone, or \
             make it anew and `git fetch` from where you pushed to; with neither, start a new history of the files: \
             `cd '{shown}'; mkdir objects; rm -rf refs packed-refs index; mkdir refs; cd '{root}'; git add -A; git commit -m \
             'begin anew'`",
            root = root.display(),
        );
        return Failure::new(Kind::Integrity, text).hint(hint);
    }
    let text = format!("`{shown}` is no git folder any more: its `HEAD` or `refs` is gone");
    let hint = format!(
        "write a line `ref: refs/heads/BRANCH` into `{shown}/HEAD` with the branch you were on, make the folder that is \
         missing, then `longhaul run` mends the rest"
    );
    Failure::new(Kind::Integrity, text).hint(hint)
}

/// Refuses a path that is no text: records and settings are text, and so are the variables by which `git` is told where to work.
fn require_text(path: &Path) -> Result<(), Failure> {
    if path.to_str().is_some() {
        return Ok(());
    }
    let text =
        format!("the path of the project, `{}`, is not UTF-8, and longhaul works in no such folder", path.display());
    Err(Failure::usage(text).hint("rename the folder whose name that is, or move the project out of it"))
}

/// Says why git opens no repository though there is one, and the way out.
fn unopened(dir: &Path, environment: &BTreeMap<String, String>, error: &git2::Error) -> Failure {
    let root = dir.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(dir);
    let root = root.display();
    if error.code() == git2::ErrorCode::Owner {
        let text = format!("the git repository `{root}` belongs to another user, so git does not open it for you");
        let way_out =
            format!("`git config --global --add safe.directory '{root}'` trusts it, or run longhaul as its owner");
        return Failure::new(Kind::Failed, text).hint(way_out);
    }
    let text = format!("could not open the git repository around `{}`: {}", dir.display(), error.message());
    if let Some(way_out) = unread_form(error.message()) {
        return Failure::usage(text).hint(way_out);
    }
    let home = environment.get("HOME").filter(|home| std::fs::read_dir(home).is_err());
    Failure::new(Kind::Failed, text).hint(match home {
        Some(home) => format!("HOME is `{home}`, which you cannot read: set it to your own home"),
        None => "`git status` there says more".to_owned(),
    })
}

/// Says what to do about a repository in a form that cannot be read here, if that is what was said of it.
fn unread_form(said: &str) -> Option<&'static str> {
    match () {
        () if said.contains("object format") => Some(
            "longhaul reads repositories with SHA-1 names only; this makes one with the same history: `git init \
             --object-format=sha1 ../NEW && git fast-export --all | git -C ../NEW fast-import`",
        ),
        () if said.to_ascii_lowercase().contains("extensions.refstorage") => Some(
            "longhaul reads repositories with refs in files only; this makes one with the same branches: `git clone \
             --ref-format=files . ../NEW`",
        ),
        () if said.contains("unsupported extension") => {
            Some("longhaul reads no repository with that extension: `git config --get-regexp '^extensions'` lists them")
        }
        () => None,
    }
}

/// Returns the id git would give a file of these bytes.
pub fn blob_id(bytes: &[u8]) -> String {
    // Hashing memory cannot fail for a blob; an empty id would only make a comparison refuse.
    git2::Oid::hash_object(git2::ObjectType::Blob, bytes).map(|id| id.to_string()).unwrap_or_default()
}
