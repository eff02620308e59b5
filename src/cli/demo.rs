//! `longhaul demo`: the main job from end to end, with a scripted model and everything else real.
//!
//! The project and the script are `examples/todo-cli/`. Children of this very program do the work, so that one of them
//! can be killed for real; `story` watches their lines and knows what must have been seen in the end.

mod stage;
mod story;

use super::Context;
use super::error::Code;
use super::line::Line;
use super::line::Tone;
use super::output::Output;
use super::signals;
use crate::process::Exit;
use crate::process::Heard;
use crate::process::Interrupt;
use crate::process::Running;
use crate::provider::Script;
use crate::provider::Server;
use anyhow::Result;
use anyhow::anyhow;
use anyhow::bail;
use anyhow::ensure;
use stage::Stage;
use std::path::PathBuf;
use std::time::Duration;
use std::time::Instant;
use story::Story;

const SPECIFICATION: &str = include_str!("../../examples/todo-cli/SPEC.md");
const SCRIPT: &str = include_str!("../../examples/todo-cli/script.toml");

/// How often the demo looks whether the model has fallen silent or a person wants to stop.
const LOOK: Duration = Duration::from_millis(20);

/// No command of the demo takes a tenth of this; one that does hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// Show a whole project, offline, with a scripted model
///
/// Needs no key and no tools beyond `sh` and `git`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Leave the project in this folder, which must not exist yet or be empty
    #[arg(long, value_name = "DIR")]
    pub(super) keep: Option<PathBuf>,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Code> {
    let interrupt = Interrupt::new();
    signals::watch(&interrupt, &context.output)?;
    let server = Server::start(Script::parse(SCRIPT, "script.toml of the demo")?)?;
    let stage = Stage::set(args.keep.as_deref(), context, &server.base_url(), &interrupt)?;
    let play = Play { stage, server, output: &context.output, interrupt: &interrupt, start: Instant::now() };
    match play.perform() {
        Err(_) if interrupt.requested() => Ok(Code::Interrupted),
        result => result.map(|()| Code::Done),
    }
}

struct Play<'a> {
    stage: Stage,
    server: Server,
    output: &'a Output,
    interrupt: &'a Interrupt,
    start: Instant,
}

/// When a command of the demo is ended from outside.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Kill {
    Never,
    /// Once the model has fallen silent.
    InSilence,
}

impl Play<'_> {
    fn perform(&self) -> Result<()> {
        let mut story = Story::new();
        self.opening();
        self.expect(&["init", "--spec", "SPEC.md"], Kill::Never, &mut story, &Exit::Code(0))?;
        self.expect(&["run"], Kill::InSilence, &mut story, &Exit::Signal(9))?;
        self.expect(&["run"], Kill::Never, &mut story, &Exit::Code(0))?;
        if let Some(missing) = story.missing() {
            bail!("the demo did not show this: {missing}");
        }
        let rejected = self.server.rejected();
        ensure!(rejected.is_empty(), "the scripted model refused requests: {}", rejected.join("; "));
        let left = self.server.unplayed();
        ensure!(left == 0, "the scripted model had {left} replies left that nobody asked for");
        self.closing(&story)
    }

    fn opening(&self) {
        self.say(Tone::Strong, "a project from an empty folder to the last proven feature; only the model is scripted");
        self.say(Tone::Dim, &format!("the project is in {}", self.stage.project().display()));
    }

    /// Shows what is there now: the checklist, the memory's history, and how to look further.
    fn closing(&self, story: &Story) -> Result<()> {
        let mut nothing = Story::over();
        self.expect(&["feature", "list"], Kill::Never, &mut nothing, &Exit::Code(0))?;
        self.expect(&["log"], Kill::Never, &mut nothing, &Exit::Code(0))?;
        let (scenes, seconds) = (story.told(), self.start.elapsed().as_secs_f64());
        self.say(Tone::Plain, "");
        self.say(Tone::Good, &format!("all {scenes} scenes were seen and all features are proven, in {seconds:.1} s"));
        let folder = if self.stage.is_kept() {
            self.stage.project().display().to_string()
        } else {
            self.say(Tone::Plain, "to keep the project and look around: longhaul demo --keep DIR");
            "DIR".to_owned()
        };
        self.say(
            Tone::Plain,
            &format!("the whole history: git --git-dir='{folder}/.git/longhaul/memory.git' log --stat"),
        );
        Ok(())
    }

    /// Runs one longhaul in the project and fails when it does not end as it should.
    fn expect(&self, words: &[&str], kill: Kill, story: &mut Story, expected: &Exit) -> Result<()> {
        self.say(Tone::Plain, "");
        self.say(Tone::Strong, &format!("$ longhaul {}", words.join(" ")));
        let mut child = Running::start(&self.stage.longhaul(words)).map_err(|reason| anyhow!(reason))?;
        self.listen(&mut child, kill, story)?;
        let exit = child.wait();
        ensure!(exit == *expected, "`longhaul {}` ended with {exit:?} instead of {expected:?}", words.join(" "));
        Ok(())
    }

    fn listen(&self, child: &mut Running, kill: Kill, story: &mut Story) -> Result<()> {
        let start = Instant::now();
        let mut killed = false;
        loop {
            ensure!(!self.interrupt.requested(), "interrupted");
            ensure!(start.elapsed() < PATIENCE, "a command of the demo took more than {} s", PATIENCE.as_secs());
            match child.hear(LOOK) {
                Heard::Line(line) => self.tell(&line, story),
                Heard::End => return Ok(()),
                // Only now has everything been read that the child said before.
                Heard::Nothing if kill == Kill::InSilence && !killed => {
                    if self.server.wait_until_held(1, Duration::ZERO).is_some() {
                        killed = true;
                        child.kill();
                        self.tell(
                            &format!("kill -9 {}: the model is silent, the session is in the middle", child.id()),
                            story,
                        );
                    }
                }
                Heard::Nothing => {}
            }
        }
    }

    /// Shows a child's line, and below it what it means for the story.
    fn tell(&self, line: &str, story: &mut Story) {
        self.output.data_line(&Line::plain("  ").add(Tone::Plain, line));
        if let Some(scene) = story.hear(line) {
            self.say(Tone::Good, &format!("▸ {scene}"));
        }
    }

    fn say(&self, tone: Tone, text: &str) {
        self.output.data_line(&Line::new(tone, text));
    }
}
