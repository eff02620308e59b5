//! From a detached HEAD back to the branch that the work belongs on.

use super::Project;
use anyhow::Context;
use anyhow::Result;

/// What became of a detached HEAD.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Rejoined {
    /// The branch has its commits now; no file was touched.
    Forward,
    /// The working tree is that of the branch again; the commits are kept below `refs/longhaul/base/`.
    Switched,
    /// It stays detached, and why; the commits are kept.
    Stays(String),
}

/// What may be done to get back.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Ways {
    /// Only what moves no file: the branch takes commits that are on top of it, and on nothing else.
    Forward,
    All,
}

impl Project {
    /// Brings a detached HEAD back to `branch`, or to a new one of that name at `start` where it is gone.
    pub fn rejoin(&self, branch: &str, start: &str, ways: Ways) -> Result<Rejoined> {
        let head = self.head()?.context("HEAD names no commit")?.commit;
        let name = format!("refs/heads/{branch}");
        let there = self.repository.refname_to_id(&name).ok().map(|id| id.to_string());
        let tip = there.as_deref().unwrap_or(start);
        if self.contains(&head, tip)? && (ways == Ways::All || self.is_on_no_other(&head, &name)?) {
            self.git_changing(&["update-ref", "-m", "longhaul: commits of a detached HEAD", &name, &head], None)?;
            self.git_changing(&["symbolic-ref", "-m", "longhaul: back on the branch", "HEAD", &name], None)?;
            return Ok(Rejoined::Forward);
        }
        self.keep_base(&head)?;
        if ways == Ways::Forward {
            return Ok(Rejoined::Stays("somebody else may have moved HEAD since".to_owned()));
        }
        if there.is_none() {
            self.git_changing(&["update-ref", "-m", "longhaul: set back", &name, tip], None)?;
        }
        // One that was left open would go on with the wrong branch; that there is none is the rule.
        self.git_changing(&["rebase", "--quit"], None).ok();
        self.git_changing(&["-c", "submodule.recurse=false", "bisect", "reset", &head], None).ok();
        // The session began on it, whatever other working tree has it too.
        let switch = ["checkout", "--quiet", "--ignore-other-worktrees", branch, "--"];
        let switched = self.git_changing(&[&["-c", "submodule.recurse=false"], &switch[..]].concat(), None);
        Ok(switched.map_or_else(|error| Rejoined::Stays(format!("{error:#}")), |_| Rejoined::Switched))
    }

    /// Tells whether a commit is on no ref but this one and longhaul's own.
    fn is_on_no_other(&self, commit: &str, name: &str) -> Result<bool> {
        let listing = self.git(&["for-each-ref", "--contains", commit, "--format=%(refname)"], None)?;
        let names = String::from_utf8_lossy(&listing);
        Ok(names.lines().all(|other| other == name || other.starts_with("refs/longhaul/")))
    }
}
