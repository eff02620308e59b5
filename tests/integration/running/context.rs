//! Long conversations through whole runs: what they cost, what is shown of it, and how a full window ends a session.

use crate::support::Project;
use crate::support::bash;
use crate::support::hand_over;
use crate::support::reply;
use crate::support::session;
use serde_json::Value;
use serde_json::json;
use std::fs;
use std::io::Read;
use std::io::Seek;
use std::io::SeekFrom;
use std::path::Path;
use std::time::Duration;

/// What `longhaul` may take at most, in a session of any length.
const MOST_MEMORY: u64 = 100 << 20;

/// A reply that prints 30 kB.
fn prints(number: usize) -> Value {
    reply([bash(&format!("printf 'number {number}\n'; head -c 25000 /dev/zero | tr '\\0' x; seq 1000; echo"))])
}

#[test]
fn a_full_window_ends_the_session_in_order_and_costs_no_attempt() {
    let mut full = reply([bash("touch half")]);
    full["usage"] = json!({"input_tokens": 193_000});
    let next = session([reply([bash("touch a")]), reply([hand_over()])]);
    let project = Project::ready().feature("a", "test -f a").model([session([full]), next]);

    let run = project.run(["run", "--sessions", "1"]);

    run.exits(3).tells("session 1 ended: the conversation fills 9");
    assert_eq!(project.stored("a")["attempts"], 0);
    assert_eq!(project.git(["log", "-1", "--format=%s"]), "wip(session 1)");
    assert!(project.memory_git(["show", "HEAD:progress.md"]).contains("% of the model's window"));
    project.run(["run"]).exits(0);
}

#[test]
fn the_share_that_came_from_the_cache_is_shown() {
    let turns =
        (100..106).map(|count| reply([bash(&format!("seq {count}"))])).chain([reply([bash("touch a"), hand_over()])]);
    let project = Project::ready().feature("a", "test -f a").model([session(turns)]);
    // What writing notes costs would count too.
    project.run(["run", "--set", "recall.extract=false"]).exits(0).tells("% cached");

    project.run(["status"]).prints(" % of the prompts from the cache · ");
    let report: Value = serde_json::from_str(&project.run(["status", "--json"]).stdout).unwrap();
    let usages: Vec<Value> = project
        .events(1)
        .iter()
        .filter(|event| event["type"] == "replied")
        .map(|event| event["message"]["usage"].clone())
        .collect();
    let sum = |key: &str| usages.iter().map(|usage| usage[key].as_f64().unwrap()).sum::<f64>();
    let read = sum("cache_read_input_tokens");
    let share = read / (read + sum("input_tokens") + sum("cache_creation_input_tokens"));
    assert!((report["cached"].as_f64().unwrap() - share).abs() < 1e-9, "{report}");
}

#[test]
fn a_session_of_many_large_results_stays_small_and_even() {
    hold(36, 100_000);
}

#[test]
#[ignore = "takes minutes"]
fn a_session_of_five_hundred_large_results_stays_small_and_even() {
    hold(500, 200_000);
}

/// Plays a session of so many turns, and looks at the memory and the time of `longhaul` meanwhile.
fn hold(turns: usize, window: usize) {
    let replies = (0..turns).map(prints).chain([reply([bash("touch a"), hand_over()])]);
    let project = Project::ready().feature("a", "test -f a").model([session(replies)]);
    let limits = [
        format!("budget.turns_per_session={}", turns + 10),
        "budget.tokens=1000000000".to_owned(),
        "budget.usd=0".to_owned(),
        format!("agent.window={window}"),
    ];
    let settings = limits.iter().flat_map(|limit| ["--set", limit]);
    let mut child = project.start(["run", "--sessions", "1"].into_iter().chain(settings));
    let (mut peak, mut ticks_at) = (0, vec![0; turns + 2]);
    let mut record = Record::default();
    while child.try_wait().unwrap().is_none() {
        peak = peak.max(peak_memory(child.id()).unwrap_or(0));
        let ticks = ticks(child.id()).unwrap_or(0);
        let replied = record.replies(&project.state().join("sessions/0001/events.jsonl"));
        ticks_at[replied] = ticks_at[replied].max(ticks);
        std::thread::sleep(Duration::from_millis(5));
    }

    assert!(peak > 1 << 20 && peak < MOST_MEMORY, "peak of {} MiB", peak >> 20);
    let events = project.events(1);
    let cleared = events.iter().filter(|event| event["type"] == "cleared").count();
    let ended = events.iter().rfind(|event| event["type"] == "session_ended").unwrap();
    assert_eq!(ended["reason"], "the agent handed over");
    assert!(cleared > turns / 30 && cleared < turns / 4, "{cleared} clearings in {turns} turns");
    // The window is filled for the first time in the first third; from then on a turn costs what it costs.
    let spent = |from: usize, to: usize| ticks_by(&ticks_at, to) - ticks_by(&ticks_at, from);
    let (early, late) = (spent(turns / 3, 2 * turns / 3), spent(2 * turns / 3, turns));
    assert!(early > 0 && late * 10 < early * 16, "{early} ticks for a third of the turns became {late}");
}

/// Returns the peak of a process's memory in bytes.
fn peak_memory(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
}

/// Returns the ticks of the processor that a process itself has used.
fn ticks(process: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    Some(fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?)
}

/// Returns the ticks used up to a turn; some turns end between two looks.
fn ticks_by(ticks_at: &[u64], turn: usize) -> u64 {
    ticks_at[..=turn].iter().copied().max().unwrap_or(0)
}

/// A session's events while they are written.
#[derive(Default)]
struct Record {
    read: u64,
    replies: usize,
}

impl Record {
    /// Counts the replies so far.
    fn replies(&mut self, path: &Path) -> usize {
        let mut new = Vec::new();
        if let Ok(mut file) = fs::File::open(path) {
            file.seek(SeekFrom::Start(self.read)).unwrap();
            file.read_to_end(&mut new).unwrap();
        }
        let whole = new.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let lines = new[..whole].split(|byte| *byte == b'\n');
        self.replies += lines.filter(|line| line.starts_with(b"{\"type\":\"replied\"")).count();
        self.read += whole as u64;
        self.replies
    }
}
