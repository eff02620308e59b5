//! Where the bytes of a lost object may still be had: the journal, the view, and the records of sessions.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use anyhow::Result;
use git2::ObjectType;
use git2::Oid;
use serde_json::Value;

use crate::memory::Place;
use crate::memory::journal::Journal;
use crate::memory::repository::object::Object;
use crate::memory::repository::tree;
use crate::memory::repository::tree::Trees;
use crate::memory::view::Found;
use crate::memory::view::View;

/// Larger files are no notes.
const LARGEST: u64 = 10_000_000;

/// Objects that can be made again, by their ids.
#[derive(Default)]
pub(super) struct Sources {
    whole: HashMap<Oid, Object>,
    files: HashMap<Oid, PathBuf>,
}

/// There is nothing to start from: the folders of the view are made from its files alone.
struct NoTrees;

impl Trees for NoTrees {
    fn tree(&self, _: Oid) -> Result<Arc<[u8]>> {
        anyhow::bail!("nothing is kept")
    }
}

impl Sources {
    /// Looks through all places. What cannot be read gives nothing.
    pub(super) fn of(place: &Place, journal: Option<&mut Journal>) -> Result<Self> {
        let mut sources = Self::default();
        if let Some(journal) = journal {
            journal.each(&mut |record| {
                record.objects.into_iter().for_each(|object| sources.add(object));
                Ok(())
            })?;
            let behind = journal.behind()?.into_iter().flat_map(|record| record.objects);
            behind.for_each(|object| sources.add(object));
        }
        let _ = sources.add_view(place);
        sources.add_records(&place.state.join("sessions"));
        Ok(sources)
    }

    /// Returns the object with this id.
    pub(super) fn get(&self, id: Oid) -> Option<Object> {
        if let Some(object) = self.whole.get(&id) {
            return Some(object.clone());
        }
        let object = Object::new(ObjectType::Blob, fs::read(self.files.get(&id)?).ok()?).ok()?;
        Some(object).filter(|object| object.id == id)
    }

    fn add(&mut self, object: Object) {
        self.whole.insert(object.id, object);
    }

    /// Takes in the files of the view, and the folders that they make.
    fn add_view(&mut self, place: &Place) -> Result<()> {
        let view = View::of(place);
        let mut files = Vec::new();
        for (path, found) in view.scan("")? {
            if matches!(found, Found::File { size, .. } if size <= LARGEST) {
                files.push((view.read(&path)?, path));
            }
        }
        let changes: Vec<_> = files.iter().map(|(bytes, path)| (path.as_str(), Some(bytes.as_slice()))).collect();
        let mut made = Vec::new();
        tree::change(&NoTrees, None, &changes, &mut made).context("could not make the folders of the view")?;
        made.into_iter().for_each(|object| self.add(object));
        Ok(())
    }

    /// Takes in what sessions kept as files, and every text that was sent and is in their records.
    fn add_records(&mut self, folder: &Path) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        for entry in entries.flatten() {
            let Ok(found) = entry.metadata() else { continue };
            let path = entry.path();
            if found.is_dir() {
                self.add_records(&path);
            } else if path.extension().is_some_and(|kind| kind == "jsonl") {
                let lines = fs::read_to_string(&path).unwrap_or_default();
                let texts = lines.lines().filter_map(|line| serde_json::from_str(line).ok());
                texts.for_each(|value: Value| self.add_texts(&value));
            } else if found.is_file() && found.len() <= LARGEST {
                let id = fs::read(&path).ok().and_then(|bytes| Oid::hash_object(ObjectType::Blob, &bytes).ok());
                id.into_iter().for_each(|id| drop(self.files.insert(id, path.clone())));
            }
        }
    }

    fn add_texts(&mut self, value: &Value) {
        match value {
            Value::String(text) => {
                let object = Object::new(ObjectType::Blob, text.as_bytes().to_vec());
                object.into_iter().for_each(|object| self.add(object));
            }
            Value::Array(values) => values.iter().for_each(|value| self.add_texts(value)),
            Value::Object(values) => values.values().for_each(|value| self.add_texts(value)),
            _ => {}
        }
    }
}
