//! A session that was cut off anywhere: what is rebuilt of it the service takes, and nothing runs twice.

use super::*;
use crate::message::Message;
use crate::message::ToolResult;
use crate::secrets::HIDDEN;

/// A session with all that a conversation can hold; each command leaves a mark of having run.
fn eventful() -> Played {
    let played = eventful_in(30_000);
    assert!(!played.of("cleared").is_empty());
    let sent = json!(played.of("sent")).to_string();
    assert!(sent.contains("the same again") && sent.contains("notes, for: "), "{sent}");
    played
}

/// The same in a window of this size.
fn eventful_in(window: u64) -> Played {
    let ran = |name: &str| format!("{{ name = \"bash\", id = \"same\", input = {{ command = \"echo {name}\" }} }}");
    let note = r#"{ name = "memory", input = { command = "create", path = "/memories/notes/a.md", file_text = "x" } }"#;
    let large =
        |size: u32| format!(r#"{{ name = "bash", input = {{ command = "head -c {size} /dev/zero | tr '\\0' x" }} }}"#);
    let mut replies = format!(
        r#"{{ thinking = "first", text = "both", tools = [{}, {note}, {{ name = "nonsense" }}] }},
        {{ text = "again", tools = [{}] }},
        {{ text = "so far", stop_reason = "pause_turn" }},
        {{ text = "long", stop_reason = "max_tokens", tools = [{}] }},
        {{ tools = [{}] }},"#,
        ran("one"),
        ran("two"),
        ran("never"),
        ran("three"),
    );
    for size in [9000, 9000, 9000].into_iter().chain(9001..9012) {
        replies.push_str(&format!("{{ tools = [{}] }},\n", large(size)));
    }
    let played = play(
        &mut Bench::new(),
        &format!("{replies}{HAND_OVER}"),
        Play { window, turns: 40, reminder: Some("notes"), ..Play::default() },
    );
    assert!(matches!(played.ending(), Ending::HandedOver(_)), "{:?}", played.ending());
    played
}

fn lines(events: &[Value]) -> Vec<String> {
    events.iter().map(Value::to_string).collect()
}

/// Reads lines as a transcript does: those that are torn are left out.
fn read(lines: &[String]) -> Vec<Value> {
    lines.iter().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Goes on with a session that is not over, and holds that the service takes it. Tells whether it was one.
pub(super) fn goes_on(bench: &mut Bench, events: &[Value], at: &str) -> Option<Played> {
    let past = Past::read(events).ok()?;
    let played = play_from(bench, r#"{ text = "bye" },"#, Play::default(), |driver, toolbox, meter| {
        go_on(driver, toolbox, past, "you were cut off", meter)
    });
    assert_eq!((played.ending(), &played.rejected), (&Ending::Stopped, &Vec::new()), "{at}");
    assert_eq!(played.of("tool_started"), Vec::<&Value>::new(), "nothing is run again");
    let request = played.requests[0].to_string();
    assert_eq!(request.matches("you were cut off").count(), 1, "{at}");
    Some(played)
}

/// Goes on with a session and plays these replies.
fn again(bench: &mut Bench, events: &[Value], replies: &str) -> Played {
    let past = Past::read(events).unwrap();
    play_from(bench, replies, Play::default(), |driver, tools, meter| {
        go_on(driver, tools, past, "you were cut off", meter)
    })
}

#[test]
fn cut_between_any_two_lines_or_within_one_the_conversation_is_one_that_the_service_takes() {
    let (mut bench, lines) = (Bench::new(), lines(&eventful().events));
    let mut went_on = 0;
    for cut in 0..=lines.len() {
        let mut kept = lines[..cut].to_vec();
        went_on += usize::from(goes_on(&mut bench, &read(&kept), &format!("after line {cut}")).is_some());
        if let Some(torn) = lines.get(cut) {
            kept.push(torn[..torn.len() / 2].to_owned());
            goes_on(&mut bench, &read(&kept), &format!("within line {cut}"));
        }
    }
    // Not before the first message, and not after the hand-over.
    assert!(went_on > lines.len() - 8 && went_on < lines.len(), "{went_on} of {}", lines.len());
}

#[test]
fn a_second_cut_finds_what_the_first_one_left() {
    let (mut bench, lines) = (Bench::new(), lines(&eventful().events));
    for cut in (2..lines.len()).step_by(3) {
        let Some(second) = goes_on(&mut bench, &read(&lines[..cut]), "the first time") else { continue };
        let mut both = read(&lines[..cut]);
        // Up to what was said to the model then, without its reply.
        both.extend(second.events.iter().take_while(|event| event["type"] != "replied").cloned());
        let past = Past::read(&both).unwrap_or_else(|reason| panic!("after line {cut}: {reason}"));
        let request = &second.requests[0]["messages"];
        let laid_out = |message: &Message| json!({"role": message.role.name(), "content": message.content});
        let rebuilt: Vec<Value> = past.conversation.messages().iter().map(laid_out).collect();
        assert_eq!(json!(rebuilt), without_marks(request.clone()), "after line {cut}");
    }
}

#[test]
fn what_was_sent_before_a_cut_stands_before_what_is_sent_after_it() {
    // Thinking holds only after the very words it followed, and so does the cache.
    let (mut bench, played) = (Bench::new(), eventful_in(0));
    let replies = |messages: &[Value]| messages.iter().filter(|message| message["role"] == "assistant").count();
    let messages_of = |request: &Value| without_marks(request["messages"].clone()).as_array().unwrap().clone();
    let live: Vec<Vec<Value>> = played.requests.iter().map(messages_of).collect();
    let mut compared = 0;
    for cut in 2..played.events.len() {
        let Some(again) = goes_on(&mut bench, &played.events[..cut], "") else { continue };
        for field in ["system", "tools"] {
            let of = |played: &Played| without_marks(played.requests[0][field].clone());
            assert_eq!(of(&again), of(&played), "{field}");
        }
        let now = messages_of(&again.requests[0]);
        // The hand-over was no longer answered by a request.
        let Some(before) = live.iter().rfind(|messages| replies(messages) == replies(&now)) else { continue };
        compared += 1;
        let (newest, earlier) = before.split_last().unwrap();
        assert_eq!(&now[..earlier.len()], earlier, "after line {cut}");
        if played.events[cut - 1]["type"] == "sent" {
            let blocks = newest["content"].as_array().unwrap();
            assert_eq!(&now[earlier.len()]["content"].as_array().unwrap()[..blocks.len()], blocks, "after line {cut}");
        }
    }
    assert!(compared > played.events.len() - 15, "{compared}");
}

fn without_marks(mut value: Value) -> Value {
    match &mut value {
        Value::Array(items) => items.iter_mut().for_each(|item| *item = without_marks(item.take())),
        Value::Object(fields) => {
            fields.shift_remove("cache_control");
            fields.values_mut().for_each(|field| *field = without_marks(field.take()));
        }
        _ => {}
    }
    value
}

#[test]
fn a_record_with_lines_missing_is_still_a_conversation() {
    let (mut bench, lines) = (Bench::new(), lines(&eventful().events));
    let mut seed: usize = 0x9e37;
    let mut below = |limit: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % limit
    };
    let mut went_on = 0;
    for round in 0..150 {
        let mut kept = lines[..8 + below(lines.len() - 8)].to_vec();
        for _ in 0..=below(4) {
            let at = below(kept.len());
            kept.remove(at);
        }
        went_on += usize::from(goes_on(&mut bench, &read(&kept), &format!("round {round}")).is_some());
    }
    assert!(went_on > 60, "{went_on}");
}

