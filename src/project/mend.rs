//! A repository whose HEAD, branch or index cannot be read, as a crash or a command may leave it: what can be known is made
//! again, what was found is kept, and no file of the working tree is touched.

use super::Project;
use super::aside::set_aside;
use super::beneath::read_beneath;
use crate::failure::Failure;
use crate::failure::Kind;
use anyhow::Context;
use anyhow::Result;
use git2::ErrorCode;
use git2::Index;
use git2::Oid;
use git2::Reference;
use std::fs;
use std::io::Read;
use std::io::Seek;
use std::io::SeekFrom;
use std::path::Path;

/// Longer than this is no HEAD and no ref.
const LONGEST_REF: u64 = 4096;
/// An index up to this size is read here; of a larger one git has the word.
const READ_INDEX: u64 = 256 << 20;
/// A larger list of refs is left to git.
const LARGEST_REFS: u64 = 64 << 20;
/// Packed, one of these would leave no room for the refs below that are our own.
const IN_THE_WAY: [&str; 2] = ["refs/longhaul", "refs/longhaul/base"];
/// Bytes at the end of a log of HEAD or a branch that are looked at.
const LOG_END: u64 = 64 << 10;

/// What longhaul knows of where the project stood.
#[derive(Clone, Debug)]
pub struct Known {
    /// The branch that was checked out.
    pub branch: Option<String>,
    /// Commits that HEAD named, newest first.
    pub commits: Vec<String>,
    pub mover: Mover,
}

/// Who may have moved HEAD since.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Mover {
    /// A session alone, which belongs on the branch that it began on.
    Session,
    /// A person too, who may have gone to another branch.
    Anybody,
}

/// What HEAD says.
enum Named {
    /// A branch, or another ref, by its full name.
    Ref(String),
    /// A commit that is there.
    Commit,
    Nothing,
}

/// What a ref says.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Tip {
    /// A commit that is there.
    Sound,
    Absent,
    Broken,
}

impl Project {
    /// Tells whether HEAD leads to a commit that is there, and the index can be read; of `branch`, that it can be, if it is
    /// there.
    pub fn is_whole(&self, branch: Option<&str>) -> bool {
        if branch.is_some_and(|branch| self.tip(&format!("refs/heads/{branch}")) == Tip::Broken) {
            return false;
        }
        let head = match self.named_by_head() {
            Named::Ref(name) => self.tip(&name),
            Named::Commit => Tip::Sound,
            Named::Nothing => Tip::Broken,
        };
        head == Tip::Sound && self.are_refs_whole() && !self.is_index_damaged(head)
    }

    /// Makes HEAD, its branch and the index again where they cannot be read, keeps what was found in `keep_in`, and says so
    /// in sentences.
    ///
    /// # Errors
    /// An integrity failure where it cannot be known what they were.
    pub fn mend(&self, known: &Known, keep_in: &Path) -> Result<Vec<String>> {
        let mut told = self.set_aside_misplaced(keep_in)?;
        told.extend(self.mend_refs(keep_in)?);
        let name = match self.named_by_head() {
            Named::Ref(name) if !self.is_astray(&name, known) => Some(name),
            // Where HEAD is detached, its branch may have been broken beside.
            Named::Commit => known
                .branch
                .as_ref()
                .map(|branch| format!("refs/heads/{branch}"))
                .filter(|name| self.tip(name) == Tip::Broken),
            _ => Some(self.set_head_back(known, keep_in, &mut told)?),
        };
        let mut tip = name.as_deref().map_or(Tip::Sound, |name| self.tip(name));
        if let Some(name) = name.filter(|_| tip != Tip::Sound) {
            tip = self.set_branch_back(&name, tip, known, keep_in, &mut told)?;
        }
        if self.is_index_damaged(tip) {
            told.push(self.make_index_again(keep_in)?);
        }
        Ok(told)
    }

    /// Moves what lies at a path out of the way and says what became of it.
    fn kept(&self, path: &Path, keep_in: &Path) -> Result<String> {
        if path.symlink_metadata().is_err() {
            return Ok("nothing was found in its place".to_owned());
        }
        Ok(format!("what was found is kept as `{}`", set_aside(&self.common_dir, path, keep_in)?.display()))
    }

