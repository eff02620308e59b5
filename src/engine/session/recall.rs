//! Which notes a session is given at its start: those that what they say of themselves brings near to its feature.
//!
//! Chosen from the lines of the index alone, so that the cost does not grow with memory: by a small model where one is
//! set, else by words. Only the chosen ones are read.

use crate::clock::Clock;
use crate::driver::Meter;
use crate::engine::budget::Budget;
use crate::engine::session::rank;
use crate::engine::settings;
use crate::engine::workspace::Workspace;
use crate::event::Event;
use crate::event::Sink;
use crate::memory::Listed;
use crate::memory::Store;
use crate::message::Message;
use crate::message::Usage;
use crate::message::text_block;
use crate::prompts;
use crate::prompts::Recalled;
use crate::provider::Client;
use crate::provider::ModelSetting;
use crate::provider::Request;
use crate::provider::Told;
use anyhow::Result;
use jiff::civil::Date;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;
use std::time::Instant;

/// Notes that are looked at, newest first.
const LOOKED_AT: usize = 200;
/// Characters that are given of one note.
const SHOWN: usize = 4000;
/// A choice is worth no longer wait: words choose then.
const PATIENCE: Duration = Duration::from_secs(30);
/// Tokens that the paths of a choice may take.
const ANSWER: u32 = 1000;

/// What a note is recalled for.
pub struct Question<'a> {
    /// The feature, its check and its last verdict.
    pub text: &'a str,
    /// Paths of notes that this session has seen.
    pub seen: &'a BTreeSet<String>,
}

/// Recalls notes and tells which; without a client words choose.
///
/// # Errors
/// Only of a memory that cannot be read; a model that does not answer is told, and words choose.
pub fn recall(ws: &Workspace, client: Option<(&Client, &mut Budget)>, question: &Question) -> Result<Vec<Recalled>> {
    let shelf = Shelf { memory: &ws.memory, settings: &ws.settings.recall, clock: ws.clock, sink: &ws.voice };
    let notes = shelf.unseen(question.seen)?;
    if notes.is_empty() {
        return Ok(Vec::new());
    }
    let by_model = client.and_then(|(client, budget)| ask(ws, client, budget, question.text, &notes).transpose());
    let by_model = by_model.transpose()?;
    let by = if by_model.is_some() { ws.settings.recall.small_model.clone() } else { "words".to_owned() };
    let chosen = by_model.unwrap_or_else(|| by_words(question.text, &notes));
    shelf.give(&chosen, by, notes.len())
}

/// What notes are taken from, and who hears of it.
pub struct Shelf<'a> {
    pub memory: &'a Store,
    pub settings: &'a settings::Recall,
    pub clock: Clock,
    pub sink: &'a dyn Sink,
}

impl Shelf<'_> {
    /// Recalls notes once more in the course of a session, by words: a model would hold it up.
    ///
    /// # Errors
    /// Only of a memory that cannot be read.
    pub fn recall_again(&self, question: &Question) -> Result<Vec<Recalled>> {
        let notes = self.unseen(question.seen)?;
        match by_words(question.text, &notes) {
            chosen if chosen.is_empty() => Ok(Vec::new()),
            chosen => self.give(&chosen, "words".to_owned(), notes.len()),
        }
    }

    /// Returns the notes to choose from.
    fn unseen(&self, seen: &BTreeSet<String>) -> Result<Vec<Listed>> {
        if self.settings.notes == 0 {
            return Ok(Vec::new());
        }
        let notes = self.memory.index()?.notes.into_iter().take(LOOKED_AT);
        Ok(notes.filter(|note| !seen.contains(&note.path)).collect())
    }

    fn give(&self, chosen: &[&Listed], by: String, of: usize) -> Result<Vec<Recalled>> {
        let today = self.clock.today();
        let mut recalled = Vec::new();
        for note in chosen.iter().take(self.settings.notes) {
            if let Some(bytes) = self.memory.read(&note.path)? {
                let text = shown(&String::from_utf8_lossy(&bytes));
                recalled.push(Recalled { path: note.path.clone(), age: age(note.written, today), text });
            }
        }
        let notes = recalled.iter().map(|note| note.path.clone()).collect();
        self.sink.take(&Event::Recalled { by, of, notes });
        Ok(recalled)
    }
}

fn by_words<'a>(question: &str, notes: &'a [Listed]) -> Vec<&'a Listed> {
    let texts: Vec<String> =
        notes.iter().map(|note| format!("{} {} {}", note.path, note.name, note.description)).collect();
    rank::rank(question, &texts).into_iter().filter_map(|at| notes.get(at)).collect()
}

