//! What a write costs as history and files grow, what `status` costs beside `true`, and what memory 10,000 writes take.

use longhaul::clock::Clock;
use longhaul::memory::Author;
use longhaul::memory::Caps;
use longhaul::memory::Change;
use longhaul::memory::Origin;
use longhaul::memory::Place;
use longhaul::memory::Policy;
use longhaul::memory::Store;
use rustix::time::ClockId;
use rustix::time::clock_gettime;
use serde_json::json;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::process::Stdio;
use std::time::Duration;
use std::time::Instant;

const ROUNDS: usize = 9;
const WRITES: usize = 20;
const STATUS_ROUNDS: usize = 41;
const MANY_WRITES: usize = 10_000;

/// Prints all rows; the long history is that of the project in `history`.
pub(crate) fn print(target: &Path, history: &Path) {
    let folder = super::spread(target);
    println!();
    commits(folder.path(), history);
    files(folder.path());
    status(history);
    peak(folder.path());
}

/// A write at the end of the long history, beside one into the same files without it, in turns.
fn commits(folder: &Path, history: &Path) {
    let copied = super::apart(folder, "long");
    let copy = Command::new("cp").arg("-a").arg(history.join(".")).arg(&copied).status();
    assert!(copy.unwrap().success());
    let open = |root: &Path| {
        Store::open(&Place::in_project(root, &root.join(".git")), Policy::Project, caps(), Clock::system()).unwrap()
    };
    let (mut long, mut short) = (open(&copied), made(&super::apart(folder, "short"), super::FILES));
    long.inspect(&Origin::of(Author::Longhaul), &folder.join("kept")).unwrap();
    let both = |store: &mut Store, seed: usize| timed(|| write(store, seed, super::FILES));
    let (time, processor) = in_turns(&mut long, &mut short, both);
    println!(
        "a write after {} commits / after none: {time:.2}, time of the processor: {processor:.2}",
        super::past::COMMITS
    );
}

/// A write into many files, beside one into ten.
fn files(folder: &Path) {
    let few_at = super::apart(folder, "few");
    let (mut many, mut few) = (made(&super::apart(folder, "many"), 10_000), made(&few_at, 10));
    let both = |store: &mut Store, seed: usize| {
        let files = if store.place().view.starts_with(&few_at) { 10 } else { 10_000 };
        timed(|| write(store, seed, files))
    };
    let (time, processor) = in_turns(&mut many, &mut few, both);
    println!("a write into 10,000 files in folders / into 10: {time:.2}, time of the processor: {processor:.2}");
}

/// The time that something takes, and that of the processor.
type Both = (Duration, Duration);

fn timed(work: impl FnOnce()) -> Both {
    let (start, processor_start) = (Instant::now(), processor());
    work();
    (start.elapsed(), processor() - processor_start)
}

/// How many times as long the one takes as the other, whose turn comes first every other time.
fn in_turns(one: &mut Store, other: &mut Store, measure: impl Fn(&mut Store, usize) -> Both) -> (f64, f64) {
    let (mut ones, mut others) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        for write in 0..WRITES {
            let seed = 7 * super::FILES + round * WRITES + write;
            let [mut times_of_one, mut times_of_other] = [Both::default(); 2];
            for turn in [write, write + 1] {
                match turn % 2 {
                    0 => times_of_one = measure(one, seed),
                    _ => times_of_other = measure(other, seed),
                }
            }
            if round > 0 {
                ones.push(times_of_one);
                others.push(times_of_other);
            }
        }
    }
    let ratio = |pick: fn(&Both) -> Duration| {
        let median = |times: &[Both]| super::median(&mut times.iter().map(pick).collect::<Vec<_>>());
        median(&ones) / median(&others)
    };
    (ratio(|both| both.0), ratio(|both| both.1))
}

fn write(store: &mut Store, seed: usize, files: usize) {
    let text = super::text(seed);
    let path = path(seed * 37 % files);
    // By the agent's way, so that the caps are looked at.
    let delete = json!({"command": "delete", "path": format!("/memories/{path}")});
    assert!(!store.run(&delete, &Origin::of(Author::Agent)).unwrap().is_error);
    let create = json!({"command": "create", "path": format!("/memories/{path}"), "file_text": text});
    assert!(!store.run(&create, &Origin::of(Author::Agent)).unwrap().is_error);
}

fn path(number: usize) -> String {
    format!("area{}/topic{}/{number}.txt", number / super::IN_A_FOLDER / 8, number / super::IN_A_FOLDER)
}

fn made(root: &Path, files: usize) -> Store {
    let place = Place::in_project(root, &root.join(".git"));
    let mut store = Store::create(&place, Policy::Project, caps(), Clock::system()).unwrap();
    let all: Vec<Change> = (0..files).map(|number| Change::put(path(number), super::text(number))).collect();
    store.write("seed", &all, &Origin::of(Author::Longhaul)).unwrap();
    store
}

fn caps() -> Caps {
    Caps { files: 1_000_000, ..Caps::default() }
}

fn processor() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap())
}

fn status(project: &Path) {
    let timed = |command: &mut Command| {
        let start = Instant::now();
        assert!(command.stdin(Stdio::null()).stdout(Stdio::null()).status().unwrap().success());
        start.elapsed()
    };
    let longhaul = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_longhaul"));
        command.current_dir(project);
        command
    };
    let (mut ours, mut base, mut version) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..STATUS_ROUNDS {
        ours.push(timed(longhaul().arg("status")));
        version.push(timed(longhaul().arg("--version")));
        base.push(timed(&mut Command::new("true")));
    }
    let [ours, version, base] = [ours, version, base].map(|mut times| super::median(&mut times) / 1e3);
    println!(
        "`status` at {} commits, {} files, {} features: {ours:.1} ms, `--version` {version:.1} ms, `true` {base:.1} ms: \
         {:.1} times `true`",
        super::past::COMMITS,
        super::FILES,
        super::past::FEATURES,
        ours / base
    );
}

/// The most memory that the command had, after a tenth of the writes and after all.
fn peak(folder: &Path) {
    let mut service = super::Service::start(&super::apart(folder, "apply"));
    let mut peaks = Vec::new();
    for number in 0..MANY_WRITES {
        let path = format!("/memories/{}", path(number % 5000));
        let command = match number < 5000 {
            true => json!({"command": "create", "path": path, "file_text": super::text(number)}),
            false => json!({"command": "delete", "path": path}),
        };
        service.call(&command);
        if number + 1 == MANY_WRITES / 10 || number + 1 == MANY_WRITES {
            peaks.push(peak_of(service.id()));
        }
    }
    println!(
        "peak memory of `memory apply`: {:.1} MiB after {} writes, {:.1} MiB after {MANY_WRITES}",
        peaks[0],
        MANY_WRITES / 10,
        peaks[1]
    );
}

fn peak_of(process: u32) -> f64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() / 1024.0
}
