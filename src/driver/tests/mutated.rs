//! Streams damaged on their way, through the client and the turns: whatever comes out, the service takes the conversation.
//!
//! The scripted model sits behind a wire that damages what it says. It checks each request, so a conversation that the
//! service would refuse is seen. No tool here is a shell: a damaged command should run nowhere.

use std::io::Read;
use std::io::Write;
use std::net::TcpListener;
use std::net::TcpStream;
use std::path::Path;
use std::thread::JoinHandle;

use super::resume::goes_on;
use super::*;

/// Replies of one session.
const REPLIES: usize = 25;

/// Chooses by the same numbers each time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(limit.max(1)).unwrap()).unwrap()
    }

    fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// Damages a stream in one of many ways: bytes, whole events, or values within them.
fn damage(stream: &mut Vec<u8>, chance: &mut Chance) {
    let at = chance.below(stream.len());
    match chance.below(4) {
        0 => stream.truncate(at),
        1 if at < stream.len() => stream[at] ^= 1 << chance.below(8),
        2 => damage_events(stream, chance),
        _ => damage_value(stream, chance),
    }
}

fn damage_events(stream: &mut Vec<u8>, chance: &mut Chance) {
    let text = String::from_utf8_lossy(stream).into_owned();
    let mut events: Vec<&str> = text.split_inclusive("\n\n").collect();
    if events.is_empty() {
        return;
    }
    let (one, other) = (chance.below(events.len()), chance.below(events.len()));
    match chance.below(3) {
        0 => events.swap(one, other),
        1 => events.insert(other, events[one]),
        _ => drop(events.remove(one)),
    }
    *stream = events.concat().into_bytes();
}

/// Puts a value of another kind in the place of one.
fn damage_value(stream: &mut Vec<u8>, chance: &mut Chance) {
    let text = String::from_utf8_lossy(stream).into_owned();
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let at = chance.below(lines.len());
    let data = lines.get(at).and_then(|line| line.strip_prefix("data: "));
    let Some(mut data) = data.and_then(|data| serde_json::from_str::<Value>(data).ok()) else { return };
    let odd = [
        json!(null),
        json!(-1),
        json!(1e300),
        json!(""),
        json!("toolu_same"),
        json!("a name that is none"),
        json!([]),
        json!({}),
        json!(true),
        json!("tool_use"),
        json!("end_turn"),
    ];
    let mut place = &mut data;
    for _ in 0..=chance.below(4) {
        let inner = match &*place {
            Value::Object(fields) => fields.len(),
            Value::Array(items) => items.len(),
            _ => 0,
        };
        if inner > 0 {
            let chosen = chance.below(inner);
            place = match place {
                Value::Object(fields) => fields.values_mut().nth(chosen).unwrap(),
                other => &mut other[chosen],
            };
        }
    }
    *place = chance.of(&odd).clone();
    lines[at] = format!("data: {data}\n");
    *stream = lines.concat().into_bytes();
}

/// A wire to a server that damages its answers; counts those it damaged.
struct Wire {
    address: String,
    thread: JoinHandle<usize>,
}

impl Wire {
    fn to(server: String, mut chance: Chance, recorded: Vec<Vec<u8>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let thread = std::thread::spawn(move || {
            let mut damaged = 0;
            loop {
                let (mut client, _) = listener.accept().unwrap();
                let Some(request) = read_request(&mut client) else { return damaged };
                let (mut head, mut body) = ask(&server, &request);
                if head.starts_with("HTTP/1.1 200") {
                    if chance.below(4) == 0 {
                        body.clone_from(chance.of(&recorded));
                    }
                    let times = chance.below(4);
                    damaged += usize::from(times > 0);
                    (0..times).for_each(|_| damage(&mut body, &mut chance));
                    head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n".to_owned();
                } else {
                    head = head
                        .lines()
                        .take(1)
                        .map(|line| format!("{line}\r\ncontent-type: application/json\r\n"))
                        .collect();
                }
                client.write_all(format!("{head}connection: close\r\n\r\n").as_bytes()).ok();
                client.write_all(&body).ok();
            }
        });
        Self { address, thread }
    }

    fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    fn damaged(self) -> usize {
        // A visitor without a request ends the waiting for the next one.
        TcpStream::connect(&self.address).unwrap();
        self.thread.join().unwrap()
    }
}

fn read_request(client: &mut TcpStream) -> Option<String> {
    let (mut bytes, mut piece) = (Vec::new(), [0; 8192]);
    loop {
        match client.read(&mut piece).ok()? {
            0 => return None,
            size => bytes.extend_from_slice(&piece[..size]),
        }
        let Some(head) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let text = String::from_utf8_lossy(&bytes[..head]).to_lowercase();
        let length = text.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
        if bytes.len() >= head + 4 + length.unwrap_or(0) {
            return Some(String::from_utf8(bytes).unwrap());
        }
    }
}

