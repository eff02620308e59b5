//! The git folder of a checkout: what a clone of its commit would have, and nothing that somebody laid beside that.
//!
//! An object in no commit, a ref, a file below `objects`: all of them could hold an answer that the tested commit does not.
//! So the objects that the commit reaches are packed once and kept below longhaul's own folder, where commands in
//! bubblewrap do not come; in plain mode they do, and also to the project's own folder.

use super::Kept;
use super::Project;
use super::command::Elsewhere;
use super::misplaced::shallow_list;
use crate::sandbox;
use anyhow::Context;
use anyhow::Result;
use sha2::Digest;
use sha2::Sha256;
use std::fs;
use std::path::Path;
use std::path::PathBuf;

/// Packs that are added to one another before all is packed anew.
const PACKS: usize = 40;

/// Packed without the forged shortcuts that a `commit-graph` could hold, and sooner fast than small.
const PLAINLY: [&str; 2] = ["-c", "core.commitGraph=false"];
const PACK: [&str; 6] = ["pack-objects", "--quiet", "--revs", "--non-empty", "--window=0", "--compression=1"];

/// The files of one kept folder; the last two say what it lacks.
const OBJECTS: &str = "objects";
const TAGS: &str = "packed-refs";
const SHALLOW: &str = "shallow";
const GAPS: &str = "gaps";
const FAILED: &str = "failed";

/// Whether all objects were there to be packed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Found {
    All,
    Some,
}

/// The git folder of one checkout, as it was lent.
#[derive(Clone, Debug)]
pub struct Lent {
    /// The kept objects, to be shown where the git folder names them.
    pub objects: PathBuf,
    /// What a person should know of it.
    pub odd: Option<String>,
}

impl Project {
    /// Makes a git folder for a checkout of `tree` in `place`: HEAD at `commit`, the index that is there, and what a clone
    /// of the commit would have. Nothing that happens in there touches the project's.
    pub fn lend_git(&self, git_dir: &Path, commit: &str, tree: &str, place: &Elsewhere) -> Result<Lent> {
        let context = || format!("could not make `{}`", git_dir.display());
        let kept = self.history_of(commit)?;
        let common = git_dir.join("common");
        for folder in ["refs", "objects/info", "objects/pack"] {
            fs::create_dir_all(common.join(folder)).with_context(context)?;
        }
        let objects = kept.folder().join(OBJECTS);
        // A held checkout is shown at the project's own path, over the git folder that may lie in there.
        let seen = if self.held.is_some() { Path::new(sandbox::OBJECTS_OF_CHECKOUT) } else { &objects };
        let line = |path: &Path| [path.as_os_str().as_encoded_bytes(), b"\n"].concat();
        let files = [
            (git_dir.join("HEAD"), line(Path::new(commit))),
            // Of the main working tree, as git sees it from one beside it.
            (common.join("HEAD"), line(Path::new(commit))),
            (git_dir.join("commondir"), b"common\n".to_vec()),
            (common.join("objects/info/alternates"), line(seen)),
            (place.folder.join(".git"), [b"gitdir: ".to_vec(), line(git_dir)].concat()),
        ];
        for (path, bytes) in files {
            fs::write(path, bytes).with_context(context)?;
        }
        let config = self.common_dir.join("config");
        let given = [(config, "config"), (kept.folder().join(TAGS), TAGS), (kept.folder().join(SHALLOW), SHALLOW)];
        for (from, name) in given.iter().filter(|(from, _)| from.is_file() && !from.is_symlink()) {
            fs::copy(from, common.join(name)).with_context(context)?;
        }
        if self.tree_of(commit)? != tree {
            // What an agent has not committed yet; without it `git ls-files` still works.
            self.pack(&common.join("objects"), &[tree], &[commit], &[]).ok();
        }
        Ok(Lent { objects, odd: odd(kept.folder()) })
    }

    /// Keeps what a clone of the commit would have, unless that was done.
    fn history_of(&self, commit: &str) -> Result<Kept> {
        let shallow = shallow_list(&self.common_dir).unwrap_or_default();
        let mut hash = Sha256::new();
        hash.update(&shallow);
        self.tags()?.iter().for_each(|tag| hash.update(tag));
        let name = format!("{commit}-{}", &format!("{:x}", hash.finalize())[..16]);
        let kept = Kept::new(&self.common_dir.join("longhaul/history"), &name);
        if !kept.is_there() || kept.folder().join(FAILED).exists() {
            let others = kept.others()?;
            kept.fill(|half| self.fill_history(half, commit, &shallow, others))?;
        }
        Ok(kept)
    }

    /// Lists what decides whether the kept tags are still those of the project.
    fn tags(&self) -> Result<Vec<String>> {
        let tags = self.repository.references_glob("refs/tags/*").context("could not list the tags of the project")?;
        let text = |tag: git2::Reference| format!("{} {:?}\n", String::from_utf8_lossy(tag.name_bytes()), tag.target());
        Ok(tags.flatten().map(text).collect())
    }

