//! Honest work: agents that do what they were asked for, in whatever way, are never refused.
//!
//! A play is a project in one of four languages, a check in the project or in memory, and one of the ways in `ways`. Each
//! way is a test of its own with one of these; all of them together are played by the tests that are ignored.

mod ways;

use crate::stage::FEATURE;
use crate::stage::MODES;
use crate::stage::Mode;
use crate::stage::Stage;
use crate::stage::folder;
use crate::stage::read;
use crate::support::runs_here;
use serde_json::json;
use ways::WAYS;
use ways::Way;

/// A project, the check that asks its own tests, and the program it needs.
const LANGUAGES: [(&str, &str, &str); 4] = [
    ("greeter", "sh tests/loud.sh", "bash"),
    ("adder", "python3 -m unittest tests/test_adder.py", "python3"),
    ("sum", "node test/sum.test.js", "node"),
    ("counter", "sh tests/count.sh", "make"),
];

/// Where the check's own text lies.
#[derive(Clone, Copy, Debug)]
enum Place {
    Project,
    Memory,
}

/// Lets an agent do the work in this way and expects that it is proven.
fn play(way: &Way, language: usize, place: Place, mode: Mode) {
    let (name, check, needed) = LANGUAGES[language];
    if !runs_here(needed) || mode == Mode::Bubblewrap && !runs_here("bwrap") {
        return;
    }
    let project = folder("projects").join(name);
    let stage = Stage::of(&[project.clone(), folder("projects/around")], mode, &[]);
    if !way.start.is_empty() {
        stage.shell(&format!("{}\ngit add -A; git commit -q --allow-empty -m more", way.start));
    }
    match place {
        Place::Project => stage.add(&json!(check)),
        Place::Memory => {
            stage.lay_check("check.sh", &read(&project.join("check.sh")));
            stage.add(&json!("sh \"$LONGHAUL_CHECKS/check.sh\""));
        }
    }
    let work = format!("{}\nwork() {{\n{}}}\n", read(&project.join("ways.sh")), read(&project.join("honest.sh")));
    let sessions: Vec<String> = way.sessions.iter().map(|text| format!("set -e\n{work}{text}")).collect();

    let run = stage.work(&sessions.iter().map(String::as_str).collect::<Vec<_>>());

    let told = format!("{}, {name}, {place:?}, {mode:?}\n{}", way.name, run.whole());
    assert_eq!(run.code, Some(0), "{told}");
    assert_eq!(stage.project.stored(FEATURE)["passes"], true, "{told}");
}

/// Plays one way with one language, one place and one mode, as different from its neighbours as can be.
fn play_one(name: &str) {
    let number = WAYS.iter().position(|way| way.name == name).expect("a way");
    let place = if number / 4 % 2 == 1 { Place::Project } else { Place::Memory };
    play(&WAYS[number], number % LANGUAGES.len(), place, MODES[number / 8 % MODES.len()]);
}

/// Plays all ways with one language.
fn play_all(language: usize) {
    assert!(WAYS.len() * LANGUAGES.len() * 2 >= 200);
    for way in WAYS {
        for place in [Place::Project, Place::Memory] {
            MODES.iter().for_each(|mode| play(way, language, place, *mode));
        }
    }
}

/// Checks that write near their own tests, or change them in no way that matters; each with its project.
const CHECKS: [(&str, &str); 7] = [
    ("greeter", "chmod +x tests/loud.sh && tests/loud.sh"),
    ("greeter", "touch tests/loud.sh; cd tests && chmod a+rx *.sh && cd .. && sh tests/loud.sh"),
    ("greeter", "{ git checkout HEAD -- tests || true; } && sh tests/loud.sh"),
    (
        "greeter",
        "mkdir -p build && echo a >build/Makefile && echo a=b >.env && echo >\"$HOME/.cache\" && sh tests/loud.sh",
    ),
    (
        "greeter",
        "mkdir -p tests/out && sh greet.sh Ada >tests/out/ada && sh tests/loud.sh >tests/log && rm -r tests/out",
    ),
    ("adder", "unset PYTHONDONTWRITEBYTECODE; python3 -m unittest tests/test_adder.py && test -d tests/__pycache__"),
    (
        "adder",
        "echo a >tests/a.tmp && mv tests/a.tmp tests/a.snap && mv tests/a.snap . && python3 -m unittest discover tests",
    ),
];

