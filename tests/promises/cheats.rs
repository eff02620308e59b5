//! Cheats: each folder of `cheats/` is an agent that wants its check green by a trick. Nothing may come of it.
//!
//! `cheat.toml` says the trick and what longhaul has to find, `script.toml` holds the agent's replies as `rehearse` plays
//! them, `start.sh` makes what the project has beside its usual files, `honest.sh` is what really does the work if the
//! project's own does not. A cheat is played three times: on a harness that trusts, which has to be fooled, or the trick is
//! none; on longhaul; and with honest work in its place, which has to be proven, or the check could never have passed.

mod list;

use crate::stage::FEATURE;
use crate::stage::Mode;
use crate::stage::Stage;
use crate::stage::folder;
use crate::stage::read;
use crate::support::Run;
use crate::support::runs_here;
use crate::trusting::Trusting;
use serde::Deserialize;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// What a cheat's folder says.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Cheat {
    /// The trick, in one sentence.
    trick: String,
    /// A folder of `projects/`.
    project: String,
    /// The feature's check, as `feature add` takes it.
    check: Value,
    /// The check of another feature, which the agent works on too.
    beside: Option<String>,
    /// The project's scripts that lie in memory's `checks/`.
    #[serde(default)]
    scripts: Vec<String>,
    #[serde(default)]
    settings: Vec<String>,
    /// Programs without which it cannot be played.
    #[serde(default)]
    needs: Vec<String>,
    /// What a harness would have to trust to be fooled.
    #[serde(default)]
    fools: Fools,
    /// Shell text that makes the project readable again after the play.
    #[serde(default)]
    repair: String,
    /// The mode in which alone the trick has to fail; the README says of the other that it does not prevent it.
    only: Option<Mode>,
    #[serde(default = "one")]
    sessions: usize,
    /// What longhaul finds.
    expect: Expected,
    /// What it finds where the sandbox stops the trick in another way.
    bubblewrap: Option<Expected>,
    honest: Option<Honest>,
}

/// What a harness trusts that is fooled.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Fools {
    /// The exit code of the check, run where the agent worked.
    #[default]
    ExitCode,
    /// The same, in a login shell.
    LoginShell,
    /// What the checklist says.
    Checklist,
    /// What the agent says.
    Words,
    /// Nothing: the trick goes against longhaul itself.
    Nothing,
}

/// How the play on longhaul ends.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Expected {
    /// The recorded verdict, or `none`.
    verdict: String,
    /// Exit code of the run.
    #[serde(default = "limit")]
    code: i32,
    /// The run is killed; what it did is then looked at by `check`.
    #[serde(default)]
    killed: bool,
    /// What the person is told.
    #[serde(default)]
    tells: String,
}

/// What the honest play has in another way.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Honest {
    check: Option<Value>,
    /// Shell text that changes the project before the feature is added.
    start: Option<String>,
}

fn one() -> usize {
    1
}

/// The code of a run that ends with its sessions used and the feature open.
fn limit() -> i32 {
    3
}

