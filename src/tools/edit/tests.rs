use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use serde_json::Value;
use serde_json::json;
use tempfile::TempDir;

use super::*;

struct Project(TempDir);

impl Project {
    fn new() -> Self {
        let project = Self(tempfile::tempdir().unwrap());
        for folder in ["project/.git", "project/.longhaul/memory", "project/src", "outside"] {
            fs::create_dir_all(project.0.path().join(folder)).unwrap();
        }
        project
    }

    fn root(&self) -> PathBuf {
        self.0.path().join("project")
    }

    fn file(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        fs::write(self.root().join(path), content).unwrap();
        self
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).unwrap()
    }

    fn call(&self, input: &Value) -> Result<String, String> {
        match call(&self.root(), input) {
            Ok(result) => Ok(result.as_text()),
            Err(ToolError::TellModel(text)) => Err(text),
            Err(ToolError::Fatal(error)) => panic!("{error:#}"),
        }
    }

    fn view(&self, path: &str) -> Result<String, String> {
        self.call(&json!({"command": "view", "path": path}))
    }

    fn create(&self, path: &str) -> Result<String, String> {
        self.call(&json!({"command": "create", "path": path, "file_text": "x\n"}))
    }

    fn replace(&self, old: &str, new: &str) -> Result<String, String> {
        self.call(&json!({"command": "str_replace", "path": "a.txt", "old_str": old, "new_str": new}))
    }

    fn insert(&self, line: i64, text: &str) -> Result<String, String> {
        self.call(&json!({"command": "insert", "path": "a.txt", "insert_line": line, "insert_text": text}))
    }
}

#[test]
fn a_view_numbers_its_lines() {
    let project = Project::new().file("a.txt", "one\r\ntwo\nthree");
    assert_eq!(project.view("a.txt").unwrap(), "     1\tone\n     2\ttwo\n     3\tthree\n");
    let absolute = project.root().join("a.txt");
    let range = json!({"command": "view", "path": absolute.to_str().unwrap(), "view_range": [2, -1]});
    assert_eq!(project.call(&range).unwrap(), "     2\ttwo\n     3\tthree\n");
}

#[test]
fn a_range_outside_the_file_is_told() {
    let project = Project::new().file("a.txt", "one\ntwo\n");
    for range in [json!([0, 1]), json!([3, 4]), json!([2, 1]), json!([1]), json!("1-2"), json!([1, -2])] {
        let told = project.call(&json!({"command": "view", "path": "a.txt", "view_range": range})).unwrap_err();
        assert!(told.starts_with("`view_range` is ") && told.contains("first at most 2"), "{told}");
    }
}

#[test]
fn a_long_file_is_shown_to_the_limit_with_the_way_to_the_rest() {
    let project = Project::new().file("a.txt", "x".repeat(90) + "\n").file("long.txt", "y".repeat(20_000));
    fs::write(project.root().join("a.txt"), ("x".repeat(90) + "\n").repeat(1000)).unwrap();
    let view = project.view("a.txt").unwrap();
    assert!(view.chars().count() <= SHOWN);
    let shown = view.lines().count() - 1;
    assert!(
        view.ends_with(&format!("[lines {} to 1000 left out; the file has 1000 lines: use `view_range`]\n", shown + 1)),
        "{view}"
    );
    let line = project.view("long.txt").unwrap();
    assert!(line.chars().count() <= SHOWN && line.contains("read it with `bash`"));
}

#[test]
fn a_folder_lists_two_levels_without_the_hidden() {
    let project = Project::new().file("src/main.rs", "").file("b", "");
    fs::create_dir_all(project.root().join("src/deep/er")).unwrap();
    let listed = project.view(".").unwrap();
    assert!(listed.ends_with(":\nb\nsrc/\nsrc/deep/\nsrc/main.rs\n"), "{listed}");
}

#[test]
fn an_image_is_an_image_block_and_other_binaries_are_refused() {
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\0\0\0\0IEND";
    let project = Project::new().file("a.png", png).file("b.bin", b"a\0b").file("c.txt", b"\xff\xfe");
    let result = call(&project.root(), &json!({"command": "view", "path": "a.png"})).unwrap();
    let source =
        json!({"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABAAAAAElFTkQ="});
    assert_eq!(result.content, json!([{"type": "image", "source": source}]));
    for path in ["b.bin", "c.txt"] {
        assert_eq!(project.view(path).unwrap_err(), format!("`{path}` is binary or not UTF-8: use `bash` for it"));
    }
}

