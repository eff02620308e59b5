//! This process itself, towards the processes around it.

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
