//! The wait that the service asked for, between two sessions: at the run's cost, since a session's own time may be shorter.

use crate::engine::workspace::Workspace;
use crate::event::Event;
use crate::provider::Client;
use std::thread;
use std::time::Duration;
use std::time::Instant;

/// How soon an interrupt is seen.
const TICK: Duration = Duration::from_millis(100);

/// Tells whether the service asked for a wait that the run has the time for.
pub fn is_due(ws: &Workspace, client: &Client) -> bool {
    asked(ws, client).is_some()
}

/// Waits it out, unless a person asks to stop.
pub fn wait_out(ws: &Workspace, client: &Client) {
    let Some((reason, wait)) = asked(ws, client) else { return };
    ws.tell(&Event::Retrying { reason, wait: wait.as_secs_f64() });
    let began = Instant::now();
    while !ws.interrupt.requested() && began.elapsed() < wait {
        thread::sleep(TICK.min(wait.saturating_sub(began.elapsed())));
    }
}

fn asked(ws: &Workspace, client: &Client) -> Option<(String, Duration)> {
    let (reason, wait) = client.asked_wait(&ws.settings.model)?;
    let is_over = ws.deadline.is_some_and(|end| Instant::now() + wait >= end);
    (!is_over).then_some((reason, wait))
}
