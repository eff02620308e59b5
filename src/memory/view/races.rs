//! Folders of the view swapped for links to the outside, over and over, while files are put, read, removed and taken in.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use std::thread;
use std::thread::JoinHandle;

use rustix::fs::CWD;
use rustix::fs::RenameFlags;
use serde_json::json;

use crate::memory::fixture::Memory;
use crate::memory::history::trailers::Author;
use crate::memory::history::trailers::Origin;
use crate::memory::view::View;

const SECRET: &str = "of the outside";
/// So many attempts are made in each run of the tests.
const SOME: usize = 100_000;

/// A memory with a folder that somebody swaps for a link to the outside.
struct Raced {
    memory: Memory,
    outside: PathBuf,
    before: BTreeMap<PathBuf, String>,
    swapper: Option<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
    swaps: Arc<AtomicUsize>,
}

impl Raced {
    fn new() -> Self {
        let memory = Memory::project(&[("docs/inner/f", "of the memory"), ("notes/a", "a")]);
        let outside = memory.outside("outside");
        fs::create_dir_all(outside.join("inner")).unwrap();
        for name in ["a", "f", "inner/f", "only-outside", "inner/only-outside"] {
            fs::write(outside.join(name), SECRET).unwrap();
        }
        let before = files(&outside);
        let stop = Arc::new(AtomicBool::new(false));
        Self { memory, outside, before, swapper: None, stop, swaps: Arc::default() }
    }

    /// Swaps these paths of the view for links to the outside and back until this is dropped.
    fn swap(&mut self, paths: &[&str]) {
        let (stop, swaps) = (Arc::clone(&self.stop), Arc::clone(&self.swaps));
        let pairs: Vec<(PathBuf, PathBuf)> = paths
            .iter()
            .enumerate()
            .map(|(number, path)| {
                let link = self.memory.outside(&format!("link-{number}"));
                symlink(&self.outside, &link).unwrap();
                (self.memory.at(path), link)
            })
            .collect();
        self.swapper = Some(thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                for (path, link) in &pairs {
                    let swapped = rustix::fs::renameat_with(CWD, path, CWD, link, RenameFlags::EXCHANGE);
                    swaps.fetch_add(usize::from(swapped.is_ok()), Ordering::Relaxed);
                }
            }
        }));
    }

    /// Says what got out, or in.
    fn escapes(&self, read: Option<&[u8]>) -> bool {
        read.is_some_and(|bytes| bytes == SECRET.as_bytes()) || files(&self.outside) != self.before
    }
}

impl Drop for Raced {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.swapper.take().map(JoinHandle::join);
    }
}

fn files(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => all.extend(files(&path)),
            false => drop(all.insert(path.clone(), fs::read_to_string(&path).unwrap())),
        }
    }
    all
}

/// Makes so many attempts by the path layer; what is outside is compared whole at the end, and every so often.
fn race(attempts: usize) {
    let mut raced = Raced::new();
    raced.swap(&["docs", "notes"]);
    let view = View::of(&raced.memory.place);
    let mut done = 0;
    for number in 0..attempts {
        let path = ["docs/inner/f", "notes/a"][number / 4 % 2];
        let read = match number % 4 {
            0 => view.put(path, b"of the memory").ok().map(|()| Vec::new()),
            1 => view.read(path).ok(),
            2 => view.scan("").ok().map(|found| {
                let named = |path: &String| path.contains("only-outside");
                if found.keys().any(named) { SECRET.into() } else { Vec::new() }
            }),
            _ => {
                view.remove(["docs/only-outside", "docs/inner/only-outside"][number / 4 % 2]).ok().map(|()| Vec::new())
            }
        };
        done += usize::from(read.is_some());
        let look = number % 10_000 == 9_999 || read.as_deref().is_some_and(|bytes| bytes == SECRET.as_bytes());
        assert!(!look || !raced.escapes(read.as_deref()), "attempt {number} on {path} escaped");
    }
    assert!(!raced.escapes(None));
    let swaps = raced.swaps.load(Ordering::Relaxed);
    assert!(done > attempts / 10 && swaps > attempts / 100, "{done} of {attempts} done, {swaps} swaps");
}

/// T04.
#[test]
fn no_path_leads_out_of_the_view_while_its_folders_are_swapped_for_links() {
    race(SOME);
}

#[test]
#[ignore = "takes minutes"]
fn a_million_paths_lead_not_out_of_the_view() {
    race(1_000_000);
}

#[test]
fn by_plain_paths_one_gets_out() {
    let mut raced = Raced::new();
    raced.swap(&["docs", "notes"]);
    let (path, outside) = (raced.memory.at("docs/f"), raced.outside.join("f"));
    let escaped = (0..SOME).any(|_| fs::write(&path, "x").is_ok() && fs::read_to_string(&outside).unwrap() == "x");
    assert!(escaped);
}

#[test]
fn nothing_of_the_outside_is_taken_in_and_writes_go_on() {
    let mut raced = Raced::new();
    raced.swap(&["docs"]);
    for number in 0..300 {
        let path = format!("docs/{}", number % 7);
        // What lies in the way is a refusal or an error; that it goes on is what counts.
        let _ = raced.memory.store.run(
            &json!({"command": "create", "path": format!("/memories/{path}"), "file_text": "x"}),
            &Origin::of(Author::Agent),
        );
        let kept = raced.memory.kept();
        let _ = raced.memory.store.inspect(&Origin::of(Author::External), &kept);
    }
    raced.stop.store(true, Ordering::Relaxed);
    raced.swapper.take().map(JoinHandle::join);
    assert!(raced.swaps.load(Ordering::Relaxed) > 100);
    assert!(!raced.escapes(None));
    let objects = raced.memory.git(&["cat-file", "--batch-all-objects", "--batch", "--unordered"]);
    assert!(!objects.contains(SECRET));
    assert_eq!(raced.memory.git(&["fsck", "--strict"]), "");
}
