//! How commands end, what of their output is kept, and what an interrupt does to them.

use super::*;

fn shell(text: &str) -> Command {
    let path = std::env::var("PATH").unwrap();
    let mut command = Command::shell(text, Path::new("/"), BTreeMap::from([("PATH".to_owned(), path)]));
    command.limit = Duration::from_secs(20);
    command.grace = Duration::from_millis(200);
    command
}

fn finish(command: &Command) -> Finished {
    run(command, &Interrupt::new())
}

#[test]
fn both_streams_come_in_the_order_they_were_written() {
    let finished = finish(&shell("echo one; echo two >&2; echo three; exit 3"));
    assert_eq!((finished.exit, finished.output.text().as_str()), (Exit::Code(3), "one\ntwo\nthree\n"));
}

#[test]
fn errors_kept_apart_are_not_in_the_data() {
    let mut command = shell("echo data; echo warning >&2");
    command.errors = Errors::Apart;
    let finished = finish(&command);
    assert_eq!((finished.output.text().as_str(), finished.errors.text().as_str()), ("data\n", "warning\n"));
}

#[test]
fn a_background_child_holding_the_output_delays_nothing() {
    // B01 of the reports: a limit of 2 s took 31 s.
    let finished = finish(&shell("sleep 300 & echo $!").limit(Duration::from_secs(2)));
    let group_of_sleep = finished.output.text().trim().parse().unwrap();
    assert_eq!(finished.exit, Exit::Code(0));
    assert!(finished.duration < Duration::from_secs(2), "{:?}", finished.duration);
    assert!(!group::process_lives(group_of_sleep));
}

#[test]
fn a_descendant_with_its_own_session_delays_nothing() {
    for code in [0, 1] {
        let finished = finish(&shell(&format!("setsid sleep 5 & echo $!; exit {code}")));
        assert_eq!(finished.exit, Exit::Code(code));
        assert!(finished.duration < Duration::from_secs(4), "{:?}", finished.duration);
    }
}

#[test]
fn a_child_that_ignores_term_is_killed_after_the_grace() {
    let finished = finish(&shell("trap '' TERM; echo $$; while :; do sleep 1; done").limit(Duration::from_millis(300)));
    let child = finished.output.text().trim().parse().unwrap();
    assert_eq!(finished.exit, Exit::TimedOut);
    assert!(!group::lives(child));
}

#[test]
fn a_late_exit_with_0_on_term_is_still_too_late() {
    let late = shell("trap 'exit 0' TERM; while :; do sleep 0.1; done").limit(Duration::from_millis(200));
    assert_eq!(finish(&late).exit, Exit::TimedOut);
}

#[test]
fn a_reader_of_standard_input_sees_its_end() {
    let finished = finish(&shell("cat; echo end"));
    assert_eq!((finished.exit, finished.output.text().as_str()), (Exit::Code(0), "end\n"));
}

#[test]
fn given_bytes_reach_standard_input() {
    let finished = finish(&Command { stdin: Some(b"hello".to_vec()), ..shell("cat") });
    assert_eq!(finished.output.text(), "hello");
}

#[test]
fn all_given_bytes_are_there_before_the_child_starts() {
    let bytes = vec![b'x'; 1_000_000];
    assert_eq!(finish(&Command { stdin: Some(bytes), ..shell("stat -L -c %s /dev/stdin") }).output.text(), "1000000\n");
}

#[test]
fn endless_output_is_counted_and_only_its_ends_are_kept() {
    let command = Command { keep: 10, ..shell("printf 'head......'; yes | head -c 5000000; printf '......tail'") };
    let output = finish(&command).output;
    assert_eq!(
        (output.size, output.head.as_slice(), output.tail.as_slice()),
        (5_000_020, &b"head......"[..], &b"......tail"[..])
    );
    assert_eq!(output.text(), "head......\n[… 5000000 bytes left out …]\n......tail");
}

#[test]
fn endless_output_ends_with_the_limit() {
    let finished = finish(&Command { keep: 100, ..shell("yes") }.limit(Duration::from_millis(300)));
    assert_eq!((finished.exit, finished.output.head.len(), finished.output.tail.len()), (Exit::TimedOut, 100, 100));
}

#[test]
fn a_signal_from_elsewhere_is_told_as_one() {
    assert_eq!(finish(&shell("kill -9 $$")).exit, Exit::Signal(9));
}

#[test]
fn what_cannot_start_says_why() {
    let nowhere = Command::shell("true", Path::new("/no/such/place"), BTreeMap::new());
    let reason = "could not start `sh` in `/no/such/place`: no such directory".to_owned();
    assert_eq!(finish(&nowhere).exit, Exit::NotStarted(reason));
    let unknown = Command { program: "no-such-program".into(), ..shell("") };
    assert!(matches!(finish(&unknown).exit, Exit::NotStarted(reason) if reason.contains("`no-such-program`")));
}

#[test]
fn an_interrupt_ends_a_running_command_and_lets_none_start() {
    let interrupt = Interrupt::new();
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("started");
    finish(&shell(&format!("mkfifo '{}'", fifo.display())));
    let command = shell(&format!("echo > '{}'; sleep 300", fifo.display()));
    let finished = std::thread::scope(|scope| {
        let running = scope.spawn(|| run(&command, &interrupt));
        std::fs::read(&fifo).unwrap();
        interrupt.request();
        running.join().unwrap()
    });
    assert_eq!(finished.exit, Exit::Interrupted);
    assert_eq!(run(&shell("true"), &interrupt).exit, Exit::Interrupted);
    assert_eq!(run(&shell("true"), &interrupt.for_cleanup()).exit, Exit::Code(0));
}

#[test]
fn a_second_interrupt_kills_without_grace() {
    let interrupt = Interrupt::new();
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("started");
    finish(&shell(&format!("mkfifo '{}'", fifo.display())));
    let text = format!("trap '' TERM; echo > '{}'; while :; do sleep 1; done", fifo.display());
    let command = Command { grace: Duration::from_secs(60), ..shell(&text) };
    let finished = std::thread::scope(|scope| {
        let running = scope.spawn(|| run(&command, &interrupt));
        std::fs::read(&fifo).unwrap();
        interrupt.request();
        interrupt.kill_groups();
        running.join().unwrap()
    });
    assert!(finished.duration < Duration::from_secs(20), "{:?}", finished.duration);
}
