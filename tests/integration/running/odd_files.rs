//! Files that are no use to any check and could hold one up: huge, deep, many, pipes. None of them stops a run.

use crate::support::Project;
use crate::support::bash;
use crate::support::hand_over;
use crate::support::reply;
use crate::support::session;
use serde_json::json;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;
use std::time::Instant;

/// Bytes of memory that may be taken, in kB.
const MEMORY: &str = "2000000";

/// Runs a command with so much memory.
fn within_memory(command: &Command) -> std::process::Output {
    let mut limited = Command::new("sh");
    limited.args(["-c", &format!("ulimit -v {MEMORY}; exec \"$0\" \"$@\"")]).arg(command.get_program());
    limited.args(command.get_args()).env_clear();
    limited.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    limited.current_dir(command.get_current_dir().unwrap()).process_group(0).output().unwrap()
}

/// A project with one feature whose check runs in the working tree and has all of `tests/` for its own.
fn with_tests() -> Project {
    let project = Project::ready().in_place();
    project.write("tests/a.sh", "test -f a\n");
    project.git(["add", "-A"]);
    project.git(["commit", "-qm", "tests"]);
    let feature = r#"[{"id": "a", "title": "a", "check": {"run": "sh tests/a.sh", "closure": ["tests/**"]}}]"#;
    project.run_with(["feature", "add", "-"], feature).exits(0);
    project
}

#[test]
fn a_huge_file_among_the_tests_is_not_read_into_memory() {
    let project = with_tests();
    project.write("a", "a\n");
    project.git(["add", "-A"]);
    project.git(["commit", "-qm", "a"]);
    let huge = std::fs::File::create(project.root().join("tests/huge")).unwrap();
    huge.set_len(3 << 30).unwrap();

    let check = within_memory(&project.command(["check", "a"]));
    let said = String::from_utf8_lossy(&check.stderr).into_owned() + &String::from_utf8_lossy(&check.stdout);
    assert_eq!(check.status.code(), Some(0), "{said}");
    assert_eq!(project.stored("a")["evidence"]["checkout"], "copy", "the file was seen, and taken out");

    // A program that does read it has not enough memory.
    let mut reads = Command::new("python3");
    reads.args(["-c", "open('tests/huge', 'rb').read()"]).current_dir(project.root()).envs(project.environment());
    assert!(!within_memory(&reads).status.success());
}

#[test]
fn pipes_in_the_place_of_files_hold_nothing_up() {
    let pipes = "rm tests/a.sh; mkfifo tests/a.sh tests/pipe; ln -s tests/pipe conftest.py; ln -s tests/pipe Makefile; \
                 ln -s /dev/zero setup.cfg; mkfifo yarn.lock package-lock.json; rm -f init.sh; mkfifo init.sh; touch a";
    for project in [with_tests(), with_tests().sandboxed()] {
        project.run(["memory", "delete", "init.md"]).exits(0);
        project.run(["memory", "create", "init.md", "- script: `init.sh`"]).exits(0);
        project.write("init.sh", "true\n");
        let project = project.model([session([reply([bash(pipes)]), reply([hand_over()])])]);
        let start = Instant::now();

        let run = project.run(["run", "--sessions", "1"]);
        run.exits(0).prints("done: 1 feature proven");
        project.run(["doctor"]).exits(1).prints("the init script `init.sh` is not there, or cannot be read");
        project.run(["check", "a"]).exits(0);
        project.run(["show", "a"]).exits(0);

        assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
        for name in ["tests/a.sh", "conftest.py", "setup.cfg", "init.sh"] {
            let mut read = Command::new("timeout");
            read.args(["0.2", "sh", "-c", &format!("cat {name} >/dev/null")]);
            assert!(!read.current_dir(project.root()).status().unwrap().success(), "{name} ends");
        }
    }
}

/// The agent can fill the folder of its tests; that ends the check, told, and not the run.
#[test]
fn tests_that_cannot_be_looked_at_end_the_check_and_not_the_run() {
    let deep =
        "python3 -c 'import os\nos.chdir(\"tests\")\nfor _ in range(1200): os.mkdir(\"d\"); os.chdir(\"d\")'; touch a";
    let back = "python3 -c 'import os\nos.chdir(\"tests\")\nos.system(\"rm -rf d\")'; echo more > a";
    let plays = |text: &str| session([reply([bash(text)]), reply([hand_over()])]);
    let project = with_tests().model([plays(deep), plays(back)]);

    let run = project.run(["run"]);

    run.exits(0).tells("the check's files `tests/**` cannot be looked at: `tests/d/d/d/d/…` has folders more than 100");
    assert_eq!(project.status("a"), "proven");

    let project = with_tests().model([plays(deep)]);
    project.run(["run", "--sessions", "1"]).exits(3);
    let feature = r#"[{"id": "b", "title": "b", "check": {"run": "true", "closure": ["tests/**"]}}]"#;
    project
        .run_with(["feature", "add", "-"], feature)
        .exits(2)
        .tells("`tests/**`")
        .tells("take some out with `!pattern`");
}

/// A tree can hold what no disk takes; git writes no such file, and says so.
#[test]
fn a_commit_that_cannot_be_laid_out_is_not_ready_and_the_run_goes_on() {
    let long = "touch a; git add -A; name=$(printf %0300d 0); blob=$(git hash-object -w a); \
        tree=$( (git ls-tree HEAD; printf '100644 blob %s\ta\n100644 blob %s\t%s\n' $blob $blob $name) | git mktree); \
        git update-ref HEAD $(git commit-tree $tree -p HEAD -m long); git read-tree HEAD; \
        git update-index --skip-worktree $name";
    let plays = |text: &str| session([reply([bash(text)]), reply([hand_over()])]);
    let back = "git update-index --force-remove $(printf %0300d 0); git commit -qm short";
    for project in [Project::ready(), Project::ready().sandboxed()] {
        let project = project.feature("a", "test -f a").model([plays(long), plays(back)]);

        let run = project.run(["run", "--sessions", "1"]);
        run.exits(3).tells("check a: not ready").tells("the commit cannot be laid out").tells("File name too long");
        assert_eq!((project.status("a").as_str(), &project.stored("a")["attempts"]), ("open", &json!(1)));

        project.run(["run"]).exits(0).prints("done: 1 feature proven");
    }
}

#[test]
fn files_that_git_refuses_are_left_out_with_its_reason_and_the_run_goes_on() {
    let odd = "echo '* working-tree-encoding=UTF-16' > .gitattributes; echo a > a; echo b > README";
    let plays = |text: &str| session([reply([bash(text)]), reply([hand_over()])]);
    for project in [Project::ready(), Project::ready().in_place()] {
        let project = project
            .feature("a", "test -f a")
            .model([plays(odd), plays("rm .gitattributes; git add -A; git commit -qm work")]);

        let run = project.run(["run"]);

        let refused = "`README` was left out of the commit: git refuses to add it: fatal: BOM is required in 'README'";
        run.exits(0).tells(refused).tells("not in any commit: `README`").prints("done: 1 feature proven");
        assert_eq!(project.git(["log", "--format=%s"]), "work\nfirst");
    }
}
