//! A conversation that grows: what is taken out of it, what is kept, and what stays in the service's cache.

use std::collections::BTreeMap;

use super::*;

/// A reply that prints this many bytes, no two alike.
fn prints(bytes: usize, number: usize) -> String {
    let command = format!("printf 'number {number}\\n'; head -c {bytes} /dev/zero | tr '\\0' x; echo");
    format!("{{ tools = [{{ name = \"bash\", input = {{ command = '''{command}''' }} }}] }},\n")
}

/// Rebuilds the messages from the events, as whoever resumes a session would.
fn rebuilt(events: &[Value]) -> Vec<Value> {
    let mut messages: Vec<Value> = Vec::new();
    for event in events {
        match event["type"].as_str().unwrap() {
            "sent" if event["turn"] != 0 => messages.push(json!({"role": "user", "content": event["content"]})),
            "replied" => messages.push(json!({"role": "assistant", "content": event["message"]["content"]})),
            "cleared" => {
                let results = event["results"].as_object().unwrap();
                let blocks = messages.iter_mut().flat_map(|message| message["content"].as_array_mut().unwrap());
                for block in blocks {
                    if let Some(text) = block["tool_use_id"].as_str().and_then(|id| results.get(id)) {
                        block["content"] = text.clone();
                    }
                }
            }
            _ => {}
        }
    }
    messages
}

fn without_marks(mut messages: Value) -> Value {
    for message in messages.as_array_mut().unwrap() {
        for block in message["content"].as_array_mut().unwrap() {
            block.as_object_mut().unwrap().shift_remove("cache_control");
        }
    }
    messages
}

/// Returns what the newest request holds as the result of each call, in order.
fn results(played: &Played) -> Vec<String> {
    let messages = played.requests.last().unwrap()["messages"].as_array().unwrap();
    let blocks = messages.iter().flat_map(|message| message["content"].as_array().unwrap());
    let results = blocks.filter(|block| block["type"] == "tool_result");
    results.map(|block| block["content"].as_str().unwrap_or("image").to_owned()).collect()
}

#[test]
fn old_results_become_pointers_to_their_text_and_those_of_memory_and_the_newest_stay() {
    let memory = |input: &str| format!("{{ tools = [{{ name = \"memory\", input = {{ {input} }} }}] }},");
    let note = format!("command = \"create\", path = \"/memories/long.md\", file_text = \"{}\"", "memory ".repeat(400));
    let view = memory("command = \"view\", path = \"/memories/long.md\"");
    let large: String = (0..12).map(|number| prints(10_000, number)).collect();
    let mut bench = Bench::new();
    let how = Play { window: 40_000, ..Play::default() };
    let played = play(&mut bench, &format!("{}{view}{large}{{ text = \"bye\" }}", memory(&note)), how);

    assert_eq!((played.ending(), &played.rejected), (&Ending::Stopped, &Vec::new()));
    let results = results(&played);
    assert_eq!(results.len(), 14);
    assert!(results[1].contains("memory memory"), "a result of the memory tool stays: {}", results[1]);
    assert!(results[2].starts_with("[cleared to make room: 100"), "{}", results[2]);
    assert!(results[2].contains("that begin with `number 0`"), "{}", results[2]);
    assert!(results[9..].iter().all(|result| result.len() > 10_000), "the newest five stay");
    let path = results[2].split(", in `").nth(1).unwrap().split('`').next().unwrap();
    let kept = fs::read_to_string(path).unwrap();
    assert_eq!(json!(kept), played.of("tool_ended")[2]["content"], "it can be taken back as it was");
}

#[test]
fn a_clearing_is_a_big_step_and_can_be_rebuilt_from_the_events() {
    let large: String = (0..30).map(|number| prints(10_000, number)).collect();
    let mut bench = Bench::new();
    let how = Play { window: 40_000, turns: 40, ..Play::default() };
    let played = play(&mut bench, &format!("{large}{{ text = \"bye\" }}"), how);

    assert_eq!(*played.ending(), Ending::Stopped);
    let cleared = played.of("cleared");
    assert!((2..=6).contains(&cleared.len()), "not at each turn: {}", cleared.len());
    assert!(cleared.iter().all(|event| event["results"].as_object().unwrap().len() >= 3));
    let messages = rebuilt(&played.events);
    let sent = without_marks(played.requests.last().unwrap()["messages"].clone());
    assert_eq!(json!(messages[..messages.len() - 1]), sent);
}

