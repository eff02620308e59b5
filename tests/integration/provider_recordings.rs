//! The recorded answers of the service, compared with what its own SDK made of the same bytes.
//!
//! `tests/corpus/messages-api/INDEX.md` tells where each recording comes from.

use crate::provider_replay::Answer;
use crate::provider_replay::Replay;
use crate::support::keep_on;
use crate::support::request;
use flate2::Compression;
use flate2::write::GzEncoder;
use longhaul::message::Reply;
use longhaul::process::Interrupt;
use longhaul::provider::Client;
use longhaul::provider::Failure;
use longhaul::provider::Secret;
use longhaul::provider::Settings;
use longhaul::provider::stream::Broken;
use longhaul::provider::stream::ReplyReader;
use serde_json::Value;
use serde_json::json;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

/// What we make of a recording when that is not what the SDK made of it.
enum Ours {
    /// The stream is broken, with these words.
    Broken(&'static str),
    /// The reply is whole all the same: stop reason and text.
    Whole(&'static str, &'static str),
}

/// Where we differ from the SDK, and why.
fn ours(name: &str) -> Option<Ours> {
    Some(match name {
        // The SDK mixes both messages into one; a reply that began anew is asked for again.
        "spliced-message-start-stream" => Ours::Broken("a second message began within the reply"),
        // The SDK fails on `[DONE]` after a whole message; nothing after `message_stop` matters.
        "gateway-done-stream" => Ours::Whole(
            "max_tokens",
            "A solar eclipse occurs when the Moon passes directly between the Earth and the Sun,",
        ),
        _ => return None,
    })
}

/// One recorded exchange.
struct Exchange {
    /// Name of the recording, and the exchange's number in it.
    name: String,
    recording: String,
    response: Value,
    expected: Value,
}

impl Exchange {
    fn stream(&self) -> Option<&str> {
        self.response["body_sse"].as_str()
    }

    fn body(&self) -> String {
        self.stream().map_or_else(|| self.response["body_json"].to_string(), str::to_owned)
    }
}

fn exchanges() -> Vec<Exchange> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/messages-api");
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .filter_map(|entry| Some(entry.unwrap().file_name().to_str()?.strip_suffix(".expected.json")?.to_owned()))
        .collect();
    names.sort();
    assert_eq!(names.len(), 41, "recordings are missing");
    let read = |file: String| serde_json::from_slice::<Value>(&std::fs::read(folder.join(file)).unwrap()).unwrap();
    let all = names.iter().flat_map(|name| {
        let (recording, expected) = (read(format!("{name}.json")), read(format!("{name}.expected.json")));
        let pairs =
            recording["interactions"].as_array().unwrap().iter().zip(expected["interactions"].as_array().unwrap());
        let exchange = |(number, (recorded, expected)): (usize, (&Value, &Value))| Exchange {
            name: format!("{name} {}", number + 1),
            recording: name.clone(),
            response: recorded["response"].clone(),
            expected: expected.clone(),
        };
        pairs.enumerate().map(exchange).collect::<Vec<_>>()
    });
    all.collect()
}

fn read(stream: &str, size: usize) -> Result<Reply, Broken> {
    let mut reader = ReplyReader::new();
    for piece in stream.as_bytes().chunks(size) {
        reader.feed(piece)?;
    }
    reader.finish()
}

/// Feeds pieces of any size, most of them small.
fn read_at_random(stream: &str, random: &mut Random) -> Result<Reply, Broken> {
    let (mut reader, mut rest) = (ReplyReader::new(), stream.as_bytes());
    while !rest.is_empty() {
        let most = [3, 40, 1000][random.below(3)];
        let (piece, after) = rest.split_at((1 + random.below(most)).min(rest.len()));
        reader.feed(piece)?;
        rest = after;
    }
    reader.finish()
}

