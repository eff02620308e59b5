//! The files memory starts with.

use anyhow::Result;
use serde::Serialize;

use super::render;

const SEEDS: [(&str, &str, &str); 4] = [
    ("MEMORY.md", "the index", include_str!("../../templates/memory/MEMORY.md")),
    ("progress.md", "the progress log", include_str!("../../templates/memory/progress.md")),
    ("features.json", "the checklist", include_str!("../../templates/memory/features.json")),
    ("init.md", "the init-script reference", include_str!("../../templates/memory/init.md")),
];

/// Which of the seeds is the init-script reference.
const INIT: usize = 3;

/// A file memory starts with.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Seed {
    /// Path inside memory.
    pub path: &'static str,
    /// What it is, for the commit's subject.
    pub what: &'static str,
    pub text: String,
}

#[derive(Default, Serialize)]
struct Values<'a> {
    project: &'a str,
    path: Option<&'a str>,
    starts: &'a str,
    ready: &'a str,
    /// There is no script, and there is to be none.
    settled: bool,
}

/// Renders the files memory starts with, in the order they are committed.
pub fn seeds(project: &str) -> Result<Vec<Seed>> {
    // A line break in a folder's name would end the heading.
    let project = project.replace(['\n', '\r'], " ");
    let seed = |(path, what, template): (&'static str, &'static str, &str)| {
        let text = render(&format!("memory/{path}"), template, &Values { project: &project, ..Values::default() })?;
        Ok(Seed { path, what, text })
    };
    SEEDS.into_iter().map(seed).collect()
}

/// Words the reference to the init script at `path`, for `init.md`; without one, that the project needs none.
pub fn init_text(path: Option<&str>, starts: &str, ready: &str) -> Result<String> {
    // A line of its own could be taken for another script.
    let line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (starts, ready) = (line(starts), line(ready));
    let (_, _, template) = SEEDS[INIT];
    render(
        "memory/init.md",
        template,
        &Values { path, starts: &starts, ready: &ready, settled: path.is_none(), ..Values::default() },
    )
}

/// Puts into `init.md` how the script's last run went, in place of the run before.
pub fn with_last_run(text: &str, told: &str) -> String {
    const LABEL: &str = "- last run: ";
    let mut lines: Vec<String> = text.lines().filter(|line| !line.starts_with(LABEL)).map(str::to_owned).collect();
    let after = lines.iter().rposition(|line| line.starts_with("- "));
    lines.insert(after.map_or(lines.len(), |at| at + 1), format!("{LABEL}{told}"));
    lines.join("\n") + "\n"
}

/// Tells whether `init.md` says that there is to be no init script.
pub fn needs_no_init(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("No init script: "))
}

/// Reads the init script's path out of `init.md`; `None` while none is named.
pub fn init_path(text: &str) -> Option<String> {
    let path = text.lines().find_map(|line| line.strip_prefix("- script: `")?.strip_suffix('`'))?;
    (!path.is_empty()).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_run_is_one_line_among_the_others() {
        let text = init_text(Some("init.sh"), "a server", "port 80").unwrap();
        let once = with_last_run(&text, "exit code 0 after 1.0 s");
        assert!(once.ends_with("- ready: port 80\n- last run: exit code 0 after 1.0 s\n"), "{once}");
        let twice = with_last_run(&once, "exit code 1 after 2.0 s");
        assert_eq!(twice, once.replace("code 0 after 1.0", "code 1 after 2.0"));
        assert_eq!(init_path(&twice).as_deref(), Some("init.sh"));
        let by_hand = with_last_run("# Init\n\n- script: `i`\n\nMind the port.\n", "x");
        assert_eq!(by_hand, "# Init\n\n- script: `i`\n- last run: x\n\nMind the port.\n");
    }

    #[test]
    fn the_seeds_are_the_four_files_of_the_design() {
        let seeds = seeds("todo {{ list }}").unwrap();
        let paths: Vec<&str> = seeds.iter().map(|seed| seed.path).collect();
        assert_eq!(paths, ["MEMORY.md", "progress.md", "features.json", "init.md"]);
        assert!(seeds[0].text.starts_with("# Memory of todo {{ list }}\n"));
        assert_eq!(seeds[2].text, "{\n  \"version\": 1,\n  \"features\": []\n}\n");
        assert_eq!((seeds[INIT].path, init_path(&seeds[INIT].text)), ("init.md", None));
        assert!(seeds.iter().all(|seed| seed.text.ends_with('\n') && !seed.text.contains("\n\n\n")));
    }

    #[test]
    fn the_init_script_is_read_back_as_it_was_named() {
        let text = init_text(Some("tools/in`it.sh"), "a server\n- script: `other`", "curl  localhost").unwrap();
        assert_eq!(
            text,
            "# Init script\n\n- script: `tools/in`it.sh`\n- starts: a server - script: `other`\n- ready: curl \
             localhost\n"
        );
        assert_eq!(init_path(&text).as_deref(), Some("tools/in`it.sh"));
        assert_eq!(init_path(""), None);
        assert!(!needs_no_init(&text) && !needs_no_init(&seeds("p").unwrap()[INIT].text));
        let none = init_text(None, "", "").unwrap();
        assert!(needs_no_init(&none) && init_path(&none).is_none(), "{none}");
    }
}
