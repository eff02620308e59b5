//! An agent that goes round in a circle.

use super::*;

fn said(played: &Played, request: usize) -> Vec<String> {
    let blocks = played.requests[request]["messages"].as_array().unwrap().last().unwrap()["content"].clone();
    blocks.as_array().unwrap().iter().filter_map(|block| block["text"].as_str().map(str::to_owned)).collect()
}

#[test]
fn the_same_call_is_told_at_the_third_time_and_ends_the_session_at_the_sixth() {
    let played = play(&mut Bench::new(), &BASH.repeat(9), Play::default());

    let reason =
        "the same call came 6 times in a row with the same result: `bash` {\"command\":\"echo hello\"} gave `hello`";
    assert_eq!(*played.ending(), Ending::Stuck(reason.to_owned()));
    assert_eq!((played.requests.len(), played.rejected.len()), (6, 0));
    let told: Vec<usize> = (0..6).map(|request| said(&played, request).len()).collect();
    assert_eq!(told, [1, 0, 0, 1, 1, 1], "the first message, and the nudges");
    assert_eq!(said(&played, 3), ["the same again"]);
    let last = played.of("sent").last().unwrap()["content"].clone();
    assert_eq!(last[0]["type"], "tool_result", "the last call is answered");
}

#[test]
fn waiting_for_something_that_moves_is_no_circle() {
    let mut bench = Bench::new();
    let poll = r#"{ tools = [{ name = "bash", input = { command = "echo x >>f; wc -l <f" } }] },"#;
    let played = play(&mut bench, &format!("{}{{ text = \"bye\" }}", poll.repeat(9)), Play::default());

    assert_eq!((played.ending(), played.requests.len()), (&Ending::Stopped, 10));
    assert!((1..10).all(|request| said(&played, request).is_empty()));
}

#[test]
fn who_does_something_else_after_the_nudge_goes_on() {
    let other = r#"{ tools = [{ name = "bash", input = { command = "pwd" } }] },"#;
    let round = format!("{}{other}", BASH.repeat(5));
    let played = play(&mut Bench::new(), &format!("{}{{ text = \"bye\" }}", round.repeat(2)), Play::default());
    assert_eq!((played.ending(), played.requests.len()), (&Ending::Stopped, 13));
}

#[test]
fn a_hand_over_beside_the_same_call_again_is_a_hand_over() {
    let mut bench = Bench::new();
    bench.call("hand_over", json!({"done": "x"}));
    let played = play(&mut bench, &format!("{}{HAND_OVER}", BASH.repeat(5)), Play::default());
    assert!(matches!(played.ending(), Ending::HandedOver(_)));
}

#[test]
fn a_pause_without_end_ends_the_session_and_one_that_ends_does_not() {
    for reason in ["pause_turn", "compaction"] {
        let pause = format!(r#"{{ text = "so far", stop_reason = "{reason}" }},"#);
        let played = play(&mut Bench::new(), &pause.repeat(30), Play { turns: 30, ..Play::default() });
        let told = format!(
            "the service stopped 10 replies in a row for a pause (the last for `{reason}`), and none called a tool or came to \
             an end"
        );
        assert_eq!((played.ending(), played.requests.len()), (&Ending::Stuck(told), 10), "{reason}");

        let twin = format!("{}{BASH}{}{{ text = \"bye\" }}", pause.repeat(9), pause.repeat(9));
        let played = play(&mut Bench::new(), &twin, Play { turns: 30, ..Play::default() });
        assert_eq!((played.ending(), played.requests.len()), (&Ending::Stopped, 20), "{reason}");
    }
}