/// Returns the places where two messages differ. The SDK fills every field it knows with null, so null equals missing;
/// numbers are compared by value.
fn differences(place: &str, ours: &Value, theirs: &Value) -> Vec<String> {
    match (ours, theirs) {
        (Value::Object(left), Value::Object(right)) => {
            let new = right.keys().filter(|key| !left.contains_key(*key));
            let keys = left.keys().chain(new);
            let get = |map: &serde_json::Map<String, Value>, key: &String| map.get(key).cloned().unwrap_or_default();
            keys.flat_map(|key| differences(&format!("{place}.{key}"), &get(left, key), &get(right, key))).collect()
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            let pairs = left.iter().zip(right).enumerate();
            pairs.flat_map(|(index, (left, right))| differences(&format!("{place}.{index}"), left, right)).collect()
        }
        (Value::Number(left), Value::Number(right)) if left.as_f64() == right.as_f64() => Vec::new(),
        (left, right) if left == right => Vec::new(),
        (left, right) => vec![format!("{place}: ours {left}, theirs {right}")],
    }
}

fn assert_reply(exchange: &Exchange, reply: &Reply, way: &str) {
    let differences = match ours(&exchange.recording) {
        Some(Ours::Whole(stop_reason, text)) => {
            assert_eq!((reply.stop_reason.as_str(), reply.text().as_str()), (stop_reason, text));
            return;
        }
        Some(Ours::Broken(_)) => panic!("{} {way}: must be broken", exchange.name),
        None => differences("", &reply.raw, &exchange.expected["final"]),
    };
    assert!(differences.is_empty(), "{} {way}:\n{}", exchange.name, differences.join("\n"));
    let usage = &exchange.expected["final"]["usage"];
    let steps = usage["iterations"].as_array().into_iter().flatten();
    let summing = steps.filter(|step| step["type"] == "compaction").map(|step| step["output_tokens"].as_u64().unwrap());
    assert_eq!(reply.usage.output, usage["output_tokens"].as_u64().unwrap() + summing.sum::<u64>());
}

#[test]
fn every_recorded_stream_gives_the_message_the_sdk_made_of_it_in_any_split() {
    let exchanges = exchanges();
    let streams = exchanges.iter().filter_map(|exchange| Some((exchange, exchange.stream()?)));
    let (mut compared, mut random) = (0, Random(0x5eed_1e55));
    for (exchange, stream) in streams {
        let regular = [1, 7, stream.len()].map(|size| (format!("in pieces of {size}"), read(stream, size)));
        let random = (0..20).map(|round| (format!("at random, round {round}"), read_at_random(stream, &mut random)));
        for (way, result) in regular.into_iter().chain(random) {
            match (result, ours(&exchange.recording)) {
                (Err(Broken::Damaged(what)), Some(Ours::Broken(expected))) => assert_eq!(what, expected),
                (Ok(reply), _) => assert_reply(exchange, &reply, &way),
                (Err(broken), _) => panic!("{} {way}: {broken}", exchange.name),
            }
        }
        compared += 1;
    }
    assert_eq!(compared, 33);
}

#[test]
fn a_stream_that_ends_anywhere_before_its_last_event_gives_no_reply() {
    for exchange in exchanges() {
        let Some(stream) = exchange.stream() else { continue };
        let last = stream.rfind("event: message_stop").unwrap();
        for end in (0..last).step_by(1 + last / 200) {
            let cut = String::from_utf8_lossy(&stream.as_bytes()[..end]).into_owned();
            assert!(read(&cut, cut.len().max(1)).is_err(), "{} cut at {end}", exchange.name);
        }
    }
}

fn ask(base_url: String) -> Result<Reply, Failure> {
    let settings = Settings {
        base_url,
        key: Some(Secret::new("key-of-the-recordings")),
        outage_budget: Duration::ZERO,
        idle: Duration::from_secs(10),
        ..Settings::default()
    };
    Client::new(settings).unwrap().send(&request(), &Interrupt::new(), &mut |_, _| {}, &mut keep_on)
}

/// Replays an exchange to the real client; `gzip` packs the body.
fn replayed(exchange: &Exchange, gzip: bool) -> Result<Reply, Failure> {
    let mut headers = Vec::new();
    for (name, value) in exchange.response["headers"].as_object().unwrap() {
        headers.push((name.clone(), value.as_str().unwrap().to_owned()));
    }
    let mut body = exchange.body().into_bytes();
    if gzip {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&body).unwrap();
        body = encoder.finish().unwrap();
        headers.push(("content-encoding".to_owned(), "gzip".to_owned()));
    }
    let status = u16::try_from(exchange.response["status"].as_u64().unwrap()).unwrap();
    let replay = Replay::start(vec![Answer { status, headers, body }]);
    let result = ask(replay.base_url());
    let requests = replay.requests();
    assert!(requests[0].starts_with("POST /v1/messages HTTP/1.1\r\n"), "{}", requests[0]);
    result
}