/// Hands a request on and returns head and body of the answer.
fn ask(server: &str, request: &str) -> (String, Vec<u8>) {
    let mut connection = TcpStream::connect(server.trim_start_matches("http://")).unwrap();
    let request = request.replacen("\r\n", "\r\nconnection: close\r\n", 1);
    connection.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    connection.read_to_end(&mut answer).unwrap();
    let text = String::from_utf8(answer).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let body =
        if head.to_lowercase().contains("transfer-encoding: chunked") { dechunked(body) } else { body.to_owned() };
    (head.to_owned(), body.into_bytes())
}

fn dechunked(mut text: &str) -> String {
    let mut body = String::new();
    while let Some((size, rest)) = text.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        body.push_str(&rest[..size]);
        text = rest[size..].trim_start_matches("\r\n");
    }
    body
}

/// The recorded streams; what they call are no tools here.
fn recorded() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/messages-api");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
    paths.sort();
    let recordings = paths.iter().map(|path| serde_json::from_slice::<Value>(&fs::read(path).unwrap()).unwrap());
    let streams = recordings.flat_map(|recording| recording["interactions"].as_array().cloned().unwrap_or_default());
    let streams = streams.filter_map(|one| Some(one["response"]["body_sse"].as_str()?.as_bytes().to_vec()));
    let streams: Vec<_> = streams.filter(|stream| stream.len() < 10_000).collect();
    assert!(streams.len() > 20, "{}", streams.len());
    streams
}

/// One session behind a damaging wire; returns what it left and how many streams were damaged.
fn damaged_session(bench: &mut Bench, seed: u64, recorded: Vec<Vec<u8>>) -> (Played, usize) {
    let call = |number: usize| {
        let view = format!(
            r#"{{ name = "memory", id = "toolu_same", input = {{ command = "view", path = "/memories/{number}" }} }}"#
        );
        let list = r#"{ name = "checklist", input = { command = "list" } }"#;
        let edit = r#"{ name = "str_replace_based_edit_tool", input = { command = "view", path = "." } }"#;
        format!("{{ text = \"number {number}\", tools = [{view}, {list}, {edit}] }},\n")
    };
    let script: String = (0..REPLIES).map(call).collect();
    let script = Script::parse(&format!("[[session]]\nreply = [\n{script}]\n"), "test").unwrap();
    let server = Server::start(script).unwrap();
    let wire = Wire::to(server.base_url(), Chance(seed), recorded);
    let service = provider::Settings {
        base_url: wire.base_url(),
        outage_budget: Duration::from_secs(60),
        first_wait: Duration::from_micros(10),
        ..provider::Settings::default()
    };
    let client = Client::new(service).unwrap();
    let settings = Settings {
        model: "scripted".to_owned(),
        model_setting: provider::ModelSetting::Model,
        max_tokens: 1000,
        window: 0,
        clear_at: 0.5,
        deadline: None,
        texts: texts(),
    };
    let record = Record::default();
    let interrupt = bench.interrupt.clone();
    let driver = Driver { client: &client, settings: &settings, sink: &record, interrupt: &interrupt };
    let opening = Opening { system: "the rules".to_owned(), first: "the task".to_owned() };
    let ending = drive(&driver, &mut bench.toolbox(), &opening, &mut Turns(100, 0));
    let mut rejected = server.rejected();
    // The script's own end. And a field of an unknown name comes back as it came: a damaged name looks like a new one.
    rejected
        .retain(|message| !message.starts_with("the script") && !message.contains("Extra inputs are not permitted"));
    let played = Played { ending, requests: server.requests(), rejected, events: record.events.take() };
    (played, wire.damaged())
}

/// Plays sessions until so many streams were damaged.
fn play_damaged(streams: usize) {
    let (mut bench, recorded) = (Bench::new(), recorded());
    let (mut damaged, mut heard, mut seed) = (0, 0, 0x9e37_79b9_7f4a_7c15_u64);
    while damaged < streams {
        seed = seed.wrapping_add(0x2545_f491_4f6c_dd1d);
        let (played, more) = damaged_session(&mut bench, seed, recorded.clone());
        damaged += more;
        heard += played.of("replied").len();
        assert!(played.ending.is_ok(), "seed {seed:#x}: {:?}", played.ending);
        assert_eq!(played.rejected, Vec::<String>::new(), "seed {seed:#x}");
        let answered = |kind: &str| played.of(kind).iter().map(|event| event["id"].to_string()).collect::<Vec<_>>();
        assert_eq!(answered("tool_started"), answered("tool_ended"), "seed {seed:#x}");
        if matches!(played.ending, Ok(Ending::Provider(_))) {
            continue;
        }
        // And a kill somewhere in it.
        let cut = Chance(seed).below(played.events.len());
        goes_on(&mut bench, &played.events[..cut], &format!("seed {seed:#x}, cut at {cut}"));
    }
    assert!(heard > damaged / 4, "the damage is too strong: {heard} replies heard, {damaged} damaged");
}

#[test]
fn a_thousand_damaged_streams_leave_conversations_that_the_service_takes() {
    play_damaged(1_000);
}

#[test]
#[ignore = "takes minutes"]
fn ten_thousand_damaged_streams_leave_conversations_that_the_service_takes() {
    play_damaged(10_000);
}