#[test]
fn without_a_window_nothing_is_cleared() {
    let large: String = (0..12).map(|number| prints(10_000, number)).collect();
    let played = play(&mut Bench::new(), &format!("{large}{{ text = \"bye\" }}"), Play::default());
    assert!(played.of("cleared").is_empty());
    assert!(results(&played).iter().all(|result| result.len() > 10_000));
}

#[test]
fn many_images_are_cleared_to_what_the_service_takes() {
    let image = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\0\0\0\0IEND";
    let mut bench = Bench::new();
    let mut views = String::new();
    for number in 0..25 {
        let name = format!("{number}.png");
        fs::write(bench.root().join(&name), image).unwrap();
        let input = format!("{{ command = \"view\", path = \"{name}\" }}");
        views.push_str(&format!("{{ tools = [{{ name = \"str_replace_based_edit_tool\", input = {input} }}] }},"));
    }
    let how = Play { turns: 40, ..Play::default() };
    let played = play(&mut bench, &format!("{views}{{ text = \"bye\" }}"), how);

    let counts = played.requests.iter().map(|request| request.to_string().matches("\"image/png\"").count());
    assert_eq!(counts.max(), Some(20));
    let results = results(&played);
    assert_eq!(results[0], "[cleared to make room: an image; `view` shows it again]");
    assert_eq!(results[24], "image");
    let messages = rebuilt(&played.events);
    let sent = without_marks(played.requests.last().unwrap()["messages"].clone());
    assert_eq!(json!(messages[..messages.len() - 1]), sent);
}

#[test]
fn a_conversation_the_service_finds_too_long_is_cleared_and_sent_once_more() {
    let long =
        "{ status = 400, error = { type = \"invalid_request_error\", message = \"prompt is too long: 9 > 8\" } },";
    let large: String = (0..8).map(|number| prints(5_000, number)).collect();
    let played = play(&mut Bench::new(), &format!("{large}{long}{{ text = \"bye\" }}"), Play::default());
    assert_eq!((played.ending(), played.requests.len()), (&Ending::Stopped, 10));
    assert_eq!(results(&played).iter().filter(|result| result.starts_with("[cleared")).count(), 3);

    let played = play(&mut Bench::new(), &format!("{large}{long}{long}"), Play::default());
    assert!(matches!(played.ending(), Ending::Full(reason) if reason.contains("too long")), "{:?}", played.ending());
    assert_eq!(played.requests.len(), 10);
}

/// One reply that prints so many bytes by each of its calls.
fn prints_at_once(calls: usize, bytes: usize) -> String {
    let command = |number| format!("printf 'number {number} '; head -c {bytes} /dev/zero | tr '\\0' x; echo 'the end'");
    let call = |number| format!("{{ name = \"bash\", input = {{ command = '''{}''' }} }}", command(number));
    let calls: Vec<String> = (0..calls).map(call).collect();
    format!("{{ tools = [{}] }},", calls.join(", "))
}

#[test]
fn new_results_that_would_not_fit_are_shortened_to_both_ends_and_are_kept_whole() {
    let how = || Play { window: 40_000, ..Play::default() };
    let mut bench = Bench::new();
    let played = play(&mut bench, &format!("{}{{ text = \"bye\" }}", prints_at_once(30, 10_000)), how());

    assert_eq!((played.ending(), &played.rejected), (&Ending::Stopped, &Vec::new()));
    let shown = results(&played);
    assert_eq!(shown.len(), 30);
    for (number, result) in shown.iter().enumerate() {
        assert!(
            result.starts_with(&format!("number {number} xx")) && result.contains("the end\n[exit code 0]"),
            "{result}"
        );
        assert!((1000..5000).contains(&result.len()), "{}", result.len());
    }
    let path = shown[3].split(" is in `").nth(1).unwrap().split('`').next().unwrap();
    assert_eq!(json!(fs::read_to_string(path).unwrap()), played.of("tool_ended")[3]["content"]);
    let messages = rebuilt(&played.events);
    let sent = without_marks(played.requests.last().unwrap()["messages"].clone());
    assert_eq!(json!(messages[..messages.len() - 1]), sent);

    let played = play(&mut Bench::new(), &format!("{}{{ text = \"bye\" }}", prints_at_once(8, 10_000)), how());
    assert!(results(&played).iter().all(|result| result.len() > 10_000), "what fits stays whole");
}

