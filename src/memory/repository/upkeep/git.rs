//! The git that packs: without the settings of anybody, and without what a setting there could start.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use anyhow::Result;
use anyhow::bail;

use crate::memory::repository::upkeep::right::Right;
use crate::memory::seal::shortcuts;
use crate::process;
use crate::process::Command;
use crate::process::Exit;
use crate::process::Interrupt;
use crate::process::Streams;

/// Their names are spread evenly, so that one of the 256 folders tells for all.
pub(super) const ONE: &str = "17";
pub(super) const FOLDERS: usize = 256;
/// Packing takes about 0.2 ms an object, and on a busy disk ten times as long.
const LIMIT: Duration = Duration::from_secs(3600);
/// How long after its last write a half-written file is some git's that may be at work, such as a person's.
const AT_WORK: Duration = Duration::from_secs(15 * 60);
/// The locks that a killed git leaves to stop the next one.
const LOCKS: [&str; 2] = ["info/commit-graph.lock", "info/commit-graphs/commit-graph-chain.lock"];

/// Runs git on a repository.
#[derive(Clone)]
pub(super) struct Git {
    pub(super) repository: PathBuf,
    pub(super) state: PathBuf,
    pub(super) path: String,
    pub(super) interrupt: Interrupt,
}

impl Git {
    /// Tells about how many objects lie loose.
    pub(super) fn loose(&self) -> usize {
        fs::read_dir(self.repository.join("objects").join(ONE)).map_or(0, Iterator::count) * FOLDERS
    }

    /// Tells whether something is packed, and git has no list of the commits.
    pub(super) fn lacks_list(&self) -> bool {
        let packs = files(&self.repository.join("objects/pack")).unwrap_or_default();
        let is_pack = |path: &PathBuf| path.extension().is_some_and(|end| end == "pack");
        shortcuts::are_missing(&self.repository) && packs.iter().any(is_pack)
    }

    pub(super) fn pack(&self, right: &Right) -> Result<()> {
        let objects = self.repository.join("objects");
        clear(&objects).with_context(|| format!("could not tidy `{}`", objects.display()))?;
        // Each pack has at least twice the objects of the next, so that there are few and most are never rewritten.
        self.run(&["repack", "-d", "-l", "-q", "--geometric=2", "--no-write-bitmap-index"], right)?;
        if LOCKS.iter().any(|lock| objects.join(lock).exists()) {
            // Without it git only takes longer; the next packing writes it.
            return Ok(());
        }
        // Git would go on from a list that others made.
        shortcuts::clear(&self.repository, &self.state)?;
        self.run(&["commit-graph", "write", "--reachable", "--changed-paths", "--split", "--no-progress"], right)?;
        shortcuts::note(&self.repository, &self.state).context("could not write down the list of commits that git made")
    }

    fn run(&self, args: &[&str], right: &Right) -> Result<()> {
        let place = &self.repository;
        let settings = [
            ("GIT_DIR", place.to_string_lossy().into_owned()),
            ("GIT_CONFIG_GLOBAL", "/dev/null".to_owned()),
            ("GIT_CONFIG_NOSYSTEM", "1".to_owned()),
            ("GIT_NO_LAZY_FETCH", "1".to_owned()),
            ("GIT_ALLOW_PROTOCOL", "none".to_owned()),
            ("LC_ALL", "C".to_owned()),
            ("PATH", self.path.clone()),
        ];
        let environment: BTreeMap<_, _> = settings.map(|(name, value)| (name.to_owned(), value)).into();
        // What replaces loose objects has to be on disk before they go.
        let fixed = ["-c", "core.hooksPath=/dev/null", "-c", "core.fsync=committed", "-c", "core.fsyncMethod=fsync"];
        let all: Vec<&str> = fixed.iter().chain(args).copied().collect();
        let command = Command::new("git", &all, place, environment).limit(LIMIT);
        let input = Some(right.passed_on().context("could not pass on the right to pack")?);
        let finished = process::observe(&command, |streams, happenings| {
            process::attend(&command, Streams { input, ..streams }, happenings, &self.interrupt)
        });
        let what = args.first().unwrap_or(&"");
        match finished.exit {
            Exit::Code(0) | Exit::Interrupted => Ok(()),
            Exit::TimedOut => bail!(
                "`git {what}` was ended after an hour; `git --git-dir='{}' repack -d --geometric=2` by hand has no limit",
                place.display()
            ),
            exit => {
                let said = finished.output.last_lines(3);
                bail!("`git {what}` failed in `{}` ({exit}): {}", place.display(), said.trim())
            }
        }
    }
}

/// Takes away what a git that was killed in the middle left: half-written files, which nobody else takes away, and locks.
fn clear(objects: &Path) -> io::Result<()> {
    let half = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        ["tmp_", ".tmp-"].iter().any(|begin| name.starts_with(begin))
    };
    let mut left: Vec<PathBuf> = LOCKS.iter().map(|lock| objects.join(lock)).collect();
    for folder in ["pack", "info/commit-graphs"] {
        left.extend(files(&objects.join(folder))?.into_iter().filter(|path| half(path)));
    }
    left.iter().filter(|path| is_old(path)).try_for_each(fs::remove_file)
}

fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        entries => entries?.map(|entry| Ok(entry?.path())).collect(),
    }
}

fn is_old(path: &Path) -> bool {
    let age = fs::symlink_metadata(path).and_then(|found| found.modified()).ok().and_then(|at| at.elapsed().ok());
    age.is_some_and(|age| age > AT_WORK)
}
