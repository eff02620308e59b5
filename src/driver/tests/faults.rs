//! What stop reasons and faults of the service come to: nothing runs twice, nothing of a broken reply runs at all.

use super::*;
use crate::provider::Failure;

#[test]
fn a_reply_that_is_cut_off_runs_no_call_and_is_told_once() {
    let cut = r#"{ text = "long", stop_reason = "max_tokens", tools = [{ name = "bash", input = { command = "touch cut" } }] },"#;
    let mut bench = Bench::new();
    let played = play(&mut bench, &format!("{cut}{BASH}{cut}{cut}"), Play::default());

    assert!(!bench.root().join("cut").exists());
    let told = &played.requests[1]["messages"][2]["content"][0];
    assert!(told["content"].as_str().unwrap().starts_with("not run: your reply was cut off"), "{told}");
    assert!(matches!(played.ending(), Ending::Cut(reason) if reason.starts_with("two replies in a row were cut off")));
    assert_eq!((played.requests.len(), played.rejected.len()), (4, 0));
}

#[test]
fn a_cut_text_is_told_in_a_message_of_its_own() {
    let mut bench = Bench::new();
    let played =
        play(&mut bench, "{ text = \"long\", stop_reason = \"max_tokens\" }, { text = \"bye\" }", Play::default());
    assert_eq!(*played.ending(), Ending::Stopped);
    assert!(played.last_answer()[0]["text"].as_str().unwrap().starts_with("your reply was cut off"));
}

#[test]
fn every_other_stop_reason_has_its_ending() {
    for (reason, ending) in [
        ("refusal", Ending::Refused("no reason given".to_owned())),
        (
            "model_context_window_exceeded",
            Ending::Full("the reply was cut off at the end of the model's window".to_owned()),
        ),
        ("novelty", Ending::Unclear("the model stopped for an unknown reason `novelty`".to_owned())),
        ("stop_sequence", Ending::Stopped),
        ("end_turn", Ending::Stopped),
        ("tool_use", Ending::Unclear("the model stopped to use a tool and called none".to_owned())),
    ] {
        let played =
            play(&mut Bench::new(), &format!("{{ text = \"x\", stop_reason = \"{reason}\" }}"), Play::default());
        assert_eq!(*played.ending(), ending);
        assert_eq!(played.requests.len(), 1);
    }
}

#[test]
fn a_reply_without_a_stop_reason_is_none_and_is_asked_for_again() {
    let without = |rest: &str| format!("{{ text = \"x\", stop_reason = \"\"{rest} }},");
    let call = without(", tools = [{ name = \"bash\", input = { command = \"echo x >>ran\" } }]");
    let mut bench = Bench::new();
    let played = play(&mut bench, &format!("{BASH}{}{call}{BASH}{{ text = \"bye\" }}", without("")), Play::default());
    assert_eq!((played.ending(), played.requests.len()), (&Ending::Stopped, 5));
    assert_eq!((played.of("retrying").len(), played.of("replied").len()), (2, 3));
    assert!(!bench.root().join("ran").exists(), "nothing of it ran");

    let played = play(&mut Bench::new(), &format!("{BASH}{}", without("").repeat(200)), Play::default());
    let Ending::Provider(Failure::Unavailable { tried }) = played.ending() else { panic!("{:?}", played.ending()) };
    assert!(tried.ends_with("the last: broken reply: the reply ended without a `stop_reason`"), "{tried}");
}

#[test]
fn empty_replies_are_told_twice_and_then_are_the_services_fault() {
    for reason in ["end_turn", "stop_sequence", "tool_use", "novelty"] {
        let empty = format!("{{ thinking = \"hm\", stop_reason = \"{reason}\" }},");
        let replies = format!("{BASH}{empty}{empty}{BASH}{empty}{{ text = \"bye\" }}");
        let played = play(&mut Bench::new(), &replies, Play::default());
        assert_eq!((played.ending(), played.requests.len()), (&Ending::Stopped, 6), "{reason}");
        assert_eq!(played.rejected, Vec::<String>::new());
        let texts: Vec<Value> = played.last_answer().iter().map(|block| block["text"].clone()).collect();
        assert_eq!(texts, [Value::Null, json!("your reply was empty")], "the result, and what was wrong since");

        let played = play(&mut Bench::new(), &empty.repeat(9), Play::default());
        assert_eq!(*played.ending(), Ending::Provider(Failure::Empty { replies: 3 }), "{reason}");
        assert!(played.ending().is_free());
        assert_eq!(played.requests.len(), 3);
    }
}

