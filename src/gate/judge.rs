//! The decision: what one run of a check means for its feature.

use crate::clock::deadline;
use crate::gate::Check;
use crate::gate::Finding;
use crate::gate::Gate;
use crate::gate::Kind;
use crate::gate::Pin;
use crate::gate::Red;
use crate::gate::Rules;
use crate::gate::Site;
use crate::gate::Verdict;
use crate::gate::brought::refuse_chosen;
use crate::gate::checkout;
use crate::gate::checkout::Place;
use crate::gate::checkout::Private;
use crate::gate::checkout::Tree;
use crate::gate::closure::Reading;
use crate::gate::closure::closure;
use crate::gate::closure::memory_closure;
use crate::gate::closure::texts;
use crate::gate::difference::difference;
use crate::gate::empty::empty;
use crate::gate::from_git;
use crate::gate::shell::Shell;
use crate::gate::soft;
use crate::gate::stage::PinnedBytes;
use crate::gate::trial;
use crate::gate::trial::Surroundings;
use crate::gate::verdict::Circumstances;
use crate::gate::verdict::Trial;
use crate::gate::written::Written;
use crate::project::Head;
use crate::project::listed;
use anyhow::Context;
use anyhow::Result;
use std::path::Path;

/// Passes in a row that a check needs whose result once changed without a change of the tree.
const RUNS_OF_FLAKY: u32 = 3;

/// What is recorded of a feature and bears on a new verdict.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// The non-pass that a proof would stand on.
    pub red: Option<Red>,
    /// The commit on which this very check was first judged.
    pub since: Option<String>,
    /// The result of this very check once changed without a change of the tree.
    pub flaky: bool,
    /// Trees on which this very check ran, and whether it passed there.
    pub results: Vec<(String, bool)>,
}

impl Known {
    fn was(&self, tree: &str, passed: bool) -> bool {
        self.results.iter().any(|(known, result)| known == tree && *result == passed)
    }
}

