//! Family B: the custody of processes.

use crate::support::Project;
use crate::support::bash;
use crate::support::ends;
use crate::support::hand_over;
use crate::support::reply;
use crate::support::session;
use crate::support::signal;
use std::net::TcpListener;
use std::net::TcpStream;
use std::time::Duration;
use std::time::Instant;

/// B01: a background child that held the output made a limit of 2 s take 31 s.
#[test]
fn b01_a_background_child_does_not_hold_up_the_verdict() {
    let check = r#"{"id": "server", "title": "serves", "check": {"run": "test -f ready && { sleep 300 & echo $! > \"$TMPDIR/../pid\"; echo ok; }", "timeout": "20s"}}"#;
    let project = Project::ready();
    project.run_with(["feature", "add", "-"], check).exits(0);
    let project = project.model([session([reply([bash("touch ready")]), reply([hand_over()])])]);

    project.run(["run"]).exits(0);

    let seconds = project.stored("server")["evidence"]["seconds"].as_f64().unwrap();
    assert!(seconds < 10.0, "the verdict took {seconds} s");
}

/// B10: a headless agent waited for the end of its input for ever, 4,180 times.
#[test]
fn b10_a_command_that_reads_its_input_sees_the_end_at_once() {
    let project = Project::ready().feature("reads", "cat > /dev/null && test -f ready").model([session([
        reply([bash("cat; read answer; echo read ended with $?; touch ready")]),
        reply([hand_over()]),
    ])]);

    project.run(["run"]).exits(0);

    assert!(project.played().results_in(2).contains("read ended with 1"), "{}", project.played().results_in(2));
}

/// B03: children of a killed parent burned the processor for an hour; B06: one of them held a port, and the next session
/// blamed its own code. The next start ends it, names it with its port, and the check gets the port.
#[test]
fn b03_b06_what_a_killed_run_left_is_named_with_its_port_and_ended_by_the_next() {
    let port = free_port();
    let check = format!("test -f done && {}", binds(port));
    let stuck = format!("{} & touch done; echo > ../here; sleep 300", serves(port));
    let project = Project::ready()
        .feature("serves", &check)
        .model([session([reply([bash(&stuck)])]), session([reply([bash("true")]), reply([hand_over()])])]);
    let pipe = project.root().join("../here");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut child = project.start(["run"]);
    std::fs::read(&pipe).unwrap();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(TcpStream::connect(("127.0.0.1", port)).is_ok(), "the server outlives the run: plain mode holds nothing");

    let run = project.run(["run"]);

    run.exits(0).tells("commands of a longhaul that was killed were still running, and were ended");
    run.tells(&format!("on port {port}"));
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
}

/// B06: a check starts a server that leaves its session and its group; run twice, the second met a port in use.
#[test]
fn b06_a_check_that_leaves_its_server_on_a_port_can_run_again() {
    let port = free_port();
    let check = format!("test -f a && setsid -f {} && {}", serves(port), listened(port));
    let project =
        Project::ready().feature("a", &check).model([session([reply([bash("touch a")]), reply([hand_over()])])]);
    project.run(["run"]).exits(0);
    for _ in 0..2 {
        project.run(["check", "a"]).exits(0);
        assert!(TcpStream::connect(("127.0.0.1", port)).is_err(), "nothing of the check lives on");
    }
}

