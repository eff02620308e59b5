//! Secrets are kept out of memory before there is a blob of them, since history keeps what it has.

use anyhow::Result;

use crate::memory::change::Change;
use crate::memory::command::plan::Kind;
use crate::memory::history::trailers::Author;
use crate::memory::repository::snapshot::Snapshot;
use crate::memory::rules::path;
use crate::memory::store::Store;
use crate::secrets::Scanner;

/// Refuses what looks like a secret.
#[derive(Clone, Debug, Default)]
pub struct Screen(Scanner);

impl Screen {
    /// Refuses what this one finds.
    pub fn new(scanner: Scanner) -> Self {
        Self(scanner)
    }

    /// Says what in new bytes looks like a secret and was not in the old ones: where it is, and the rule that knows it.
    pub(in crate::memory) fn added(&self, old: &[u8], new: &[u8]) -> Option<String> {
        let is_new = |secret: &[u8]| !old.windows(secret.len()).any(|window| window == secret);
        let found = self.0.scan(new).into_iter().find(|found| is_new(&new[found.bytes.clone()]))?;
        let place = if new.contains(&b'\n') { format!("its line {}", found.line) } else { "it".to_owned() };
        Some(format!("{place} has what looks like a secret (rule `{}`)", found.rule))
    }

    /// Returns why one of these changes is refused, as a text for whoever makes it.
    pub(in crate::memory) fn refusal(
        &self,
        (changes, kind): (&[Change], Kind),
        author: Author,
        snapshot: &Snapshot<'_>,
    ) -> Result<Option<String>> {
        for Change { path, bytes } in changes {
            let Some(bytes) = bytes else { continue };
            let old = snapshot.read(path)?.unwrap_or_default();
            let content = || self.added(&old, bytes).filter(|_| kind == Kind::Written);
            let told = match self.added(b"", path.as_bytes()) {
                Some(_) => Some("the name of a file looks like a secret".to_owned()),
                None => content().map(|told| format!("{} is not written: {told}", path::shown(path))),
            };
            if let Some(told) = told {
                return Ok(Some(format!("Error: {told}. Instead: {}", instead(author))));
            }
        }
        Ok(None)
    }
}

fn instead(author: Author) -> &'static str {
    match author {
        Author::Agent => "write where it is kept, such as the name of a variable or of a file, and leave it out",
        Author::Longhaul | Author::External => {
            "write where it is kept, and leave it out; if it is none, `--set memory.secrets=allow` lets it pass"
        }
    }
}

impl Store {
    /// Sets what happens to what looks like a secret; by default it is refused by its form.
    pub fn screen(&mut self, screen: Screen) {
        self.screen = screen;
    }

    /// Says why a text that shall become part of memory is refused, if it has what looks like a secret.
    pub fn secret_in(&self, text: &str) -> Option<String> {
        self.screen.added(b"", text.as_bytes())
    }