#[test]
fn every_recorded_answer_comes_through_the_real_client() {
    for exchange in exchanges() {
        let gzip = exchange.recording.ends_with("gzip");
        let result = replayed(&exchange, gzip);
        let expected = &exchange.expected;
        match (result, ours(&exchange.recording)) {
            (Err(Failure::Unavailable { tried }), Some(Ours::Broken(what))) => {
                assert!(tried.ends_with(&format!("the last: broken reply: {what}")), "{tried}");
            }
            (Err(Failure::Refused { kind, message, .. }), None) if expected["error"].is_object() => {
                let body = &exchange.response["body_json"]["error"];
                assert_eq!(json!(kind), expected["error"]["type"], "{}", exchange.name);
                assert!(message.contains(body["message"].as_str().unwrap()), "{}: {message}", exchange.name);
            }
            // Only the count of tokens is a good answer and no message; asked for a reply, it is none.
            (Err(Failure::Unavailable { tried }), None) if expected["kind"] == "count_tokens" => {
                assert!(tried.ends_with("the last: broken reply: the answer is JSON, but no message"), "{tried}");
            }
            (Ok(reply), _) => assert_reply(&exchange, &reply, "through the client"),
            (Err(failure), _) => panic!("{}: {failure}", exchange.name),
        }
    }
}

#[test]
fn error_bodies_seen_in_the_wild_are_worth_a_retry() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/messages-api/observed-error-bodies.json");
    let observed: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    for body in observed["bodies"].as_array().unwrap() {
        let answer = match body["sse_frame"].as_str() {
            Some(frame) => Answer::new(200, &[("content-type", "text/event-stream")], frame),
            None => {
                let status = u16::try_from(body["status"].as_u64().unwrap()).unwrap();
                Answer::new(status, &[("content-type", "application/json")], body["body_json"].to_string())
            }
        };
        let replay = Replay::start(vec![answer]);
        let result = ask(replay.base_url());
        replay.requests();
        let Err(Failure::Unavailable { tried }) = result else { panic!("{body}: {result:?}") };
        assert!(tried.contains("overloaded_error") || tried.contains("rate_limit_error"), "{tried}");
    }
}

/// A small generator, so that a failure can be repeated from its seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(limit.max(1)).unwrap()).unwrap()
    }
}

fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(bytes.len());
    let end = (at + random.below(60)).min(bytes.len());
    match random.below(5) {
        0 => bytes.truncate(at),
        1 => drop(bytes.drain(at..end)),
        2 => {
            let copy = bytes[at..end].to_vec();
            let to = random.below(bytes.len());
            bytes.splice(to..to, copy);
        }
        3 => {
            let odd: [&[u8]; 8] = [b"\"", b"{", b"}", b"\r", b"\n\n", b"\\", b"\xff", b"9e999"];
            bytes.splice(at..at, odd[random.below(8)].iter().copied());
        }
        _ if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
        _ => {}
    }
}

#[test]
fn no_damaged_stream_makes_the_reader_panic_or_gives_a_call_without_an_object_as_input() {
    let exchanges = exchanges();
    let streams: Vec<&str> = exchanges.iter().filter_map(Exchange::stream).filter(|text| text.len() < 10_000).collect();
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let (mut whole, mut broken) = (0, 0);
    for round in 0..6000 {
        let mut bytes = streams[random.below(streams.len())].as_bytes().to_vec();
        for _ in 0..=random.below(4) {
            mutate(&mut bytes, &mut random);
        }
        let mut reader = ReplyReader::new();
        let size = 1 + random.below(2000);
        let fed = bytes.chunks(size).try_for_each(|piece| reader.feed(piece));
        match fed.and_then(|()| reader.finish()) {
            Ok(reply) => {
                whole += 1;
                for call in reply.tool_calls() {
                    assert!(call.input.is_object(), "round {round}: {call:?}");
                }
            }
            Err(_) => broken += 1,
        }
    }
    assert!(whole > 500 && broken > 500, "the damage is too weak or too strong: {whole} whole, {broken} broken");
}
