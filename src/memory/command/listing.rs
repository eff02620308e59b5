//! A folder as the model sees it: two levels, sizes, no hidden items.

use std::collections::BTreeMap;

use anyhow::Result;

use crate::memory::command::Target;
use crate::memory::repository::snapshot::Snapshot;
use crate::message::ToolResult;

/// Lists a folder.
pub(super) fn show(at: &Target, snapshot: &Snapshot<'_>, view_chars: usize) -> Result<ToolResult> {
    let mut folder = Folder::default();
    for (file, blob) in snapshot.files_at(at.clean())? {
        let below = if at.clean().is_empty() { file.as_str() } else { &file[at.clean().len() + 1..] };
        folder.add(below, snapshot.size(&blob)?);
    }
    let root = at.path.shown();
    let mut rows = vec![format!("{}\t{root}", size(folder.size))];
    folder.rows(&root, 2, &mut rows);
    let header = format!(
        "Here're the files and directories up to 2 levels deep in {at}, excluding hidden items and node_modules:"
    );
    Ok(ToolResult::text(format!("{header}\n{}", cut(&rows, view_chars))))
}

/// What lies in a folder, by name.
#[derive(Default)]
struct Folder {
    size: u64,
    items: BTreeMap<String, Item>,
}

enum Item {
    File(u64),
    Folder(Folder),
}

impl Folder {
    fn add(&mut self, path: &str, size: u64) {
        self.size += size;
        match path.split_once('/') {
            None => {
                self.items.insert(path.to_owned(), Item::File(size));
            }
            Some((name, rest)) => {
                let item = self.items.entry(name.to_owned()).or_insert_with(|| Item::Folder(Self::default()));
                if let Item::Folder(folder) = item {
                    folder.add(rest, size);
                }
            }
        }
    }

    fn rows(&self, at: &str, levels: usize, rows: &mut Vec<String>) {
        for (name, item) in &self.items {
            if levels == 0 || name.starts_with('.') || name == "node_modules" {
                continue;
            }
            match item {
                Item::File(bytes) => rows.push(format!("{}\t{at}/{name}", size(*bytes))),
                Item::Folder(folder) => {
                    rows.push(format!("{}\t{at}/{name}/", size(folder.size)));
                    folder.rows(&format!("{at}/{name}"), levels - 1, rows);
                }
            }
        }
    }
}

fn cut(rows: &[String], view_chars: usize) -> String {
    let mut left = view_chars;
    let mut kept = 0;
    for row in rows {
        let needed = row.chars().count() + 1;
        if kept > 0 && needed > left {
            break;
        }
        left = left.saturating_sub(needed);
        kept += 1;
    }
    let mut text = rows[..kept].join("\n");
    if kept < rows.len() {
        let more = rows.len() - kept;
        text.push_str(&format!(
            "\n[cut here: {more} more entries; view a folder by its own path to see what it holds]"
        ));
    }
    text
}

/// Renders a size with one decimal from a kilobyte on.
fn size(bytes: u64) -> String {
    if bytes < 1024 {
        return format!("{bytes}B");
    }
    let mut value = bytes as f64 / 1024.0;
    for unit in ["K", "M"] {
        // What would be rounded to 1024.0 belongs to the next unit.
        if value < 1023.95 {
            return format!("{value:.1}{unit}");
        }
        value /= 1024.0;
    }
    format!("{value:.1}G")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_one_decimal_from_a_kilobyte_on() {
        let sizes = [0, 1023, 1024, 5632, 1_048_575, 1_048_576, 1 << 30].map(size);
        assert_eq!(sizes, ["0B", "1023B", "1.0K", "5.5K", "1.0M", "1.0M", "1.0G"]);
    }

    #[test]
    fn a_long_listing_is_cut_and_says_so() {
        let rows: Vec<String> = (0..10).map(|n| format!("1B\t/memories/{n}")).collect();
        let text = cut(&rows, 30);
        assert_eq!(
            text,
            "1B\t/memories/0\n1B\t/memories/1\n\
             [cut here: 8 more entries; view a folder by its own path to see what it holds]"
        );
    }
}
