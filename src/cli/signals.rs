//! INT, TERM and HUP: the first one ends the session in order, the second one ends everything at once.

use super::error::Code;
use super::line::Line;
use super::line::Tone;
use super::output::Output;
use crate::process::Interrupt;
use anyhow::Context;
use anyhow::Result;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use tokio::runtime::Builder;
use tokio::runtime::Runtime;
use tokio::signal::unix::Signal;
use tokio::signal::unix::SignalKind;
use tokio::signal::unix::signal;

/// Watches for signals until the process ends. When this returns, none can slip through any more.
pub(super) fn watch(interrupt: &Interrupt, output: &Arc<Output>) -> Result<()> {
    let runtime = Builder::new_current_thread().enable_io().build().context("could not start to listen for signals")?;
    let (ready, listening) = mpsc::channel();
    let (interrupt, output) = (interrupt.clone(), Arc::clone(output));
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || wait(&runtime, &ready, &interrupt, &output))
        .context("could not start the thread that listens for signals")?;
    listening.recv().context("the thread that listens for signals ended")?
}

/// Leaves Ctrl-C to the pager that has the terminal from now on: whoever leafs through a text ends that, with `q`.
pub(super) fn leave_to_pager() {
    if let Ok(runtime) = Builder::new_current_thread().enable_io().build() {
        let _inside = runtime.enter();
        // What was listened for once does not end the process any more, whether or not somebody still listens.
        drop(signal(SignalKind::interrupt()));
    }
}

/// Makes a limit on the size of files an error of the write that meets it; by itself the signal ends the process.
pub(super) fn outlive_full_files() {
    if let Ok(runtime) = Builder::new_current_thread().enable_io().build() {
        let _inside = runtime.enter();
        drop(signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw())));
    }
}

fn wait(runtime: &Runtime, ready: &mpsc::Sender<Result<()>>, interrupt: &Interrupt, output: &Output) {
    let mut signals = {
        let _inside = runtime.enter();
        match Signals::listen() {
            Ok(signals) => signals,
            Err(error) => return drop(ready.send(Err(error))),
        }
    };
    ready.send(Ok(())).ok();
    runtime.block_on(signals.next());
    interrupt.request();
    output.note(&Line::new(Tone::Careful, "ending in order; press Ctrl-C again to stop at once"));
    runtime.block_on(signals.next());
    interrupt.kill_groups();
    output.note(&Line::new(Tone::Careful, "stopped at once; what was committed is safe, and the same command goes on"));
    output.finish().ok();
    std::process::exit(i32::from(Code::Interrupted as u8));
}

struct Signals {
    int: Signal,
    term: Signal,
    /// The terminal is gone; what it watched should end in order all the same.
    hup: Signal,
}

impl Signals {
    fn listen() -> Result<Self> {
        let one = |kind| signal(kind).context("could not listen for signals");
        let (int, term, hup) = (SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup());
        Ok(Self { int: one(int)?, term: one(term)?, hup: one(hup)? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.int.recv() => {}
            _ = self.term.recv() => {}
            _ = self.hup.recv() => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::output::capture::Captured;
    use rustix::process::Signal;
    use rustix::process::getpid;
    use rustix::process::kill_process;

    #[test]
    fn the_first_signal_asks_to_end_in_order() {
        let captured = Captured::default();
        let interrupt = Interrupt::new();
        watch(&interrupt, &Arc::new(captured.output(None))).unwrap();
        assert!(!interrupt.requested());

        kill_process(getpid(), Signal::TERM).unwrap();
        let runtime = Builder::new_current_thread().build().unwrap();
        runtime.block_on(interrupt.wait());
        assert!(interrupt.requested());
    }
}