/// B05: the exit code was known, and a descendant in a session of its own turned it into a timeout.
#[test]
fn b05_a_descendant_in_its_own_session_changes_no_verdict() {
    let project = Project::ready()
        .feature("passes", "test -f a && { setsid sleep 300 & exit 0; }")
        .feature("fails", "test -f a && { setsid sleep 300 & exit 1; }; exit 1")
        .model([session([reply([bash("touch a")]), reply([hand_over()])])]);
    project.run(["run", "--sessions", "1"]);
    let start = Instant::now();
    project.run(["check", "passes"]).exits(0);
    project.run(["check", "fails"]).exits(8).shows("failed").hides("timed out");
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

/// B07: servers survived the session that had started them.
#[test]
fn b07_a_server_ends_with_its_session_and_is_named() {
    let port = free_port();
    let server = format!("setsid -f {} >/dev/null 2>&1; {} && touch a", serves(port), listened(port));
    let project =
        Project::ready().feature("a", "test -f a").model([session([reply([bash(&server)]), reply([hand_over()])])]);
    project.run(["run"]).exits(0).shows("ended with the session").shows(&format!("on port {port}"));
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
}

/// B08: a check hung in silence, and eight of its kind were found later.
#[test]
fn b08_a_check_that_says_nothing_for_too_long_is_ended() {
    let check = "test -f a || exit 1; echo begins; sleep 300.0808";
    let project =
        Project::ready().feature("a", check).model([session([reply([bash("touch a")]), reply([hand_over()])])]);
    let start = Instant::now();
    project.run(["run", "--sessions", "1", "--set", "gate.idle=500ms"]).shows("printed nothing");
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    assert_ne!(project.status("a"), "proven");
    let all = std::process::Command::new("ps").args(["-eo", "args"]).output().unwrap();
    assert!(!String::from_utf8_lossy(&all.stdout).contains("sleep 300.0808"));
}

/// The twin of B08: one that says something now and then may take its time, and without the setting silence is no fault.
#[test]
fn b08_a_check_that_keeps_talking_is_not_silent() {
    let check = "test -f a || exit 1; for i in 1 2 3 4; do echo $i; sleep 0.3; done";
    let project =
        Project::ready().feature("a", check).model([session([reply([bash("touch a")]), reply([hand_over()])])]);
    project.run(["run", "--set", "gate.idle=1s"]).exits(0);
    project.run_with(["feature", "add", "-"], r#"{"id": "b", "title": "b", "check": {"run": "sleep 0.9; test -f b"}}"#);
    project.write("b", "");
    project.git(["add", "b"]);
    project.git(["commit", "-qm", "b"]);
    project.run(["check", "b"]).exits(0);
    project.run(["check", "b", "--set", "gate.idle=300ms"]).exits(8).shows("printed nothing");
}

/// B12: the result came and the process never ended; B13: the session called itself a success while its work was killed
/// in the middle. What counts is what the gate finds afterwards.
#[test]
fn b12_b13_a_success_that_is_only_said_counts_for_nothing() {
    let check = r#"{"id": "a", "title": "a", "check": {"run": "test -f a && { echo '{\"result\": \"success\"}'; sleep 300; }", "timeout": "1s"}}"#;
    let project = Project::ready().feature("later", "test -f later");
    project.run_with(["feature", "add", "-"], check).exits(0);
    let later = "touch a; (sleep 300; touch later) & echo '{\"type\": \"result\", \"subtype\": \"success\"}'";
    let project = project.model([session([reply([bash(later)]), reply([hand_over()])])]);
    project.run(["run", "--sessions", "1"]).shows("ended with the session");
    project.run(["check", "a"]).exits(8).shows("timed out");
    assert_eq!((project.status("later").as_str(), project.status("a").as_str()), ("open", "open"));
}

/// B15: an interrupt ended the tool while its child went on, and the record had no end.
#[test]
fn b15_an_interrupt_ends_the_child_too_and_the_record_has_its_end() {
    for signals in [&["INT"][..], &["TERM"], &["HUP"], &["INT", "INT"]] {
        let stuck = "(trap '' TERM INT HUP; echo $$ > ../child; echo > ../here; while :; do sleep 1; done)";
        let project =
            Project::ready().feature("a", "test -f a").model([session([reply([bash(stuck)]), reply([hand_over()])])]);
        let pipe = project.root().join("../here");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let child = project.start(["run"]);
        std::fs::read(&pipe).unwrap();
        signals.iter().for_each(|name| signal(&child, name));
        assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130), "{signals:?}");
        assert!(ends(&project.read("../child")), "{signals:?}");
        if signals.len() == 1 {
            assert_eq!(project.events(1).last().unwrap()["type"], "session_ended", "{signals:?}");
        }
    }
}

/// T42: a signal while a reply streams in, also twice, and TERM after INT. The next run goes on.
#[test]
fn t42_a_signal_in_mid_stream_ends_the_run_and_nothing_is_lost() {
    for signals in [&["INT"][..], &["TERM"], &["INT", "INT"], &["INT", "TERM"]] {
        let silent = serde_json::json!({"text": "never whole", "silence": "60s"});
        let project = Project::ready().feature("a", "test -f a").model([
            session([reply([bash("echo half >half")]), silent]),
            session([reply([bash("cp half a")]), reply([hand_over()])]),
        ]);
        let child = project.start(["run"]);
        project.played().wait_for_silence();

        signals.iter().for_each(|name| signal(&child, name));

        assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130), "{signals:?}");
        assert_eq!(project.events(1).iter().filter(|event| event["type"] == "replied").count(), 1, "{signals:?}");
        project.run(["run"]).exits(0);
        assert_eq!(project.read("a"), "half\n", "{signals:?}");
        assert_eq!(project.stored("a")["attempts"], 0, "{signals:?}");
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A server that stays.
fn serves(port: u16) -> String {
    python(port, "; import time; time.sleep(300)")
}

/// A program that needs the port, and nothing more.
fn binds(port: u16) -> String {
    python(port, "")
}

fn python(port: u16, then: &str) -> String {
    format!(
        "python3 -c 'import socket; s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); \
         s.bind((\"127.0.0.1\", {port})); s.listen(){then}'"
    )
}

/// Waits until somebody listens on the port; fails after some seconds.
fn listened(port: u16) -> String {
    format!(
        "for i in $(seq 100); do grep -qi ':{port:04X} .* 0A ' /proc/net/tcp && break; sleep 0.1; done; test $i -lt 100"
    )
}