    fn fill_history(&self, half: &Path, commit: &str, shallow: &[u8], others: Vec<PathBuf>) -> Result<()> {
        let packs = half.join(OBJECTS).join("pack");
        fs::create_dir_all(&packs)?;
        if !shallow.is_empty() {
            fs::write(half.join(SHALLOW), shallow)?;
        }
        let merged = format!("--merged={commit}");
        let listing = ["for-each-ref", &merged, "--format=%(objectname) %(refname)", "refs/tags"];
        let tags = self.git(&[&PLAINLY[..], &listing].concat(), None).unwrap_or_default();
        let tags = String::from_utf8_lossy(&tags).into_owned();
        fs::write(half.join(TAGS), &tags)?;
        let older = others.into_iter().find_map(|folder| Some((self.fits(&folder, commit, shallow, &tags)?, folder)));
        let mut known = Vec::new();
        if let Some((older, folder)) = &older {
            take_over(folder, half)?;
            known.push(older.as_str());
        }
        let ids = tags.lines().filter_map(|tag| tag.split(' ').next());
        let wanted: Vec<&str> = std::iter::once(commit).chain(ids).collect();
        match self.pack_soundly(&packs, &wanted, &known) {
            Ok(Found::All) => Ok(()),
            Ok(Found::Some) => Ok(fs::write(half.join(GAPS), "")?),
            // A check that does not ask git can do without.
            Err(error) => Ok(fs::write(half.join(FAILED), format!("{error:#}"))?),
        }
    }

    /// Returns the commit of a kept folder, when this commit has in its history all that is in there.
    fn fits(&self, folder: &Path, commit: &str, shallow: &[u8], tags: &str) -> Option<String> {
        let older = folder.file_name()?.to_str()?.split('-').next()?.to_owned();
        let same_end = fs::read(folder.join(SHALLOW)).unwrap_or_default() == shallow;
        let same_tags =
            fs::read_to_string(folder.join(TAGS)).ok()?.lines().all(|tag| tags.lines().any(|now| now == tag));
        let few = fs::read_dir(folder.join(OBJECTS).join("pack")).ok()?.count() < 2 * PACKS;
        if !same_end || !same_tags || !few || folder.join(FAILED).exists() {
            return None;
        }
        let ancestry = [&PLAINLY[..], &["merge-base", "--is-ancestor", &older, commit]].concat();
        self.git(&ancestry, None).is_ok().then_some(older)
    }

    /// Packs what is reached from `wanted` and not from `known`, each object under the name that its own bytes give it, as
    /// a clone would.
    fn pack_soundly(&self, packs: &Path, wanted: &[&str], known: &[&str]) -> Result<Found> {
        // Held, git does not see longhaul's own folder.
        let folder = self.temporary()?;
        // In a partial clone git would fetch all that is missing.
        let partial = !files(&self.common_dir.join("objects/pack"), "promisor").unwrap_or_default().is_empty();
        let whole = !partial && self.pack(folder.path(), wanted, known, &[]).is_ok();
        if !whole {
            self.pack(folder.path(), wanted, known, &["--missing=allow-any"])?;
        }
        for pack in files(&folder.path().join("pack"), "pack")? {
            for made in ["idx", "rev"] {
                fs::remove_file(pack.with_extension(made)).ok();
            }
            self.git_storing(folder.path(), &["index-pack", &pack.to_string_lossy()], None)?;
            for part in [pack.with_extension("idx"), pack] {
                let name = part.file_name().context("a pack without a name")?;
                fs::copy(&part, packs.join(name))?;
            }
        }
        Ok(if whole { Found::All } else { Found::Some })
    }

    fn pack(&self, objects: &Path, wanted: &[&str], known: &[&str], more: &[&str]) -> Result<()> {
        let list = [wanted, &["--not"], known].concat().join("\n") + "\n";
        let folder = objects.join("pack");
        fs::create_dir_all(&folder)?;
        let prefix = folder.join("pack").to_string_lossy().into_owned();
        let args = [&PLAINLY[..], &PACK, more, &[&prefix]].concat();
        self.git_storing(objects, &args, Some(list.into_bytes())).map(drop)
    }
}

/// Takes the packs of another kept folder into this one.
fn take_over(from: &Path, to: &Path) -> Result<()> {
    for entry in fs::read_dir(from.join(OBJECTS).join("pack"))? {
        let entry = entry?;
        fs::hard_link(entry.path(), to.join(OBJECTS).join("pack").join(entry.file_name()))?;
    }
    if from.join(GAPS).exists() {
        fs::write(to.join(GAPS), "")?;
    }
    Ok(())
}

/// Says what a kept folder lacks.
fn odd(kept: &Path) -> Option<String> {
    match fs::read_to_string(kept.join(FAILED)) {
        Ok(reason) => {
            let reason = reason.lines().next().unwrap_or_default();
            Some(format!("git's history could not be shown in the checkout: {reason}"))
        }
        Err(_) => kept
            .join(GAPS)
            .exists()
            .then(|| "git's history in the checkout has gaps: objects of it are missing here".to_owned()),
    }
}

fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    Ok(paths.into_iter().filter(|path| path.extension().is_some_and(|found| found == extension)).collect())
}
