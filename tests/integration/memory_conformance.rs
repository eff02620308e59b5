//! Runs the recorded contract of the memory tool (`tests/conformance/memory/`) through real stores.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use longhaul::clock::Clock;
use longhaul::memory::Author;
use longhaul::memory::Change;
use longhaul::memory::Origin;
use longhaul::memory::Store;
use longhaul::message::ToolResult;
use regex::Regex;
use serde_json::Value;

/// How a case's files come to be in the store.
#[derive(Clone, Copy)]
enum Setup {
    /// They lie in the view and are adopted when the store is opened.
    Adopted,
    /// They are committed; only links and empty folders lie in the view.
    Committed,
}

#[test]
fn every_case_holds_when_its_files_are_adopted_from_the_view() {
    run_all(Setup::Adopted);
}

#[test]
fn every_case_holds_when_its_files_are_committed_already() {
    run_all(Setup::Committed);
}

fn run_all(setup: Setup) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance/memory/cases.json");
    let cases: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let cases = cases["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 249);
    let failures: Vec<String> = cases.iter().flat_map(|case| Case::new(case, setup).run()).collect();
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

struct Case<'c> {
    case: &'c Value,
    folder: tempfile::TempDir,
    store: Store,
}

impl<'c> Case<'c> {
    fn new(case: &'c Value, setup: Setup) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path();
        fs::create_dir(base.join("outside")).unwrap();
        let mut committed = Vec::new();
        for item in case["setup"].as_array().unwrap() {
            let path = item["path"].as_str().unwrap();
            let inside = item["where"] != "outside";
            let root = base.join(if inside { "memory" } else { "outside" });
            match (content(item), setup) {
                (Some(bytes), Setup::Committed) if inside => committed.push(Change::put(path, bytes)),
                (bytes, _) => place(base, &root.join(path), item, bytes),
            }
        }
        let mut store = Store::open_or_create_free(base, Clock::system(), |_| {}).unwrap();
        if !committed.is_empty() {
            store.write("set-up", &committed, &Origin::of(Author::Longhaul)).unwrap();
        }
        Self { case, folder, store }
    }

    fn run(mut self) -> Vec<String> {
        let mut failures = Vec::new();
        for (number, step) in self.case["steps"].as_array().unwrap().iter().enumerate() {
            let result = self.store.run(&step["input"], &Origin::of(Author::Agent)).unwrap();
            for failure in mismatches(&step["expect"], &result, self.folder.path()) {
                failures.push(format!("step {number} {}: {failure}; got {result:?}", step["input"]));
            }
        }
        failures.extend(self.after());
        failures.iter().map(|failure| format!("{}: {failure}", self.case["name"])).collect()
    }

    /// Checks the view, and that the repository says the same.
    fn after(&self) -> Vec<String> {
        let after = &self.case["after"];
        let view = regular_files(&self.folder.path().join("memory"));
        let outside = regular_files(&self.folder.path().join("outside"));
        let committed: BTreeMap<_, _> = self.store.read_all("").unwrap().into_iter().collect();
        let mut failures = Vec::new();
        for (place, files) in [("the view", &view), ("the repository", &committed)] {
            if after["only"].is_object() && *files != texts(&after["only"]) {
                failures.push(format!("{place} holds {:?}", files.keys()));
            }
            for (path, bytes) in texts(&after["files"]).iter().chain(&decoded(&after["base64"])) {
                if files.get(path) != Some(bytes) {
                    failures.push(format!("{place} has another `{path}`"));
                }
            }
        }
        if after["outside"].is_object() && outside != texts(&after["outside"]) {
            failures.push(format!("outside holds {:?}", outside.keys()));
        }
        failures
    }
}

fn content(item: &Value) -> Option<Vec<u8>> {
    if let Some(text) = item["text"].as_str() {
        return Some(text.as_bytes().to_vec());
    }
    if let Some(text) = item["base64"].as_str() {
        return Some(STANDARD.decode(text).unwrap());
    }
    let repeat = item["repeat"].as_object()?;
    let part = |name: &str| repeat[name].as_str().unwrap().to_owned();
    let count = usize::try_from(repeat["count"].as_u64().unwrap()).unwrap();
    Some(format!("{}{}{}", part("prefix"), part("unit").repeat(count), part("suffix")).into_bytes())
}

fn place(base: &Path, path: &Path, item: &Value, bytes: Option<Vec<u8>>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    if let Some(bytes) = bytes {
        fs::write(path, bytes).unwrap();
    } else if let Some(target) = item["symlink"].as_str() {
        symlink(target.replace("{outside}", base.join("outside").to_str().unwrap()), path).unwrap();
    } else {
        assert_eq!(item["dir"], true, "unknown set-up {item}");
        fs::create_dir_all(path).unwrap();
    }
}

fn mismatches(expect: &Value, result: &ToolResult, base: &Path) -> Vec<String> {
    let text = result.content.as_str().unwrap_or_default();
    let base = base.to_str().unwrap();
    let mut failures = Vec::new();
    let mut check = |holds: bool, what: String| {
        if !holds {
            failures.push(what);
        }
    };
    if let Some(is_error) = expect["is_error"].as_bool() {
        check(result.is_error == is_error, format!("is_error should be {is_error}"));
    }
    if let Some(content) = expect["content"].as_str() {
        check(text == content, format!("content should be {content:?}"));
    }
    if let Some(pattern) = expect["content_regex"].as_str() {
        check(Regex::new(pattern).unwrap().is_match(text), format!("content should match {pattern:?}"));
    }
    for part in strings(&expect["content_contains"]) {
        check(text.contains(&part.replace("{base}", base)), format!("content should contain {part:?}"));
    }
    for part in strings(&expect["content_not_contains"]) {
        let content = result.content.to_string();
        let part = part.replace("{base}", base);
        check(!content.contains(&part) && !text.contains(&part), format!("content should not contain {part:?}"));
    }
    if let Some(most) = expect["content_max_chars"].as_u64() {
        check(text.chars().count() as u64 <= most, format!("content should have at most {most} characters"));
    }
    if let Some(image) = expect["content_image"].as_object() {
        let source = &result.content[0]["source"];
        let is_image = result.content[0]["type"] == "image" && source["type"] == "base64";
        let fits = source["media_type"] == image["media_type"] && source["data"] == image["data"];
        check(is_image && fits, "content should be the image".to_owned());
    }
    failures
}

fn strings(list: &Value) -> Vec<String> {
    let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter().map(|item| item.as_str().unwrap().to_owned()).collect()
}

fn texts(map: &Value) -> BTreeMap<String, Vec<u8>> {
    let entries = map.as_object().into_iter().flatten();
    entries.map(|(path, text)| (path.clone(), text.as_str().unwrap().as_bytes().to_vec())).collect()
}

fn decoded(map: &Value) -> BTreeMap<String, Vec<u8>> {
    let entries = map.as_object().into_iter().flatten();
    entries.map(|(path, text)| (path.clone(), STANDARD.decode(text.as_str().unwrap()).unwrap())).collect()
}

/// Reads all regular files below a folder; links and folders are not counted.
fn regular_files(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).map(|entries| entries.map(Result::unwrap).collect()).unwrap_or(Vec::new());
        for entry in entries {
            let path: PathBuf = entry.path();
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() {
                files.insert(path.strip_prefix(root).unwrap().to_str().unwrap().to_owned(), fs::read(&path).unwrap());
            }
        }
    }
    files
}
