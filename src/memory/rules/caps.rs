//! How much the agent may write.

use anyhow::Result;

use crate::memory::change::Change;
use crate::memory::command::plan::Kind;
use crate::memory::repository::contents::Entry;
use crate::memory::repository::snapshot::Snapshot;
use crate::memory::rules::path::shown;

/// How much the agent may write and a view may show.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Caps {
    pub file_bytes: usize,
    pub files: usize,
    pub view_chars: usize,
    /// The longest path of a new file, below `/memories`.
    pub path_bytes: usize,
    /// The deepest path of a new file, itself included.
    pub path_depth: usize,
    /// How much of the index a session is given.
    pub index_lines: usize,
    pub index_bytes: usize,
}

impl Default for Caps {
    fn default() -> Self {
        Self {
            file_bytes: 100_000,
            files: 1000,
            view_chars: 16_000,
            path_bytes: 1024,
            path_depth: 8,
            index_lines: 200,
            index_bytes: 25_000,
        }
    }
}

/// Returns why these changes of the agent are too much, as a text for the model.
pub(super) fn refusal(
    caps: &Caps,
    (changes, kind): (&[Change], Kind),
    snapshot: &Snapshot<'_>,
) -> Result<Option<String>> {
    let before = snapshot.count()?;
    let (mut gone, mut new) = (0, 0);
    for Change { path, bytes } in changes {
        let old = match snapshot.entry(path)? {
            Some(Entry::File(blob)) => Some(snapshot.size(&blob)?),
            _ => None,
        };
        let Some(bytes) = bytes else {
            gone += usize::from(old.is_some());
            continue;
        };
        if old.is_none() {
            new += 1;
            if let Some(refused) = bad_new_path(caps, path, changes, snapshot)? {
                return Ok(Some(refused));
            }
        }
        // What was adopted larger than allowed may still shrink or get another name.
        let limit = caps.file_bytes.max(old.map_or(0, |size| usize::try_from(size).unwrap_or(usize::MAX)));
        if kind == Kind::Written && bytes.len() > limit {
            let (size, cap) = (bytes.len(), caps.file_bytes);
            return Ok(Some(format!(
                "Error: {} would have {size} bytes, a memory file may have {cap}. Instead: keep the essence, or \
                 split it",
                shown(path)
            )));
        }
    }
    Ok(over(caps, before, (before + new).saturating_sub(gone), "join or delete old ones"))
}

/// Returns why these changes of a person's calls are too many files, as a text for them.
pub(super) fn too_many(caps: &Caps, changes: &[Change], snapshot: &Snapshot<'_>) -> Result<Option<String>> {
    let before = snapshot.count()?;
    let mut after = before;
    for Change { path, bytes } in changes {
        match (bytes, snapshot.entry(path)?) {
            (Some(_), None) => after += 1,
            (None, Some(Entry::File(_))) => after = after.saturating_sub(1),
            _ => {}
        }
    }
    Ok(over(caps, before, after, "join or delete old ones, or raise `memory.files`"))
}

fn over(caps: &Caps, before: usize, after: usize, instead: &str) -> Option<String> {
    let cap = caps.files;
    let text = || format!("Error: memory would hold {after} files, it may hold {cap}. Instead: {instead}");
    (after > cap && after > before).then(text)
}

fn bad_new_path(caps: &Caps, path: &str, changes: &[Change], snapshot: &Snapshot<'_>) -> Result<Option<String>> {
    let (size, cap) = (path.len(), caps.path_bytes);
    if size > cap {
        return Ok(Some(format!("Error: the path has {size} bytes, it may have {cap}. Instead: shorten it")));
    }
    let (names, cap) = (path.split('/').count(), caps.path_depth);
    if names > cap {
        let shown = shown(path);
        return Ok(Some(format!("Error: {shown} is {names} levels deep, it may be {cap}. Instead: shorten it")));
    }
    for twin in snapshot.twins(path)? {
        // What a rename only spells anew is no twin.
        let mut stay = snapshot.files_at(&twin)?.into_keys().filter(|file| !is_removed(file, changes));
        if let Some(twin) = stay.next() {
            return Ok(Some(format!(
                "Error: {} differs only by letter case from {}; some file systems cannot hold both. Instead: use \
                 another name",
                shown(path),
                shown(&twin)
            )));
        }
    }
    Ok(None)
}

