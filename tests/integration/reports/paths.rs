//! T01 to T10: paths that lead out of memory, and what may lie in its view.
//!
//! What a path may look like is held in `src/memory/rules/path.rs`; here the command itself gets each of them.

use crate::support::Project;
use crate::support::as_note;
use crate::support::hand_over;
use crate::support::memory;
use crate::support::reply;
use crate::support::session;
use crate::support::skipped;
use rustix::fs::CWD;
use rustix::fs::FileType;
use rustix::fs::Mode;
use serde_json::Value;
use serde_json::json;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

/// Calls of every kind with this path.
fn calls_at(path: &str) -> Vec<Value> {
    vec![
        json!({"command": "view", "path": path}),
        json!({"command": "create", "path": path, "file_text": "planted"}),
        json!({"command": "str_replace", "path": path, "old_str": "outside", "new_str": "planted"}),
        json!({"command": "insert", "path": path, "insert_line": 0, "insert_text": "planted"}),
        json!({"command": "rename", "old_path": path, "new_path": "/memories/taken"}),
        json!({"command": "rename", "old_path": "/memories/docs/a", "new_path": path}),
        json!({"command": "delete", "path": path}),
    ]
}

/// A memory in a folder, with a file in it and files beside it.
struct Place {
    project: Project,
}

impl Place {
    fn new() -> Self {
        let place = Self { project: Project::new() };
        place.apply(&[json!({"command": "create", "path": "/memories/docs/a", "file_text": "mine"})]);
        for name in ["memoryX/a", "memoriesX/a", "x", "secret"] {
            place.project.write(&format!("store/{name}"), "outside");
        }
        place
    }

    fn view(&self) -> PathBuf {
        self.project.root().join("store/memory")
    }

    /// Lets the command apply calls; returns the texts and whether each is an error.
    fn apply(&self, calls: &[Value]) -> Vec<(String, bool)> {
        let input: String = calls.iter().map(|call| format!("{call}\n")).collect();
        let run = self.project.run_with(["memory", "apply", "--store", "store"], &input);
        let answers: Vec<Value> = run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(answers.len(), calls.len(), "{}", run.whole());
        answers.iter().map(|of| (of["content"].to_string(), of["is_error"] == true)).collect()
    }

    /// Lets the command apply calls of every kind with this path, and expects that each is refused and nothing happens.
    #[track_caller]
    fn refuses(&self, path: &str) {
        let before = (self.files(), self.head());
        for (call, (text, is_error)) in calls_at(path).iter().zip(self.apply(&calls_at(path))) {
            assert!(is_error && !text.contains("outside"), "{call}: {text}");
        }
        assert_eq!((self.files(), self.head()), before, "{path:?}");
    }

    fn head(&self) -> String {
        self.project.git(["--git-dir", "store/memory.git", "rev-parse", "main"])
    }

    /// Everything beside and in the view, with the texts of files that are some.
    fn files(&self) -> Vec<(PathBuf, Option<String>)> {
        let mut all = Vec::new();
        walk(&self.project.root().join("store"), &mut |path, meta| {
            if !path.to_string_lossy().contains("memory.git") {
                let text = meta.is_file().then(|| fs::read_to_string(path).unwrap_or_default());
                all.push((path.to_owned(), text));
            }
        });
        all
    }
}

fn walk(folder: &Path, see: &mut dyn FnMut(&Path, &fs::Metadata)) {
    let mut entries: Vec<_> = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for path in entries {
        let meta = path.symlink_metadata().unwrap();
        see(&path, &meta);
        if meta.is_dir() {
            walk(&path, see);
        }
    }
}

/// Sees the folder and what others than its user could reach in it.
fn walk_as_another(folder: &Path, see: &mut dyn FnMut(&Path, &fs::Metadata)) {
    let meta = folder.symlink_metadata().unwrap();
    see(folder, &meta);
    if meta.is_dir() && meta.mode() & 0o077 != 0 {
        fs::read_dir(folder).unwrap().flatten().for_each(|entry| walk_as_another(&entry.path(), see));
    }
}

/// T01: a folder whose name only begins like the memory's was taken for a part of it.
#[test]
fn t01_a_folder_that_begins_with_the_same_letters_is_another() {
    let place = Place::new();
    for path in ["/memoriesX/a", "/memoriesX", "/memories.git/config", "/memoryX/a", "memories/docs/a", "/docs/a", "/"]
    {
        place.refuses(path);
    }
}

