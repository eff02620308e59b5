//! This process itself, towards the processes around it.

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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use rustix::process::DumpableBehavior;
    use rustix::process::dumpable_behavior;

    #[test]
    fn a_process_that_keeps_to_itself_shows_no_environment() {
        assert_eq!(dumpable_behavior().unwrap(), DumpableBehavior::Dumpable);
        keep_to_itself();
        assert_eq!(dumpable_behavior().unwrap(), DumpableBehavior::NotDumpable);
    }
}
