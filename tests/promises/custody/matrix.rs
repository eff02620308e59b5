//! P11: every command returns within its limit and two seconds, and nothing it started survives the sandbox.

use crate::place::Place;
use crate::place::alone;
use crate::place::kill;
use crate::place::number;
use crate::place::survivors;
use crate::place::token;
use longhaul::process::Command;
use longhaul::process::Exit;
use longhaul::process::Finished;
use longhaul::process::Leftovers;
use std::io::Write;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use std::time::Duration;
use std::time::Instant;

/// What is allowed beyond the limit.
const BEYOND: Duration = Duration::from_secs(2);

/// What a command does before it ends, or does not. `@T` stands for a time that no other command sleeps.
const DEEDS: [(&str, &str); 25] = [
    ("nothing", ":"),
    ("background", "sleep @T &"),
    ("own session", "setsid sleep @T &"),
    ("double fork", "( ( setsid sleep @T & ) & )"),
    ("own session, no environment", "env -i setsid -f sleep @T"),
    ("double fork, no environment", "( env -i setsid sh -c 'sleep @T & exit' & )"),
    ("daemon without streams", "setsid -f sleep @T <&- >&- 2>&-"),
    ("ignores TERM", "trap '' TERM; sleep @T &"),
    ("ignores all it can", "trap '' HUP INT QUIT TERM USR1 USR2 ALRM PIPE; sleep @T &"),
    ("own session, ignores TERM", "setsid -f sh -c 'trap \"\" TERM; while :; do sleep @T; done'"),
    // B04 of the reports: the polite parent hid the stubborn child.
    ("polite parent, stubborn child", "trap 'exit 0' TERM; sh -c 'trap \"\" TERM; while :; do sleep @T; done' &"),
    ("answers TERM with a child", "trap 'setsid -f sleep @T; sleep @T' TERM"),
    ("stopped child", "sleep @T & kill -STOP $!"),
    ("stopped child, own session", "setsid -f sh -c 'kill -STOP $$; sleep @T'"),
    ("holds the output only", "setsid -f sleep @T 2>/dev/null"),
    ("holds the errors only", "setsid -f sleep @T >/dev/null"),
    ("fork bomb", "bomb() { [ $1 -gt 0 ] || exec sleep @T; bomb $(($1-1)) & bomb $(($1-1)) & wait; }; bomb 5 &"),
    (
        "fork bomb in sessions",
        "for i in 1 2 3 4 5 6 7 8 9 10; do setsid -f sh -c 'sleep @T & sleep @T & sleep @T'; done",
    ),
    ("zombies", "sh -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do : & done; exec sleep @T' &"),
    ("orphaned zombies", "for i in 1 2 3 4 5 6 7 8 9; do ( ( sleep 0.05 & ) & ) ; done"),
    ("reads its input", "cat; read answer"),
    ("opens the terminal", "read answer </dev/tty"),
    ("asks for a password", "stty -echo </dev/tty; printf 'Password: ' >/dev/tty; read answer </dev/tty"),
    ("removes its folder", "mkdir -p d$$ && cd d$$ && rmdir ../d$$; sleep @T &"),
    ("prints without end", "yes @T &"),
];

/// How a command ends, with how long it may take.
const ENDINGS: [(&str, &str, Duration); 2] = [
    ("ends by itself", "exit 3", Duration::from_secs(20)),
    ("over its limit", "while :; do sleep @T; done", Duration::from_millis(200)),
];

struct Case {
    name: String,
    text: String,
    token: String,
    limit: Duration,
    expected: Exit,
}

fn cases() -> Vec<Case> {
    let case = |(deed, text): (&str, &str), (ending, end, limit): (&str, &str, Duration)| {
        let token = token();
        let expected = if end == "exit 3" { Exit::Code(3) } else { Exit::TimedOut };
        let text = format!("{text}\n{end}").replace("@T", &token);
        Case { name: format!("{deed}, {ending}"), text, token, limit, expected }
    };
    DEEDS.iter().flat_map(|deed| ENDINGS.map(|ending| case(*deed, ending))).collect()
}

/// Returns what is wrong with how the command ended.
fn judge(case: &Case, finished: &Finished, slack: Duration) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut blame = |what: String| wrong.push(format!("{}: {what}", case.name));
    if finished.exit != case.expected {
        blame(format!("{:?} instead of {:?}: {}", finished.exit, case.expected, finished.output.last_lines(3)));
    }
    // One that ends by itself does so at once: whatever it left must not hold up the answer.
    let allowed = if case.expected == Exit::TimedOut { case.limit + BEYOND } else { BEYOND };
    if finished.duration > allowed + slack {
        blame(format!("took {:?}", finished.duration));
    }
    wrong
}