impl Gate<'_> {
    /// Says how the files that an approval would pin now differ from the check's pins, if they do; `known` and `pinned` as for
    /// [`Gate::judge`].
    pub fn difference(&self, check: &Check, known: &Known, pinned: PinnedBytes) -> Result<Option<String>> {
        let hard = difference(&check.pins, &closure(self.project, check, &self.files, Reading::Pinned)?, pinned);
        let head = self.project.head()?.filter(|_| self.settings.strict);
        let soft =
            head.map(|head| self.soft_changes(check, &self.site(check, known, &head.tree)?, &head.tree)).transpose()?;
        let soft = soft.and_then(|changed| self.strict_refusal(&changed)).map(|trial| trial.detail);
        let filters = self.late_filters(check)?;
        let filters = (!filters.is_empty()).then(|| format!("git's filters changed since: {}", listed(&filters)));
        let parts: Vec<String> = hard.into_iter().chain(soft).chain(filters).collect();
        Ok((!parts.is_empty()).then(|| parts.join("\n")))
    }

    /// Runs the check and decides. `pinned` returns the bytes of a pinned id: they are what runs.
    ///
    /// # Errors
    /// Only what keeps the gate from deciding, such as an unreadable repository; a check that cannot run is a verdict.
    pub fn judge(&self, feature: &str, check: &Check, known: &Known, pinned: PinnedBytes) -> Result<Verdict> {
        let head = self.project.head()?;
        let refused = |trial| Ok(Verdict::new(trial, self.circumstances(feature, check, head.as_ref(), None)));
        if let Some(trial) = self.out_of_time() {
            return refused(trial);
        }
        if let Some(trial) = self.refusal(check, pinned)? {
            return refused(trial);
        }
        let Some(head) = head.clone() else {
            return refused(Trial::refused(Finding::NotCommitted, "the project has no commit yet"));
        };
        let site = self.site(check, known, &head.tree)?;
        if let Some(reason) = self.untested(&site)? {
            return refused(Trial::refused(Finding::NotCommitted, reason));
        }
        let soft = self.soft_changes(check, &site, &head.tree)?;
        let refused = |trial| {
            let of = self.circumstances(feature, check, Some(&head), None);
            Ok(Verdict::new(trial, Circumstances { soft: soft.clone(), ..of }))
        };
        if let Some(trial) = self.strict_refusal(&soft) {
            return refused(trial);
        }
        let tree = match self.stage(check, &site, &head.tree, pinned)? {
            Ok(tree) => tree,
            Err(trial) => return refused(trial),
        };
        let least = if known.flaky || known.was(&head.tree, false) { RUNS_OF_FLAKY } else { 1 };
        let mut trial = self.run(check, check.runs.max(least), &tree)?;
        let flipped = trial.flipped || known.was(&head.tree, !trial.finding.is_green()) && trial.finding.is_result();
        let looked = self.look_at_tree(&mut trial, check, &tree, &head)?;
        self.refuse_versions_of_git(&mut trial, check, known, (&tree, &head.tree), pinned)?;
        let mut circumstances = self.circumstances(feature, check, Some(&head), Some(&tree));
        let mut others = self.taken_out(check, &tree, &|pin| pin != Some(&None));
        // What tools load by themselves is no test that somebody may have been asked for.
        others.retain(|path| !soft.contains(path));
        drop(tree);
        // What refuses it from here on may have been cut itself.
        let passed = trial.finding == Finding::Passed;
        let of_no_account = self.judge_changes(&mut trial, check, known, &looked.changed, &head.tree, pinned)?;
        circumstances.disclosed.extend(of_no_account);
        let red = known.red.as_ref().filter(|red| red.check == check.digest());
        let fewer = self.refuse_fewer(&mut trial, check, known, &head.commit, pinned);
        let chosen = refuse_chosen(&mut trial, check, &self.files, red);
        if trial.finding == Finding::Passed && !self.is_earlier(red, &head) {
            trial.finding = Finding::AlreadyGreen;
            trial.add("no tree of before the work is recorded on which this check did not pass");
        }
        let wanted = self.wanted_beside(&trial, check, known, &others, &head.tree, pinned)?;
        circumstances.unapproved.extend(wanted.into_iter().chain(chosen).chain(fewer));
        if let Some(red) = red {
            self.look_back(&mut trial, check, known, red, pinned)?;
        }
        if passed && trial.finding == Finding::TreeMoved && deadline::is_over(self.deadline) {
            trial.finding = Finding::OutOfTime;
        }
        let soft = [soft, trial.planted.clone()].concat();
        Ok(Verdict::new(
            trial,
            Circumstances { red: red.cloned(), flipped, soft, untracked: looked.untracked, ..circumstances },
        ))
    }

    /// Runs the check the same way on what a commit of now would hold. Proves nothing.
    pub fn try_out(&self, check: &Check, known: &Known, pinned: PinnedBytes) -> Result<Trial> {
        self.project.require_well_placed()?;
        if let Some(refused) = self.out_of_time().map_or_else(|| self.refusal(check, pinned), |cut| Ok(Some(cut)))? {
            return Ok(refused);
        }
        let snapshot = self.project.snapshot(&self.before)?;
        let site = self.site(check, known, &snapshot)?;
        if let Some(refused) = self.strict_refusal(&self.soft_changes(check, &site, &snapshot)?) {
            return Ok(refused);
        }
        let tree = match self.stage(check, &site, &snapshot, pinned)? {
            Ok(tree) => tree,
            Err(trial) => return Ok(trial),
        };
        let mut trial = self.run(check, check.runs, &tree)?;
        tell_difference(&mut trial, &tree);
        self.refuse_versions_of_git(&mut trial, check, known, (&tree, &snapshot), pinned)?;
        Ok(trial)
    }

    /// Returns a result when the check is not the approved one or not complete, and so must not be run.
    pub(in crate::gate) fn refusal(&self, check: &Check, pinned: PinnedBytes) -> Result<Option<Trial>> {
        if check.kind == Kind::Manual {
            let detail = "a manual check is for a person: use `longhaul accept`";
            return Ok(Some(Trial::refused(Finding::NeedsPerson, detail)));
        }
        let files = memory_closure(self.project, check, &self.files);
        let root = self.project.root().to_string_lossy();
        if let Some(detail) = empty(check, &self.files, root.trim_end_matches('/'), pinned) {
            return Ok(Some(Trial::refused(Finding::Empty, detail)));
        }
        let missing = files.iter().find(|file| file.id.is_none()).cloned();
        if let Some(difference) = self.memory_difference(check, files, pinned) {
            return Ok(Some(Trial::refused(Finding::CheckChanged, difference)));
        }
        Ok(missing.map(|file| {
            let name = &file.path["checks/".len()..];
            let detail = format!("`$LONGHAUL_CHECKS/{name}` is not among memory's check files");
            Trial::refused(Finding::NotRunnable, detail)
        }))
    }

    /// Returns a result when there is no time left to run anything.
    fn out_of_time(&self) -> Option<Trial> {
        deadline::is_over(self.deadline).then(|| Trial::refused(Finding::OutOfTime, trial::NO_TIME))
    }

    /// Lists what tools load by themselves and changed since the check was approved.
    fn soft_changes(&self, check: &Check, site: &Site, tree: &str) -> Result<Vec<String>> {
        Ok(soft::changed(check, &self.soft_at(site.place, tree)?))
    }

    /// Returns a result when such changes are there and the settings refuse them.
    fn strict_refusal(&self, changed: &[String]) -> Option<Trial> {
        (self.settings.strict && !changed.is_empty()).then(|| {
            let detail = format!("`gate.strict`: what tools load by themselves changed since: {}", listed(changed));
            Trial::refused(Finding::CheckChanged, detail)
        })
    }

    /// Refuses a pass of a check that takes files from git: there the approved versions lie over nothing, and attributes
    /// may leave them out. `of` is the tree that was staged, and its id.
    fn refuse_versions_of_git(
        &self,
        trial: &mut Trial,
        check: &Check,
        known: &Known,
        of: (&Tree, &str),
        pinned: PinnedBytes,
    ) -> Result<()> {
        if trial.finding != Finding::Passed {
            return Ok(());
        }
        let scripts = check.pins.iter().filter_map(|(path, pin)| {
            let bytes = pinned(Pin::read(pin.as_deref()?).id)?;
            from_git::is_script(path, &bytes).then(|| String::from_utf8_lossy(&bytes).into_owned())
        });
        let texts: Vec<String> = texts(check, &self.files).into_iter().chain(scripts).collect();
        let archives = check.rules == Rules::Now && texts.iter().any(|text| from_git::makes_archive(text));
        if let Some(line) = if archives { self.new_export(check, known, of.1)? } else { None } {
            trial.finding = Finding::CheckChanged;
            trial.add(&format!(
                "the check takes files from `git archive`, and an attribute that was not there at approval changes what it \
                 gives of the approved ones: `{line}` in `.gitattributes`"
            ));
        }
        let lists = check.rules == Rules::Now && texts.iter().any(|text| from_git::lists_files(text));
        if let Some(path) = if lists { self.gone_from(check, known, of.1)? } else { None } {
            trial.finding = Finding::CheckChanged;
            trial.add(&format!(
                "the check asks git for files, and the approved `{path}` is gone from the commit: put it back, or approve that \
                 with `longhaul accept`"
            ));
        }
        if !of.0.difference.is_empty() && texts.iter().any(|text| from_git::takes_files(text)) {
            trial.finding = Finding::CheckChanged;
            trial.add(
                "the check takes files from git, where the approved versions do not lie: put them back in the project, \
                 or approve the project's with `longhaul accept`",
            );
        }
        Ok(())
    }

    /// Tells in words why the commit at HEAD is not what would be tested. A clean checkout holds nothing that is not in
    /// it; the working tree must be what the commit says.
    fn untested(&self, site: &Site) -> Result<Option<String>> {
        match site.place {
            Place::Clean => Ok(None),
            _ => checkout::uncommitted(self.project, &self.left_out),
        }
    }

    /// Returns what a run in `folder` needs.
    pub(in crate::gate) fn surroundings<'a>(&'a self, folder: &'a Path, private: Option<&Private>) -> Surroundings<'a> {
        Surroundings {
            folder,
            git_dir: private.map(Private::git_dir),
            objects: private.and_then(|private| private.objects.clone()),
            project: self.project,
            settings: self.settings,
            interrupt: self.interrupt,
            files: &self.files,
            init_script: self.init_script.as_deref(),
            init_path: self.init_path.as_deref(),
            deadline: self.deadline,
        }
    }

    pub(in crate::gate) fn run(&self, check: &Check, runs: u32, tree: &Tree) -> Result<Trial> {
        let mut trial =
            self.saved(trial::run(check, runs, &self.surroundings(&tree.folder, tree.private.as_ref()))?)?;
        if trial.finding != Finding::Passed {
            tree.lacking.iter().for_each(|lacking| trial.add(lacking));
        }
        Ok(trial)
    }

    /// Keeps the output of a run. A check may print a secret that it found somewhere: neither the file nor the
    /// verdict, which memory keeps for ever, gets it.
    pub(in crate::gate) fn saved(&self, mut trial: Trial) -> Result<Trial> {
        trial.output = trial.output.map(|output| output.hidden(|bytes| self.settings.secrets.redact_in(bytes)));
        let saved = trial.output.as_ref().map(|output| output.save(&self.artifacts)).transpose();
        trial.saved = saved.with_context(|| format!("could not keep output in `{}`", self.artifacts.display()))?;
        Ok(trial)
    }

    /// Tells whether the non-pass was on a tree other than this. A commit that is gone counts: rewritten history is
    /// shown, not refused.
    fn is_earlier(&self, red: Option<&Red>, head: &Head) -> bool {
        red.is_some_and(|red| {
            let differing = self.project.changed_paths(&red.commit, &head.commit);
            red.commit != head.commit && differing.map_or(true, |paths| !paths.is_empty())
        })
    }

    pub(in crate::gate) fn circumstances(
        &self,
        feature: &str,
        check: &Check,
        head: Option<&Head>,
        tree: Option<&Tree>,
    ) -> Circumstances {
        let untracked = || self.project.changes().map(|changes| changes.untracked).unwrap_or_default();
        Circumstances {
            feature: feature.to_owned(),
            check: check.digest(),
            approved_by: check.approved_by.clone(),
            form: check.form(),
            commit: head.map(|head| head.commit.clone()).unwrap_or_default(),
            tree: head.map(|head| head.tree.clone()).unwrap_or_default(),
            level: self.settings.sandbox.level.to_string(),
            checkout: tree.map(|tree| tree.place),
            overlaid: tree.map(|tree| tree.overlaid.clone()).unwrap_or_default(),
            unapproved: tree.map(|tree| self.unapproved(check, tree)).unwrap_or_default(),
            disclosed: tree.map(|tree| self.disclosed(check, tree)).unwrap_or_default(),
            prepared: tree.and_then(|tree| tree.prepared.clone()),
            session: self.session,
            at: self.clock.now().to_string(),
            // After a run they are known.
            untracked: if tree.is_none() { untracked() } else { Vec::new() },
            soft: Vec::new(),
            red: None,
            flipped: false,
        }
    }

    /// Lists the files that were absent at approval and were taken out of the tree.
    fn unapproved(&self, check: &Check, tree: &Tree) -> Vec<String> {
        self.taken_out(check, tree, &|pin| pin == Some(&None))
    }

    /// Lists the files with such a pin that were laid over or taken out, but not those that the check writes itself.
    fn taken_out(&self, check: &Check, tree: &Tree, of: &dyn Fn(Option<&Option<String>>) -> bool) -> Vec<String> {
        let texts = texts(check, &self.files);
        let written = Written::by(texts.iter().map(String::as_str));
        let taken = tree.overlaid.iter().filter(|path| of(check.pins.get(*path)));
        taken.filter(|path| !written.holds(path)).cloned().collect()
    }

    /// Lists what a person should know of the tested tree and of how the check ran.
    fn disclosed(&self, check: &Check, tree: &Tree) -> Vec<String> {
        let mut disclosed = tree.disclosed.clone();
        if tree.place != Place::InPlace && !self.is_bound() {
            disclosed.push(format!("in plain mode the tested tree lies at another path: {}", tree.folder.display()));
        }
        if Shell::of(&check.run, check.rules, &self.host_environment()).blind {
            disclosed.push("no shell was found that sees a failure inside a pipeline".to_owned());
        }
        disclosed
    }
}

/// Tells which files of the check were not the tree's.
pub(in crate::gate) fn tell_difference(trial: &mut Trial, tree: &Tree) {
    if !tree.difference.is_empty() {
        trial.add(&format!("the approved version of the check decided; the tree's differs:\n{}", tree.difference));
    }
}