/// T02: climbing, plain and written in other ways.
#[test]
fn t02_no_way_to_write_it_climbs_out() {
    let place = Place::new();
    // The twin: the file system itself would go there.
    assert_eq!(fs::read_to_string(place.view().join("docs/../../secret")).unwrap(), "outside");
    for path in [
        "/memories/../secret",
        "/memories/../../x",
        "/memories/docs/../../secret",
        "/memories/docs/..",
        "/memories/%2e%2e/secret",
        "/memories/%252e%252e/secret",
        "/memories/..%2fsecret",
        "/memories/%2e%2e%5csecret",
        "/memories\\..\\secret",
        "/memories/..\\secret",
        "/memories/docs\\a",
        "//memories/docs/a",
        "/memories/a\0/../secret",
    ] {
        place.refuses(path);
    }
    let (text, is_error) = place.apply(&[json!({"command": "view", "path": "/memories//docs///a"})]).remove(0);
    assert!(!is_error && text.contains("mine"), "doubled slashes lead nowhere else: {text}");
}

/// T03: links to a file, to a folder, to nothing and to themselves.
#[test]
fn t03_no_link_in_the_view_is_followed() {
    let place = Place::new();
    let links =
        [("file", "../secret"), ("folder", "../memoryX"), ("dangling", "../new"), ("loop", "loop2"), ("loop2", "loop")];
    for (name, target) in links {
        symlink(target, place.view().join(name)).unwrap();
    }
    // The twin: a path that is opened as it stands reaches the file.
    assert_eq!(fs::read_to_string(place.view().join("folder/a")).unwrap(), "outside");
    for path in ["file", "folder/a", "folder/new", "dangling", "dangling/x", "loop", "loop/x"] {
        let before = place.files();
        for (call, (text, _)) in
            calls_at(&format!("/memories/{path}")).iter().zip(place.apply(&calls_at(&format!("/memories/{path}"))))
        {
            assert!(!text.contains("outside"), "{call}: {text}");
        }
        let outside = |all: Vec<(PathBuf, Option<String>)>| {
            all.into_iter().filter(|(path, _)| !path.starts_with(place.view())).collect::<Vec<_>>()
        };
        assert_eq!(outside(place.files()), outside(before), "{path}");
    }
    assert!(!place.project.git(["--git-dir", "store/memory.git", "log", "-p", "main"]).contains("outside"));
}

/// T05: a file of the view that has another name outside.
#[test]
fn t05_a_hard_link_carries_no_write_outside_and_nothing_in() {
    let note = as_note("mine");
    let replace = json!({"command": "str_replace", "path": "/memories/notes/a.md", "old_str": "about mine", "new_str": "changed"});
    let project = Project::ready();
    project.run(["memory", "create", "notes/a.md", &note]).exits(0);
    let outside = project.home().join("outside");
    fs::write(&outside, as_note("outside")).unwrap();
    for name in ["a.md", "b.md"] {
        let at = project.view().join("notes").join(name);
        fs::remove_file(&at).ok();
        fs::hard_link(&outside, at).unwrap();
    }
    let project =
        project.feature("f", "test -f never").model([session([reply([memory(replace)]), reply([hand_over()])])]);

    project.run(["run", "--sessions", "1"]).exits(3).tells("hard link");

    assert_eq!(fs::read_to_string(&outside).unwrap(), as_note("outside"));
    assert!(!project.memory_git(["log", "-p"]).contains("about outside"));
    assert!(project.memory_git(["show", "HEAD:notes/a.md"]).contains("description: changed"));
    // The twin: who writes to the other link writes outside.
    fs::write(project.view().join("notes/b.md"), "x").unwrap();
    assert_eq!(fs::read_to_string(&outside).unwrap(), "x");
}

/// T06: a pipe, a socket and a device in the view hold nobody up.
#[test]
fn t06_what_is_no_file_in_the_view_is_not_waited_for() {
    let project = Project::ready().feature("f", "test -f f");
    project.run(["memory", "create", "notes/a.md", &as_note("mine")]).exits(0);
    let plant = |at: &Path, kind: &str| {
        fs::remove_file(at).ok();
        match kind {
            "pipe" => rustix::fs::mknodat(CWD, at, FileType::Fifo, Mode::RWXU, 0).is_ok(),
            "socket" => UnixListener::bind(at).is_ok(),
            // The one that gives zeros for ever.
            _ => rustix::fs::mknodat(CWD, at, FileType::CharacterDevice, Mode::RWXU, rustix::fs::makedev(1, 5)).is_ok(),
        }
    };
    for kind in ["pipe", "socket", "device"] {
        for name in ["notes/a.md", "features.json", "notes/new"] {
            if !plant(&project.view().join(name), kind) {
                skipped(&format!("no {kind} can be made here"));
                continue;
            }
            project.run(["memory", "view", "/memories"]).exits(0);
            project.run(["memory", "view", &format!("/memories/{name}")]).hides("\0");
            project.run(["status"]).exits(0);
            project.run(["check", "f"]).exits(8).tells(&format!("`{name}`"));
            assert!(project.memory_git(["show", "HEAD:notes/a.md"]).contains("about mine"), "{kind} at {name}");
            fs::remove_file(project.view().join("notes/new")).ok();
        }
    }
    assert_eq!(fs::read_to_string(project.view().join("notes/a.md")).unwrap(), as_note("mine"));
}