#[test]
fn a_session_goes_on_behind_an_empty_reply() {
    let empty = "{ thinking = \"hm\", stop_reason = \"end_turn\" },";
    let played = play(&mut Bench::new(), &format!("{empty}{empty}{{ text = \"bye\" }}"), Play::default());
    let until = |kind: &str, last: usize| {
        let at = played.events.iter().enumerate().filter(|(_, event)| event["type"] == kind).nth(last);
        Past::read(&played.events[..=at.unwrap().0]).unwrap()
    };
    for (kind, last) in [("replied", 0), ("sent", 2), ("replied", 1)] {
        let past = until(kind, last);
        assert_eq!(past.conversation.newest_role(), Some(crate::message::Role::User), "{kind} {last}");
    }
}

#[test]
fn a_pause_is_sent_back_as_it_came() {
    for reason in ["pause_turn", "compaction"] {
        let replies = format!("{{ text = \"so far\", stop_reason = \"{reason}\" }}, {{ text = \"bye\" }}");
        let played = play(&mut Bench::new(), &replies, Play::default());
        assert_eq!(*played.ending(), Ending::Stopped);
        let messages = played.requests[1]["messages"].as_array().unwrap();
        assert_eq!((messages.len(), &messages[1]["content"][0]["text"]), (2, &json!("so far")));
    }
}

#[test]
fn a_provider_that_refuses_or_stays_away_is_an_ending() {
    let refused = play(&mut Bench::new(), "{ status = 401 }", Play::default());
    assert!(matches!(refused.ending(), Ending::Provider(Failure::Refused { .. })), "{:?}", refused.ending());
    let away = "{ status = 529 },".repeat(200);
    let away = play(&mut Bench::new(), &away, Play::default());
    assert!(matches!(away.ending(), Ending::Provider(Failure::Unavailable { .. })), "{:?}", away.ending());
    assert!(!away.of("retrying").is_empty());
}

#[test]
fn a_conversation_that_is_too_long_ends_the_session_and_a_beginning_that_is_none_can_begin() {
    let long = "{ status = 413, error = { type = \"request_too_large\", message = \"too large\" } }";
    let played = play(&mut Bench::new(), &format!("{BASH}{long}"), Play::default());
    assert!(matches!(played.ending(), Ending::Full(reason) if reason.contains("too long")), "{:?}", played.ending());

    let played = play(&mut Bench::new(), long, Play::default());
    assert!(matches!(played.ending(), Ending::Provider(Failure::TooLong { .. })), "{:?}", played.ending());
    let played = play(&mut Bench::new(), BASH, Play { window: 100, ..Play::default() });
    assert!(matches!(played.ending(), Ending::NoRoom(_)), "{:?}", played.ending());
    assert!(played.requests.is_empty());
}

#[test]
fn after_a_cut_the_next_reply_may_be_longer_and_the_one_after_it_is_as_usual() {
    let cut = r#"{ text = "long", stop_reason = "max_tokens", tools = [{ name = "bash", input = { command = "touch cut" } }] },"#;
    let played = play(&mut Bench::new(), &format!("{cut}{BASH}{{ text = \"bye\" }}"), Play::default());

    let caps: Vec<&Value> = played.requests.iter().map(|request| &request["max_tokens"]).collect();
    assert_eq!(caps, [1000, 2000, 1000]);
}

#[test]
fn a_model_that_takes_no_longer_reply_is_asked_for_the_usual_one() {
    let cut = r#"{ text = "long", stop_reason = "max_tokens" },"#;
    let too_much = r#"{ status = 400, error = { message = "max_tokens: 2000 > 1500" } },"#;
    let played = play(&mut Bench::new(), &format!("{cut}{too_much}{{ text = \"bye\" }}"), Play::default());

    assert_eq!(*played.ending(), Ending::Stopped);
    let caps: Vec<&Value> = played.requests.iter().map(|request| &request["max_tokens"]).collect();
    assert_eq!(caps, [1000, 2000, 1000]);

    let plain = play(&mut Bench::new(), too_much, Play::default());
    assert!(matches!(plain.ending(), Ending::Provider(Failure::Refused { .. })), "without a cut it is a refusal");
}

