//! Sets libgit2 up for this process: it syncs the refs that it writes here and in the project. Syncs what it leaves out.

use std::ffi::c_int;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::OnceLock;

use anyhow::Result;
use anyhow::bail;

/// Bytes of objects that libgit2 keeps, as it counts them. It would keep 256 MB: each commit that a long session writes, or
/// that a walk over history reads.
const KEPT: isize = 1 << 20;

/// Makes libgit2 sync objects, references and their folders in this process, and keep little of what it reads.
///
/// The reference store copies the switch when it is opened, so this must come before a repository is opened.
pub(super) fn switch_on() -> Result<()> {
    static CODE: OnceLock<c_int> = OnceLock::new();
    match *CODE.get_or_init(set_switches) {
        0 => Ok(()),
        code => bail!("could not set libgit2's switches: code {code}"),
    }
}

#[expect(unsafe_code, reason = "git2 has no safe function for these switches")]
fn set_switches() -> c_int {
    libgit2_sys::init();
    // SAFETY: libgit2 is initialised by the line above; these options take exactly one int and one `ssize_t`, and
    // `OnceLock` lets one thread in.
    unsafe {
        match libgit2_sys::git_libgit2_opts(libgit2_sys::GIT_OPT_SET_CACHE_MAX_SIZE as c_int, KEPT) {
            0 => libgit2_sys::git_libgit2_opts(libgit2_sys::GIT_OPT_ENABLE_FSYNC_GITDIR as c_int, 1 as c_int),
            code => code,
        }
    }
}

/// Syncs a new repository's own files; what is written later is in the journal.
pub(super) fn sync_new_repository(repository: &Path) -> io::Result<()> {
    ["HEAD", "config", "refs/heads", "refs", "objects", ""].iter().try_for_each(|name| sync(&repository.join(name)))
}

/// Syncs one file or folder.
pub(super) fn sync(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_switch_is_accepted_as_often_as_asked() {
        switch_on().unwrap();
        switch_on().unwrap();
    }

    #[test]
    #[expect(unsafe_code, reason = "git2 has no safe function that tells it")]
    fn little_is_kept_of_what_is_read() {
        switch_on().unwrap();
        // SAFETY: libgit2 is initialised, and no other test changes what it keeps.
        let (_, most) = unsafe { git2::opts::get_cached_memory() }.unwrap();
        assert_eq!(most, KEPT);
    }
}
