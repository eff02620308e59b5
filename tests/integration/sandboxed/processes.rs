//! What commands leave running, and what they inherit.

use super::living;
use super::told;
use crate::support::Project;
use crate::support::bash;
use crate::support::hand_over;
use crate::support::reply;
use crate::support::session;
use std::time::Duration;
use std::time::Instant;

#[test]
fn a_want_of_the_network_is_told_though_the_pipeline_ended_well() {
    let fails = "(echo 'curl: (6) Could not resolve host: example.org' >&2; exit 6) | cat";
    let reads = "echo 'README:3: could not resolve host'";
    let calls = reply([bash(fails), bash(reads)]);
    for (project, hinted) in [(Project::ready().sandboxed(), true), (Project::ready(), false)] {
        let project = project.feature("a", "test -f a").model([session([calls.clone(), reply([hand_over()])])]);
        let told = told(&project);
        assert!(told[0].contains("[exit code 0]") && told[1].contains("[exit code 0]"), "{told:?}");
        let hint = [0, 1].map(|at: usize| told[at].contains("commands have no network here: `sandbox.network`"));
        assert_eq!(hint, [hinted, false], "{told:?}");
    }
}

#[test]
fn a_server_is_there_for_the_next_command_and_gone_with_the_session() {
    let up =
        "python3 -m http.server 8123 >/dev/null 2>&1 & sleep 300 & setsid -f sleep 301; env -i setsid -f sleep 302";
    let asks = "for i in 1 2 3 4 5 6 7 8 9; do python3 -c 'import urllib.request as u; \
                print(u.urlopen(\"http://127.0.0.1:8123/\").status)' 2>/dev/null && break; sleep 0.3; done";
    let project = Project::ready().sandboxed().feature("a", "test -f a").model([session([
        reply([bash(up)]),
        reply([bash(asks)]),
        reply([hand_over()]),
    ])]);
    let told = told(&project);
    assert_eq!(told[1], "200\n[exit code 0]");
    let all = std::process::Command::new("ps").args(["-eo", "args"]).output().unwrap();
    let all = String::from_utf8_lossy(&all.stdout).into_owned();
    assert!(!all.contains("http.server 8123") && !all.contains("sleep 302"), "{all}");
}

/// Kills a run in the middle of a command that has left processes in every way, and returns those that live on.
fn killed_in_a_command(project: &Project, word: &str) -> Vec<String> {
    let mut child = project.start(["run"]);
    let mark = project.root().join("here");
    while !mark.exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(!living(word).is_empty());
    child.kill().unwrap();
    child.wait().unwrap();
    let start = Instant::now();
    while !living(word).is_empty() && start.elapsed() < Duration::from_secs(3) {
        std::thread::sleep(Duration::from_millis(20));
    }
    living(word)
}

/// With the process that holds it, a sandbox ends, whatever is in it; in plain mode, the twin, all of it lives on.
#[test]
fn a_killed_run_leaves_no_process_behind() {
    let leave = |word: &str| {
        let stuck = format!(
            "trap '' TERM HUP; sleep {word} & setsid -f sleep {word}; env -i setsid -f sleep {word}; touch here; sleep {word}"
        );
        Project::ready().feature("a", "test -f a").model([session([reply([bash(&stuck)]), reply([hand_over()])])])
    };
    let word = format!("300.1{}", std::process::id());
    assert_eq!(killed_in_a_command(&leave(&word).sandboxed(), &word), Vec::<String>::new());
    let word = format!("300.2{}", std::process::id());
    let left = killed_in_a_command(&leave(&word), &word);
    let numbers: Vec<&str> = left.iter().filter_map(|line| line.split_whitespace().next()).collect();
    let kill = format!("kill -9 {}", numbers.join(" "));
    std::process::Command::new("sh").args(["-c", &kill]).status().unwrap();
    assert!(left.len() >= 4, "{left:?}");
}

/// Whoever starts longhaul may leave descriptors open; commands get none of them, nor one of ours.
#[test]
fn a_command_gets_no_descriptor_but_its_own_three() {
    for mode in ["off", "bubblewrap"] {
        let looks = bash("ls /proc/self/fd | tr '\\n' ' '");
        let project = Project::ready().variable("LONGHAUL_SANDBOX_MODE", mode).feature("a", "test -f a");
        let project = project.model([session([reply([looks]), reply([hand_over()])])]);
        let mut leaky = std::process::Command::new("sh");
        leaky.args([
            "-c",
            "exec 7<README 8>../written 9<.; exec \"$0\" run --sessions 1",
            env!("CARGO_BIN_EXE_longhaul"),
        ]);
        let run = leaky.current_dir(project.root()).env_clear().envs(project.environment()).output().unwrap();
        let told = project.played().results_in(2);
        assert!(told.starts_with("0 1 2 3 \n"), "{mode}: {told}\n{run:?}");
    }
}

/// The sandbox has folders of its own, in which a command stays as in any other.
#[test]
fn a_folder_that_is_only_in_the_sandbox_is_kept_until_it_is_gone() {
    let folder = format!("/tmp/only-inside-{}", std::process::id());
    let project = Project::ready().sandboxed().feature("a", "test -f a").model([session([
        reply([bash(&format!("mkdir {folder}; cd {folder}"))]),
        reply([bash("pwd")]),
        reply([bash(&format!("rmdir {folder}"))]),
        reply([bash("pwd"), hand_over()]),
    ])]);
    let told = told(&project);
    assert!(told[0].contains(&format!("working directory: {folder}")), "{}", told[0]);
    assert!(told[1].starts_with(&folder), "{}", told[1]);
    assert!(told[2].contains("is gone"), "{}", told[2]);
    assert!(told[3].starts_with(&*project.root().to_string_lossy()), "{}", told[3]);
}

/// What a filter of the project leaves, which runs when longhaul's own `git` looks and commits, does not outlive the run.
#[test]
fn what_a_filter_of_gits_leaves_does_not_outlive_the_run() {
    for project in [Project::ready().sandboxed(), Project::ready()] {
        let word = format!("300.3{}", std::process::id());
        let filter =
            format!("setsid -f sleep {word} >/dev/null 2>&1; pgrep -f 'sleep {word}' >> .git/filter-left; cat");
        project.git(["config", "filter.stay.clean", &filter]);
        project.write(".gitattributes", "*.txt filter=stay\n");
        project.git(["add", "-A"]);
        project.git(["commit", "-qm", "filter"]);
        let project = project
            .feature("a", "test -f a.txt")
            .model([session([reply([bash("echo a > a.txt")]), reply([hand_over()])])]);

        project.run(["run"]).exits(0);

        assert!(!project.read(".git/filter-left").is_empty(), "the filter did its part");
        assert_eq!(living(&word), Vec::<String>::new());
    }
}