/// Events of a session whose only reply calls three tools, up to some moment.
fn three_calls(after: usize) -> Vec<Value> {
    let call = |id: &str, name: &str| json!({"type": "tool_use", "id": id, "name": name, "input": {"command": id}});
    let content = json!([call("a", "bash"), call("b", "memory"), call("c", "bash")]);
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let events = [
        json!({"type": "sent", "turn": 0, "content": text("the rules")}),
        json!({"type": "sent", "turn": 1, "content": text("the task")}),
        json!({"type": "replied", "turn": 1, "message": {"content": content, "stop_reason": "tool_use"}}),
        json!({"type": "tool_started", "turn": 1, "id": "a", "name": "bash", "input": {}}),
        json!({"type": "tool_ended", "turn": 1, "id": "a", "name": "bash", "is_error": true, "content": "no", "seconds": 1}),
        json!({"type": "tool_started", "turn": 1, "id": "b", "name": "memory", "input": {}}),
    ];
    events[..after].to_vec()
}

fn results_of(mut past: Past) -> Vec<(String, bool)> {
    let text = |block: &Value| block["content"].as_str().unwrap().chars().take(11).collect();
    past.answers().iter().map(|block| (text(block), block["is_error"] == true)).collect()
}

#[test]
fn each_call_is_told_what_is_known_of_it() {
    let result = |text: &str| (text.to_owned(), true);
    for (after, expected) in [
        (3, ["not run: lo", "not run: lo", "not run: lo"]),
        (4, ["interrupted", "not run: lo", "not run: lo"]),
        (5, ["no", "not run: lo", "not run: lo"]),
        (6, ["no", "interrupted", "not run: lo"]),
    ] {
        assert_eq!(results_of(Past::read(&three_calls(after)).unwrap()), expected.map(result), "{after}");
    }
    for (after, asked) in [(3, vec!["a", "b", "c"]), (6, vec!["b", "c"])] {
        let (mut past, mut seen) = (Past::read(&three_calls(after)).unwrap(), Vec::new());
        let mut known = |call: &crate::message::ToolCall, turn: u32| {
            seen.push(call.id.clone());
            assert_eq!(turn, 1);
            Ok((call.name == "memory").then(|| ToolResult::text("landed")))
        };
        past.settle(&mut known).unwrap();
        assert_eq!(seen, asked, "what ended is not asked for");
        assert_eq!(results_of(past)[1], ("landed".to_owned(), false));
    }
}

