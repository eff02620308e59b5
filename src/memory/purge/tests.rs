use std::collections::BTreeMap;
use std::fs;

use serde_json::json;

use super::*;
use crate::memory::change::Change;
use crate::memory::fixture::Memory;
use crate::memory::rules::guard::Policy;
use crate::memory::rules::screen::Screen;
use crate::secrets::Scanner;

const KEY: &str = "canary-key+7f.3a9c";

fn known() -> Secrets {
    Secrets::new([KEY.to_owned()])
}

/// Returns the key as it is written, in hex and in base64.
fn spellings() -> [String; 3] {
    use base64::Engine;
    let hex: String = KEY.bytes().map(|byte| format!("{byte:02x}")).collect();
    [KEY.to_owned(), hex, base64::engine::general_purpose::STANDARD.encode(format!("x{KEY}yz"))]
}

/// Returns all files at or below a folder with their bytes.
fn files(folder: &Path, all: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files(&path, all),
            false => drop(all.insert(path.clone(), fs::read(&path).unwrap())),
        }
    }
}

/// Names where the key is, in any spelling: files as they lie there, and all objects, unpacked.
fn places(memory: &Memory) -> Vec<String> {
    let mut all = BTreeMap::new();
    files(&memory.outside(""), &mut all);
    let objects = memory.git(&["cat-file", "--batch-all-objects", "--batch", "--unordered"]);
    all.insert(PathBuf::from("objects"), objects.into_bytes());
    let found = all
        .into_iter()
        .filter(|(path, bytes)| path.to_string_lossy().contains(KEY) || known().find(bytes).next().is_some());
    found.map(|(path, _)| path.display().to_string()).collect()
}