/// Asks the small model; none when there is none, or it gave no answer that can be read.
fn ask<'a>(
    ws: &Workspace,
    client: &Client,
    budget: &mut Budget,
    question: &str,
    notes: &'a [Listed],
) -> Result<Option<Vec<&'a Listed>>> {
    let model = &ws.settings.recall.small_model;
    if model.is_empty() || budget.run_exhausted().is_some() {
        return Ok(None);
    }
    let lines: Vec<String> = notes.iter().map(Listed::line).collect();
    let most = ws.settings.recall.notes;
    let choice = prompts::Choice { most, question: question.to_owned(), notes: lines };
    let request = Request {
        model: model.clone(),
        model_setting: ModelSetting::SmallModel,
        max_tokens: ANSWER,
        system: vec![text_block(&choice.rules()?)],
        messages: Arc::new(vec![Message::user(vec![text_block(&choice.render()?)])]),
        deadline: Some(Instant::now() + PATIENCE),
        ..Request::default()
    };
    let mut on_tokens = |told: Told| match told {
        Told::UnderWay(usage) => {
            budget.small_under_way(&usage);
            ControlFlow::Continue(())
        }
        Told::Lost(usage) => {
            pay(ws, budget, model, &usage);
            budget.run_exhausted().map_or(ControlFlow::Continue(()), |_| ControlFlow::Break(()))
        }
    };
    let reply = match client.send(&request, ws.interrupt, &mut |_, _| {}, &mut on_tokens) {
        Ok(reply) => reply,
        Err(failure) => {
            ws.notice(format!("notes are chosen by words: `{model}` gave no answer: {failure}"));
            return Ok(None);
        }
    };
    pay(ws, budget, model, &reply.usage);
    let chosen = read(&reply.text(), notes);
    if chosen.is_none() {
        ws.notice(format!("notes are chosen by words: `{model}` answered with something else than a list of paths"));
    }
    Ok(chosen)
}

/// Counts what the small model used, and tells.
fn pay(ws: &Workspace, budget: &mut Budget, model: &str, usage: &Usage) {
    let cost = budget.spend_small(usage);
    ws.voice.take(&Event::Used { by: "choice".to_owned(), model: model.to_owned(), usage: *usage, cost });
    ws.voice.take(&budget.spent());
}

/// Reads a JSON array of paths out of an answer; what is no listed note is passed over.
fn read<'a>(answer: &str, notes: &'a [Listed]) -> Option<Vec<&'a Listed>> {
    let (start, end) = (answer.find('[')?, answer.rfind(']')?);
    let paths: Vec<String> = serde_json::from_str(answer.get(start..=end)?).ok()?;
    let mut chosen: Vec<&Listed> = Vec::new();
    for path in &paths {
        let path = path.trim_start_matches("/memories/");
        let found = notes.iter().find(|note| note.path == path);
        chosen.extend(found.filter(|found| !chosen.contains(found)));
    }
    Some(chosen)
}

/// Says how old a note is, in words that keep the model from taking it for the present.
fn age(written: Date, today: Date) -> String {
    match today.since(written).map_or(0, |span| span.get_days()) {
        ..=0 => "written today".to_owned(),
        1 => "written yesterday; check before relying on it".to_owned(),
        days => format!("written {days} days ago; check before relying on it"),
    }
}

fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        None => text.to_owned(),
        Some((cut, _)) => {
            let left = text.len() - cut;
            format!("{}\n[{left} further bytes: view it with the memory tool]", &text[..cut])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::NoteKind;

    fn listed(path: &str) -> Listed {
        Listed {
            path: path.to_owned(),
            name: String::new(),
            kind: NoteKind::Project,
            written: "2026-03-01".parse().unwrap(),
            description: String::new(),
        }
    }

    #[test]
    fn an_age_is_told_in_days() {
        let age = |today: &str| age("2026-03-01".parse().unwrap(), today.parse().unwrap());
        assert_eq!(age("2026-03-13"), "written 12 days ago; check before relying on it");
        assert_eq!(age("2027-03-13"), "written 377 days ago; check before relying on it");
        assert_eq!(age("2026-03-02"), "written yesterday; check before relying on it");
        assert_eq!(age("2026-03-01"), "written today");
        assert_eq!(age("2016-03-01"), "written today", "a clock that went back makes nothing old");
    }

    #[test]
    fn an_answer_names_listed_notes_and_nothing_else_counts() {
        let notes = ["notes/a.md", "notes/b.md"].map(listed);
        let paths = |answer: &str| {
            read(answer, &notes).map(|all| all.iter().map(|note| note.path.as_str()).collect::<Vec<_>>())
        };
        assert_eq!(paths(r#"["notes/b.md"]"#), Some(vec!["notes/b.md"]));
        let wordy = "Here:\n```json\n[\"/memories/notes/b.md\", \"notes/b.md\", \"notes/x\", \"features.json\"]\n```";
        assert_eq!(paths(wordy), Some(vec!["notes/b.md"]));
        assert_eq!(paths("[]"), Some(vec![]));
        assert_eq!(paths("notes/a.md"), None);
        assert_eq!(paths("] ["), None);
    }

    #[test]
    fn a_long_note_is_cut_at_a_character_and_says_so() {
        let text = shown(&"é".repeat(SHOWN + 3));
        assert!(text.ends_with("\n[6 further bytes: view it with the memory tool]"), "{text}");
        assert_eq!(shown("short"), "short");
    }
}