/// Runs one case in a sandbox of its own, and looks over the machine when that has ended.
fn play(place: &Place, case: &Case, leftovers: Leftovers) -> Vec<String> {
    let sandbox = place.open();
    let command = Command { leftovers, ..place.command(&case.text) }.limit(case.limit);
    // What a machine with other work to do needs for nothing at all is none of ours; an idle one needs milliseconds.
    let slack = sandbox.run(&place.command(":")).duration * 20;
    let start = Instant::now();
    let mut wrong = judge(case, &sandbox.run(&command), slack);
    if start.elapsed() > case.limit + BEYOND + BEYOND + slack {
        wrong.push(format!("{}: the caller waited {:?}", case.name, start.elapsed()));
    }
    drop(sandbox);
    wrong.extend(survivors(&case.token).iter().map(|line| format!("{}: survived: {line}", case.name)));
    wrong
}

/// Plays all cases `rounds` times in bubblewrap, several at once.
pub(crate) fn in_bubblewrap(rounds: usize) {
    let next = AtomicUsize::new(0);
    let played: Vec<Case> = (0..rounds).flat_map(|_| cases()).collect();
    let work = || {
        let mut wrong = Vec::new();
        let Some(place) = Place::held() else { return wrong };
        while let Some(case) = played.get(next.fetch_add(1, Ordering::Relaxed)) {
            wrong.extend(play(&place, case, Leftovers::Keep));
        }
        wrong
    };
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), played.len(), wrong.join("\n"));
}

fn in_plain_mode(rounds: usize) {
    let _alone = alone();
    let place = Place::plain();
    let played: Vec<Case> = (0..rounds).flat_map(|_| cases()).collect();
    let wrong: Vec<String> = played.iter().flat_map(|case| play(&place, case, Leftovers::End)).collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), played.len(), wrong.join("\n"));
}

#[test]
fn fifty_commands_end_in_bubblewrap_and_leave_nothing() {
    in_bubblewrap(1);
}

#[test]
fn fifty_commands_end_in_plain_mode_and_leave_nothing() {
    in_plain_mode(1);
}

#[test]
#[ignore = "takes minutes: 500 commands in each mode, 1,000 in all"]
fn a_thousand_commands_end_and_leave_nothing() {
    in_bubblewrap(10);
    in_plain_mode(10);
}

/// The twin: a process group alone, without namespace, mark or adoption, leaves behind what went out of it.
#[test]
fn a_process_group_alone_leaves_survivors() {
    let _alone = alone();
    let place = Place::plain();
    let token = token();
    let text = format!("( env -i setsid sh -c 'sleep {token} & exit' & )");
    let command = Command { leftovers: Leftovers::End, ..place.command(&text) };
    let finished = longhaul::process::run(&command, &longhaul::process::Interrupt::new());
    assert_eq!(finished.exit, Exit::Code(0));
    let left = survivors(&token);
    kill(&left.iter().map(|told| number(told)).collect::<Vec<_>>());
    assert!(!left.is_empty());
}

/// B08 of the reports; without an idle limit, the twin, the same command may be silent to its end.
#[test]
fn a_silent_command_is_ended_in_both_modes() {
    let _alone = alone();
    let places = [Some(Place::plain()), Place::held()];
    for place in places.iter().flatten() {
        let sandbox = place.open();
        let silent = |idle: u64| Command {
            idle: Some(Duration::from_millis(idle)).filter(|idle| !idle.is_zero()),
            ..place.command("echo begins; sleep 0.8; echo ends")
        };
        assert_eq!(sandbox.run(&silent(300)).exit, Exit::Silent);
        assert_eq!(sandbox.run(&silent(0)).exit, Exit::Code(0));
        let talks = Command {
            idle: Some(Duration::from_millis(500)),
            ..place.command("for i in 1 2 3 4 5; do echo $i; sleep 0.2; done >&2")
        };
        assert_eq!(sandbox.run(&talks).exit, Exit::Code(0));
    }
}

/// Prints what a sandbox costs: to open and end one, and to run a command in it, against plain mode.
#[test]
#[ignore = "prints times, holds nothing"]
fn what_a_sandbox_costs() {
    const ROUNDS: u32 = 50;
    let _alone = alone();
    let timed = |what: &str, mut work: Box<dyn FnMut() + '_>| {
        work();
        let start = Instant::now();
        (0..ROUNDS).for_each(|_| work());
        writeln!(std::io::stdout(), "{what}: {:.1} ms", start.elapsed().as_secs_f64() * 1000.0 / f64::from(ROUNDS))
            .ok();
    };
    let places = [Place::held().map(|place| ("bubblewrap", place)), Some(("plain", Place::plain()))];
    for (mode, place) in places.iter().flatten() {
        let command = place.command("true");
        let sandbox = place.open();
        timed(&format!("{mode}: a command"), Box::new(|| assert_eq!(sandbox.run(&command).exit, Exit::Code(0))));
        timed(&format!("{mode}: open and end"), Box::new(|| drop(place.open())));
        let whole = || assert_eq!(place.open().run(&command).exit, Exit::Code(0));
        timed(&format!("{mode}: open, a command, end"), Box::new(whole));
    }
}