#[test]
fn a_call_that_comes_twice_in_a_reply_runs_once() {
    let twice = r#"{ tools = [
        { id = "a", name = "bash", input = { command = "echo one >>ran" } },
        { id = "b", name = "bash", input = { command = "echo two >>ran" } },
        { id = "a", name = "bash", input = { command = "echo three >>ran" } },
    ] },"#;
    let mut bench = Bench::new();
    let played = play(&mut bench, &format!("{twice}{{ text = \"bye\" }}"), Play::default());

    assert_eq!((played.ending(), played.rejected.len()), (&Ending::Stopped, 0));
    assert_eq!(fs::read_to_string(bench.root().join("ran")).unwrap(), "one\ntwo\n");
    assert_eq!(played.of("warning")[0]["text"], "the call `a` came twice in one reply and is run once");
}

#[test]
fn an_endpoint_that_counts_its_calls_anew_in_each_reply_is_understood() {
    let call = |text: &str| {
        format!(
            "{{ tools = [{{ id = \"call_0\", name = \"bash\", input = {{ command = \"echo {text} >>ran\" }} }}] }},"
        )
    };
    let replies = [call("one"), call("two"), call("three"), "{ text = \"bye\" }".to_owned()].concat();
    let mut bench = Bench::new();
    let played = play(&mut bench, &replies, Play::default());

    assert_eq!((played.ending(), &played.rejected), (&Ending::Stopped, &Vec::new()));
    assert_eq!(fs::read_to_string(bench.root().join("ran")).unwrap(), "one\ntwo\nthree\n");
    let ids: Vec<&Value> = played.of("tool_ended").iter().map(|event| &event["id"]).collect();
    assert_eq!(ids, ["call_0", "call_0-2", "call_0-3"]);
}

#[test]
fn a_thousand_breaks_within_replies_run_no_tool_twice_and_cost_one_request_each() {
    const SESSIONS: usize = 10;
    const TURNS: usize = 10;
    const BREAKS: usize = 10;
    let call = |turn: usize, cut: &str| {
        format!(
            "{{ text = \"go\", tools = [{{ name = \"bash\", input = {{ command = \"echo {turn} >>ran\" }} }}]{cut} }},\n"
        )
    };
    // Each falls on another event; the last just before `message_stop`, when the call is whole and the reply is not.
    let at = |number| if number + 1 < BREAKS { number } else { 99 };
    let turn =
        |turn| (0..BREAKS).map(move |number| call(turn, &format!(", cut = {}", at(number)))).chain([call(turn, "")]);
    let replies: String = (0..TURNS).flat_map(turn).chain(["{ text = \"bye\" }".to_owned()]).collect();

    for _ in 0..SESSIONS {
        let (first_wait, outage_budget) = (Duration::from_micros(10), Duration::from_secs(60));
        let mut bench = Bench::new();
        let played = play(&mut bench, &replies, Play { first_wait, outage_budget, ..Play::default() });

        assert_eq!((played.ending(), &played.rejected), (&Ending::Stopped, &Vec::new()));
        assert_eq!(played.requests.len(), TURNS * (BREAKS + 1) + 1);
        assert_eq!((played.of("retrying").len(), played.of("replied").len()), (TURNS * BREAKS, TURNS + 1));
        let ran = fs::read_to_string(bench.root().join("ran")).unwrap();
        assert_eq!(ran, (0..TURNS).map(|turn| format!("{turn}\n")).collect::<String>());
    }
}

#[test]
fn what_a_broken_reply_used_is_counted_and_bounds_the_asking_again() {
    let broken = r#"{ text = "abc", cut = 3, usage = { input_tokens = 2_000_000 } },"#;

    let played = play(&mut Bench::new(), &format!("{broken}{{ text = \"bye\" }}"), Play::default());
    assert_eq!(*played.ending(), Ending::Stopped);
    let used = played.of("used")[0];
    assert_eq!((&used["by"], &used["cost"]), (&json!("broken reply"), &json!(0.5)));
    assert!(used["usage"]["input"].as_u64().unwrap() >= 2_000_000, "{used}");
    assert_eq!((played.of("used").len(), played.of("replied").len()), (1, 1), "a whole one is counted once");

    // The last turn may be asked again; what bounds it is what it costs.
    let played = play(&mut Bench::new(), &broken.repeat(9), Play { turns: 1, ..Play::default() });
    assert_eq!(*played.ending(), Ending::Limit("the tokens are used up".to_owned()));
    assert_eq!((played.requests.len(), played.of("used").len()), (3, 3));
}

