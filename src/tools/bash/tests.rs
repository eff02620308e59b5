use super::*;
use crate::process;
use crate::process::Interrupt;
use crate::secrets::Secrets;
use serde_json::json;
use tempfile::TempDir;

struct Place {
    folder: TempDir,
    sandbox: Sandbox,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), sandbox: Sandbox::plain(Path::new("/nowhere"), &Interrupt::new()) }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("project")
    }

    fn shell(&self) -> Shell<'_> {
        let environment = BTreeMap::from([("PATH".to_owned(), std::env::var("PATH").unwrap())]);
        fs::create_dir_all(self.root()).unwrap();
        let limits = Limits { grace: Duration::from_millis(200), ..Limits::default() };
        let artifacts = Artifacts::new(&self.folder.path().join("artifacts"), &Secrets::default());
        Shell::new(&self.sandbox, &self.root(), environment, limits, &artifacts, self.folder.path())
    }
}

fn run(shell: &mut Shell, command: &str) -> String {
    shell.call(&json!({"command": command})).unwrap().as_text()
}

fn told(shell: &mut Shell, input: &Value) -> String {
    match shell.call(input) {
        Err(ToolError::TellModel(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_small_window_is_shown_less_at_once() {
    let shown = [0, 8_000, 32_000, 64_000, 200_000, u64::MAX].map(Limits::shown_in);
    assert_eq!(shown, [30_000, 17_000, 17_000, 22_400, 30_000, 30_000]);
}

#[test]
fn a_command_too_long_to_run_is_refused_with_the_limit_and_the_longest_runs() {
    let place = Place::new();
    let mut shell = place.shell();
    let command = |bytes: usize| format!("echo ran #{}", "x".repeat(bytes - "echo ran #".len()));
    assert_eq!(run(&mut shell, &command(LONGEST)), "ran\n[exit code 0]");
    for bytes in [LONGEST + 1, 30_000_000] {
        let told = told(&mut shell, &json!({"command": command(bytes)}));
        let expected = format!("`command` has {bytes} bytes, and at most {LONGEST} can be run: ");
        assert!(told.starts_with(&expected), "{told}");
    }
}

#[test]
fn the_output_comes_with_the_exit_code() {
    let place = Place::new();
    let mut shell = place.shell();
    assert_eq!(run(&mut shell, "echo out; echo err >&2; (exit 3)"), "out\nerr\n[exit code 3]");
    assert_eq!(run(&mut shell, "printf x"), "x\n[exit code 0]");
    assert_eq!(run(&mut shell, "cat"), "[exit code 0]");
}

#[test]
fn each_call_is_a_fresh_process_in_the_kept_directory() {
    let place = Place::new();
    let mut shell = place.shell();
    run(&mut shell, "mkdir -p 'a b/c'; X=1; cd 'a b'");
    assert_eq!(
        run(&mut shell, "echo \"${X-unset}\"; pwd"),
        format!("unset\n{}/a b\n[exit code 0]", place.root().display())
    );
}

#[test]
fn the_directory_is_kept_however_the_command_ends() {
    let place = Place::new();
    for program in ["bash", "sh"] {
        let mut shell = place.shell();
        shell.program = program;
        for ending in
            ["exit 3", "set -eu; false", "set -C; pwd() { echo /; }", "exec 2>&1 >/dev/null", "cat <<'X'\n'\nX"]
        {
            shell.restart();
            run(&mut shell, "mkdir -p sub");
            let result = run(&mut shell, &format!("cd sub; {ending}"));
            assert!(
                result.ends_with(&format!("[working directory: {}/sub]", place.root().display())),
                "{program} {ending}: {result}"
            );
        }
    }
}

#[test]
fn a_command_that_does_not_parse_says_so_and_moves_nothing() {
    let place = Place::new();
    let mut shell = place.shell();
    let result = run(&mut shell, "if true; then");
    assert!(result.contains("yntax error") && result.ends_with("[exit code 2]"), "{result}");
    assert_eq!(run(&mut shell, "pwd"), format!("{}\n[exit code 0]", place.root().display()));
}

#[test]
fn a_deleted_directory_leads_back_to_the_project() {
    let place = Place::new();
    let mut shell = place.shell();
    let result = run(&mut shell, "mkdir d; cd d; rmdir ../d");
    let root = place.root().display().to_string();
    assert_eq!(result, format!("[exit code 0]\n[the directory the command ended in is gone; back in `{root}`]"));
    run(&mut shell, "mkdir d; cd d");
    fs::remove_dir(place.root().join("d")).unwrap();
    assert_eq!(run(&mut shell, "pwd"), format!("{root}\n[`{root}/d` is gone; back in `{root}`]\n[exit code 0]"));
}

#[test]
fn a_background_job_lives_until_restart() {
    let place = Place::new();
    let mut shell = place.shell();
    let result = run(&mut shell, "sleep 300 & echo $$; mkdir d; cd d");
    let group = result.lines().next().unwrap().parse().unwrap();
    assert!(process::group_lives(group));
    let restarted = shell.call(&json!({"restart": true})).unwrap().as_text();
    assert!(restarted.starts_with("restarted: ended in the background: `sleep 300` (process "), "{restarted}");
    assert!(restarted.ends_with(&format!("; the working directory is `{}`", place.root().display())));
    assert!(!process::group_lives(group));
    assert!(run(&mut shell, "pwd").starts_with(&format!("{}\n", place.root().display())));
}

#[test]
fn a_command_over_its_limit_is_stopped_and_told_the_way_out() {
    let place = Place::new();
    let mut shell = place.shell();
    let result = shell.call(&json!({"command": "echo begun; sleep 300", "timeout": 0.3})).unwrap();
    assert!(result.is_error);
    assert!(result.as_text().starts_with("begun\n[stopped after its limit of 0.3 s; give `timeout`"), "{result:?}");
}

#[test]
fn a_large_output_shows_its_ends_and_where_the_rest_is() {
    let place = Place::new();
    let mut shell = place.shell();
    let result =
        run(&mut shell, "echo head; i=0; while [ $i -lt 5000 ]; do echo \"line $i\"; i=$((i+1)); done; echo tail");
    assert!(result.chars().count() <= 30_000);
    assert!(result.starts_with("head\nline 0\n") && result.contains("line 4999\ntail\n[exit code 0]"), "{result}");
    let path = result.split("bytes is in `").nth(1).unwrap().split('`').next().unwrap();
    let whole = fs::read_to_string(path).unwrap();
    assert_eq!(whole.lines().count(), 5002);
    assert!(result.contains(&format!("the output of {} bytes is in `", whole.len())));
}

#[test]
fn bytes_that_are_no_text_are_told() {
    let place = Place::new();
    assert_eq!(
        run(&mut place.shell(), r"printf '\377'"),
        "\u{fffd}\n[exit code 0]\n[bytes that are not UTF-8 were replaced]"
    );
}

#[test]
fn a_bad_input_is_told_with_its_field() {
    let place = Place::new();
    let mut shell = place.shell();
    assert_eq!(told(&mut shell, &json!({})), "`command` is missing: give it as a text, or `restart` as true");
    let late = told(&mut shell, &json!({"command": "true", "timeout": 120_000}));
    assert!(late.starts_with("`timeout` is 120000: it must be above 0 and at most 600 seconds"), "{late}");
    for bad in [json!(0), json!(-1), json!(1e300)] {
        told(&mut shell, &json!({"command": "true", "timeout": bad}));
    }
    assert!(told(&mut shell, &json!({"command": "a\u{0}b"})).contains("NUL"));
    assert!(told(&mut shell, &json!({"command": "true", "restart": true})).contains("both given"));
}