/// T07 and T08: names that git, on some system, reads as its own.
#[test]
fn t07_t08_names_of_gits_are_no_names_of_memory() {
    let place = Place::new();
    for name in [
        ".git",
        ".GIT",
        ".git.",
        ".git ",
        ".g\u{200c}it",
        "git~1",
        "GIT~12",
        "sub/.git/hooks/x",
        ".gitattributes",
        ".gitmodules",
        ".gitignore",
        "sub/.GitAttributes",
    ] {
        place.refuses(&format!("/memories/{name}"));
    }
    // A person may have put them there; they are not taken in either.
    for name in [".gitattributes", ".gitmodules", ".git/hooks/post-commit"] {
        let at = place.view().join(name);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        fs::write(at, "* filter=x\n").unwrap();
    }
    place.apply(&[json!({"command": "create", "path": "/memories/docs/b", "file_text": "b"})]);
    let files = place.project.git(["--git-dir", "store/memory.git", "ls-tree", "-r", "--name-only", "main"]);
    assert_eq!(files, "docs/a\ndocs/b");
}

/// T09: names and paths that are too long, too deep or no text.
#[test]
fn t09_no_length_and_no_byte_breaks_a_path() {
    let place = Place::new();
    let deep = "d/".repeat(2_500);
    for path in [
        &"n".repeat(256),
        &"p/".repeat(2_500),
        &format!("{deep}x"),
        "a\0b",
        "a\nb",
        "a\rb",
        "a\u{1b}[2Jb",
        "a\u{202e}b",
    ] {
        place.refuses(&format!("/memories/{path}"));
    }
    let project = &place.project;
    let call = b"{\"command\": \"create\", \"path\": \"/memories/\xff\", \"file_text\": \"x\"}\n";
    fs::write(project.root().join("calls"), call).unwrap();
    let mut command = project.command(["memory", "apply", "--store", "store"]);
    let output = command.stdin(fs::File::open(project.root().join("calls")).unwrap()).output().unwrap();
    assert!(!String::from_utf8_lossy(&output.stdout).contains("\"is_error\":false"), "{output:?}");
    let surrogate = "{\"command\": \"create\", \"path\": \"/memories/\\ud800\", \"file_text\": \"x\"}\n";
    project.run_with(["memory", "apply", "--store", "store"], surrogate).hides("\"is_error\":false");

    // In the view such a name can be made; it stays there, and everything else goes on.
    fs::write(place.view().join(OsStr::from_bytes(b"no\xfftext")), "x").unwrap();
    let made = place.apply(&[json!({"command": "create", "path": "/memories/docs/b", "file_text": "b"})]);
    assert!(!made[0].1, "{made:?}");
    assert!(place.view().join(OsStr::from_bytes(b"no\xfftext")).exists());
    let files = project.git(["--git-dir", "store/memory.git", "ls-tree", "-r", "--name-only", "main"]);
    assert_eq!(files, "docs/a\ndocs/b");
}

/// T10: the umask opened memory to others, or shut it to its own user.
#[test]
fn t10_no_umask_opens_memory_to_others_or_shuts_it() {
    for umask in ["000", "022", "077"] {
        let project = Project::new();
        let text = format!(
            "umask {umask}; touch plain; \"$0\" init && \"$0\" memory create notes/deep/a.md \"$1\" && \
             \"$0\" memory create checks/c.sh 'true' && \"$0\" feature add --id f --title f --check 'sh \"$LONGHAUL_CHECKS/c.sh\"' && \
             echo '{{\"command\": \"create\", \"path\": \"/memories/a\", \"file_text\": \"a\"}}' | \"$0\" memory apply --store store"
        );
        let mut command = Command::new("sh");
        command.args(["-c", &text, env!("CARGO_BIN_EXE_longhaul"), &as_note("a")]).current_dir(project.root());
        let output = command.env_clear().envs(project.environment()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

        let mut wrong = Vec::new();
        for folder in [project.state(), project.root().join(".longhaul"), project.root().join("store")] {
            walk_as_another(&folder, &mut |path, meta| {
                let (mode, needed) = (meta.mode() & 0o777, if meta.is_dir() { 0o700 } else { 0o400 });
                if mode & 0o077 != 0 || mode & needed != needed {
                    wrong.push(format!("{mode:03o} {}", path.display()));
                }
            });
        }
        assert_eq!(wrong, Vec::<String>::new(), "umask {umask}");
        // The twin: what takes the umask's word is open to all.
        let plain = project.root().join("plain").metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(plain, 0o666 & !u32::from_str_radix(umask, 8).unwrap());
    }
}
