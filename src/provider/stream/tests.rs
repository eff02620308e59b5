//! What becomes of events, one after the other.

use super::*;
use crate::message::Usage;

const START: &str = r#"{"type":"message_start","message":{"id":"m","content":[],"usage":{"input_tokens":3,"output_tokens":1,"cache_read_input_tokens":5}}}"#;

fn framed(event: &str) -> String {
    let data: Value = serde_json::from_str(event).unwrap();
    format!("event: {}\ndata: {event}\n\n", data["type"].as_str().unwrap())
}

/// Reads these events, each named after its `type`.
fn read(events: &[&str]) -> Result<Reply, Broken> {
    let mut reader = ReplyReader::with_limits(2000, 4000);
    for event in events {
        reader.feed(framed(event).as_bytes())?;
    }
    reader.finish()
}

const END: &str = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}"#;
const STOP: &str = r#"{"type":"message_stop"}"#;

#[test]
fn unknown_events_blocks_and_deltas_survive() {
    let reply = read(&[
        START,
        r#"{"type":"new_event","x":1}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"new_block","a":{"b":1.50}}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"new_delta","c":2}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"new_reason"},"usage":{"output_tokens":9},"new":{"d":1}}"#,
        STOP,
    ])
    .unwrap();

    assert_eq!(reply.raw["content"].to_string(), r#"[{"type":"new_block","a":{"b":1.50},"c":2}]"#);
    assert_eq!(reply.raw["new"], json!({"d": 1}));
    assert_eq!(reply.stop_reason, StopReason::Other("new_reason".to_owned()));
}

#[test]
fn counters_are_overwritten_never_added_and_null_says_nothing() {
    let reply = read(&[
        START,
        r#"{"type":"message_delta","delta":{},"usage":{"output_tokens":7,"cache_read_input_tokens":null}}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9,"input_tokens":4}}"#,
        STOP,
    ])
    .unwrap();

    assert_eq!(reply.usage, Usage { input: 4, output: 9, cache_write: 0, cache_read: 5 });
}

#[test]
fn a_summing_up_is_paid_for_and_the_context_is_what_is_left_of_it() {
    let steps = [("compaction", 5000, 500), ("message", 20, 4), ("message", 40, 5)];
    let steps =
        steps.map(|(kind, input, output)| json!({"type": kind, "input_tokens": input, "output_tokens": output}));
    let usage = json!({"input_tokens": 60, "output_tokens": 9, "cache_read_input_tokens": 0, "iterations": steps});
    let end = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage}).to_string();
    let reply = read(&[START, &end, STOP]).unwrap();

    assert_eq!(reply.usage, Usage { input: 5060, output: 509, cache_write: 0, cache_read: 0 });
    assert_eq!(reply.context, 45);
}

#[test]
fn nothing_after_the_stop_counts() {
    let mut reader = ReplyReader::new();
    let stream = format!(
        "event: message_start\ndata: {START}\n\nevent: message_delta\ndata: {END}\n\nevent: message_stop\ndata: {STOP}\n\n"
    );
    reader.feed(format!("{stream}event: error\ndata: broken\n\ndata: [DONE]\n\n").as_bytes()).unwrap();

    assert!(reader.is_whole());
    assert!(reader.finish().is_ok());
}

