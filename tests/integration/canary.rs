//! P13: the key never leaves the part that sends it. A canary is looked for everywhere, plain and in disguise.

use crate::support::KEY;
use crate::support::Project;
use crate::support::bash;
use crate::support::call;
use crate::support::hand_over;
use crate::support::reply;
use crate::support::runs_here;
use crate::support::session;
use crate::support::signal;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use std::fs;
use std::io::Write;
use std::process::Command;

/// Spells the key in every way that somebody might write it down; base64 three ways, by where it begins in a text.
fn disguises() -> Vec<String> {
    let hex: String = KEY.bytes().map(|byte| format!("{byte:02x}")).collect();
    let percent: String = KEY.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let shifted = |skip: usize| {
        let whole = STANDARD.encode([&vec![b'x'; skip], KEY.as_bytes()].concat());
        // What depends on the neighbours at either end is left off.
        let whole = whole.trim_end_matches('=');
        whole[(skip * 8).div_ceil(6)..whole.len() - 1].to_owned()
    };
    let reversed = KEY.chars().rev().collect();
    vec![
        KEY.to_owned(),
        hex.to_uppercase(),
        hex,
        percent.to_lowercase(),
        percent,
        shifted(0),
        shifted(1),
        shifted(2),
        reversed,
    ]
}

/// Says where in these bytes the key is.
fn found(what: &str, bytes: &[u8]) -> Option<String> {
    let has = |disguise: &String| bytes.windows(disguise.len()).any(|window| window == disguise.as_bytes());
    disguises().into_iter().find(has).map(|disguise| format!("{what}: {disguise}"))
}

/// Looks through all files below a folder, and through each object of the repositories in it as git stores it.
fn hits(project: &Project) -> Vec<String> {
    let mut hits = Vec::new();
    let mut folders = vec![project.root(), project.home()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() {
                hits.extend(found(&path.display().to_string(), &fs::read(&path).unwrap()));
            }
        }
    }
    for repository in [project.root().join(".git"), project.state().join("memory.git")] {
        let all = ["cat-file", "--batch-all-objects", "--batch"];
        let objects = Command::new("git").arg("--git-dir").arg(&repository).args(all).output().unwrap();
        assert!(objects.status.success() && objects.stdout.len() > 100);
        hits.extend(found(&repository.display().to_string(), &objects.stdout));
    }
    hits
}

/// What a command does to find the key.
const LOOKS: [&str; 5] = [
    "env; set; cat /proc/self/environ /proc/$PPID/environ /proc/1/environ",
    "cat /proc/[0-9]*/cmdline /proc/[0-9]*/task/*/comm",
    "ls -l /proc/[0-9]*/fd/ /proc/[0-9]*/cwd; cat /proc/$PPID/maps; head -c 100 /proc/$PPID/mem",
    "ulimit -c unlimited; sh -c 'kill -ABRT $$'; cat core* 2>/dev/null; rm -f core*",
    "grep -rsa canary- /tmp/.tmp* /run /var/tmp ~ 2>/dev/null | head -c 100000",
];

/// Plays a run in which the agent and the check look for the key; returns everything anybody saw or kept.
fn run(project: Project, looks: &[&str]) -> Vec<String> {
    let calls = looks.iter().map(|look| reply([bash(look)]));
    let end = reply([bash("touch a; echo a note >> .longhaul/memory/x.md"), hand_over()]);
    let project =
        project.feature("a", "env; set; cat /proc/self/environ; test -f a").model([session(calls.chain([end]))]);
    let run = project.run(["run"]);
    run.exits(0);
    assert_eq!(project.played().rejected(), Vec::<String>::new());
    // The key was used: it is sent with each request, but for which nothing may hold it.
    let mut hits = hits(&project);
    hits.extend(found("what was printed", format!("{}{}", run.stdout, run.stderr).as_bytes()));
    for body in project.played().requests() {
        hits.extend(found("what the model was told", body.to_string().as_bytes()));
    }
    for command in [&["log", "-p"][..], &["show", "a"], &["show", "--session", "1"], &["doctor"], &["status", "--json"]]
    {
        let shown = project.run(command);
        hits.extend(found(&format!("{command:?}"), format!("{}{}", shown.stdout, shown.stderr).as_bytes()));
    }
    hits
}

