//! A program of the user's through which long output is read, such as `less`.

use super::children;
use std::collections::BTreeMap;
use std::io;
use std::io::Write;
use std::process::Child;
use std::process::ChildStdin;
use std::process::Command;
use std::process::Stdio;

/// The program, reading what is written here until this is dropped, which waits for its end.
pub struct Pager {
    child: Child,
    /// None once it was closed.
    input: Option<ChildStdin>,
}

impl Pager {
    /// Starts text for `sh`, on the terminal that longhaul has.
    pub fn start(text: &str, environment: &BTreeMap<String, String>) -> io::Result<Self> {
        let mut command = Command::new("sh");
        command.args(["-c", text]).env_clear().envs(environment).stdin(Stdio::piped());
        let mut child = children::spawn(&mut command)?;
        let input = child.stdin.take();
        Ok(Self { child, input })
    }
}

impl Write for Pager {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.input.as_mut().map_or(Ok(bytes.len()), |input| input.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.input.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for Pager {
    fn drop(&mut self) {
        self.input = None;
        // How it ended is between it and its user.
        let _ = children::collect(&mut self.child);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn environment() -> BTreeMap<String, String> {
        std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect()
    }

    #[test]
    fn it_gets_all_and_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("read");
        let mut pager =
            Pager::start(&format!("cat >'{0}.new'; sleep 0.2; mv '{0}.new' '{0}'", file.display()), &environment())
                .unwrap();
        pager.write_all(b"one\ntwo\n").unwrap();
        pager.flush().unwrap();
        drop(pager);
        assert_eq!(fs::read_to_string(file).unwrap(), "one\ntwo\n");
    }

    #[test]
    fn one_that_was_closed_reads_no_more() {
        let mut pager = Pager::start("exit 3", &environment()).unwrap();
        let mut written = Ok(());
        for _ in 0..10_000 {
            written = written.and_then(|()| pager.write_all(&[b'x'; 1024]));
        }
        assert_eq!(written.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
