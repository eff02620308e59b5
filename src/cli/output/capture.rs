//! An output that tests can read back.

use super::Channel;
use super::Output;
use std::io;
use std::io::ErrorKind;
use std::io::Write;
use std::sync::Arc;
use std::sync::Mutex;

/// What reached one of the two streams.
#[derive(Clone, Default)]
pub(in crate::cli) struct Written {
    bytes: Arc<Mutex<Vec<u8>>>,
    /// After so many writes the stream fails like this.
    fails: Option<(usize, ErrorKind)>,
}

impl Written {
    pub(in crate::cli) fn failing(after: usize, kind: ErrorKind) -> Self {
        Self { fails: Some((after, kind)), ..Self::default() }
    }

    pub(in crate::cli) fn text(&self) -> String {
        String::from_utf8(self.bytes.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.fails {
            Some((0, kind)) => return Err((*kind).into()),
            Some((left, _)) => *left -= 1,
            None => {}
        }
        self.bytes.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The two streams of a captured output.
#[derive(Clone, Default)]
pub(in crate::cli) struct Captured {
    pub(in crate::cli) data: Written,
    pub(in crate::cli) rest: Written,
}

impl Captured {
    /// Makes an output over these streams; `columns` makes the second a terminal.
    pub(in crate::cli) fn output(&self, columns: Option<usize>) -> Output {
        self.output_of(move || columns)
    }

    /// Makes one over a terminal whose width may change.
    pub(in crate::cli) fn output_of(&self, columns: impl Fn() -> Option<usize> + Send + 'static) -> Output {
        let channel =
            |written: &Written| Channel { to: Box::new(written.clone()), colour: false, paged: false, error: None };
        Output::new(channel(&self.data), channel(&self.rest), Box::new(columns))
    }
}