#[test]
fn create_makes_folders_and_replaces_whole_files() {
    let project = Project::new();
    assert_eq!(project.create("new/deep/a.txt").unwrap(), "created `new/deep/a.txt`, 1 lines");
    assert_eq!(project.create("new/deep/a.txt").unwrap(), "replaced `new/deep/a.txt`, 1 lines");
    assert_eq!(project.read("new/deep/a.txt"), "x\n");
    assert_eq!(project.create("src").unwrap_err(), "`src` is there and is no file: choose another path");
    assert_eq!(fs::read_dir(project.root().join(".longhaul")).unwrap().count(), 1);
}

#[test]
fn an_edit_keeps_the_mode_and_the_line_ends() {
    let project = Project::new().file("a.txt", "one\r\ntwo\r\nthree\r\n");
    let path = project.root().join("a.txt");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let told = project.replace("one\ntwo", "1\n2").unwrap();
    assert_eq!(told, "edited `a.txt`; it now reads:\n     1\t1\n     2\t2\n     3\tthree\n");
    project.insert(3, "four").unwrap();
    assert_eq!(project.read("a.txt"), "1\r\n2\r\nthree\r\nfour\r\n");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o755);
}

#[test]
fn a_replacement_needs_exactly_one_place() {
    let project = Project::new().file("a.txt", "a\nb\na\n");
    assert!(
        project
            .replace("c", "d")
            .unwrap_err()
            .starts_with("no replacement was made: `old_str` does not stand in `a.txt`")
    );
    assert!(project.replace("a", "d").unwrap_err().contains("2 times, in lines 1, 3;"));
    assert!(project.replace("", "d").unwrap_err().starts_with("`old_str` is empty"));
    let without_new = json!({"command": "str_replace", "path": "a.txt", "old_str": "b\n"});
    project.call(&without_new).unwrap();
    assert_eq!(project.read("a.txt"), "a\na\n");
}

#[test]
fn an_insertion_ends_its_lines() {
    let project = Project::new().file("a.txt", "one\ntwo");
    project.insert(0, "zero").unwrap();
    project.insert(3, "three").unwrap();
    assert_eq!(project.read("a.txt"), "zero\none\ntwo\nthree\n");
    assert_eq!(
        project.insert(9, "x").unwrap_err(),
        "`insert_line` is 9: it must be from 0 to 4, the number of lines in `a.txt`"
    );
    let older = json!({"command": "insert", "path": "a.txt", "insert_line": 0, "new_str": "older"});
    assert!(project.call(&older).unwrap().contains("     1\tolder\n"));
}

#[test]
fn what_is_not_the_projects_is_refused_with_the_way_out() {
    let project = Project::new().file("../outside/secret", "s");
    symlink("../outside", project.root().join("link")).unwrap();
    symlink("../outside/new", project.root().join("dangling")).unwrap();
    let outside = project.0.path().join("outside/secret");
    for (path, way_out) in [
        ("../outside/secret", "this tool stays inside it"),
        (outside.to_str().unwrap(), "this tool stays inside it"),
        ("link/secret", "this tool stays inside it"),
        ("link/new", "this tool stays inside it"),
        ("dangling", "cannot be followed"),
        ("absent/../../outside/secret", "give the plain path"),
        (".git/config", "git commands in `bash`"),
        ("src/.GIT/hooks/x", "git commands in `bash`"),
        (".longhaul/memory/features.json", "use the `memory` tool on `/memories`"),
        ("/memories/progress.md", "use the `memory` tool"),
        ("", "name a file of the project"),
    ] {
        for told in [project.view(path), project.create(path)] {
            let told = told.unwrap_err();
            assert!(told.contains(way_out), "{path}: {told}");
        }
    }
    assert_eq!(fs::read_dir(project.0.path().join("outside")).unwrap().count(), 1);
}

#[test]
fn a_link_inside_the_project_is_followed() {
    let project = Project::new().file("src/a.txt", "one\n");
    symlink("src/a.txt", project.root().join("a.txt")).unwrap();
    project.replace("one", "two").unwrap();
    assert_eq!(project.read("src/a.txt"), "two\n");
    assert!(fs::symlink_metadata(project.root().join("a.txt")).unwrap().is_symlink());
}

#[test]
fn a_pipe_and_a_read_only_file_are_left_alone() {
    let project = Project::new().file("a.txt", "one\n");
    let pipe = project.root().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
    assert!(project.view("pipe").unwrap_err().contains("neither a file nor a folder"));
    fs::set_permissions(project.root().join("a.txt"), fs::Permissions::from_mode(0o444)).unwrap();
    assert!(project.replace("one", "two").unwrap_err().contains("is read-only"));
}

#[test]
fn an_unknown_command_names_the_known_ones() {
    let project = Project::new().file("a.txt", "");
    let told = project.call(&json!({"command": "undo_edit", "path": "a.txt"})).unwrap_err();
    assert_eq!(told, "unknown `command` `undo_edit`: it must be view, create, str_replace or insert");
    assert_eq!(project.view("a.txt").unwrap(), "`a.txt` is empty");
}