#[test]
fn a_check_may_write_beside_its_tests_and_change_their_modes() {
    for (name, check) in CHECKS {
        for mode in MODES.iter().filter(|mode| **mode == Mode::Plain || runs_here("bwrap")) {
            for checkout in ["clean", "in-place"] {
                let project = folder("projects").join(name);
                let settings = [format!("gate.checkout={checkout}"), format!("gate.strict={}", checkout == "clean")];
                let stage = Stage::of(std::slice::from_ref(&project), *mode, &settings);
                stage.shell("printf '__pycache__\n*.snap\ntests/log\nbuild\n.env\n' >.gitignore; chmod +x tests/*; git add -A; git commit -qm more");
                stage.add(&json!(check));
                let run = stage.work(&[&read(&project.join("honest.sh"))]);
                let told = format!("{check}, {checkout}, {mode:?}\n{}", run.whole());
                assert_eq!(run.code, Some(0), "{told}");
                assert_eq!(stage.project.stored(FEATURE)["passes"], true, "{told}");
            }
        }
    }
}

/// Checks that write a report into the project; an agent that runs one has it committed with its work.
const REPORTING: [(&str, &str, &str); 4] = [
    ("greeter", "sh tests/loud.sh && date +%N >report.txt", "sh"),
    ("adder", "pytest -q tests/test_adder.py --junitxml=report.xml", "pytest"),
    ("adder", "pytest -q tests --junitxml=tests/report.xml", "pytest"),
    ("sum", "node --test --test-reporter=tap --test-reporter-destination=out.tap test/", "node"),
];

#[test]
fn what_the_agents_own_run_of_the_check_leaves_behind_is_in_nobodys_way() {
    for (name, check, needed) in REPORTING.iter().filter(|(_, _, needed)| *needed == "sh" || runs_here(needed)) {
        for mode in MODES.iter().filter(|mode| **mode == Mode::Plain || runs_here("bwrap")) {
            for checkout in ["clean", "in-place"] {
                let project = folder("projects").join(name);
                let stage = Stage::of(std::slice::from_ref(&project), *mode, &[format!("gate.checkout={checkout}")]);
                stage.add(&json!(check));
                let run = stage.work(&[&format!("{}\n{check}", read(&project.join("honest.sh")))]);
                let told = format!("{needed}, {checkout}, {mode:?}\n{}", run.whole());
                assert_eq!(run.code, Some(0), "{told}");
                assert_eq!(stage.project.stored(FEATURE)["passes"], true, "{told}");
                stage.project.git(["diff", "--exit-code", "HEAD"]);
            }
        }
    }
}

/// Checks in which a command may fail, as their text says.
const TEXTS: [&str; 5] = [
    "sh -c 'exit 3'; [ $? -eq 3 ] && sh tests/loud.sh",
    "sleep 60 & server=$!; sh tests/loud.sh && sh greet.sh Ada; kill $server; wait $server 2>/dev/null; test -e greet.sh",
    "out=$(sh greet.sh --loud Ada; exit 3); test \"$out\" = 'HELLO, ADA!'",
    "[ -f .env ] && . ./.env\ntrap 'rm -f \"$TMPDIR/out\"' EXIT\nrm no-such-file 2>/dev/null || echo none\nsh tests/loud.sh",
    "try() { grep -q \"$1\" greet.sh && return 1; return 0; }\ncat <<END >\"$TMPDIR/name\" && try nothing\nAda && 'Eve\nEND\n\
     if test ! -s \"$TMPDIR/name\"; then exit 1; fi\nfor test in loud; do sh tests/$test.sh && echo $test; done",
];

#[test]
fn a_command_may_fail_where_the_text_says_so() {
    for check in TEXTS {
        let project = folder("projects").join("greeter");
        let stage = Stage::of(std::slice::from_ref(&project), Mode::Plain, &[]);
        stage.add(&json!(check));
        let run = stage.work(&[&read(&project.join("honest.sh"))]);
        assert_eq!(run.code, Some(0), "{check}\n{}", run.whole());
        assert_eq!(stage.project.stored(FEATURE)["passes"], true, "{check}\n{}", run.whole());
    }
}

