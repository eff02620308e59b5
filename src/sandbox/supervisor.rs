//! Process 1 of a sandbox: runs the commands that the host asks for, collects orphans, and ends with the host.
//!
//! It shares its user with the commands. That none of them can take its place or its socket rests on two things: as
//! process 1 it is deaf to their signals, and it keeps to itself (see [`crate::process::keep_to_itself`]), which the
//! program does before anything else.

use super::wire;
use super::wire::Answer;
use super::wire::Order;
use crate::process;
use crate::process::Command;
use crate::process::Happening;
use crate::process::Happenings;
use crate::process::Interrupt;
use crate::process::Streams;
use anyhow::Context;
use anyhow::Result;
use anyhow::bail;
use std::fs::File;
use std::io::PipeWriter;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::mpsc::Sender;

/// Takes orders over descriptor 0, a socket, until the host is gone. Then this process ends, and with it all others in
/// its namespace.
pub fn supervise() -> Result<()> {
    let socket = take_socket()?;
    // A thread that cannot go on would leave the host waiting.
    std::panic::set_hook(Box::new(|_| std::process::exit(1)));
    process::adopt_orphans();
    let supervisor = Supervisor { socket: Arc::new(Mutex::new(socket.try_clone()?)), running: Arc::default() };
    supervisor.answer(&Answer::Ready);
    while let Some((order, descriptors)) = wire::receive(&socket).context("could not read an order")? {
        supervisor.obey(order, descriptors)?;
    }
    Ok(())
}

/// Takes the socket away from where commands would find it.
fn take_socket() -> Result<UnixStream> {
    let socket = rustix::io::fcntl_dupfd_cloexec(std::io::stdin(), 3).context("could not take the socket")?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?).context("could not close the socket")?;
    Ok(socket.into())
}

#[derive(Clone)]
struct Supervisor {
    socket: Arc<Mutex<UnixStream>>,
    /// Tells the command that runs now.
    running: Arc<Mutex<Option<Sender<Happening>>>>,
}

impl Supervisor {
    fn obey(&self, order: Order, descriptors: Vec<OwnedFd>) -> Result<()> {
        match order {
            Order::Run { command, has_input } => {
                let streams = streams(descriptors, has_input)?;
                let happenings = Happenings::new();
                *self.running.lock().unwrap_or_else(PoisonError::into_inner) = Some(happenings.sender());
                let supervisor = self.clone();
                std::thread::Builder::new()
                    .spawn(move || supervisor.run(&command, streams, &happenings))
                    .context("could not start a thread")?;
            }
            Order::Stop(happening) => {
                if let Some(running) = &*self.running.lock().unwrap_or_else(PoisonError::into_inner) {
                    running.send(happening).ok();
                }
            }
            Order::End { grace } => {
                let survivors = process::end_all(&process::others, grace);
                process::kill_all_others();
                self.answer(&Answer::AllEnded(survivors));
            }
        }
        Ok(())
    }

    fn run(&self, command: &Command, streams: Streams, happenings: &Happenings) {
        let ended = process::attend(command, streams, happenings, &Interrupt::new());
        self.answer(&Answer::Ended(ended.exit));
    }

    fn answer(&self, answer: &Answer) {
        let socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        // Without a host there is nobody to tell, and the reading end notices.
        wire::send(&socket, answer, &[]).ok();
    }
}

fn streams(descriptors: Vec<OwnedFd>, has_input: bool) -> Result<Streams> {
    let mut descriptors = descriptors.into_iter();
    let input = if has_input { descriptors.next().map(File::from) } else { None };
    let (Some(output), Some(errors)) = (descriptors.next(), descriptors.next()) else {
        bail!("an order came without its descriptors");
    };
    Ok(Streams { input, output: PipeWriter::from(output), errors: PipeWriter::from(errors) })
}
