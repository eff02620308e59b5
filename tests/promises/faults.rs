//! Memory outlives faults at any system call of a write: a kill in front of it, or an error in its answer.

mod small_disk;
mod strace;
mod written;

use std::fs;
use std::path::Path;
use strace::Fault;
use strace::Point;
use strace::Which;
use strace::runs_traced;
use written::Call;
use written::Written;

/// Text of several pages.
fn pages(word: &str) -> String {
    format!("first {word}\n{}", "a line of a file that has several pages\n".repeat(300))
}

fn begin() -> Vec<Call> {
    vec![
        Call::Create("notes/long.md", pages("words")),
        Call::Create("notes/old.md", "old\n".to_owned()),
        Call::Create("top.md", "top\n".to_owned()),
    ]
}

fn usual() -> Written {
    Written::by(&begin())
}

/// A memory with more commits than are left in the journal.
fn many() -> Written {
    let turns = (0..100).flat_map(|_| [Call::Edit("top.md", "top", "end"), Call::Edit("top.md", "end", "top")]);
    Written::by(&begin().into_iter().chain(turns).collect::<Vec<_>>())
}

/// A file of which three leave no room in the journal for a fourth.
fn large(path: &'static str) -> Call {
    Call::Create(path, format!("{path} has words\n").repeat(380_000))
}

/// A memory as a power cut leaves it: its newest commit is whole in the journal alone.
fn lagging() -> Written {
    usual().changed(lag)
}

/// Takes the newest commit from git's own files.
fn lag(store: &Path) {
    let repository = store.join("memory.git");
    let newest = fs::read_to_string(repository.join("refs/heads/main")).unwrap();
    let (folder, name) = newest.trim().split_at(2);
    fs::write(repository.join("objects").join(folder).join(name), "").unwrap();
    let log = fs::read_to_string(repository.join("logs/refs/heads/main")).unwrap();
    let before = log.lines().last().unwrap().split(' ').next().unwrap();
    fs::write(repository.join("refs/heads/main"), format!("{before}\n")).unwrap();
}

/// Calls of each kind; the folder of the last is new.
fn create() -> Call {
    Call::Create("notes/deep/new.md", pages("new"))
}

fn edit() -> Call {
    Call::Edit("notes/long.md", "first words", "other words")
}

fn delete() -> Call {
    Call::Delete("top.md")
}

fn rename() -> Call {
    Call::Rename("notes/old.md", "moved/old.md")
}

/// Kills a service in front of each of these calls, and looks what the next finds.
fn kill_at_each(written: &Written, points: &[Point], calls: &[Call]) {
    let states = written.states(calls);
    for (call, number) in points {
        written.begin();
        let fault = Fault { call: call.clone(), when: number.to_string(), does: "signal=KILL".to_owned() };
        let told = written.play(calls, Some(&fault));
        // A write that was not answered may have been done.
        let done = told.acknowledged();
        let expected = &states[done..states.len().min(done + 2)];
        assert_eq!(written.faults(expected), Vec::<String>::new(), "{fault:?}: {told:?}");
        assert!(told.was_killed || done == calls.len(), "{fault:?}: {told:?}");
    }
}

fn outlives_kills(written: impl FnOnce() -> Written, calls: &[Call]) {
    if runs_traced() {
        let written = written();
        let points = written.points(calls, Which::Changing);
        assert!(points.len() > 20, "too few calls were found: {points:?}");
        kill_at_each(&written, &points, calls);
    }
}

#[test]
fn a_create_outlives_a_kill_at_each_call() {
    outlives_kills(usual, &[create()]);
}

#[test]
fn an_edit_outlives_a_kill_at_each_call() {
    outlives_kills(usual, &[edit()]);
}

#[test]
fn a_delete_outlives_a_kill_at_each_call() {
    outlives_kills(usual, &[delete()]);
}

#[test]
fn a_rename_outlives_a_kill_at_each_call() {
    outlives_kills(usual, &[rename()]);
}

#[test]
fn what_puts_in_order_outlives_a_kill_at_each_call() {
    outlives_kills(lagging, &[edit()]);
}

#[test]
fn a_checkpoint_of_many_commits_outlives_a_kill_at_each_call() {
    outlives_kills(many, &[edit()]);
}

#[test]
fn a_checkpoint_of_a_full_journal_outlives_a_kill_at_each_call() {
    if !runs_traced() {
        return;
    }
    let (written, calls) = (Written::by(&[large("a"), large("b"), large("c")]), [large("d")]);
    let points = written.points(&calls, Which::Changing);
    let checkpoint: Vec<Point> = points.into_iter().skip_while(|(call, _)| call != "syncfs").take(6).collect();
    assert_eq!(checkpoint.len(), 6, "the journal was not full");
    kill_at_each(&written, &checkpoint, &calls);
}