#[test]
fn a_stream_that_does_not_hold_together_is_broken() {
    let block = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
    let delta = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}"#;
    let end = r#"{"type":"content_block_stop","index":0}"#;
    let call = r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","name":"bash"}}"#;
    let null = r#"{"type":"message_delta","delta":{"stop_reason":null},"usage":{"output_tokens":9}}"#;
    let streams: [(&[&str], &str); 13] = [
        (&[], "the stream ended before `message_start`"),
        (&[START], "the stream ended without `message_stop`, in content block 0"),
        (&[START, block, delta], "the stream ended without `message_stop`, in content block 1"),
        (&[STOP], "an event came before `message_start`"),
        (&[block], "an event came before `message_start`"),
        (
            &[START, r#"{"type":"content_block_start","index":0,"content_block":{"text":"x"}}"#],
            "a content block without a type",
        ),
        (
            &[START, block, r#"{"type":"content_block_delta","index":0,"delta":{"type":"x","partial_json":"{"}}"#],
            "a piece of input that is not named as one",
        ),
        (&[START, delta], "an event for content block 0, which is not open"),
        (&[START, block, end, delta], "an event for content block 0, which is not open"),
        (&[START, block, end, block], "content block 0 began twice"),
        (&[START, call], "a tool call without id or name"),
        (&[START, block, delta, end, STOP], "the reply ended without a `stop_reason`"),
        (&[START, block, delta, end, null, STOP], "the reply ended without a `stop_reason`"),
    ];
    for (events, what) in streams {
        assert_eq!(read(events).unwrap_err(), Broken::Damaged(what.to_owned()));
    }
}

#[test]
fn an_error_in_the_stream_is_told_with_its_type() {
    let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let Err(Broken::Service(error)) = read(&[START, error]) else { panic!("an error is no reply") };
    assert_eq!(error.to_string(), "`overloaded_error`: Overloaded");
}

#[test]
fn events_and_replies_above_their_limits_are_refused() {
    let large = format!(r#"{{"type":"ping","x":"{}"}}"#, "x".repeat(1900));
    assert!(read(&[START, &large, END, STOP]).is_ok());
    assert!(matches!(read(&[START, &large, &large, STOP]), Err(Broken::TooLarge(what)) if what.contains("4000")));
    let larger = format!(r#"{{"type":"ping","x":"{}"}}"#, "x".repeat(2000));
    assert!(matches!(read(&[START, &larger, STOP]), Err(Broken::TooLarge(what)) if what.contains("event")));
}

#[test]
fn only_what_belongs_to_the_reply_tells_something() {
    let start = format!("event: message_start\ndata: {START}\n\n");
    for (nothing, what) in [
        (": keepalive\n\n", "a comment"),
        (": keep", "a piece of a comment"),
        ("\n", "a blank line"),
        ("\r\n\r\n", "blank lines"),
        ("event: ping\ndata: {\"type\": \"ping\"}\n\n", "a ping"),
        ("event: ping\ndata: {\"ty", "a piece of a ping"),
        ("id: 7\nretry: 10\n\n", "other fields"),
        ("event: soon\ndata: {}\n\n", "an event that nobody knows"),
        (&start, "the beginning once more"),
        ("event: message_delta\ndata: {\"delta\": {}, \"usage\": null}\n\n", "an end that tells nothing"),
    ] {
        let mut reader = ReplyReader::new();
        reader.feed(start.as_bytes()).unwrap();
        let before = reader.told();
        (0..3).for_each(|_| reader.feed(nothing.as_bytes()).unwrap());
        assert_eq!(reader.told(), before, "{what}");
    }

    let mut reader = ReplyReader::new();
    let pieces: Vec<&[u8]> = start.as_bytes().chunks(30).collect();
    let told: Vec<usize> = pieces.iter().map(|piece| (reader.feed(piece).unwrap(), reader.told()).1).collect();
    let (last, before) = told.split_last().unwrap();
    assert!(*last == 1 && before.iter().all(|told| *told == 0), "an event that never ends tells nothing: {told:?}");
}

#[test]
fn a_delta_without_anything_in_it_tells_nothing() {
    let block = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
    let told_by = |delta: &str| {
        let mut reader = ReplyReader::new();
        let text: String = [START, block].map(framed).concat();
        reader.feed(text.as_bytes()).unwrap();
        let before = reader.told();
        let delta = format!(r#"{{"type":"content_block_delta","index":0,"delta":{delta}}}"#);
        reader.feed(framed(&delta).as_bytes()).unwrap();
        reader.told() - before
    };
    for nothing in
        [r#"{"type":"text_delta","text":""}"#, r#"{"type":"input_json_delta","partial_json":""}"#, r#"{"type":"new"}"#]
    {
        assert_eq!(told_by(nothing), 0, "{nothing}");
    }
    for something in [r#"{"type":"text_delta","text":" "}"#, r#"{"type":"new","list":[]}"#] {
        assert_eq!(told_by(something), 1, "{something}");
    }
}