#[test]
fn in_bubblewrap_the_key_is_nowhere() {
    if runs_here("bwrap") {
        assert_eq!(run(Project::ready().sandboxed(), &LOOKS), Vec::<String>::new());
    }
}

/// A command of the superuser's with all capabilities reads any memory; there, plain mode promises nothing about `/proc`.
#[test]
fn in_plain_mode_the_key_is_nowhere_but_for_the_superuser() {
    let mut looks = LOOKS.to_vec();
    if may_look_anywhere() {
        note_skip(
            "in plain mode the superuser reads the key from `/proc`; as anybody else this test looks for it there, too",
        );
        looks = vec!["env; set; cat /proc/self/environ", LOOKS[3], LOOKS[4]];
    }
    assert_eq!(run(Project::ready(), &looks), Vec::<String>::new());
}

/// Plays a run in which the agent's commands and the check print a text that lies around outside of the project; returns
/// where it was kept.
fn printed(text: &str) -> Vec<String> {
    let project = Project::ready().variable("ANTHROPIC_API_KEY", KEY);
    let outside = project.root().with_file_name("outside");
    fs::write(&outside, format!("it is {text}\n")).unwrap();
    let outside = outside.display();
    let project = project.feature("a", &format!("cat {outside}; test -f a"));
    let loud = format!("cat {outside}; seq 20000; cat {outside}");
    let calls = [&format!("cat {outside}"), &loud, &format!("head -c 40000 /dev/urandom; cat {outside}")]
        .map(|look| bash(look));
    let check = call("check", json!({}));
    let replies = calls.into_iter().chain([check]).map(|call| reply([call]));
    let project = project.model([session(replies.chain([reply([bash("touch b"), hand_over()])]))]);
    project.run(["run", "--sessions", "1"]).exits(3);
    let mut hits = hits(&project);
    for body in project.played().requests() {
        hits.extend(found("what the model was told", body.to_string().as_bytes()));
    }
    hits
}

/// Whoever finds the key where somebody else left it may print it: it is taken out before anything is kept.
#[test]
fn a_key_that_lies_around_is_not_kept_though_checks_and_commands_print_it() {
    assert_eq!(printed(KEY), Vec::<String>::new());

    // The twin: of a text that longhaul does not know to be the key, here it backwards, everything is kept.
    let kept = printed(&KEY.chars().rev().collect::<String>());
    for place in ["/artifacts/", "events.jsonl", "memory.git", "what the model was told"] {
        assert!(kept.iter().any(|hit| hit.contains(place)), "{place}: {kept:?}");
    }
}

/// Plays a run whose model says a text wherever it can; returns where that was kept or printed.
fn said(text: &str, set: &str) -> Vec<String> {
    let mut hits = Vec::new();
    for options in [&["run"][..], &["run", "--json"]] {
        let words = json!({"done": format!("I saw {text}"), "remaining": text, "next": text});
        let note = json!({"command": "create", "path": "/memories/free.md", "file_text": text});
        let calls = [
            bash(&format!("touch a; true {text}")),
            call(text, json!({ text: text })),
            call("checklist", json!({"action": text})),
            call("memory", note),
            call("hand_over", words),
        ];
        // Cut where the narration ends, only a part of it would be left.
        let long = format!("{} {text}", "x".repeat(110));
        let replies = [json!({"text": long, "thinking": text, "tools": calls})];
        let project = Project::ready().feature("a", "test -f a").model([session(replies)]);
        let run = project.run(options.iter().chain(&["--set", set]));
        run.exits(0);
        hits.extend(self::hits(&project));
        hits.extend(found("what was printed", format!("{}{}", run.stdout, run.stderr).as_bytes()));
        for command in [&["log", "-p"][..], &["show", "a"], &["show", "--session", "1"], &["status", "--json"]] {
            let shown = project.run(command);
            hits.extend(found(&format!("{command:?}"), format!("{}{}", shown.stdout, shown.stderr).as_bytes()));
        }
    }
    hits
}

