//! What a compiler makes, in a project that has some of it in git.

use crate::support::Project;
use crate::support::bash;
use crate::support::hand_over;
use crate::support::reply;
use crate::support::runs_here;
use crate::support::session;
use serde_json::Value;

const MAKEFILE: &str = "CFLAGS = -g\nt: t.o a.o b.o\n\tcc -o t t.o a.o b.o\n";
const MAIN: &str = "int a(void); int b(void);\nint main(int n, char **of) { return *of[n - 1] == '1' ? a() : b(); }\n";

fn does(command: &str) -> Value {
    session([reply([bash(command)]), reply([hand_over()])])
}

/// A program of two parts, both broken, and its features `f` and `g`.
fn project(sessions: &[&str]) -> Project {
    let project = Project::ready();
    for (path, text) in [
        ("Makefile", MAKEFILE),
        ("t.c", MAIN),
        ("a.c", "int a(void) { return 1; }\n"),
        ("b.c", "int b(void) { return 1; }\n"),
    ] {
        project.write(path, text);
    }
    project.git(["add", "-A"]);
    project.git(["commit", "-q", "-m", "two parts"]);
    let project = project.feature("f", "make -s t && ./t 1").feature("g", "make -s t && ./t 2");
    project.model(sessions.iter().map(|text| does(text)))
}

/// What git tracks was taken for newer than its source, since a checkout writes both at once.
#[test]
fn a_committed_object_is_not_tested_in_place_of_its_source() {
    if !["make", "cc"].into_iter().all(runs_here) {
        return;
    }
    let project = project(&[
        "sed -i s/1/0/ a.c; make -s; git add -f a.o b.o t.o; git commit -qm built",
        "sed -i s/1/0/ b.c; sed -i s/0/1/ a.c; cc -g -c b.c; git add -A; git commit -qm rebuilt",
    ]);

    project.run(["run", "--sessions", "1"]);
    assert_eq!(project.status("f"), "proven");
    let run = project.run(["run", "--sessions", "1"]);

    run.exits(3);
    // The twin: who takes the objects as they are committed sees nothing.
    let taken = "rm -f t; touch *.o; make -s t && ./t 1 && ./t 2";
    assert!(
        std::process::Command::new("sh").args(["-c", taken]).current_dir(project.root()).status().unwrap().success()
    );
    assert_ne!(project.status("f"), "proven", "{}", run.stderr);
}

/// A build elsewhere names its own folder, and so differs from what is committed.
#[test]
fn objects_in_git_that_a_build_elsewhere_makes_in_another_way_are_no_reason_to_refuse() {
    if !["make", "cc"].into_iter().all(runs_here) {
        return;
    }
    let all = "make -s; git add -f a.o b.o t.o; git add -A; git commit -qm built";
    let project = project(&[&format!("sed -i s/1/0/ a.c; {all}"), &format!("sed -i s/1/0/ b.c; {all}")]);

    project.run(["run", "--sessions", "2"]).exits(0);

    assert_eq!([project.status("f"), project.status("g")], ["proven", "proven"]);
}

#[test]
fn new_objects_stay_out_of_commits_unless_the_project_tracks_such() {
    let project = Project::ready().feature("f", "test -f a.c");
    let project = project.model([
        does("touch a.c a.o; printf '!<arch>\\n' >x.a; echo x >y.a; printf '\\177ELF' | tee app >x.so; echo 'v 0 0 0' >m.obj; printf 'd\\206\\001\\000' >c.obj"),
        does("git add -f a.o; touch b.o"),
    ]);

    let run = project.run(["run", "--sessions", "1"]);

    run.exits(0).tells(
        "what tools make by themselves stays out of the commit, and belongs into `.gitignore`: `a.o`, `c.obj`, `x.a`",
    );
    // A check may run a program where nothing builds it.
    assert_eq!(project.git(["ls-files"]), "README\na.c\napp\nm.obj\nx.so\ny.a");
    let project = project.feature("g", "test -f b.o");
    project.run(["run", "--sessions", "1"]).exits(0);
    assert_eq!(project.git(["ls-files"]), "README\na.c\na.o\napp\nb.o\nm.obj\nx.so\ny.a");
}