#[test]
fn a_session_is_over_exactly_where_a_living_one_would_have_ended() {
    for reason in [
        "end_turn",
        "stop_sequence",
        "tool_use",
        "pause_turn",
        "compaction",
        "max_tokens",
        "refusal",
        "model_context_window_exceeded",
        "novelty",
    ] {
        for call in ["", ", tools = [{ name = \"bash\", input = { command = \"true\" } }]"] {
            let replies = format!("{{ text = \"x\", stop_reason = \"{reason}\"{call} }}, {{ text = \"bye\" }},");
            let played = play(&mut Bench::new(), &replies, Play::default());
            let reply = played.events.iter().position(|event| event["type"] == "replied").unwrap();
            let ended = played.requests.len() == 1;
            assert_eq!(Past::read(&played.events[..=reply]).is_err(), ended, "{reason}{call}");
        }
    }
    let cut = r#"{ text = "x", stop_reason = "max_tokens" },"#;
    let played = play(&mut Bench::new(), &format!("{cut}{cut}"), Play::default());
    assert!(Past::read(&played.events).is_err());
    assert!(Past::read(&three_calls(1)).is_err() && Past::read(&three_calls(2)).is_ok());
    let mut hook = three_calls(3);
    hook.push(json!({"type": "hook_step", "step": "leftover changes committed"}));
    assert_eq!(Past::read(&hook).err(), Some("it had made its last turn"));
}

#[test]
fn an_agent_in_a_circle_is_in_it_after_a_cut() {
    let same = |times| BASH.repeat(times);
    for (before, after, told) in [(1, 1, false), (2, 1, true)] {
        let mut bench = Bench::new();
        let first = play(&mut bench, &same(before), Play::default());
        let second = again(&mut bench, &first.events, &same(after));
        let said = json!(second.of("sent")).to_string();
        assert_eq!(said.contains("the same again"), told, "{before} and {after}: {said}");
    }
    let mut bench = Bench::new();
    let first = play(&mut bench, &same(5), Play::default());
    let second = again(&mut bench, &first.events, &same(2));
    assert!(matches!(second.ending(), Ending::Stuck(_)), "{:?}", second.ending());
    // The end of the turns, and the hook is not in the record yet.
    let stuck = play(&mut bench, &same(6), Play::default());
    assert!(matches!(stuck.ending(), Ending::Stuck(_)), "{:?}", stuck.ending());
    assert_eq!(Past::read(&stuck.events).err(), Some("it had made its last turn"));
}

#[test]
fn notes_that_a_clearing_brings_are_given_after_a_cut_between_the_two() {
    let events = eventful().events;
    let clearing = events.iter().position(|event| event["type"] == "cleared").unwrap();
    for (cut, given) in [(clearing, false), (clearing + 1, true), (clearing + 2, false)] {
        let past = Past::read(&events[..cut]).unwrap();
        let how = Play { reminder: Some("notes"), ..Play::default() };
        let played = play_from(&mut Bench::new(), r#"{ text = "bye" },"#, how, |driver, tools, meter| {
            go_on(driver, tools, past, "you were cut off", meter)
        });
        assert_eq!(json!(played.of("sent")).to_string().contains("notes, for: "), given, "after line {cut}");
    }
}

#[test]
fn thinking_of_which_a_part_was_hidden_does_not_go_back() {
    let thinking = |text: &str| json!({"type": "thinking", "thinking": text, "signature": "scripted-0"});
    for (text, kept) in [("a thought", 2), (HIDDEN, 1)] {
        let mut events = three_calls(2);
        let content = json!([thinking(text), {"type": "text", "text": "and on"}]);
        events
            .push(json!({"type": "replied", "turn": 1, "message": {"content": content, "stop_reason": "pause_turn"}}));
        let past = Past::read(&events).unwrap();
        assert_eq!(past.conversation.messages()[1].content.len(), kept);
    }
}