/// Makes a memory that has the key in files, in names, in commit texts, in old versions, and in records beside it.
fn leaked() -> Memory {
    let mut memory = Memory::project(&[("docs/clean", "1\n"), ("features.json", "{}")]);
    memory.store.screen(Screen::new(Scanner::of_known(Secrets::default())));
    let [plain, hex, base64] = spellings();
    memory.write("docs/clean", "2\n");
    memory.write("notes/db.md", &format!("before\npassword {plain}\nafter\n"));
    memory.write("notes/db.md", "nothing\n");
    memory.write("features.json", &format!(r#"{{"a": "{hex}"}}"#));
    memory.write("docs/deep/er", &format!("{base64}\n"));
    assert!(!memory.create(&format!("docs/{plain}"), "x").is_error);
    let subject = format!("checklist: note {plain}");
    let change = [Change::put("docs/other", "o\n")];
    memory.store.write(&subject, &change, &Origin { session: Some(3), ..Origin::of(Author::Agent) }).unwrap();
    let records = memory.place.state.join("sessions/0003");
    fs::create_dir_all(&records).unwrap();
    let head = memory.store.head().unwrap().unwrap();
    let event = json!({"text": format!("use {plain}"), "id": head});
    fs::write(records.join("events.jsonl"), format!("{event}\n")).unwrap();
    fs::write(records.join("untouched"), "as it was\n").unwrap();
    memory
}

fn log(memory: &Memory) -> Vec<String> {
    let log = memory.git(&["log", "--reverse", "--format=%an %at %cn %ct %s|%b"]);
    log.replace(KEY, crate::secrets::HIDDEN).lines().map(str::to_owned).collect()
}

#[test]
fn a_key_is_nowhere_any_more_and_everything_else_stays() {
    let mut memory = leaked();
    let (old, before) = (memory.git(&["rev-list", "--reverse", "main"]), log(&memory));
    let told = places(&memory);
    assert!(told.iter().any(|place| place == "objects") && told.len() > 10, "its twin: {told:?}");

    let purged = memory.store.purge(&known(), &|_| Ok(()), Purging::Remove).unwrap();

    assert_eq!(places(&memory), Vec::<String>::new());
    assert_eq!(memory.git(&["fsck", "--strict", "--full"]), "");
    assert_eq!(memory.git(&["for-each-ref", "--format=%(refname)"]), "refs/heads/main\n");
    assert!(memory.git(&["count-objects", "-v"]).starts_with("count: 0\n"));
    let after = log(&memory);
    assert_eq!(after[..before.len()], before);
    assert!(after[before.len()].starts_with("external 1800000000 longhaul 1800000000 memory: purge|"), "{after:?}");
    let new = memory.git(&["rev-list", "--reverse", "main"]);
    let same = old.lines().zip(new.lines()).take_while(|(old, new)| old == new).count();
    assert_eq!(same, 3, "what came before the key keeps its id");
    assert_eq!((purged.versions, purged.messages, purged.looked_at, purged.commits), (3, 2, 9, 6));
    assert_eq!(memory.git(&["show", "main:docs/clean"]), "2\n");
    assert_eq!(memory.git(&["show", "main~6:notes/db.md"]), "before\npassword [secret left out]\nafter\n");
    assert_eq!(memory.shown("features.json").unwrap(), r#"{"a": "[secret left out]"}"#);

    let head = memory.git(&["rev-parse", "main~1"]);
    let records = memory.place.state.join("sessions/0003");
    let event = fs::read_to_string(records.join("events.jsonl")).unwrap();
    let event: serde_json::Value = serde_json::from_str(&event).unwrap();
    assert_eq!(event, json!({"text": "use [secret left out]", "id": head.trim()}));
    assert_eq!(fs::read_to_string(records.join("untouched")).unwrap(), "as it was\n");
    assert_eq!(purged.paths.len(), 4, "{purged:?}");
    assert!(purged.files.contains(&records.join("events.jsonl")), "{purged:?}");

    assert!(memory.inspect().is_empty());
    memory.write("docs/clean", "3\n");
    assert!(memory.open_again().recovered().is_empty());
    assert!(memory.store.purge(&known(), &|_| Ok(()), Purging::Remove).unwrap().is_nothing());
}

#[test]
fn a_look_tells_the_same_and_changes_nothing() {
    let mut memory = leaked();
    let mut before = BTreeMap::new();
    files(&memory.outside(""), &mut before);
    let looked = memory.store.purge(&known(), &|_| Ok(()), Purging::Look).unwrap();
    let mut after = BTreeMap::new();
    files(&memory.outside(""), &mut after);
    assert!(before == after);
    let purged = memory.store.purge(&known(), &|_| Ok(()), Purging::Remove).unwrap();
    let counts = |purged: &Purged| (purged.versions, purged.messages, purged.commits, purged.paths.clone());
    assert_eq!(counts(&looked), counts(&purged));
}

#[test]
fn packs_tags_kept_refs_and_what_nothing_leads_to_are_cleaned_too() {
    let mut memory = leaked();
    memory.git(&["tag", "light", "main~2"]);
    memory.git(&["-c", "user.name=a", "-c", "user.email=a", "tag", "-a", "-m", KEY, "heavy", "main~1"]);
    let found = memory.git(&["rev-parse", "main~1"]).trim().to_owned();
    memory.git(&["update-ref", &format!("refs/longhaul/found/{found}"), &found]);
    memory.git(&["gc", "--quiet"]);
    memory.git(&["pack-refs", "--all"]);
    let source = memory.outside("lost");
    fs::write(&source, KEY).unwrap();
    memory.git(&["hash-object", "-w", source.to_str().unwrap()]);
    fs::remove_file(source).unwrap();

    memory.store.purge(&known(), &|_| Ok(()), Purging::Remove).unwrap();

    assert_eq!(places(&memory), Vec::<String>::new());
    assert_eq!(memory.git(&["fsck", "--strict", "--full"]), "");
    let kept = memory.git(&["rev-parse", "main~2"]).trim().to_owned();
    let refs = memory.git(&["for-each-ref", "--format=%(refname) %(objectname)", "refs/longhaul", "refs/tags"]);
    let light = memory.git(&["rev-parse", "main~3"]);
    assert_eq!(refs, format!("refs/longhaul/found/{kept} {kept}\nrefs/tags/heavy {kept}\nrefs/tags/light {light}"));
    assert!(memory.inspect().is_empty());
}

#[test]
fn a_purge_that_stopped_after_its_new_history_held_is_told_and_ends_the_next_time() {
    let mut memory = leaked();
    let files_before = memory.git(&["ls-tree", "-r", "--name-only", "main"]);
    {
        let _lock = memory.store.lock().unwrap();
        let _mark = Mark::set(&memory.place.state).unwrap();
        memory.store.with_journal(|journal| recovery::checkpoint(&memory.store.repository, journal)).unwrap();
        let values = known();
        let own = Own::of(&memory.place, Policy::Project, vec![memory.place.view.clone()]);
        let task = Task { values: &values, own, readable: &|_| Ok(()), purging: Purging::Remove };
        let mut rewriting = Rewriting::of(&memory.store.repository, &task);
        rewriting.all(None, &|_| {}).unwrap();
        memory.store.move_to_rewritten(&rewriting).unwrap();
    }
    memory.store = memory.open_again();
    assert_eq!(memory.store.unfinished_purge(), Unfinished::Killed);
    assert!(memory.store.recovered().is_empty());
    let findings = memory.inspect();
    assert!(findings.adopted.is_empty() && !findings.tampered(), "the view lags, and nobody edited it: {findings:?}");
    assert_ne!(places(&memory), Vec::<String>::new(), "its twin: the old objects are still there");

    memory.store.purge(&known(), &|_| Ok(()), Purging::Remove).unwrap();

    assert_eq!(memory.store.unfinished_purge(), Unfinished::No);
    assert_eq!(places(&memory), Vec::<String>::new());
    let names = |text: String| text.lines().count();
    assert_eq!(names(memory.git(&["ls-tree", "-r", "--name-only", "main"])), names(files_before));
    memory.store = memory.open_again();
    assert!(memory.inspect().is_empty());
}

#[test]
fn a_memory_without_a_project_is_purged_and_its_neighbours_stay() {
    let mut memory = Memory::free(&[]);
    memory.store.screen(Screen::new(Scanner::of_known(Secrets::default())));
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open_or_create_free(folder.path(), memory.store.clock, |_| {}).unwrap();
    store.screen(Screen::new(Scanner::of_known(Secrets::default())));
    store.write("w", &[Change::put("a", KEY)], &Origin::of(Author::Agent)).unwrap();
    fs::write(folder.path().join("neighbour"), KEY).unwrap();

    let purged = store.purge(&known(), &|_| Ok(()), Purging::Remove).unwrap();

    assert_eq!(purged.files, [folder.path().join("memory/a")]);
    assert_eq!(fs::read_to_string(folder.path().join("neighbour")).unwrap(), KEY);
    assert_eq!(store.read("a").unwrap().unwrap(), b"[secret left out]");
}

#[test]
fn an_empty_memory_has_nothing_to_purge() {
    let mut memory = Memory::project(&[]);
    assert!(memory.store.purge(&known(), &|_| Ok(()), Purging::Remove).unwrap().is_nothing());
    assert!(memory.inspect().is_empty());
}

/// Puts a link to itself in the place of a file, which nobody can read then.
fn make_unreadable(path: &Path) {
    fs::remove_file(path).unwrap();
    std::os::unix::fs::symlink(path, path).unwrap();
}

#[test]
fn a_branch_that_cannot_be_read_is_not_taken_for_no_history() {
    let mut memory = leaked();
    memory.store.checkpoint().unwrap();
    let whole = memory.store.purge(&known(), &|_| Ok(()), Purging::Look).unwrap();
    let branch = memory.place.repository.join("refs/heads/main");
    let id = fs::read(&branch).unwrap();
    make_unreadable(&branch);

    assert_eq!(
        memory.store.purge(&known(), &|_| Ok(()), Purging::Look).unwrap(),
        whole,
        "the journal knows the newest commit"
    );
    memory.store.purge(&known(), &|_| Ok(()), Purging::Remove).unwrap_err();

    fs::remove_file(&branch).unwrap();
    fs::write(&branch, id).unwrap();
    assert_eq!(memory.git(&["fsck", "--strict"]), "");
    memory.store.purge(&known(), &|_| Ok(()), Purging::Remove).unwrap();
    assert_eq!(places(&memory), Vec::<String>::new());
}

#[test]
fn what_only_a_ref_that_cannot_be_read_leads_to_is_not_removed() {
    let mut memory = leaked();
    memory.git(&["update-ref", "refs/heads/side", "main~1"]);
    memory.git(&["pack-refs", "--all"]);
    make_unreadable(&memory.place.repository.join("packed-refs"));
    for purging in [Purging::Look, Purging::Remove] {
        let refused = format!("{:#}", memory.store.purge(&known(), &|_| Ok(()), purging).unwrap_err());
        assert!(refused.contains("could not read"), "{refused}");
    }
}

#[test]
fn a_purge_that_ended_before_it_removed_anything_leaves_no_mark_and_an_older_mark_stays() {
    for marked in [false, true] {
        let mut memory = leaked();
        if marked {
            drop(Mark::set(&memory.place.state).unwrap());
        }
        let dangling = memory.place.repository.join("refs/heads/side");
        fs::write(&dangling, format!("{}\n", "1".repeat(40))).unwrap();
        let refused = format!("{:#}", memory.store.purge(&known(), &|_| Ok(()), Purging::Remove).unwrap_err());
        assert!(refused.contains("`refs/heads/side`"), "{refused}");
        assert_eq!(memory.store.unfinished_purge() == Unfinished::Killed, marked);

        fs::remove_file(&dangling).unwrap();
        let nowhere = Secrets::new(["nowhere at all".to_owned()]);
        memory.store.purge(&nowhere, &|_| Ok(()), Purging::Remove).unwrap();
        assert_eq!(memory.store.unfinished_purge(), Unfinished::No);
    }
}

#[test]
fn a_text_of_longhauls_own_is_refused_before_anything_is_touched() {
    let mut memory = leaked();
    let mut before = BTreeMap::new();
    files(&memory.outside(""), &mut before);
    for word in ["memory", "features", "sessions", "commit"] {
        let own = Secrets::new([word.to_owned()]);
        for purging in [Purging::Look, Purging::Remove] {
            let refused = memory.store.purge(&own, &|_| Ok(()), purging).unwrap_err();
            let failure = refused.downcast_ref::<crate::failure::Failure>().unwrap();
            assert_eq!(failure.kind, crate::failure::Kind::Usage, "{failure:?}");
        }
    }
    let mut after = BTreeMap::new();
    files(&memory.outside(""), &mut after);
    assert!(before == after);
}

/// A task that looks for a word of longhaul's own, which only the words would refuse.
fn unrefused<'t>(memory: &Memory, values: &'t Secrets, readable: &'t Readable) -> Task<'t> {
    let own = Own::of(&memory.place, Policy::Project, vec![memory.place.view.clone()]);
    Task { values, own, readable, purging: Purging::Remove }
}

#[test]
fn names_keys_and_gits_files_stay_even_where_no_word_refused_the_text() {
    let mut memory = leaked();
    memory.write("features.json", r#"{"version": 1, "features": [{"title": "the features"}]}"#);
    memory.write("features/a", "the features\n");
    memory.git(&["config", "user.name", "features"]);
    fs::write(memory.place.state.join("features"), "").unwrap();
    let values = Secrets::new(["features".to_owned()]);
    let _lock = memory.store.lock().unwrap();
    let task = unrefused(&memory, &values, &|_| Ok(()));
    let rewriting = memory.store.prepare(&task).unwrap();
    memory.store.move_to_rewritten(&rewriting).unwrap();
    let around = files::purge(&memory.store.folders().unwrap(), &rewriting, Purging::Remove).unwrap();

    let names = memory.git(&["ls-tree", "-r", "--name-only", "main"]);
    assert!(names.contains("features.json\n") && names.contains("[secret left out]/a\n"), "{names}");
    let checklist = r#"{"version": 1, "features": [{"title": "the [secret left out]"}]}"#;
    assert_eq!(memory.git(&["show", "main:features.json"]), checklist);
    assert_eq!(memory.shown("features.json").unwrap(), checklist);
    assert_eq!(memory.git(&["config", "user.name"]), "features\n");
    let Place { repository, state, .. } = &memory.place;
    let left = [repository.join("config"), state.join("features"), memory.at("features.json")];
    assert!(left.iter().all(|path| around.left.contains(path)), "{around:?}");
    assert!(rewriting.purged().left.contains(Path::new("features.json")));
    assert_eq!(memory.git(&["fsck", "--strict", "--full", "--no-dangling"]), "");
}

#[test]
fn lines_above_a_commits_text_keep_their_form() {
    let memory = leaked();
    let tree = memory.git(&["rev-parse", "main^{tree}"]).trim().to_owned();
    let who = ["-c", "user.name=Ada 1800000", "-c", "user.email=canary-1800000@x"];
    let side = memory.git(&[&who[..], &["commit-tree", "-m", "x", &tree]].concat());
    memory.git(&["update-ref", "refs/heads/side", side.trim()]);
    for value in ["1800000", "canary", "author ", "committ", "+0000", "> 18000"] {
        let values = Secrets::new([value.to_owned()]);
        let _lock = memory.store.lock().unwrap();
        let task = unrefused(&memory, &values, &|_| Ok(()));
        let rewriting = memory.store.prepare(&task).unwrap();
        let new = rewriting.new_id(Oid::from_str(side.trim()).unwrap());
        let told = memory.git(&["log", "-1", "--format=%an <%ae> %at", &new.to_string()]);
        let old = memory.git(&["log", "-1", "--format=%an <%ae> %at", side.trim()]);
        let time = old.rsplit_once(' ').unwrap().1.to_owned();
        let hide = |text: &str| text.replace(value, crate::secrets::HIDDEN);
        let people = hide(old.rsplit_once(' ').unwrap().0);
        assert_eq!(told, format!("{people} {time}"));
    }
}

#[test]
fn a_checklist_that_could_not_be_read_any_more_ends_it_and_all_is_as_it_was() {
    let mut memory = leaked();
    memory.write("features.json", r#"{"a": "canary 4711"}"#);
    let head = memory.store.head().unwrap();
    let values = Secrets::new(["canary 4711".to_owned()]);
    let readable = |bytes: &[u8]| match bytes.windows(6).any(|word| word == b"canary") {
        true => Ok(()),
        false => Err("it has no `a`".to_owned()),
    };
    for purging in [Purging::Look, Purging::Remove] {
        let refused = memory.store.purge(&values, &readable, purging).unwrap_err();
        assert!(refused.to_string().contains("`features.json` could not be read any more"), "{refused:#}");
        assert_eq!(memory.store.head().unwrap(), head);
        assert_eq!(memory.store.unfinished_purge(), Unfinished::No);
    }
    memory.store.purge(&values, &|_| Ok(()), Purging::Remove).unwrap();
    assert_ne!(memory.store.head().unwrap(), head, "its twin: nobody looks");
}

#[test]
fn a_new_history_that_is_not_whole_is_given_up_and_the_old_one_stays() {
    let memory = leaked();
    memory.store.checkpoint().unwrap();
    let head = memory.store.head().unwrap();
    // A file of the newest commit that no look for texts reads: it is damaged on the disk.
    let id = memory.git(&["rev-parse", "main:docs/clean"]).trim().to_owned();
    let path = memory.place.repository.join("objects").join(&id[..2]).join(&id[2..]);
    let whole = fs::read(&path).unwrap();
    let values = known();
    let _lock = memory.store.lock().unwrap();
    let task = unrefused(&memory, &values, &|_| Ok(()));
    let rewriting = memory.store.prepare(&task).unwrap();
    let old = memory.store.head().unwrap().map(|head| repository::oid(&head)).transpose().unwrap();
    memory.store.require_sound(&rewriting, old).unwrap();
    fs::remove_file(&path).unwrap();
    let refused = memory.store.require_sound(&rewriting, old).unwrap_err();
    assert!(refused.to_string().contains("not be whole"), "{refused:#}");
    fs::write(&path, whole).unwrap();
    assert_eq!(memory.store.head().unwrap(), head);
}
