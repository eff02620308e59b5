use serde_json::json;

use super::bench::Bench;
use super::bench::call;
use super::*;

#[test]
fn an_unknown_tool_names_the_known_ones() {
    let told = Bench::new().refused("grep", json!({}));
    assert!(
        told.starts_with("there is no tool `grep`; there are `memory`, `bash`, `str_replace_based_edit_tool`"),
        "{told}"
    );
    assert!(Bench::new().refused("check", json!({})).contains("`add_features`"));
}

#[test]
fn every_definition_has_a_tool_behind_it() {
    let mut bench = Bench::new();
    let names: Vec<String> =
        bench.toolbox().definitions().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
    for name in names {
        let told = bench.refused(&name, json!({"zzz": 1}));
        assert!(!told.starts_with("there is no tool"), "{told}");
        assert!(told.contains("`zzz`") || name == "memory", "{name}: {told}");
    }
}

#[test]
fn a_memory_write_is_a_commit_by_the_agent_that_names_its_call() {
    let mut bench = Bench::new();
    bench.call("memory", json!({"command": "create", "path": "/memories/a.md", "file_text": "x"}));
    assert_eq!(bench.log(1), ["agent: memory: create a.md"]);
    let told = bench.refused("memory", json!({"command": "delete", "path": "/memories/features.json"}));
    assert!(told.contains("features.json"), "{told}");
}

#[test]
fn a_protected_file_changed_by_shell_is_put_back_and_told() {
    let mut bench = Bench::new();
    let mut tools = bench.toolbox();
    tools.call(&call("bash", json!({"command": "mkdir -p .longhaul && ls .longhaul"})), 1).unwrap();
    assert!(!tools.tampered());
    let attack = json!({"command": "cd .longhaul/memory && echo '{}' > features.json && echo note > own.md"});
    let result = tools.call(&call("bash", attack), 2).unwrap();
    assert!(tools.tampered());
    let text = result.as_text();
    assert!(
        text.contains("\n[memory: `/memories/features.json` was changed by a command and put back: it is longhaul's."),
        "{text}"
    );
    assert!(text.contains("[memory: `/memories/own.md` was changed by a command and is kept"), "{text}");
    drop(tools);
    assert_eq!(bench.memory("features.json").unwrap(), "{\"version\": 1, \"features\": []}\n");
    let view = std::fs::read_to_string(bench.root().join(".longhaul/memory/features.json")).unwrap();
    assert_eq!(view, "{\"version\": 1, \"features\": []}\n");
    assert_eq!(bench.log(1), ["external: memory: adopt own.md"]);
}

#[test]
fn an_initializer_is_told_once_what_is_missing() {
    let mut bench = Bench::new();
    let mut tools = bench.toolbox();
    let words = call("hand_over", json!({"done": "all"}));
    let first = tools.call(&words, 1).unwrap();
    assert_eq!(
        first,
        ToolResult::error(
            "not yet: no feature has a check yet; no init script is named; write one and call `set_init`; call `hand_over` again if it must stay so"
        )
    );
    assert_eq!(tools.handed_over(), None);
    assert!(!tools.call(&words, 2).unwrap().is_error);
    assert_eq!(tools.handed_over().unwrap().done, "all");
    drop(tools);
    assert_eq!(bench.memory("init.md").unwrap(), "none\n\n\n");
}

#[test]
fn a_project_that_is_gone_is_seen() {
    let mut bench = Bench::new();
    let root = bench.root();
    let tools = bench.toolbox();
    assert!(tools.project_is_there());
    std::fs::rename(&root, root.with_extension("away")).unwrap();
    assert!(!tools.project_is_there());
}

#[test]
fn a_result_that_no_tool_has_cut_shows_its_ends_and_where_the_whole_is() {
    let mut bench = Bench::new();
    let feature = json!({"id": "a", "title": "A", "description": "words ".repeat(10_000), "check": "true"});
    bench.call("add_features", json!({"features": [feature]}));

    let text = bench.call("checklist", json!({"action": "show", "id": "a"})).as_text();

    assert!(
        text.starts_with("a · ") && text.contains("check: true\n[the whole of 60"),
        "{}",
        &text[text.len() - 300..]
    );
    let path = text.split("bytes is in `").nth(1).unwrap().split('`').next().unwrap();
    let whole = std::fs::read_to_string(path).unwrap();
    assert!(whole.contains(&"words ".repeat(9_999)));
}
