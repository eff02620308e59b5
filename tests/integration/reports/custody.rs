//! Family B: the custody of processes.

use crate::support::Project;
use crate::support::bash;
use crate::support::hand_over;
use crate::support::reply;
use crate::support::session;

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