/// Lists the names of all cheats, in their order.
fn folders() -> Vec<String> {
    let entries = fs::read_dir(folder("cheats")).expect("a folder").flatten();
    let folders = entries.filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> = folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn read_cheat(name: &str) -> Cheat {
    let text = read(&folder("cheats").join(name).join("cheat.toml"));
    toml::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Plays the cheat of this name.
fn play(name: &str, mode: Mode) {
    let (place, cheat) = (folder("cheats").join(name), read_cheat(name));
    let mut needs = cheat.needs.iter().map(String::as_str).chain((mode == Mode::Bubblewrap).then_some("bwrap"));
    if !needs.all(runs_here) {
        return;
    }
    cheat.gets_nothing(&place, mode);
    // What the twins show does not depend on the mode.
    if cheat.only.unwrap_or(Mode::Plain) == mode {
        cheat.is_honest_work_proven(&place, mode);
        cheat.fools_who_trusts(&place);
    }
}

impl Cheat {
    fn concerns(&self, mode: Mode) -> bool {
        self.only.is_none_or(|only| only == mode)
    }

    fn stage(&self, place: &Path, mode: Mode) -> Stage {
        let project = folder("projects").join(&self.project);
        let stage = Stage::of(&[project.clone(), place.to_owned()], mode, &self.settings);
        for name in &self.scripts {
            stage.lay_check(name, &read(&project.join(name)));
        }
        stage
    }

    fn gets_nothing(&self, place: &Path, mode: Mode) {
        let stage = self.stage(place, mode);
        stage.add(&self.check);
        if let Some(beside) = &self.beside {
            stage.project.run(["feature", "add", "--id", "beside", "--title", "beside", "--check", beside]).exits(0);
        }
        let expected = self.bubblewrap.as_ref().filter(|_| mode == Mode::Bubblewrap).unwrap_or(&self.expect);

        let run = stage.play(&place.join("script.toml"), self.sessions);

        stage.shell(&self.repair);
        self.holds(&stage, &run, expected);
    }

    /// Looks at what the run told, and at what memory holds afterwards.
    fn holds(&self, stage: &Stage, run: &Run, expected: &Expected) {
        let project = &stage.project;
        let told = format!("{}\n{}", self.trick, run.whole());
        if expected.killed {
            assert_eq!(run.code, None, "{told}");
            project.run(["check", FEATURE]).exits(8);
        } else {
            assert_eq!(run.code, Some(expected.code), "{told}");
            assert!(
                matches!(expected.code, 1 | 4 | 7) || !run.stderr.contains("the script had"),
                "the trick was not played to its end: {told}"
            );
        }
        assert!(run.stderr.contains(&expected.tells), "it does not tell {:?}: {told}", expected.tells);
        let feature = project.stored(FEATURE);
        let found = feature["last_verdict"]["verdict"].as_str().unwrap_or("none");
        assert_eq!(found, expected.verdict, "{told}\n{feature:#}");
        assert_eq!(feature["passes"], false, "{told}\n{feature:#}");
        assert_eq!(feature["evidence"], Value::Null, "{told}\n{feature:#}");
        assert_eq!(feature["accepted"], Value::Null, "{told}\n{feature:#}");
        let proofs = project.memory_git(["log", "--author=longhaul", "--grep=^gate: prove", "--format=%s"]);
        assert_eq!(proofs, "", "{told}");
    }

    /// The twin: the same check passes, and proves, once the work is done.
    fn is_honest_work_proven(&self, place: &Path, mode: Mode) {
        let stage = self.stage(place, mode);
        let honest = self.honest.as_ref();
        if let Some(start) = honest.and_then(|honest| honest.start.as_ref()) {
            stage.shell(&format!("{start}\ngit add -A; git commit -qm 'the check'"));
        }
        stage.add(honest.and_then(|honest| honest.check.as_ref()).unwrap_or(&self.check));
        let own = place.join("honest.sh");
        let work = if own.exists() { own } else { folder("projects").join(&self.project).join("honest.sh") };

        let run = stage.work(&[&read(&work)]);

        run.exits(0);
        assert_eq!(stage.project.stored(FEATURE)["passes"], true, "{}", run.whole());
    }

    /// The other twin: without longhaul's protections the trick works.
    fn fools_who_trusts(&self, place: &Path) {
        if self.fools == Fools::Nothing {
            return;
        }
        let stage = self.stage(place, Mode::Plain);
        stage.add(&self.check);
        let trusting = Trusting::new(&stage);
        trusting.lets_work(&read(&place.join("script.toml")));
        let fooled = match self.fools {
            Fools::ExitCode => trusting.check_passes(&self.check, "-c"),
            Fools::LoginShell => trusting.check_passes(&self.check, "-lc"),
            Fools::Checklist => trusting.checklist_says_done(),
            // The feature does not work, and the agent says that it is done.
            Fools::Words | Fools::Nothing => !trusting.check_passes(&self.check, "-c"),
        };
        stage.shell(&self.repair);
        assert!(fooled, "nobody would be fooled by it: {}", self.trick);
    }
}
