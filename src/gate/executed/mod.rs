//! Whether nothing was tested although the check ended well. It can refuse a pass, never make one.
//!
//! Only a runner that decides is believed: one that the check starts, with nothing behind it that tests something too. A
//! product may well print the words of a runner, and a crate without unit tests has its end-to-end test behind `cargo test`.

mod aside;
mod chosen;
mod commands;
mod compared;
mod documents;
mod ended;
mod ending;
mod failing;
mod fed;
mod filters;
mod forms;
mod heard;
mod kept;
mod kinds;
mod listed;
mod looking;
mod recipes;
mod roles;
mod runners;
mod scripts;
mod searched;
mod skips;
mod starters;
mod steps;
#[cfg(test)]
mod tests;

use crate::gate::Check;
use crate::gate::CheckFiles;
use crate::process::Output;
use crate::project;
pub(in crate::gate) use chosen::choices;
pub(in crate::gate) use chosen::found_none;
pub use ended::Ended;
use ending::Owed;
pub(in crate::gate) use failing::failed_before;
pub(in crate::gate) use looking::only_looks;
use recipes::Idle;
pub(in crate::gate) use recipes::built;
pub(in crate::gate) use roles::Naming;
pub(in crate::gate) use roles::Role;
pub(in crate::gate) use roles::namings;
pub(in crate::gate) use roles::namings_in_code;
pub(in crate::gate) use roles::patterns_run;
pub(in crate::gate) use roles::runs_silent_doctest;
pub(in crate::gate) use roles::sole_script;
pub(in crate::gate) use roles::sole_scripts_on_path;
pub(in crate::gate) use roles::starts_other_runner;
use runners::Runner;
pub(in crate::gate) use searched::patterns;
pub use skips::Skips;
pub(in crate::gate) use skips::skipped_tests;
use std::path::Path;
use steps::Read;
use steps::Step;
use steps::Texts;

/// A file beyond this is no script that somebody wrote, but a program.
const LARGEST_TEXT: u64 = 256 * 1024;

/// The runners that decide a check; none where something else does.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(in crate::gate) struct Deciding {
    runners: Vec<Runner>,
    /// Those that have to tell their end where the check ends well.
    owed: Vec<Owed>,
    /// What tells that the `make` that decides did nothing.
    idle: Option<Idle>,
    /// The program that decides by what its own files say.
    task: Option<String>,
}

impl Deciding {
    /// Finds them in the check's text and in what it calls, as that lies in `folder`, which holds a tree of the project
    /// whose root is `root`.
    pub(in crate::gate) fn of(check: &Check, files: &CheckFiles, folder: &Path, root: &Path) -> Self {
        let root = root.to_string_lossy();
        let texts = Laid { files, folder, root: root.trim_end_matches('/') };
        Self::among(steps::read(&check.run, &check.cwd, &texts))
    }

    fn among(read: Read) -> Self {
        let Read { steps, owed, idle, task } = read;
        Self { idle, task, ..Self::of_runners(&steps, owed) }
    }

    fn of_runners(steps: &[Step], owed: Vec<Owed>) -> Self {
        let is_runner = |step: &Step| matches!(step, Step::Runner(_));
        let Some(last) = steps.iter().rposition(is_runner) else { return Self::of_script(steps) };
        // What comes before a runner builds or starts things, unless its name tells a test.
        if last + 1 < steps.len() || steps.iter().any(Step::tests) {
            return Self::default();
        }
        let mut runners: Vec<Runner> = steps.iter().flat_map(Step::runners).copied().collect();
        runners.sort_unstable();
        runners.dedup();
        Self { runners, owed, ..Self::default() }
    }

    /// Of the test script of a package TAP is believed, where it alone tests something.
    fn of_script(steps: &[Step]) -> Self {
        let alone = steps.iter().filter(|step| step.tests()).count() == 1;
        let decides = alone && steps.last() == Some(&Step::Script);
        Self { runners: if decides { vec![Runner::Tap] } else { Vec::new() }, ..Self::default() }
    }

    /// Returns the program that decides by what its own files say, such as `make`.
    pub(in crate::gate) fn task(&self) -> Option<&str> {
        self.task.as_deref()
    }

    /// Tells whether no runner decides.
    pub(in crate::gate) fn is_none(&self) -> bool {
        self.runners.is_empty()
    }

    /// Returns the reason why nothing was executed: `make` had nothing to do, or a deciding runner says so and none says
    /// that something was.
    pub(in crate::gate) fn nothing(&self, output: &str) -> Option<String> {
        let idle = self.idle.as_ref().and_then(|idle| idle.nothing(output));
        idle.or_else(|| forms::nothing(&self.runners, output).map(str::to_owned))
    }

    /// Counts the tests that the deciding runners skipped, where the code under test can have that done.
    pub(in crate::gate) fn skips(&self, output: &str) -> Option<Skips> {
        skips::counted(&self.runners, output)
    }

    /// Counts the tests that came to their end, as the deciding runners say.
    pub(in crate::gate) fn ended(&self, output: &Output) -> Ended {
        let owed = |runner| self.owed.iter().filter(|owed| owed.is_of(runner)).count();
        let ended = ended::counted(&self.runners, &output.text(), &owed);
        Ended { is_sure: ended.is_sure && output.left_out() == 0, ..ended }
    }

    /// Returns why a deciding runner did not come to its end, or tells of a failure there, although the check ended well.
    pub(in crate::gate) fn unfinished(&self, output: &Output) -> Option<String> {
        // Of what lies between head and tail nobody knows which summaries it holds.
        Some(output.text()).filter(|_| output.left_out() == 0).and_then(|text| self.unfinished_in(&text))
    }

    fn unfinished_in(&self, output: &str) -> Option<String> {
        ending::missing(&self.owed, &forms::plain(output))
    }
}

/// The texts as they lie there when the check runs.
struct Laid<'a> {
    files: &'a CheckFiles,
    folder: &'a Path,
    root: &'a str,
}

impl Texts for Laid<'_> {
    fn of_memory(&self, name: &str) -> Option<Vec<u8>> {
        self.files.get(name).map(<[u8]>::to_vec)
    }

    fn of_tree(&self, path: &str) -> Option<Vec<u8>> {
        project::read_beneath(self.folder, Path::new(path), LARGEST_TEXT).ok().flatten()
    }

    fn lies(&self, path: &str) -> bool {
        std::fs::symlink_metadata(self.folder.join(path)).is_ok()
    }

    fn root(&self) -> &str {
        self.root
    }
}
