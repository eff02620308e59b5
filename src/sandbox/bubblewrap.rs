//! The host's side of a sandbox made by bubblewrap: starts it, gives orders to the supervisor in it, and ends it.

use super::Network;
use super::Room;
use super::Settings;
use super::cgroup::Group;
use super::families;
use super::room::OWN_PROGRAM;
use super::wire;
use super::wire::Answer;
use super::wire::Order;
use crate::failure::Failure;
use crate::failure::Kind;
use crate::process;
use crate::process::Command;
use crate::process::Ended;
use crate::process::Exit;
use crate::process::Finished;
use crate::process::Happening;
use crate::process::Happenings;
use crate::process::Interrupt;
use crate::process::Lasting;
use crate::process::Streams;
use crate::process::Survivor;
use anyhow::Context;
use anyhow::Result;
use anyhow::bail;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::PipeReader;
use std::io::PipeWriter;
use std::io::Read;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::sync::mpsc::Receiver;
use std::sync::mpsc::Sender;
use std::time::Duration;
use std::time::Instant;

/// How long a sandbox may take to be there.
const START: Duration = Duration::from_secs(20);

/// How long the supervisor may take to answer beyond what a command may take; then it is not the supervisor any more that
/// decides.
const ANSWER: Duration = Duration::from_secs(3);

/// Time between TERM and KILL for what still lives at the end.
const GRACE: Duration = Duration::from_secs(2);

/// How long the end may take beyond that: a `git` may finish, and what was killed has to go.
const END: Duration = Duration::from_secs(6);

/// A sandbox that is opened, and opened anew should a command have brought it down.
pub struct Bubblewrap {
    settings: Settings,
    room: Room,
    interrupt: Interrupt,
    inside: Mutex<Option<Inside>>,
}

/// What whoever started servers in there has to know.
const WITH_IT: &str = "and with it all that ran in the background; the next command gets a fresh one";

/// A running sandbox.
struct Inside {
    bwrap: Lasting,
    interrupt: Interrupt,
    socket: UnixStream,
    answers: Receiver<Answer>,
    /// Told when a command has ended.
    waiting: Arc<Mutex<Option<Sender<Happening>>>>,
    /// Removed last, when nothing is in it any more.
    limits: Option<Group>,
}

impl Bubblewrap {
    pub(super) fn open(settings: &Settings, room: &Room, interrupt: Interrupt) -> Result<Self> {
        let inside = Mutex::new(Some(Inside::start(settings, room, &interrupt)?));
        Ok(Self { settings: settings.clone(), room: room.clone(), interrupt, inside })
    }

    pub(super) fn run(&self, command: &Command) -> Finished {
        let mut inside = self.inside();
        process::observe(command, |streams, happenings| {
            if self.interrupt.requested() {
                return Ended { exit: Exit::Interrupted, group: None };
            }
            // The supervisor would take an order that large for a fault, and everything inside would end with it.
            if let Some(reason) = command.too_long() {
                return Ended { exit: Exit::NotStarted(reason), group: None };
            }
            let exit = match self.started(&mut inside) {
                Ok(inside) => inside.run(command, streams, happenings),
                Err(error) => Some(Exit::NotStarted(format!("{error:#}"))),
            };
            // Whoever does not answer is not trusted with another command.
            let exit = exit.unwrap_or_else(|| {
                *inside = None;
                if self.interrupt.requested() {
                    return Exit::Interrupted;
                }
                Exit::NotStarted(format!("the sandbox did not answer in time and was ended, {WITH_IT}"))
            });
            Ended { exit, group: None }
        })
    }

    pub(super) fn network(&self) -> Network {
        self.room.network
    }

    pub(super) fn end(&self) -> Vec<Survivor> {
        let mut inside = self.inside();
        let ended = inside.as_ref().map(Inside::end);
        match ended {
            None => Vec::new(),
            Some(Some(survivors)) => survivors,
            Some(None) => {
                *inside = None;
                Vec::new()
            }
        }
    }

