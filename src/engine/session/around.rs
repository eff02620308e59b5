//! The user's own commands around a session: each is bounded, and a failure is told and never fatal.

use crate::clock::duration;
use crate::engine::budget::Budget;
use crate::engine::session::Session;
use crate::engine::workspace::Workspace;
use crate::process;
use crate::process::Command;
use crate::process::Exit;
use crate::process::Interrupt;
use serde_json::Value;
use serde_json::json;
use std::time::Duration;

/// A command may take so long whatever time is left, also after an interrupt: enough to tell somebody of the end.
const LEAST: Duration = Duration::from_secs(10);

/// Runs the commands that stand before a session, with its number and feature on standard input.
pub fn before_session(ws: &Workspace, budget: &mut Budget, session: &Session) {
    let start = json!({"session": session.number, "feature": session.feature});
    run(ws, budget, &ws.settings.session_start, &start);
}

/// Runs the commands that stand after a session, with its outcome on standard input.
pub fn after_session(ws: &Workspace, budget: &mut Budget, outcome: &Value) {
    run(ws, budget, &ws.settings.session_end, outcome);
}

fn run(ws: &Workspace, budget: &mut Budget, commands: &[String], input: &Value) {
    for text in commands {
        let (interrupt, limit) = bounds(ws, budget);
        let mut command = Command::shell(text, ws.project.root(), ws.settings.outer.clone()).limit(limit);
        command.stdin = Some(input.to_string().into_bytes());
        let finished = process::run(&command, &interrupt);
        let how = match finished.exit {
            Exit::Code(0) => continue,
            Exit::TimedOut => format!("was ended after {}", duration::spell(limit)),
            exit => format!("failed ({exit})"),
        };
        let said = finished.output.last_lines(5);
        let said = if said.is_empty() { String::new() } else { format!(": {said}") };
        ws.warn(format!("the hook `{text}` {how}{said}"));
    }
}

/// Returns what ends a command before its own end. Of an interrupt that came before it hears nothing, since it has to run.
fn bounds(ws: &Workspace, budget: &mut Budget) -> (Interrupt, Duration) {
    if ws.interrupt.requested() {
        return (ws.interrupt.for_cleanup(), limit(ws.settings.hook_timeout, Some(Duration::ZERO)));
    }
    (ws.interrupt.clone(), limit(ws.settings.hook_timeout, budget.time_left()))
}

fn limit(timeout: Duration, left: Option<Duration>) -> Duration {
    timeout.min(left.map_or(timeout, |left| left.max(LEAST)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_binds_but_never_below_the_least() {
        let [short, long] = [1, 300].map(Duration::from_secs);
        assert_eq!(limit(long, None), long);
        assert_eq!(limit(long, Some(Duration::from_secs(3600))), long);
        assert_eq!(limit(long, Some(Duration::from_secs(60))), Duration::from_secs(60));
        assert_eq!(limit(long, Some(short)), LEAST, "who is told of the end has the time for it");
        assert_eq!(limit(short, Some(Duration::ZERO)), short);
    }
}