    /// Puts the name of its rule in the place of what looks like a secret: for texts that are written in any case.
    pub fn without_secrets(&self, text: &str) -> String {
        self.screen.0.redact(text)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;
    use crate::memory::fixture::Memory;
    use crate::secrets::Secrets;
    use crate::secrets::seeds::seeds;

    fn note(text: &str) -> String {
        format!("---\nname: a\ndescription: b\ntype: project\n---\n{text}\n")
    }

    /// Looks for a text in each object of the memory, and in all files around it.
    fn is_kept(memory: &Memory, secret: &str) -> bool {
        memory.git(&["cat-file", "--batch-all-objects", "--batch"]).contains(secret)
            || memory.shown("notes/a.md").is_some_and(|text| text.contains(secret))
    }

    /// E20: keys, blocks of them, and words drawn at random beside a name such as `token`.
    #[test]
    fn each_seeded_secret_is_refused_before_there_is_a_blob_and_without_being_told() {
        let mut refused = 0;
        let mut memory = Memory::project(&[]);
        for (_, secret, text) in seeds(1) {
            let secret = secret.lines().last().unwrap();
            let answer = memory.create("notes/a.md", &note(&text));
            let told = answer.as_text();
            assert!(
                answer.is_error && told.starts_with("Error: /memories/notes/a.md is not written: its line "),
                "{text}: {told}"
            );
            assert!(!told.contains(secret) && !is_kept(&memory, secret), "{told}");
            refused += 1;
        }
        assert!(refused >= 40 && memory.subjects().is_empty(), "{refused}");
    }

    #[test]
    fn without_the_screen_it_is_kept_for_good() {
        let mut memory = Memory::project(&[]);
        memory.store.screen(Screen::new(Scanner::of_known(Secrets::default())));
        let (_, secret, text) = seeds(1).swap_remove(0);
        assert!(!memory.create("notes/a.md", &note(&text)).is_error);
        memory.run(&json!({"command": "delete", "path": "/memories/notes/a.md"}));
        assert!(is_kept(&memory, &secret));
    }

    #[test]
    fn what_is_there_may_be_worked_on_and_nothing_more_may_come() {
        let (_, secret, text) = seeds(2).swap_remove(0);
        let mut memory = Memory::project(&[("notes/a.md", &note(&text))]);
        let edit = |old: &str, new: &str| json!({"command": "str_replace", "path": "/memories/notes/a.md", "old_str": old, "new_str": new});
        assert!(!memory.run(&edit("name: a", "name: c")).is_error);
        let rename =
            json!({"command": "rename", "old_path": "/memories/notes/a.md", "new_path": "/memories/notes/b.md"});
        assert!(!memory.run(&rename).is_error);
        let other = seeds(3).swap_remove(0).1;
        let back = json!({"command": "rename", "old_path": "/memories/notes/b.md", "new_path": "/memories/notes/a.md"});
        assert!(!memory.run(&back).is_error);
        assert!(memory.run(&edit("name: c", &format!("name: {other}"))).is_error);
        assert!(!memory.run(&edit(&secret, "gone")).is_error);

        let named = memory.create(&format!("notes/{other}.md"), &note("x"));
        assert!(named.as_text().starts_with("Error: the name of a file looks like a secret"), "{named:?}");
    }

    #[test]
    fn what_a_person_leaves_in_the_view_is_kept_as_a_file_and_not_adopted() {
        let (_, secret, text) = seeds(4).swap_remove(0);
        let mut memory = Memory::project(&[("notes/a.md", &note("old"))]);
        memory.edit("notes/a.md", &note(&text));
        memory.edit("notes/new.md", &note(&text));
        memory.edit("notes/fine.md", &note("fine"));

        let findings = memory.inspect();

        assert_eq!(findings.adopted, ["notes/fine.md"]);
        assert!(!findings.tampered());
        let kept: Vec<&str> = findings.set_aside.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(kept, ["notes/a.md", "notes/new.md"]);
        assert!(findings.set_aside.iter().all(|(_, kept)| fs::read_to_string(kept).unwrap().contains(&secret)));
        assert!(findings.refused.iter().all(|(_, why)| why.contains("(rule `anthropic-key`)")), "{findings:?}");
        assert_eq!(memory.shown("notes/a.md"), Some(note("old")));
        assert!(!memory.git(&["cat-file", "--batch-all-objects", "--batch"]).contains(&secret));
        assert!(memory.inspect().is_empty());
    }

    #[test]
    fn what_longhaul_knows_is_refused_in_each_spelling() {
        let mut memory = Memory::project(&[]);
        assert!(!memory.create("notes/a.md", &note("plain words 7")).is_error, "its twin: nobody knows it");
        memory.store.screen(Screen::new(Scanner::new(Secrets::new(["plain words 7".to_owned()]))));
        for text in ["plain words 7", "plain%20words%207", "706c61696e20776f7264732037"] {
            let told = memory.create("notes/b.md", &note(text)).as_text();
            assert!(told.contains("its line 6 has what looks like a secret (rule `known-secret`)"), "{told}");
        }
        assert_eq!(memory.store.without_secrets("so plain words 7."), "so [known-secret left out].");
    }
}
