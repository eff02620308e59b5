//! This process itself, towards the processes around it.

/// The priority of who leaves nine tenths of a processor to whoever else wants it; with less, a busy machine would never let
/// it end.
#[cfg(target_os = "linux")]
const LOW: i32 = 10;

/// Keeps descriptors that whoever started us left open from the commands we start.
pub fn keep_descriptors() {
    let numbers = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(|number| *number > 2).for_each(close_on_exec);
}

#[expect(unsafe_code, reason = "a descriptor that nobody here has opened has no owner to borrow it from")]
fn close_on_exec(number: std::os::fd::RawFd) {
    // SAFETY: the descriptor was open a moment ago and is only marked; one that is closed by now is refused.
    let descriptor = unsafe { std::os::fd::BorrowedFd::borrow_raw(number) };
    rustix::io::fcntl_setfd(descriptor, rustix::io::FdFlags::CLOEXEC).ok();
}

/// Keeps this process's environment and memory from other processes of the same user, where the system knows how: on
/// Linux a command could else read the key from `/proc`. Nothing keeps them from the superuser.
pub fn keep_to_itself() {
    // A system that refuses leaves things as they were before; there is no other way to go.
    #[cfg(target_os = "linux")]
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable).ok();
}

/// Lets all others go first: this thread, and what it starts from now on. Where priority is not a thread's own, nothing
/// happens.
pub fn give_way() {
    #[cfg(target_os = "linux")]
    if rustix::process::getpriority_process(None).is_ok_and(|now| now < LOW) {
        // One that may not be lowered goes on as it is.
        rustix::process::setpriority_process(None, LOW).ok();
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use rustix::process::DumpableBehavior;
    use rustix::process::dumpable_behavior;

    #[test]
    fn who_gives_way_does_so_alone_and_with_what_it_starts() {
        let priority = || rustix::process::getpriority_process(None).unwrap();
        let before = priority();
        let (own, started) = std::thread::spawn(move || {
            give_way();
            let started = std::process::Command::new("nice").output().unwrap();
            (priority(), String::from_utf8(started.stdout).unwrap())
        })
        .join()
        .unwrap();
        let low = before.max(LOW);
        assert_eq!((own, started.trim(), priority()), (low, low.to_string().as_str(), before));
    }

    #[test]
    fn a_process_that_keeps_to_itself_shows_no_environment() {
        assert_eq!(dumpable_behavior().unwrap(), DumpableBehavior::Dumpable);
        keep_to_itself();
        assert_eq!(dumpable_behavior().unwrap(), DumpableBehavior::NotDumpable);
    }
}