#[test]
#[ignore = "takes some minutes"]
fn writes_outlive_a_kill_at_each_call_that_only_looks_too() {
    if runs_traced() {
        let (written, calls) = (usual(), all_calls());
        kill_at_each(&written, &written.points(&calls, Which::All), &calls);
    }
}

/// The twin: what takes away what was answered is found.
#[test]
fn what_is_lost_is_found() {
    let (written, calls) = (usual(), [create()]);
    let states = written.states(&calls);
    let lose = |lost: &[&str]| {
        written.begin();
        assert_eq!(written.play(&calls, None).acknowledged(), 1);
        lag(&written.store());
        lost.iter().for_each(|name| fs::remove_file(written.store().join(name)).unwrap());
        written.faults(&states[1..])
    };
    assert_eq!(lose(&[]), Vec::<String>::new());
    assert!(!lose(&["memory.git/longhaul/journal"]).is_empty());
    fs::write(written.store().join("memory.git/refs/heads/main.lock"), "").unwrap();
    assert_eq!(written.strangers().len(), 1);
}

/// What kills leave does not pile up while nothing but killed processes opens the memory.
#[test]
fn what_kills_leave_does_not_grow() {
    if !runs_traced() {
        return;
    }
    let (written, calls) = (usual(), [create()]);
    let mut most = 0;
    for (call, number) in written.points(&calls, Which::Changing) {
        written.begin();
        let fault = Fault { call, when: number.to_string(), does: "signal=KILL".to_owned() };
        let left: Vec<usize> = (0..3)
            .map(|_| {
                written.play(&calls, Some(&fault));
                written.strangers().len()
            })
            .collect();
        assert!(left[2] <= left[0].max(1), "{fault:?}: {left:?}: {:?}", written.strangers());
        most = most.max(left[0]);
    }
    assert!(most > 0, "no kill left anything, so nothing was shown");
}

/// Counts the calls before each answer that wait for the disk; the first has those of the opening too.
fn syncs_of(written: &Written, calls: &[Call]) -> Vec<usize> {
    let trace = written.play_traced(calls, "trace=fsync,fdatasync,sync_file_range,syncfs,sync,msync,openat,write");
    let trace = fs::read_to_string(trace).unwrap();
    assert!(!trace.contains("O_SYNC") && !trace.contains("O_DSYNC"), "{trace}");
    let (mut counts, mut count) = (Vec::new(), 0);
    for line in trace.lines() {
        if line.contains(" write(1, ") {
            counts.push(std::mem::take(&mut count));
        } else if !line.contains(" write(") && !line.contains(" openat(") && line.contains('(') {
            count += 1;
        }
    }
    counts
}

#[test]
fn a_write_waits_for_the_disk_once() {
    if runs_traced() {
        assert_eq!(syncs_of(&usual(), &all_calls()), [1, 1, 1, 1]);
    }
}

/// The twin: what needs more is counted.
#[test]
fn a_new_memory_and_a_checkpoint_wait_more_often() {
    if !runs_traced() {
        return;
    }
    let new = Written::by(&[]).changed(|store| {
        fs::remove_dir_all(store).unwrap();
        fs::create_dir(store).unwrap();
    });
    for written in [new, many()] {
        let counts = syncs_of(&written, &[create(), Call::Delete("notes/deep/new.md")]);
        assert!(counts[0] > 2 && counts[1] == 1, "{counts:?}");
    }
}

/// The errors that a call may be answered with.
fn errors(call: &str, is_changing: bool) -> &'static [&'static str] {
    match call {
        "openat" if is_changing => &["EMFILE", "ENOSPC", "EROFS", "EIO", "EDQUOT"],
        "openat" => &["EMFILE", "EIO"],
        // A descriptor is closed whatever the answer, and the others say nothing about the disk.
        "close" | "execve" | "fcntl" | "mmap" | "ioctl" | "poll" | "getcwd" | "lseek" => &[],
        "write" | "pwrite64" | "fdatasync" | "fsync" | "syncfs" => &["ENOSPC", "EIO", "EDQUOT"],
        _ if is_changing => &["ENOSPC", "EROFS", "EIO", "EDQUOT"],
        _ => &["EIO"],
    }
}

