//! Where the rest of a repository stood when a session began: the branches that are not its own, and what git runs.

use super::Project;
use super::listed;
use anyhow::Context;
use anyhow::Result;
use serde::Deserialize;
use serde::Serialize;
use std::collections::BTreeMap;
use std::collections::BTreeSet;

/// More than these are counted.
const TOLD: usize = 5;

/// What is compared at the end of a session.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Standing {
    /// The commit of each local branch.
    tips: BTreeMap<String, String>,
    /// Settings and hooks by which git runs programs.
    programs: BTreeSet<String>,
}

impl Project {
    /// Notes where the repository stands.
    pub fn standing(&self) -> Result<Standing> {
        Ok(Standing { tips: self.tips()?, programs: self.programs() })
    }

    /// Says in sentences what else of the repository is not as it was: branches other than `own` that moved or went, whose
    /// commits are kept, and programs that git would run now.
    pub fn since(&self, before: &Standing, own: Option<&str>) -> Result<Vec<String>> {
        let now = self.standing()?;
        let others = before.tips.iter().filter(|(name, _)| Some(name.as_str()) != own);
        let moved = others.filter(|(name, tip)| now.tips.get(*name) != Some(*tip));
        let mut told = moved
            .map(|(name, tip)| self.moved(name, tip, now.tips.get(name).map(String::as_str)))
            .collect::<Result<Vec<String>>>()?;
        if told.len() > TOLD {
            let more = told.split_off(TOLD).len();
            told.push(format!("and {more} more branches moved or went while the session was on; `git for-each-ref refs/longhaul/base` lists what was kept"));
        }
        let came: Vec<String> = now.programs.difference(&before.programs).cloned().collect();
        if !came.is_empty() {
            told.push(format!(
                "git settings that run programs came while the session was on; look at them before you run git here: {}",
                listed(&came)
            ));
        }
        Ok(told)
    }

    fn moved(&self, name: &str, tip: &str, now: Option<&str>) -> Result<String> {
        let short = &tip[..7];
        if let Some(now) = now.filter(|now| self.contains(now, tip).unwrap_or_default()) {
            return Ok(format!("the branch `{name}` went on from {short} to {} while the session was on", &now[..7]));
        }
        let to = now.map_or_else(|| "is gone".to_owned(), |now| format!("moved to {}", &now[..7]));
        let fate = if self.holds(tip)? {
            self.keep_base(tip)?;
            "is kept below `refs/longhaul/base/`"
        } else {
            "is gone from the repository too"
        };
        Ok(format!("the branch `{name}` {to} while the session was on; it was at {short}, which {fate}"))
    }

    fn tips(&self) -> Result<BTreeMap<String, String>> {
        let branches =
            self.repository.branches(Some(git2::BranchType::Local)).context("could not list the branches")?;
        // One that cannot be read is looked at elsewhere.
        let branches = branches.flatten().filter_map(|(branch, _)| {
            let name = String::from_utf8_lossy(branch.name_bytes().ok()?).into_owned();
            Some((name, branch.get().target()?.to_string()))
        });
        Ok(branches.collect())
    }
}