fn is_removed(file: &str, changes: &[Change]) -> bool {
    changes.iter().any(|change| change.path == file && change.bytes.is_none())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::memory::fixture::Memory;
    use crate::memory::history::trailers::Author;
    use crate::memory::history::trailers::Origin;
    use crate::memory::rules::guard::Policy;

    #[test]
    fn caps_bind_the_agent_and_the_number_of_files_a_persons_calls_too() {
        let caps = Caps { file_bytes: 10, files: 2, ..Caps::default() };
        let mut memory = Memory::new(Policy::Project, caps, &[("large", "0123456789abcdef")]);
        assert!(memory.create("a", "0123456789a").as_text().contains("11 bytes"));
        assert!(!memory.create("a", "0123456789").is_error);
        assert!(memory.create("b", "x").as_text().contains("3 files"));
        memory.write("b", "longer than ten bytes");
        assert_eq!(memory.store.list().unwrap().len(), 3);
        let mut by_hand = |path: &str| {
            let input = json!({"command": "create", "path": path, "file_text": "longer than ten bytes"});
            memory.store.run(&input, &Origin::of(Author::External)).unwrap().as_text()
        };
        assert!(by_hand("/memories/c").contains("4 files, it may hold 2. Instead: join or delete old ones, or raise"));
        assert!(!by_hand("/memories/b").contains("it may hold"), "what is there may change");

        let shrink = json!({"command": "str_replace", "path": "/memories/large", "old_str": "abc", "new_str": ""});
        assert!(!memory.run(&shrink).is_error);
        let rename = json!({"command": "rename", "old_path": "/memories/large", "new_path": "/memories/l"});
        assert!(!memory.run(&rename).is_error);
    }

    /// Makes a call that comes to so much, and returns its answer.
    type Call = fn(&mut Memory, usize) -> String;

    fn create(memory: &mut Memory, path: &str, text: &str) -> String {
        memory.create(path, text).as_text()
    }

    #[test]
    fn each_cap_is_a_setting_and_holds_to_the_unit() {
        let none = Caps::default();
        let table: [(usize, Caps, Call, &str); 6] = [
            (10, Caps { file_bytes: 10, ..none }, |m, size| create(m, "a", &"x".repeat(size)), "would have 11 bytes"),
            (
                10,
                Caps { file_bytes: 10, ..none },
                |m, size| {
                    m.write("a", "x");
                    let text = "y".repeat(size - 2);
                    let insert =
                        json!({"command": "insert", "path": "/memories/a", "insert_line": 0, "insert_text": text});
                    m.run(&insert).as_text()
                },
                "would have 11 bytes",
            ),
            (
                4,
                Caps { files: 4, ..none },
                |m, size| {
                    (1..size).for_each(|number| drop(m.write(&format!("docs/{number}"), "x")));
                    create(m, "a", "x")
                },
                "would hold 5 files",
            ),
            (
                64,
                Caps { path_bytes: 64, ..none },
                |m, size| create(m, &format!("é/{}", "n".repeat(size - 3)), "x"),
                "has 65 bytes",
            ),
            (
                3,
                Caps { path_depth: 3, ..none },
                |m, size| create(m, &format!("{}f", "a/".repeat(size - 1)), "x"),
                "4 levels",
            ),
            (
                100,
                Caps { view_chars: 100, ..none },
                |m, size| {
                    m.write("docs/v", &"é".repeat(size));
                    m.run(&json!({"command": "view", "path": "/memories/docs/v"})).as_text()
                },
                "is cut after 100 of its 101",
            ),
        ];
        for (cap, caps, call, over) in table {
            for size in [cap - 1, cap, cap + 1] {
                let mut memory = Memory::new(Policy::Project, caps, &[]);
                let answer = call(&mut memory, size);
                assert_eq!(answer.contains(over), size > cap, "{size} of {cap}: {answer}");
                let twin = call(&mut Memory::project(&[]), size);
                assert!(!twin.contains(over), "its twin, with another setting: {twin}");
            }
        }
    }

    #[test]
    fn the_agents_paths_are_short_shallow_and_no_twins() {
        let mut memory = Memory::project(&[("docs/Db.md", "x")]);
        assert!(memory.create("a/b/c/d/e/f/g/h/i", "x").as_text().contains("9 levels"));
        let long = format!("{}/x", ["n".repeat(250).as_str(); 5].join("/"));
        assert!(memory.create(&long, "x").as_text().contains("1024"));
        assert!(memory.create("docs/db.md", "x").as_text().contains("letter case"));
        assert!(memory.create("DOCS/other", "x").as_text().contains("letter case from /memories/docs/Db.md"));
        assert!(!memory.create("docs/é.md", "x").is_error && memory.create("docs/É.md", "x").is_error);
        for apart in ["docs/dc.md", "db.md/docs", "docs/Db/db.md"] {
            assert!(!memory.create(apart, "x").is_error, "{apart}");
        }
        let rename =
            json!({"command": "rename", "old_path": "/memories/docs/Db.md", "new_path": "/memories/docs/db.md"});
        assert!(!memory.run(&rename).is_error);
    }
}
