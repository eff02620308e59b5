//! Our own children, told apart from the orphans that become ours.
//!
//! A process whose parent ends goes to the nearest process that adopts orphans. That is how what left its group, and even
//! forgot its environment, is still found; and somebody has to collect it when it ends.

use super::Happening;
use rustix::process::Pid;
use rustix::process::WaitId;
use rustix::process::WaitIdOptions;
use rustix::process::WaitOptions;
use std::collections::BTreeSet;
use std::process::Child;
use std::process::ExitStatus;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::time::Duration;

/// Children that somebody waits for. Held while one starts, so that none is taken for an orphan in between.
static WAITED_FOR: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// Time between two looks while there is nothing to collect.
const PAUSE: Duration = Duration::from_millis(100);

/// Time for the one who waits for a child that has ended to collect it.
const COLLECTING: Duration = Duration::from_millis(5);

/// Starts a child that will be waited for.
pub(super) fn spawn(command: &mut std::process::Command) -> std::io::Result<Child> {
    let mut waited_for = waited_for();
    let child = command.spawn()?;
    waited_for.insert(child.id().cast_signed());
    Ok(child)
}

/// Waits for the end of a child and collects it.
pub(super) fn collect(child: &mut Child) -> std::io::Result<ExitStatus> {
    let status = child.wait();
    waited_for().remove(&child.id().cast_signed());
    status
}

/// Tells when the child has exited, and leaves it to be collected.
pub(super) fn tell_exit(child: i32, sender: Sender<Happening>) {
    std::thread::spawn(move || {
        if let Some(pid) = Pid::from_raw(child) {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while let Err(rustix::io::Errno::INTR) = rustix::process::waitid(WaitId::Pid(pid), options) {}
        }
        sender.send(Happening::Exited).ok();
    });
}

/// Returns the children that somebody waits for now.
pub(super) fn known() -> BTreeSet<i32> {
    waited_for().clone()
}

/// Whether orphans come to us.
static ADOPTS: AtomicBool = AtomicBool::new(false);

/// Tells whether orphans come to us; without, our children are only those that we know.
pub fn adopts() -> bool {
    ADOPTS.load(Ordering::SeqCst)
}

/// Makes orphans of our commands ours, where the system knows how, and collects those that end.
pub fn adopt_orphans() {
    // A system that refuses leaves them to somebody else; they are then found by their mark or their group.
    #[cfg(target_os = "linux")]
    if rustix::process::set_child_subreaper(Some(rustix::process::getpid())).is_ok() {
        ADOPTS.store(true, Ordering::SeqCst);
        std::thread::spawn(collect_orphans);
    }
}

fn collect_orphans() {
    loop {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        match rustix::process::waitid(WaitId::All, options) {
            Ok(Some(_)) => std::thread::sleep(if collect_ended() { Duration::ZERO } else { COLLECTING }),
            Err(rustix::io::Errno::INTR) => {}
            // There is no child at all.
            _ => std::thread::sleep(PAUSE),
        }
    }
}

/// Collects the orphans that have ended; tells whether there was one.
fn collect_ended() -> bool {
    let waited_for = waited_for();
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let is_orphan = |process: &super::table::Process| process.parent == own && !waited_for.contains(&process.id);
    let ended = super::table::processes().filter(|process| process.is_dead() && is_orphan(process));
    let collect = |process: super::table::Process| {
        Pid::from_raw(process.id).map(|pid| rustix::process::waitpid(Some(pid), WaitOptions::NOHANG))
    };
    ended.filter_map(collect).count() > 0
}

fn waited_for() -> MutexGuard<'static, BTreeSet<i32>> {
    WAITED_FOR.lock().unwrap_or_else(PoisonError::into_inner)
}