    fn named_by_head(&self) -> Named {
        let Some(text) = read_short(&self.repository.path().join("HEAD")) else { return Named::Nothing };
        match text.strip_prefix("ref:").map(str::trim) {
            Some(name) if name.starts_with("refs/") && Reference::is_valid_name(name) => Named::Ref(name.to_owned()),
            None if self.is_sound(text.trim()) => Named::Commit,
            _ => Named::Nothing,
        }
    }

    fn tip(&self, name: &str) -> Tip {
        let loose = self.common_dir.join(name);
        // A folder is that of other branches, or empty.
        let found = loose.symlink_metadata().ok().filter(|found| !found.is_dir());
        if found.is_some() && read_short(&loose).is_none() {
            return Tip::Broken;
        }
        match self.repository.find_reference(name).map(|reference| reference.peel_to_commit()) {
            Ok(Ok(commit)) if commit.tree().is_ok() => Tip::Sound,
            Err(error) if error.code() == ErrorCode::NotFound => Tip::Absent,
            _ => Tip::Broken,
        }
    }

    /// Tells whether git finds the folder of refs, and can read those that are packed.
    fn are_refs_whole(&self) -> bool {
        let can_be_read = match self.common_dir.join("packed-refs").symlink_metadata() {
            Ok(found) if found.is_file() && found.len() <= LARGEST_REFS => are_packed_refs(&self.packed_refs()),
            Ok(found) => found.is_file(),
            Err(_) => true,
        };
        can_be_read && is_folder(&self.common_dir.join("refs"))
    }

    fn packed_refs(&self) -> Vec<u8> {
        read_beneath(&self.common_dir, Path::new("packed-refs"), LARGEST_REFS).ok().flatten().unwrap_or_default()
    }

    /// Makes the folder of refs again, and of the packed refs those that can be read.
    fn mend_refs(&self, keep_in: &Path) -> Result<Vec<String>> {
        if self.are_refs_whole() {
            return Ok(Vec::new());
        }
        let refs = self.common_dir.join("refs");
        if !is_folder(&refs) {
            let kept = self.kept(&refs, keep_in)?;
            fs::create_dir_all(refs.join("heads")).with_context(|| format!("could not make `{}`", refs.display()))?;
            return Ok(vec![format!("the folder of branches was gone; it was made again, and {kept}")]);
        }
        let packed = self.common_dir.join("packed-refs");
        let bytes = self.packed_refs();
        let lines = bytes.split(|byte| *byte == b'\n').filter(|line| is_packed_ref(line));
        let good: Vec<u8> = lines.flat_map(|line| [line, b"\n"].concat()).collect();
        let kept = self.kept(&packed, keep_in)?;
        // A file without a line would be none to git.
        if !good.is_empty() {
            fs::write(&packed, good).with_context(|| format!("could not write `{}`", packed.display()))?;
        }
        Ok(vec![format!("the packed branches could not be read; those that can are there again, and {kept}")])
    }

    /// Tells whether a session left HEAD at a branch that does not exist, apart from the one it began on.
    fn is_astray(&self, name: &str, known: &Known) -> bool {
        let other = known.branch.as_ref().is_some_and(|branch| name != format!("refs/heads/{branch}"));
        known.mover == Mover::Session && other && self.tip(name) == Tip::Absent
    }

    /// Tells whether a commit is there, with its tree.
    fn is_sound(&self, id: &str) -> bool {
        let commit = Oid::from_str(id).and_then(|id| self.repository.find_commit(id));
        commit.is_ok_and(|commit| commit.tree().is_ok())
    }