    fn started<'a>(&self, inside: &'a mut Option<Inside>) -> Result<&'a Inside> {
        let running = match inside.take() {
            Some(running) if running.bwrap.wait(Duration::ZERO).is_none() => running,
            Some(_) => bail!("the sandbox had come down, {WITH_IT}"),
            None => Inside::start(&self.settings, &self.room, &self.interrupt)?,
        };
        Ok(inside.insert(running))
    }

    fn inside(&self) -> MutexGuard<'_, Option<Inside>> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inside {
    /// Starts bubblewrap. What is shown and hidden is looked up anew each time: what was there at first may be gone. That
    /// holds for the moment until it is mounted too, such as for a socket of a service that ends then.
    fn start(settings: &Settings, room: &Room, interrupt: &Interrupt) -> Result<Self> {
        let begun = Instant::now();
        let mut seen = room.arguments(settings)?;
        loop {
            let failed = match Self::with(&seen, settings, room.network, interrupt) {
                Ok(inside) => return Ok(inside),
                Err(failed) => failed,
            };
            let now = room.arguments(settings)?;
            if now == seen || begun.elapsed() > START {
                return Err(failed);
            }
            seen = now;
        }
    }

    /// Starts it with an empty environment, since process 1 shows its own to everybody inside.
    fn with(room: &[OsString], settings: &Settings, network: Network, interrupt: &Interrupt) -> Result<Self> {
        let mut command = Command::new("", &[], Path::new("/"), BTreeMap::new());
        command.program = settings.bwrap.clone().into();
        command.args = room.to_vec();
        command.args.extend(["--".into(), OWN_PROGRAM.into()]);
        command.args.extend(settings.supervisor.iter().skip(1).cloned());
        let (socket, theirs) = UnixStream::pair().context("could not make a socket for the sandbox")?;
        let (said, errors) = std::io::pipe().context("could not make a pipe for the sandbox")?;
        let output = filter(network).context("could not make a pipe for the sandbox")?;
        let input = Some(File::from(OwnedFd::from(theirs)));
        let bwrap = Lasting::start(&command, Streams { input, output, errors }).map_err(|error| not_started(&error))?;
        let (sender, answers) = std::sync::mpsc::channel();
        let waiting: Arc<Mutex<Option<Sender<Happening>>>> = Arc::default();
        let (reader, told) = (socket.try_clone().context("could not share a socket")?, Arc::clone(&waiting));
        std::thread::spawn(move || pass_answers(&reader, &sender, &told));
        let interrupt = interrupt.clone();
        let limits = settings.cgroups.as_ref().and_then(Group::make);
        // The first process to move takes the system milliseconds, and others soon after it next to nothing: that is
        // waited for while `bwrap` still mounts.
        limits.iter().for_each(|limits| limits.add(&[bwrap.id()]));
        let inside = Self { bwrap, interrupt, socket, answers, waiting, limits };
        match inside.answers.recv_timeout(START) {
            Ok(Answer::Ready) => {
                // Nothing runs in there yet that could have started something unseen.
                inside.limits.iter().for_each(|limits| limits.add(&inside.bwrap.below()));
                Ok(inside)
            }
            _ => {
                drop(inside);
                Err(not_started(&reason(said)).into())
            }
        }
    }

    /// Runs a command; none when the supervisor does not answer.
    fn run(&self, command: &Command, streams: Streams, happenings: &Happenings) -> Option<Exit> {
        let group = self.bwrap.id();
        *self.waiting() = Some(happenings.sender());
        self.interrupt.register(group, &happenings.sender());
        let exit = self.order(command, &streams).ok().and_then(|()| {
            drop(streams);
            self.follow(command, happenings)
        });
        *self.waiting() = None;
        // A second interrupt still reaches what the command left alive, and a first one tells nobody.
        self.interrupt.register(group, &std::sync::mpsc::channel().0);
        exit
    }

    fn order(&self, command: &Command, streams: &Streams) -> std::io::Result<()> {
        let order = Order::Run { command: Box::new(command.clone()), has_input: streams.input.is_some() };
        let input = streams.input.iter().map(AsFd::as_fd);
        let descriptors: Vec<_> = input.chain([streams.output.as_fd(), streams.errors.as_fd()]).collect();
        wire::send(&self.socket, &order, &descriptors)
    }

    fn follow(&self, command: &Command, happenings: &Happenings) -> Option<Exit> {
        let happening = happenings.wait(command.limit + command.grace + ANSWER)?;
        if happening != Happening::Exited {
            wire::send(&self.socket, &Order::Stop(happening), &[]).ok()?;
            let ended = |happening: &Happening| *happening == Happening::Exited;
            while !happenings.wait(command.grace + ANSWER).as_ref().map(ended)? {}
        }
        match self.answers.try_recv() {
            Ok(Answer::Ended(exit)) => Some(exit),
            _ => None,
        }
    }

    fn end(&self) -> Option<Vec<Survivor>> {
        wire::send(&self.socket, &Order::End { grace: GRACE }, &[]).ok()?;
        match self.answers.recv_timeout(GRACE + END) {
            Ok(Answer::AllEnded(survivors)) => Some(survivors),
            _ => None,
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Option<Sender<Happening>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        // The supervisor ends when it hears no more, and everything inside with it; else it is killed with `bwrap`.
        self.socket.shutdown(std::net::Shutdown::Both).ok();
        if self.bwrap.wait(ANSWER).is_none() {
            self.bwrap.kill();
        }
        // Its number may be a stranger's from now on.
        self.interrupt.forget(self.bwrap.id());
    }
}

/// Lays out the filter of system calls where bubblewrap reads it.
fn filter(network: Network) -> std::io::Result<PipeWriter> {
    let (reader, mut writer) = std::io::pipe()?;
    writer.write_all(&families::filter(network).unwrap_or_default())?;
    Ok(PipeWriter::from(OwnedFd::from(reader)))
}

/// Passes answers on; the end of a command is told to whoever waits for it, also when no answer can come any more.
fn pass_answers(socket: &UnixStream, answers: &Sender<Answer>, waiting: &Mutex<Option<Sender<Happening>>>) {
    loop {
        let answer = wire::receive::<Answer>(socket).ok().flatten().map(|(answer, _)| answer);
        let over = answer.is_none();
        let tells_end = matches!(answer, None | Some(Answer::Ended(_)));
        if answer.is_some_and(|answer| answers.send(answer).is_err()) {
            return;
        }
        if let (true, Some(waiting)) = (tells_end, &*waiting.lock().unwrap_or_else(PoisonError::into_inner)) {
            waiting.send(Happening::Exited).ok();
        }
        if over {
            return;
        }
    }
}

/// Reads why the sandbox did not come to be.
fn reason(said: PipeReader) -> String {
    let mut text = String::new();
    said.take(4096).read_to_string(&mut text).ok();
    match text.trim() {
        "" => "it did not answer".to_owned(),
        said => said.to_owned(),
    }
}

fn not_started(reason: &str) -> Failure {
    Failure::new(Kind::Failed, format!("the sandbox could not be started: {reason}"))
        .hint("`longhaul doctor` says what is missing; `--set sandbox.mode=off` does without, see the README first")
}