#[test]
fn new_results_that_the_service_finds_too_long_are_shortened_and_sent_once_more() {
    let long =
        "{ status = 400, error = { type = \"invalid_request_error\", message = \"prompt is too long: 9 > 8\" } },";
    let replies = format!("{}{long}{{ text = \"bye\" }}", prints_at_once(5, 10_000));
    let played = play(&mut Bench::new(), &replies, Play::default());

    assert_eq!((played.ending(), played.requests.len()), (&Ending::Stopped, 3));
    assert!(results(&played).iter().all(|result| result.len() < 3000 && result.contains("the end")));
    let messages = rebuilt(&played.events);
    let sent = without_marks(played.requests.last().unwrap()["messages"].clone());
    assert_eq!(json!(messages[..messages.len() - 1]), sent);
}

/// A reply that calls a tool, in a conversation of so many tokens.
fn filled(tokens: usize) -> String {
    let usage = format!("input_tokens = {tokens}, cache_creation_input_tokens = 0, cache_read_input_tokens = 0");
    format!(
        "{{ tools = [{{ name = \"bash\", input = {{ command = \"true\" }} }}], usage = {{ {usage}, output_tokens = 1 }} }},"
    )
}

#[test]
fn close_to_the_window_the_agent_is_asked_once_to_hand_over() {
    let how = Play { window: 100_000, ..Play::default() };
    let played = play(&mut Bench::new(), &format!("{}{}{HAND_OVER}", filled(90_000), filled(90_500)), how);
    let asked =
        |request: usize, message: usize| played.requests[request]["messages"][message]["content"][1]["text"].clone();
    assert!(asked(1, 2).as_str().unwrap().contains("call `hand_over` now"));
    assert_eq!(asked(2, 4), Value::Null);
    assert_eq!(played.rejected, Vec::<String>::new());
}

#[test]
fn a_full_window_ends_the_session_before_a_request_that_cannot_fit() {
    let how = Play { window: 100_000, ..Play::default() };
    let played = play(&mut Bench::new(), &format!("{}{BASH}", filled(96_000)), how);

    let text = "the conversation fills 96 % of the model's window (96k of 100k tokens)";
    assert_eq!((played.ending().to_string().as_str(), played.requests.len()), (text, 1));
    assert_eq!(played.of("sent").last().unwrap()["content"][0]["type"], "tool_result", "the call is answered");
}

/// The service's cache as its documentation tells it: a prefix is found at a breakpoint, or at most twenty blocks before
/// one, where an earlier request had a breakpoint.
#[derive(Default)]
struct Cache {
    written: BTreeMap<String, usize>,
}

impl Cache {
    /// Returns the bytes of a request, and those read from the cache.
    fn take(&mut self, request: &Value) -> (usize, usize) {
        let system = request["system"].as_array().unwrap().iter();
        let messages = request["messages"].as_array().unwrap().iter();
        let blocks = system.chain(messages.flat_map(|message| message["content"].as_array().unwrap())).cloned();
        let mut prefix = request["tools"].to_string();
        let mut prefixes = Vec::new();
        for mut block in blocks {
            let marked = block.as_object_mut().unwrap().shift_remove("cache_control").is_some();
            prefix.push_str(&block.to_string());
            prefixes.push((prefix.clone(), marked));
        }
        let marks: Vec<usize> = (0..prefixes.len()).filter(|at| prefixes[*at].1).collect();
        assert!((1..=4).contains(&marks.len()));
        let found = marks.iter().flat_map(|at| at.saturating_sub(20)..=*at);
        let read = found.filter_map(|at| self.written.get(&prefixes[at].0)).max().copied().unwrap_or(0);
        self.written.extend(marks.iter().map(|at| (prefixes[*at].0.clone(), prefixes[*at].0.len())));
        (prefix.len(), read)
    }
}

