//! A child that lives as long as a thread of its own: a program that asks to die with its parent dies, to the system, with
//! the thread that started it.

use super::Command;
use super::Exit;
use super::Streams;
use super::attend::exit_of;
use super::attend::spawn;
use super::children;
use super::group;
use super::survivors;
use std::sync::mpsc::Receiver;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

/// A child that was started and is waited for. Dropped, it is killed with all below it.
pub struct Lasting {
    id: i32,
    ended: Receiver<Exit>,
}

impl Lasting {
    /// Starts the program; limits are its owner's.
    pub fn start(command: &Command, streams: Streams) -> Result<Self, String> {
        let name = command.program.display().to_string();
        let (sender, started) = std::sync::mpsc::channel();
        let (tell_end, ended) = std::sync::mpsc::channel();
        let command = command.clone();
        let attend = move || match spawn(&command, streams) {
            Ok(mut child) => {
                sender.send(Ok(child.id().cast_signed())).ok();
                let exit =
                    children::collect(&mut child).map_or_else(|error| Exit::NotStarted(error.to_string()), exit_of);
                tell_end.send(exit).ok();
            }
            Err(error) => drop(sender.send(Err(error))),
        };
        let failed = |error: std::io::Error| format!("could not start `{name}`: {error}");
        std::thread::Builder::new().name("sandbox".to_owned()).spawn(attend).map_err(failed)?;
        let started = started.recv().unwrap_or_else(|_| Err(std::io::Error::other("its thread ended")));
        Ok(Self { id: started.map_err(failed)?, ended })
    }

    /// Returns its process id, which is its group's too.
    pub fn id(&self) -> i32 {
        self.id
    }

    /// Returns the process ids of all below it.
    pub fn below(&self) -> Vec<i32> {
        survivors::descendants(self.id)
    }

    /// Waits for its end, but not longer than `limit`.
    pub fn wait(&self, limit: Duration) -> Option<Exit> {
        match self.ended.recv_timeout(limit) {
            Ok(exit) => Some(exit),
            Err(RecvTimeoutError::Disconnected) => Some(Exit::NotStarted("it was collected before".to_owned())),
            Err(RecvTimeoutError::Timeout) => None,
        }
    }

    /// Kills it and waits until nothing below it is left.
    pub fn kill(&self) {
        let below = survivors::descendants(self.id);
        group::kill(self.id);
        self.wait(group::AFTER_KILL);
        survivors::wait_until_gone(&below, group::AFTER_KILL);
    }
}

impl Drop for Lasting {
    fn drop(&mut self) {
        // Once it was collected its number may belong to a stranger.
        if self.wait(Duration::ZERO).is_none() {
            self.kill();
        }
    }
}