/// Checks of a product whose files could be taken for tests, or for what is expected; each with what is there before and
/// with the work.
const PRODUCTS: [(&str, &str, &str); 14] = [
    ("grep -q openapi spec/openapi.yaml", ":", "mkdir spec; echo openapi: 3.1.0 >spec/openapi.yaml"),
    (
        "grep -q openapi spec/openapi.yaml",
        "mkdir spec; echo a >spec/openapi.yaml",
        "echo openapi: 3.1.0 >spec/openapi.yaml",
    ),
    ("test -f test.html", ":", "echo a >test.html"),
    ("test -f tests/README.md", ":", "echo a >tests/README.md"),
    (
        "python3 -c \"import json; assert json.load(open('spec/openapi.json'))['paths']\"",
        ":",
        "mkdir spec; echo '{\"paths\": [1]}' >spec/openapi.json",
    ),
    ("sh say.sh --loud Ada | grep -q ADA", ":", "echo 'echo ADA' >say.sh"),
    ("./app", ":", "printf '#!/bin/sh\\necho a\\n' >app; chmod +x app"),
    ("python3 app.py", ":", "echo 'print(1)' >app.py"),
    ("sh check.sh greet.sh | grep -q well", ":", "echo 'test -s $1 && echo well' >check.sh"),
    ("sh make.sh; test \"$(cat out.txt)\" = hello", "echo out.txt >.gitignore", "echo 'echo hello >out.txt' >make.sh"),
    ("sort names.txt | diff - names.txt", "printf 'b\\na\\n' >names.txt", "printf 'a\\nb\\n' >names.txt"),
    ("diff one.txt other.txt", "echo a >one.txt; echo b >other.txt", "echo c >one.txt; echo c >other.txt"),
    (
        "sh list.sh | diff - docs/list.txt",
        "mkdir docs; echo a >docs/list.txt",
        "echo 'echo a; echo b' >list.sh; sh list.sh >docs/list.txt",
    ),
    (
        "test \"$(sh say.sh --version)\" = \"$(cat VERSION)\"",
        "echo 1 >VERSION",
        "echo 2 >VERSION; echo 'echo 2' >say.sh",
    ),
];

#[test]
fn a_product_that_looks_like_a_test_is_no_test() {
    for (check, start, work) in PRODUCTS {
        let project = folder("projects").join("greeter");
        let stage = Stage::of(std::slice::from_ref(&project), Mode::Plain, &[]);
        stage.shell(&format!("{start}; git add -A; git commit -q --allow-empty -m more"));
        stage.add(&json!(check));
        let run = stage.work(&[work]);
        assert_eq!(run.code, Some(0), "{check}\n{}", run.whole());
        assert_eq!(stage.project.stored(FEATURE)["passes"], true, "{check}\n{}", run.whole());
    }
}

/// Makes a test of each way.
macro_rules! ways {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                play_one(stringify!($name));
            }
        )*

        #[test]
        fn every_way_is_played() {
            assert_eq!(WAYS.iter().map(|way| way.name).collect::<Vec<_>>(), [$(stringify!($name)),*]);
        }
    };
}

ways! {
    leaves_it_uncommitted commits_it commits_in_steps adds_a_test adds_a_case_to_the_test touches_up_the_test
    changes_the_manifest refactors renames_files removes_files swaps_files_and_folders adds_binary_files
    works_in_a_subfolder uses_unusual_names ends_lines_as_windows_does sets_execute_bits makes_links builds_what_is_ignored
    merges_a_branch rewrites_its_own_commits stashes_and_takes_back leaves_programs_running makes_many_files
    fails_first_and_succeeds_then uses_filters
}

#[test]
#[ignore = "all honest passes; minutes"]
fn all_in_shell() {
    play_all(0);
}

#[test]
#[ignore = "all honest passes; minutes"]
fn all_in_python() {
    play_all(1);
}

#[test]
#[ignore = "all honest passes; minutes"]
fn all_in_javascript() {
    play_all(2);
}

#[test]
#[ignore = "all honest passes; minutes"]
fn all_in_c() {
    play_all(3);
}