#[test]
fn a_long_session_reads_its_prefix_from_the_cache() {
    let many = format!("{{ tools = [{}] }},", r#"{ name = "bash", input = { command = "seq 300" } },"#.repeat(30));
    let large: String = (0..30).map(|number| prints(10_000, number)).collect();
    let how = Play { window: 80_000, turns: 70, ..Play::default() };
    let played = play(&mut Bench::new(), &format!("{large}{many}{large}{{ text = \"bye\" }}"), how);
    assert_eq!(*played.ending(), Ending::Stopped);
    assert!(!played.of("cleared").is_empty(), "clearing is part of it");

    let mut cache = Cache::default();
    let taken: Vec<(usize, usize)> = played.requests.iter().map(|request| cache.take(request)).collect();

    let (all, read) = taken.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    assert!(read * 100 > all * 80, "only {} % came from the cache", read * 100 / all);
    let opening = played.requests[0]["tools"].to_string().len();
    assert!(taken[1..].iter().all(|(_, read)| *read > opening), "tools, rules and task are always read from it");
}

#[test]
fn what_is_recalled_after_a_clearing_goes_into_the_next_message() {
    let large: String = (0..12).map(|number| prints(10_000, number)).collect();
    let talking = large.replace("{ tools", "{ text = 'I look at the database', tools");
    let how = Play { window: 40_000, reminder: Some("the port is 5433"), ..Play::default() };
    let played = play(&mut Bench::new(), &format!("{talking}{{ text = \"bye\" }}"), how);

    let at = played.events.iter().position(|event| event["type"] == "cleared").unwrap();
    let sent = played.events[at..].iter().find(|event| event["type"] == "sent").unwrap();
    let texts: Vec<&Value> =
        sent["content"].as_array().unwrap().iter().filter(|block| block["type"] == "text").collect();
    let expected = "the port is 5433, for: I look at the database\nI look at the database\nI look at the database";
    assert_eq!(texts, [&json!({"type": "text", "text": expected})]);
    let told = json!(played.requests.last().unwrap()).to_string().matches("the port is 5433").count();
    assert_eq!(told, played.of("cleared").len(), "once for each clearing");

    let played = play(&mut Bench::new(), "{ text = \"bye\" }", Play { reminder: Some("x"), ..Play::default() });
    assert!(!played.requests[0].to_string().contains("x, for: "), "without a clearing nothing is said");
}

/// Returns how many turns took something out, and the percent of all bytes that came from the cache.
fn cost_of_clearing(played: &Played) -> (usize, usize) {
    let mut cache = Cache::default();
    let taken = played.requests.iter().map(|request| cache.take(request));
    let (all, read) = taken.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    (played.of("cleared").len(), read * 100 / all)
}

#[test]
fn a_small_window_is_cleared_in_time_and_in_large_steps() {
    // As much as a tool shows in such a window, and as much as it shows in a large one.
    for (window, bytes, most, least_read) in
        [(32_000, 17_000, 10, 45), (64_000, 22_000, 6, 60), (64_000, 29_000, 8, 55)]
    {
        let large: String = (0..24).map(|number| prints(bytes, number)).collect();
        let how = Play { window, turns: 30, ..Play::default() };
        let played = play(&mut Bench::new(), &format!("{large}{{ text = \"bye\" }}"), how);

        let (clearings, read) = cost_of_clearing(&played);
        assert_eq!((played.ending(), &played.rejected), (&Ending::Stopped, &Vec::new()), "{window}");
        assert!(!played.requests.last().unwrap().to_string().contains("call `hand_over` now"), "{window}: in time");
        assert!(clearings <= most && read >= least_read, "{window}, {bytes}: {clearings} clearings, {read} % read");
    }
}
