//! Turns on libgit2's fsync switch, for the refs that it writes here and in the project, and syncs what it leaves out.

use std::ffi::c_int;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::OnceLock;

use anyhow::Result;
use anyhow::bail;

/// Makes libgit2 sync objects, references and their folders in this process.
///
/// The reference store copies the switch when it is opened, so this must come before a repository is opened.
pub(super) fn switch_on() -> Result<()> {
    static CODE: OnceLock<c_int> = OnceLock::new();
    match *CODE.get_or_init(set_switch) {
        0 => Ok(()),
        code => bail!("could not turn on libgit2's fsync switch: code {code}"),
    }
}

#[expect(unsafe_code, reason = "git2 has no safe function for the fsync switch")]
fn set_switch() -> c_int {
    libgit2_sys::init();
    // SAFETY: libgit2 is initialised by the line above; this option takes exactly one int, and `OnceLock` lets one
    // thread in.
    unsafe { libgit2_sys::git_libgit2_opts(libgit2_sys::GIT_OPT_ENABLE_FSYNC_GITDIR as c_int, 1 as c_int) }
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
}
