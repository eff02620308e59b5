//! The only place that prints: data to standard output, everything else to standard error.
//!
//! All text goes through `visible`, so nothing from the model, a tool or a file can drive the terminal. A reader that goes
//! away (`longhaul log | head`) ends the printing, not the work.

use super::line::Line;
use super::line::Tone;
use super::line::cut;
use super::narration::BETWEEN;
use super::narration::Narration;
use super::visible;
use crate::clock::Clock;
use crate::config::Environment;
use crate::event::Event;
use crate::event::Sink;
use crate::secrets::Secrets;
use serde_json::Value;
use std::io;
use std::io::ErrorKind;
use std::io::IsTerminal;
use std::io::Write;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::thread;
use std::time::Duration;
use unicode_width::UnicodeWidthStr;

/// Moves to the start of the line and clears it.
const CLEAR: &str = "\r\x1b[K";
/// Moves up a line and clears that.
const CLEAR_ABOVE: &str = "\x1b[1A\x1b[K";
/// How often the status is looked at while nothing happens: it tells the time.
const TICK: Duration = Duration::from_millis(500);

/// Where everything a person reads goes through.
pub struct Output {
    state: Mutex<State>,
}

struct State {
    data: Channel,
    rest: Channel,
    /// Tells the columns of the terminal behind `rest`; none when it is no terminal.
    columns: Box<dyn Fn() -> Option<usize> + Send>,
    /// The lines of the status as they stand on the terminal.
    status: Vec<String>,
    narration: Narration,
    /// Values that no event may show.
    secrets: Secrets,
    /// Events are printed as JSON, with the time by this clock, rather than told.
    streams: Option<Clock>,
    finished: bool,
}

impl Output {
    /// Prints to the process's own streams. Colours only on a terminal that wants them.
    pub fn standard(environment: &Environment) -> Self {
        let plain = environment.get("NO_COLOR").is_some() || environment.get("TERM") == Some("dumb");
        let (data, rest) = (io::stdout(), io::stderr());
        let moves = rest.is_terminal() && environment.get("TERM") != Some("dumb");
        let columns = move || if moves { terminal_columns() } else { None };
        let data = Channel { colour: data.is_terminal() && !plain, paged: false, to: Box::new(data), error: None };
        let rest = Channel { colour: rest.is_terminal() && !plain, paged: false, to: Box::new(rest), error: None };
        Self::new(data, rest, Box::new(columns))
    }

    fn new(data: Channel, rest: Channel, columns: Box<dyn Fn() -> Option<usize> + Send>) -> Self {
        let narration = Narration::default();
        let (status, secrets, streams, finished) = (Vec::new(), Secrets::default(), None, false);
        Self { state: Mutex::new(State { data, rest, columns, status, narration, secrets, streams, finished }) }
    }

    /// Leaves these values out of what events tell from now on.
    pub(super) fn hide(&self, secrets: &Secrets) {
        self.state().secrets = secrets.clone();
    }

    /// Prints events as JSON from now on, one a line, and nothing for people.
    pub(super) fn stream(&self, clock: Clock) {
        self.state().streams = Some(clock);
    }

    /// Keeps the status up to date on a terminal while nothing happens, until the output is finished.
    pub(super) fn tick(self: &Arc<Self>) {
        if (self.state().columns)().is_none() {
            return;
        }
        let output = Arc::downgrade(self);
        thread::spawn(move || {
            while let Some(output) = output.upgrade().filter(|output| !output.state().finished) {
                output.state().show_status();
                drop(output);
                thread::sleep(TICK);
            }
        });
    }

    /// Tells whether a program that takes over standard output would have a terminal there.
    pub(super) fn is_on_terminal() -> bool {
        io::stdout().is_terminal()
    }

    /// Gives what was asked for to a pager from now on, instead of to standard output.
    pub(super) fn show_data_in(&self, pager: Box<dyn Write + Send>) {
        let mut state = self.state();
        (state.data.to, state.data.paged) = (pager, true);
    }

    /// Returns standard output itself, for a pager that does not start.
    pub(super) fn plain() -> Box<dyn Write + Send> {
        Box::new(io::stdout())
    }

    /// Tells whether somebody still reads what was asked for.
    pub(super) fn is_read(&self) -> bool {
        self.state().data.error.is_none()
    }

    /// Prints what was asked for, as it is but safe; a missing line end is added.
    pub fn data(&self, text: &str) {
        let text = visible::block(text);
        self.state().print_data(text.strip_suffix('\n').unwrap_or(&text));
    }

    /// Prints a line of what was asked for.
    pub(super) fn data_line(&self, line: &Line) {
        let mut state = self.state();
        let text = line.render(state.data.colour);
        state.print_data(&text);
    }

    /// Prints lines of what was asked for, in one go.
    pub(super) fn data_lines(&self, lines: &[Line]) {
        let mut state = self.state();
        let lines: Vec<String> = lines.iter().map(|line| line.render(state.data.colour)).collect();
        state.print_data(&lines.join("\n"));
    }

    /// Prints one JSON value on one line, flushed before this returns.
    pub fn json(&self, value: &Value) {
        self.state().print_data(&visible::json(value));
    }

    /// Prints one JSON value on one line; fails when nobody reads any more.
    pub fn answer(&self, value: &Value) -> io::Result<()> {
        let mut state = self.state();
        state.print_data(&visible::json(value));
        state.data.error.take().map_or(Ok(()), Err)
    }