#[test]
fn a_call_by_an_id_that_the_service_would_not_take_back_goes_by_another() {
    let calls = r#"{ tools = [
        { id = "call:1", name = "bash", input = { command = "echo one >>ran" } },
        { id = "call 1", name = "bash", input = { command = "echo two >>ran" } },
    ] }, { text = "bye" },"#;
    let mut bench = Bench::new();
    let played = play(&mut bench, calls, Play::default());

    assert_eq!((played.ending(), &played.rejected), (&Ending::Stopped, &Vec::new()));
    let sent = |at: usize, key: &str| {
        let blocks = played.requests[1]["messages"][at]["content"].as_array().unwrap();
        blocks.iter().map(|block| block[key].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        (sent(1, "id"), sent(2, "tool_use_id")),
        (vec!["call_1".to_owned(), "call_1-2".to_owned()], sent(1, "id"))
    );
    assert_eq!(fs::read_to_string(bench.root().join("ran")).unwrap(), "one\ntwo\n");
    let told = played.of("warning")[0]["text"].as_str().unwrap();
    assert_eq!(told, "the id `call:1` is no id the service takes back; the call goes by `call_1`");
}

#[test]
fn a_call_by_a_name_that_the_service_would_not_take_back_goes_by_another() {
    let call = r#"{ tools = [{ name = "no such: tool", input = { } }] }, { text = "bye" },"#;
    let played = play(&mut Bench::new(), call, Play::default());

    assert_eq!((played.ending(), &played.rejected), (&Ending::Stopped, &Vec::new()));
    assert_eq!(played.requests[1]["messages"][1]["content"][0]["name"], "no_such__tool");
    let told = played.last_answer()[0]["content"].as_str().unwrap().to_owned();
    assert!(told.starts_with("there is no tool `no_such__tool`; there are"), "{told}");
    assert!(played.of("warning")[0]["text"].as_str().unwrap().starts_with("`no such: tool` is no name of a tool"));
}

#[test]
fn thinking_that_the_service_does_not_take_back_is_left_out_and_the_session_goes_on() {
    let refused = |message: &str| {
        format!(r#"{{ status = 400, error = {{ type = "invalid_request_error", message = "{message}" }} }},"#)
    };
    let of_thinking = refused(
        "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation.",
    );
    let thought = r#"{ thinking = "hm", text = "so", tools = [{ name = "bash", input = { command = "true" } }] },"#;
    let bye = r#"{ thinking = "well", text = "bye" },"#;

    let played = play(&mut Bench::new(), &format!("{thought}{thought}{of_thinking}{bye}"), Play::default());

    assert_eq!(played.ending(), &Ending::Stopped);
    assert_eq!(played.rejected, Vec::<String>::new());
    let thinking = |request: &Value| request["messages"].to_string().matches(r#""type":"thinking""#).count();
    assert_eq!(played.requests.iter().map(thinking).collect::<Vec<_>>(), [0, 1, 2, 0]);
    let kept = played.requests[3]["messages"][1]["content"].as_array().unwrap();
    assert_eq!((kept[0]["text"].as_str(), kept.len()), (Some("so"), 2));
    assert!(json!(played.of("warning")).to_string().contains("what the agent thought so far"));

    // Once is enough, without thinking there is nothing to leave out, and other refusals are others.
    for (replies, asked) in [
        (format!("{thought}{of_thinking}{of_thinking}{bye}"), 3),
        (format!("{BASH}{of_thinking}{bye}"), 2),
        (format!("{thought}{}{bye}", refused("messages.1: of another kind")), 2),
    ] {
        let played = play(&mut Bench::new(), &replies, Play::default());
        assert!(matches!(played.ending(), Ending::Provider(Failure::Refused { .. })), "{:?}", played.ending());
        assert_eq!(played.requests.len(), asked);
    }
}