/// A model that was given the key by somebody, or found it, says it: longhaul does not write it down either.
#[test]
fn a_key_that_the_model_says_is_neither_kept_nor_printed() {
    for set in ["memory.secrets=refuse", "memory.secrets=allow"] {
        assert_eq!(said(KEY, set), Vec::<String>::new());
    }

    // The twin: of a text that longhaul does not know to be the key everything is kept and printed.
    let kept = said(&KEY.chars().rev().collect::<String>(), "memory.secrets=allow");
    for place in ["events.jsonl", "memory.git", "what was printed", "\"log\"", "\"--session\""] {
        assert!(kept.iter().any(|hit| hit.contains(place)), "{place}: {kept:?}");
    }
}

/// Says what a test leaves out here.
fn note_skip(what: &str) {
    writeln!(std::io::stderr(), "skipped: {what}").ok();
}

fn may_look_anywhere() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap();
    // CAP_SYS_PTRACE.
    u64::from_str_radix(line.trim(), 16).unwrap() & (1 << 19) != 0
}

/// The twin: where a key is written down in any of these ways, it is found.
#[test]
fn a_key_in_any_disguise_is_found() {
    for disguise in disguises() {
        let text = format!("before{disguise}after");
        assert!(found("x", text.as_bytes()).is_some(), "{disguise}");
    }
    let inside = STANDARD.encode(format!("{{\"headers\": \"{KEY}\"}}"));
    assert!(found("x", inside.as_bytes()).is_some());
    assert!(found("x", b"canary-key-").is_none());
}

/// A process that ends badly leaves its memory in a file, and the key would be in it.
#[test]
fn no_core_dump_is_left_of_a_run_that_was_aborted() {
    let pattern = fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap_or_default();
    if pattern.starts_with(['|', '/']) || pattern.trim().is_empty() {
        note_skip("core dumps do not go to the current folder here");
        return;
    }
    let project = Project::ready().feature("a", "test -f a").model([session([json!({ "silence": "60s" })])]);
    let run = project.command(["run"]);
    let abort = |program: &str, arguments: &[&str]| {
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -c unlimited; exec \"$0\" \"$@\"", program]).args(arguments);
        command.current_dir(project.root()).env_clear().envs(project.environment()).spawn().unwrap()
    };
    let cores = || {
        let entries = fs::read_dir(project.root()).unwrap().flatten();
        entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("core")).count()
    };
    let mut child = abort(&run.get_program().to_string_lossy(), &["run"]);
    project.played().wait_for_silence();
    signal(&child, "ABRT");
    assert_eq!(child.wait().unwrap().code(), None);
    assert_eq!(cores(), 0);

    let mut child = abort("sleep", &["60"]);
    while fs::read(format!("/proc/{}/comm", child.id())).unwrap() != b"sleep\n" {
        std::thread::yield_now();
    }
    signal(&child, "ABRT");
    child.wait().unwrap();
    assert_eq!(cores(), 1, "the twin: a program that does not keep to itself leaves one");
}

/// The twin of the bubblewrap run: a program that does not keep to itself shows its environment to whoever looks.
#[test]
fn what_does_not_keep_to_itself_shows_its_environment() {
    let child = Command::new("sleep").arg("60").env_clear().env("ANTHROPIC_API_KEY", KEY).spawn();
    let mut child = child.unwrap();
    let environment = fs::read(format!("/proc/{}/environ", child.id())).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(found("x", &environment).is_some());
}