    /// Writes HEAD anew and returns the full name of the branch that it names then.
    fn set_head_back(&self, known: &Known, keep_in: &Path, told: &mut Vec<String>) -> Result<String> {
        let own = self.repository.path();
        let head = own.join("HEAD");
        let branches = self.branches().unwrap_or_default();
        let only = || (branches.len() == 1).then(|| branches[0].clone());
        let branch = known.branch.clone().or_else(only).ok_or_else(|| self.unknown_head(&branches))?;
        let name = format!("refs/heads/{branch}");
        let last = self.logged(&own.join("logs/HEAD"));
        let on_branch = |last: &str| {
            let tip = self.repository.refname_to_id(&name).ok();
            tip.is_some_and(|tip| self.contains(&tip.to_string(), last).unwrap_or_default())
        };
        let stray = last.filter(|last| !on_branch(last));
        if stray.is_some() && known.mover == Mover::Anybody && self.tip(&name) == Tip::Sound {
            return Err(self.unknown_head(&branches).into());
        }
        let context = || format!("could not write `{}`", head.display());
        let kept = self.kept(&head, keep_in)?;
        let mut file = tempfile::NamedTempFile::new_in(own).with_context(context)?;
        std::io::Write::write_all(&mut file, format!("ref: {name}\n").as_bytes()).with_context(context)?;
        file.persist(&head).with_context(context)?;
        told.push(format!("HEAD of the project could not be read; it names `{branch}` again, and {kept}"));
        if let Some(stray) = stray.filter(|_| self.tip(&name) == Tip::Sound) {
            self.keep_base(&stray)?;
            let short = &stray[..7];
            told.push(format!(
                "the last commit of HEAD, {short}, is not on `{branch}`; it is kept below `refs/longhaul/base/`"
            ));
        }
        Ok(name)
    }

    /// Points a branch to the newest commit of it that is known and there; says nothing of one that never had any.
    fn set_branch_back(
        &self,
        name: &str,
        tip: Tip,
        known: &Known,
        keep_in: &Path,
        told: &mut Vec<String>,
    ) -> Result<Tip> {
        let branch = name.strip_prefix("refs/heads/").unwrap_or(name);
        let Some(commit) = self.newest_of(name, branch, known)? else {
            let lost = Failure::new(
                Kind::Integrity,
                format!("the branch `{branch}` cannot be read, and no commit of it is known"),
            );
            let hint = format!(
                "`git fsck --lost-found` shows the commits that are there; remove `{}`, then `git update-ref {name} COMMIT`",
                self.common_dir.join(name).display()
            );
            return if tip == Tip::Absent { Ok(tip) } else { Err(lost.hint(hint).into()) };
        };
        let loose = self.common_dir.join(name);
        let kept = self.kept(&loose, keep_in)?;
        // By git, where it is held: a link in place of the folder of refs would lead our own hand elsewhere.
        self.git_changing(&["update-ref", "--no-deref", "-m", "longhaul: set back", name, &commit], None)
            .with_context(|| format!("could not set the branch `{branch}` back"))?;
        let short = &commit[..7];
        told.push(format!(
            "the branch `{branch}` could not be read; it is at {short} again, its last known commit, and {kept}"
        ));
        Ok(Tip::Sound)
    }

    /// Returns the newest commit of a branch that is known and there.
    fn newest_of(&self, name: &str, branch: &str, known: &Known) -> Result<Option<String>> {
        let logged = self.logged(&self.common_dir.join("logs").join(name));
        let of_branch = known.branch.as_deref() == Some(branch);
        let recorded = known.commits.iter().find(|commit| of_branch && self.is_sound(commit)).cloned();
        Ok(match (logged, recorded) {
            // A log can be cut off.
            (Some(logged), Some(recorded)) if self.contains(&recorded, &logged)? => Some(recorded),
            (logged, recorded) => logged.or(recorded),
        })
    }

    /// Returns the newest commit that a log of HEAD or of a branch names and that is there.
    fn logged(&self, log: &Path) -> Option<String> {
        let end = read_end(log)?;
        let ids = end.lines().rev().filter_map(|line| line.split(' ').nth(1).map(str::to_owned));
        ids.into_iter().take(100).find(|id| self.is_sound(id))
    }

    fn unknown_head(&self, branches: &[String]) -> Failure {
        let head = self.repository.path().join("HEAD");
        let text = format!(
            "HEAD of the project cannot be read, and it is not known which branch it named: `{}`",
            head.display()
        );
        Failure::new(Kind::Integrity, text).hint(format!(
            "write a line `ref: refs/heads/BRANCH` into that file (there is {}), then `git status` and `git reflog` show \
             where it stands",
            if branches.is_empty() { "no branch that can be read".to_owned() } else { super::listed(branches) }
        ))
    }

