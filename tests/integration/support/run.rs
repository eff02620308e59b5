//! One run of the binary, and what it is held against.

use std::process::Output;

/// What a command printed and how it ended; a failing expectation shows all of it.
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    context: String,
}

impl Run {
    pub(crate) fn of(output: Output, context: String) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr), context }
    }

    /// Everything a person would read to find out why a test failed.
    pub(crate) fn whole(&self) -> String {
        format!(
            "{}\nexit code: {:?}\n--- stdout\n{}\n--- stderr\n{}",
            self.context, self.code, self.stdout, self.stderr
        )
    }

    #[track_caller]
    pub(crate) fn exits(&self, code: i32) -> &Self {
        assert_eq!(self.code, Some(code), "{}", self.whole());
        self
    }

    #[track_caller]
    pub(crate) fn prints(&self, text: &str) -> &Self {
        assert!(self.stdout.contains(text), "stdout lacks {text:?}\n{}", self.whole());
        self
    }

    #[track_caller]
    pub(crate) fn tells(&self, text: &str) -> &Self {
        assert!(self.stderr.contains(text), "stderr lacks {text:?}\n{}", self.whole());
        self
    }

    /// Expects `text` on either stream.
    #[track_caller]
    pub(crate) fn shows(&self, text: &str) -> &Self {
        assert!(self.stdout.contains(text) || self.stderr.contains(text), "output lacks {text:?}\n{}", self.whole());
        self
    }

    #[track_caller]
    pub(crate) fn hides(&self, text: &str) -> &Self {
        assert!(!self.stdout.contains(text) && !self.stderr.contains(text), "output has {text:?}\n{}", self.whole());
        self
    }
}
