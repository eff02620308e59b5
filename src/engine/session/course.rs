//! The course of a session, shortened to what is worth knowing of it: what the agent said, what it called, and what failed.

use crate::clip;
use crate::message::text_of;
use crate::transcript;
use anyhow::Result;
use serde_json::Value;
use std::collections::VecDeque;
use std::path::Path;

/// Bytes that are kept of its beginning, and of its end.
const HEAD: usize = 10_000;
const TAIL: usize = 20_000;
/// Characters of a text of the agent, of a call, of what failed.
const SAID: usize = 1500;
const CALL: usize = 300;
const FAILED: usize = 800;
/// Lines that are kept of what failed.
const LINES: usize = 8;

/// What happened in a session.
#[derive(Debug, Default)]
pub struct Course {
    calls: u32,
    head: String,
    tail: VecDeque<String>,
    tail_bytes: usize,
    left_out: u32,
}

impl Course {
    /// Reads the record of a session.
    pub fn of(sessions: &Path, number: u32) -> Result<Self> {
        let mut course = Self::default();
        transcript::each(sessions, number, &mut |event| course.take(event))?;
        Ok(course)
    }

    /// Returns how many tools were called.
    pub fn calls(&self) -> u32 {
        self.calls
    }

    /// Returns it as a text; the middle of a long one is left out.
    pub fn text(&self) -> String {
        let gap = match self.left_out {
            0 => String::new(),
            left_out => format!("[… {left_out} steps left out …]\n"),
        };
        let tail: String = self.tail.iter().map(String::as_str).collect();
        format!("{}{gap}{tail}", self.head)
    }

    fn take(&mut self, event: &Value) {
        match event["type"].as_str().unwrap_or_default() {
            "replied" => self.add("agent", &text_of(&event["message"]["content"]), SAID),
            "tool_started" => {
                self.calls += 1;
                let name = event["name"].as_str().unwrap_or_default();
                let most = if name == "hand_over" { 2 * SAID } else { CALL };
                self.add(&format!("call {name}"), &event["input"].to_string(), most);
            }
            "tool_ended" if failed(event) => self.add("  result", &end(&text_of(&event["content"])), FAILED),
            "check_ended" => {
                let (feature, finding) = (&event["feature"], &event["finding"]);
                let label = format!("longhaul's check of {}", feature.as_str().unwrap_or_default());
                let output = if finding == "passed" { String::new() } else { end(&text_of(&event["tail"])) };
                self.add(&label, &format!("{}\n{output}", finding.as_str().unwrap_or_default()), FAILED);
            }
            "warning" => self.add("longhaul", event["text"].as_str().unwrap_or_default(), CALL),
            _ => {}
        }
    }

    fn add(&mut self, label: &str, text: &str, most: usize) {
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        let line = format!("{label}: {}\n", clip::head(text, most));
        if self.tail.is_empty() && self.head.len() + line.len() <= HEAD {
            self.head.push_str(&line);
            return;
        }
        self.tail_bytes += line.len();
        self.tail.push_back(line);
        while self.tail_bytes > TAIL
            && let Some(oldest) = self.tail.pop_front()
        {
            self.tail_bytes -= oldest.len();
            self.left_out += 1;
        }
    }
}

/// Tells whether a result is worth knowing: that of the check always is.
fn failed(event: &Value) -> bool {
    let text = event["content"].as_str().unwrap_or_default();
    let exit = text.lines().rev().find_map(|line| line.strip_prefix("[exit code "));
    event["is_error"] == true || event["name"] == "check" || exit.is_some_and(|code| code != "0]")
}

fn end(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn course(events: &[Value]) -> Course {
        let mut course = Course::default();
        events.iter().for_each(|event| course.take(event));
        course
    }

    #[test]
    fn it_has_what_was_said_called_and_what_failed() {
        let ended = |name: &str, content: &str| json!({"type": "tool_ended", "name": name, "content": content});
        let course = course(&[
            json!({"type": "sent", "turn": 1, "content": [{"type": "text", "text": "the task"}]}),
            json!({"type": "replied", "message": {"content": [{"type": "text", "text": "I look."}, {"type": "tool_use"}]}}),
            json!({"type": "tool_started", "name": "bash", "input": {"command": "ls"}}),
            ended("bash", "a\nb\n[exit code 0]"),
            json!({"type": "tool_started", "name": "bash", "input": {"command": "make"}}),
            ended("bash", &format!("{}no rule\n[exit code 2]\n[working directory: /x]", "noise\n".repeat(50))),
            json!({"type": "tool_ended", "name": "memory", "is_error": true, "content": [{"type": "text", "text": "no"}]}),
            json!({"type": "check_ended", "feature": "a", "finding": "failed", "tail": "want 1\ngot 2\n"}),
            json!({"type": "check_ended", "feature": "b", "finding": "passed", "tail": "fine"}),
        ]);
        let text = course.text();
        let noise = "noise\n".repeat(5);
        let expected = format!(
            "agent: I look.\ncall bash: {{\"command\":\"ls\"}}\ncall bash: {{\"command\":\"make\"}}\n  result: \
             {noise}no rule\n[exit code 2]\n[working directory: /x]\n  result: no\nlonghaul's check of a: failed\nwant 1\n\
             got 2\nlonghaul's check of b: passed\n"
        );
        assert_eq!((text, course.calls()), (expected, 2));
    }

    #[test]
    fn a_long_session_keeps_its_beginning_and_its_end() {
        let said = |number: usize| {
            let text = format!("{number} {}", "é".repeat(2000));
            json!({"type": "replied", "message": {"content": [{"type": "text", "text": text}]}})
        };
        let text = course(&(0..200).map(said).collect::<Vec<_>>()).text();
        assert!(text.len() <= HEAD + TAIL + 100, "{}", text.len());
        assert!(text.starts_with("agent: 0 é") && text.contains("agent: 199 é"), "{text}");
        assert!(text.contains("[… 191 steps left out …]\n"), "{}", text.replace('é', ""));
    }
}