    /// Tells whether git cannot read the index, or there is none for a commit with files.
    fn is_index_damaged(&self, head: Tip) -> bool {
        let path = self.repository.path().join("index");
        match fs::metadata(&path) {
            // Before anything is committed or staged there is none.
            Err(_) => path.is_symlink() || (head == Tip::Sound && !self.is_empty_at_head()),
            Ok(found) if !found.is_file() => true,
            Ok(found) if found.len() > READ_INDEX => !self.reads_index(),
            // git itself takes a torn one for what it seems to say.
            Ok(_) => Index::open(&path).is_err_and(|error| !is_of_another_form(&error) || !self.reads_index()),
        }
    }

    /// Tells whether HEAD's commit holds no file.
    fn is_empty_at_head(&self) -> bool {
        let tree = self.repository.head().and_then(|head| head.peel_to_tree());
        tree.is_ok_and(|tree| tree.is_empty())
    }

    fn reads_index(&self) -> bool {
        self.git(&["ls-files", "--", ".git"], None).is_ok()
    }

    /// Says in plain words why git failed, where it was the index.
    pub(super) fn unless_index_damaged(&self, error: anyhow::Error) -> anyhow::Error {
        if !self.is_index_damaged(Tip::Absent) {
            return error;
        }
        let text = "the index of the project cannot be read";
        Failure::new(Kind::Integrity, text)
            .hint("`longhaul run` makes it again from HEAD, and so does `rm .git/index && git reset`")
            .into()
    }

    /// Makes the index of HEAD's tree; what was staged stays in the working tree alone.
    fn make_index_again(&self, keep_in: &Path) -> Result<String> {
        let path = self.repository.path().join("index");
        let kept = self.kept(&path, keep_in)?;
        if let Some(head) = self.head()? {
            self.git_changing(&["read-tree", &head.tree], None)
                .context("could not make the index of the project again")?;
            self.leave_out_again()?;
        }
        Ok(format!(
            "the index of the project could not be read; it was made again from HEAD, files stay as they are, and {kept}"
        ))
    }

    /// Where a sparse checkout leaves files out, those that are not there count as left out, not as deleted.
    fn leave_out_again(&self) -> Result<()> {
        if !self.is_sparse() {
            return Ok(());
        }
        let absent = self.git(&["ls-files", "--deleted", "-z"], None)?;
        self.git_changing(&["update-index", "--skip-worktree", "-z", "--stdin"], Some(absent)).map(drop)
    }
}

/// Tells whether a folder itself is there, and no link to one.
pub(super) fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}

/// Tells whether git takes these bytes for packed refs: lines that end, with a heading before the first at most.
fn are_packed_refs(bytes: &[u8]) -> bool {
    let Some(lines) = bytes.strip_suffix(b"\n") else { return bytes.is_empty() };
    let heading = |number: usize, line: &[u8]| number == 0 && line.starts_with(b"# pack-refs with:");
    lines.split(|byte| *byte == b'\n').enumerate().all(|(number, line)| heading(number, line) || is_packed_ref(line))
}

/// Tells whether a line names a commit and a ref, or what the tag in the line before it leads to.
fn is_packed_ref(line: &[u8]) -> bool {
    let id = |text: &str| text.len() >= 40 && Oid::from_str(text).is_ok();
    let Ok(line) = std::str::from_utf8(line) else { return false };
    match line.strip_prefix('^') {
        Some(tagged) => id(tagged),
        None => line
            .split_once(' ')
            .is_some_and(|(text, name)| id(text) && Reference::is_valid_name(name) && !IN_THE_WAY.contains(&name)),
    }
}

/// Tells whether an index has parts that only git itself knows, as that of a sparse checkout may.
fn is_of_another_form(error: &git2::Error) -> bool {
    error.message().contains("unsupported")
}

/// Reads a file as short as a ref; none where there is another thing, a pipe or a link for example, that must not be
/// opened.
pub(super) fn read_short(path: &Path) -> Option<String> {
    let found = path.symlink_metadata().ok().filter(|found| found.is_file() && found.len() <= LONGEST_REF);
    found.and_then(|_| fs::read_to_string(path).ok())
}

fn read_end(path: &Path) -> Option<String> {
    let found = path.symlink_metadata().ok().filter(fs::Metadata::is_file)?;
    let mut file = fs::File::open(path).ok()?;
    file.seek(SeekFrom::Start(found.len().saturating_sub(LOG_END))).ok()?;
    let mut bytes = Vec::new();
    file.take(LOG_END).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
