//! A child that is watched line by line while it runs, and may be killed in the middle.

use super::Command;
use super::Exit;
use super::Streams;
use super::attend::exit_of;
use super::attend::spawn;
use super::children;
use super::group;
use std::io::BufRead;
use std::io::BufReader;
use std::io::PipeReader;
use std::process::Child;
use std::sync::mpsc::Receiver;
use std::sync::mpsc::RecvTimeoutError;
use std::sync::mpsc::Sender;
use std::time::Duration;

/// A child that runs. Dropping it kills its group, so that none outlives who watches it.
pub struct Running {
    child: Child,
    lines: Receiver<String>,
}

/// What there is to read from a running child.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Heard {
    Line(String),
    /// Nothing within the time asked for.
    Nothing,
    /// Both of its streams have ended.
    End,
}

impl Running {
    /// Starts the command; of its limits none is kept here, the watcher decides when it is enough.
    pub fn start(command: &Command) -> Result<Self, String> {
        let name = command.program.display();
        let failed = |error: std::io::Error| format!("could not start `{name}`: {error}");
        let (reader, writer) = std::io::pipe().map_err(failed)?;
        let errors = writer.try_clone().map_err(failed)?;
        let child = spawn(command, Streams { input: None, output: writer, errors }).map_err(failed)?;
        let (sender, lines) = std::sync::mpsc::channel();
        std::thread::spawn(move || pass_lines(reader, &sender));
        Ok(Self { child, lines })
    }

    /// Waits for the next line of either stream.
    pub fn hear(&self, patience: Duration) -> Heard {
        match self.lines.recv_timeout(patience) {
            Ok(line) => Heard::Line(line),
            Err(RecvTimeoutError::Timeout) => Heard::Nothing,
            Err(RecvTimeoutError::Disconnected) => Heard::End,
        }
    }

    /// Returns the child's process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Kills the child itself, at once, and nobody else.
    pub fn kill(&mut self) {
        // It fails only for a child that has ended, and then there is nothing to kill.
        self.child.kill().ok();
    }

    /// Waits until the child has ended.
    pub fn wait(&mut self) -> Exit {
        children::collect(&mut self.child).map_or_else(|error| Exit::NotStarted(error.to_string()), exit_of)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Once the child was collected its number may belong to a stranger.
        if matches!(self.child.try_wait(), Ok(None)) {
            group::kill(self.child.id().cast_signed());
            children::collect(&mut self.child).ok();
        }
    }
}

fn pass_lines(reader: PipeReader, sender: &Sender<String>) {
    let mut reader = BufReader::new(reader);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).is_ok_and(|size| size > 0) {
        let text = String::from_utf8_lossy(&line);
        if sender.send(text.trim_end_matches('\n').to_owned()).is_err() {
            return;
        }
        line.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::path::Path;
    use std::time::Instant;

    const LONG: Duration = Duration::from_secs(20);

    fn start(text: &str) -> Running {
        let path = std::env::var("PATH").unwrap();
        Running::start(&Command::shell(text, Path::new("/"), BTreeMap::from([("PATH".to_owned(), path)]))).unwrap()
    }

    #[test]
    fn lines_of_both_streams_come_in_order_and_then_the_end() {
        let mut running = start("echo one; echo two >&2; printf three; exit 3");
        let heard: Vec<Heard> = (0..4).map(|_| running.hear(LONG)).collect();
        let line = |text: &str| Heard::Line(text.to_owned());
        assert_eq!(heard, [line("one"), line("two"), line("three"), Heard::End]);
        assert_eq!(running.wait(), Exit::Code(3));
    }

    #[test]
    fn a_kill_ends_it_in_the_middle() {
        let mut running = start("echo begun; exec sleep 300");
        assert_eq!(running.hear(LONG), Heard::Line("begun".to_owned()));
        assert_eq!(running.hear(Duration::from_millis(1)), Heard::Nothing);
        running.kill();
        assert_eq!(running.wait(), Exit::Signal(9));
    }

    #[test]
    fn dropping_it_ends_its_group() {
        let running = start("sleep 300 & echo begun; wait");
        assert_eq!(running.hear(LONG), Heard::Line("begun".to_owned()));
        let group = running.id().cast_signed();
        drop(running);
        let start = Instant::now();
        while group::lives(group) && start.elapsed() < LONG {
            std::thread::yield_now();
        }
        assert!(!group::lives(group));
    }
}