    /// Prints a line that is not what was asked for, but worth knowing.
    pub(super) fn note(&self, line: &Line) {
        self.state().print_rest(line);
    }

    /// Prints lines that are not what was asked for.
    pub fn note_block(&self, text: &str) {
        text.lines().for_each(|line| self.note(&Line::plain(line)));
    }

    /// Prints a warning.
    pub fn warn(&self, text: &str) {
        self.note(&Line::new(Tone::Careful, "warning").add(Tone::Plain, &format!(": {text}")));
    }

    /// Prints why a command failed, and the way out where there is one.
    pub fn failure(&self, heading: &str, message: &str, hint: Option<&str>) {
        // After what the pager shows, not into it.
        self.state().data.leave_pager();
        let mut lines = message.lines();
        let first = lines.next().unwrap_or_default();
        self.note(&Line::new(Tone::Bad, heading).add(Tone::Plain, &format!(": {first}")));
        for line in lines {
            self.note(&Line::plain(&format!("  {}", line.replace('\t', "    "))));
        }
        if let Some(hint) = hint {
            self.note(&Line::new(Tone::Strong, "hint").add(Tone::Plain, &format!(": {hint}")));
        }
    }

    /// Takes the status line away and writes out what is left. Fails when data could not be written, unless nobody reads it.
    pub fn finish(&self) -> io::Result<()> {
        let mut state = self.state();
        state.clear_status();
        state.finished = true;
        state.data.flush();
        state.rest.flush();
        state.data.leave_pager();
        match state.data.error.take() {
            Some(error) if error.kind() != ErrorKind::BrokenPipe => Err(error),
            _ => Ok(()),
        }
    }

    /// A panic elsewhere must not silence the message that tells of it.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sink for Output {
    fn take(&self, event: &Event) {
        let mut state = self.state();
        if let Some(clock) = state.streams {
            let event = state.secrets.hide_in_json(streamed(event, clock));
            state.print_data(&visible::json(&event));
            return;
        }
        let event = hiding::without(&state.secrets, event);
        for line in state.narration.tell(&event) {
            state.print_rest(&line);
        }
        state.show_status();
    }
}

/// Renders an event as it is in the session's record.
fn streamed(event: &Event, clock: Clock) -> Value {
    let mut value = serde_json::to_value(event).unwrap_or_default();
    value["at"] = Value::String(clock.now().to_string());
    value
}

impl State {
    fn print_data(&mut self, text: &str) {
        self.clear_status();
        self.data.write_line(text);
        self.show_status();
    }

    fn print_rest(&mut self, line: &Line) {
        self.clear_status();
        let text = line.render(self.rest.colour);
        self.rest.write_line(&text);
        self.show_status();
    }

    fn clear_status(&mut self) {
        if !self.status.is_empty() {
            let above = CLEAR_ABOVE.repeat(self.rows().saturating_sub(1));
            self.rest.write(&format!("{CLEAR}{above}"));
            self.rest.flush();
            self.status.clear();
        }
    }

    /// Returns how many rows the status takes: a terminal that became narrower has wrapped what was wider.
    fn rows(&self) -> usize {
        let columns = (self.columns)().unwrap_or(usize::MAX).max(1);
        self.status.iter().map(|line| line.width().div_ceil(columns).max(1)).sum()
    }

    fn show_status(&mut self) {
        let Some(columns) = (self.columns)().filter(|_| !self.finished) else { return };
        // The last column stays free: some terminals wrap when it is written.
        let width = columns.saturating_sub(1);
        let status: Vec<String> = self.narration.status().iter().flat_map(|parts| laid_out(parts, width)).collect();
        if status != self.status {
            self.clear_status();
            self.rest.write(&status.join("\n"));
            self.rest.flush();
            self.status = status;
        }
    }
}

/// Lays the parts of the status out in as many lines as they need; one that is wider than a line is cut.
fn laid_out(parts: &[String], width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        let part = cut(&visible::line(part), width);
        match lines.last_mut().filter(|line| line.width() + BETWEEN.width() + part.width() <= width) {
            Some(line) => line.extend([BETWEEN, &part]),
            None => lines.push(part),
        }
    }
    lines
}

/// One of the two streams. After a first error nothing more is tried: the reader is gone, or the disk is full.
struct Channel {
    to: Box<dyn Write + Send>,
    colour: bool,
    paged: bool,
    error: Option<io::Error>,
}

impl Channel {
    fn write_line(&mut self, text: &str) {
        self.write(&format!("{text}\n"));
        self.flush();
    }

    fn write(&mut self, text: &str) {
        self.attempt(|to| to.write_all(text.as_bytes()));
    }

    fn flush(&mut self) {
        self.attempt(|to| to.flush());
    }

    /// Ends what a pager gets, and waits for its user.
    fn leave_pager(&mut self) {
        if self.paged {
            self.to = Box::new(io::sink());
        }
    }

    fn attempt(&mut self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
        if self.error.is_none() {
            self.error = write(&mut self.to).err();
        }
    }
}

fn terminal_columns() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stderr()).ok()?;
    Some(if size.ws_col == 0 { 80 } else { usize::from(size.ws_col) })
}

mod hiding;

#[cfg(test)]
pub(in crate::cli) mod capture;
#[cfg(test)]
mod tests;