/// Returns the faults that answer calls with errors: each error at each call that changes something, and one at each that
/// only looks.
fn all_errors(written: &Written, calls: &[Call]) -> Vec<Fault> {
    let changing = written.points(calls, Which::Changing);
    let all = written.points(calls, Which::All).into_iter().enumerate();
    let faults = all.flat_map(|(turn, (call, number))| {
        let is_changing = changing.contains(&(call.clone(), number));
        let errors = errors(&call, is_changing);
        let chosen = if is_changing { errors } else { errors.get(turn % errors.len().max(1)..).unwrap_or(&[]) };
        let chosen = chosen.iter().take(if is_changing { usize::MAX } else { 1 });
        let laid = chosen.enumerate().map(move |(place, error)| {
            // What lasts hits the next of the same name too.
            let lasts = if (turn + place) % 2 == 0 { "" } else { "+" };
            Fault { call: call.clone(), when: format!("{number}{lasts}"), does: format!("error={error}") }
        });
        laid.collect::<Vec<_>>()
    });
    faults.collect()
}

/// Plays so many of all faults by errors, evenly spread, and says what is wrong.
fn play_errors(begin: &(dyn Fn() -> Written + Sync), calls: &[Call], most: usize) -> Vec<String> {
    let faults = all_errors(&begin(), calls);
    let step = faults.len().div_ceil(most).max(1);
    let chosen: Vec<Fault> = faults.into_iter().step_by(step).collect();
    let halves: Vec<_> = chosen.chunks(chosen.len().div_ceil(2).max(1)).collect();
    std::thread::scope(|scope| {
        let play = |faults: &[Fault]| {
            let written = begin();
            faults.iter().flat_map(|fault| faults_of(&written, calls, fault)).collect::<Vec<_>>()
        };
        let threads: Vec<_> = halves.into_iter().map(|half| scope.spawn(move || play(half))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

/// Plays one fault and says what is wrong about it.
fn faults_of(written: &Written, calls: &[Call], fault: &Fault) -> Vec<String> {
    written.begin();
    let told = written.play(calls, Some(fault));
    let (states, done) = (written.states(calls), told.acknowledged());
    let mut faults = Vec::new();
    let said = format!("{}{}", told.refused().unwrap_or_default(), told.stderr);
    // Where no stream takes anything, or none any more, nothing can be told.
    let takes_no_word = fault.call == "write" && (said.is_empty() || fault.when.ends_with('+'));
    let is_mute = takes_no_word || ASKS.contains(&fault.call.as_str());
    if done < calls.len() && !is_mute && !REASONS.iter().any(|reason| said.contains(reason)) {
        faults.push("the reason is not told".to_owned());
    }
    if done < calls.len() && !is_mute && !said.contains("hint: ") {
        faults.push("the way out is not told".to_owned());
    }
    if said.contains("panicked") || told.was_killed {
        faults.push("it did not end by itself".to_owned());
    }
    // A write that was refused is not done; only one that got no answer may be.
    let last = if told.refused().is_some() { done } else { calls.len().min(done + 1) };
    faults.extend(written.faults(&states[done..=last]));
    faults.into_iter().map(|text| format!("{fault:?}: {text}\n  {told:?}")).collect()
}

/// How the reasons are told.
const REASONS: &[&str] = &[
    "Too many open files",
    "No space left on device",
    "Read-only file system",
    "Input/output error",
    "quota exceeded",
];

/// Calls that ask what a name stands for; what they cannot say is taken as not there, and said so.
const ASKS: &[&str] = &["access", "newfstatat", "readlink", "statx"];

fn all_calls() -> Vec<Call> {
    vec![create(), edit(), delete(), rename()]
}

/// Errors that each test run lays; there are more than a thousand.
const SOME: usize = 80;

fn outlives_errors(written: &(dyn Fn() -> Written + Sync), calls: &[Call], most: usize) {
    if runs_traced() {
        assert_eq!(play_errors(written, calls, most), Vec::<String>::new());
    }
}

#[test]
fn writes_outlive_errors_at_calls() {
    outlives_errors(&usual, &all_calls(), SOME);
}

/// The twin: a refusal that says neither a known reason nor a way out is found.
#[test]
fn a_refusal_without_a_reason_is_found() {
    if runs_traced() {
        let fault = Fault { call: "pwrite64".to_owned(), when: "1".to_owned(), does: "error=ENXIO".to_owned() };
        let found = faults_of(&usual(), &[create()], &fault);
        assert!(found.len() == 2 && found[0].contains("the reason is not told"), "{found:?}");
    }
}

#[test]
fn what_puts_in_order_outlives_errors_at_calls() {
    outlives_errors(&lagging, &[edit()], SOME);
}

#[test]
#[ignore = "takes some minutes"]
fn writes_outlive_each_error_at_each_call() {
    outlives_errors(&usual, &all_calls(), usize::MAX);
}

#[test]
#[ignore = "takes some minutes"]
fn what_puts_in_order_outlives_each_error_at_each_call() {
    outlives_errors(&lagging, &[edit()], usize::MAX);
}
