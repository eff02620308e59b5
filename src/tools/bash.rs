//! The `bash` tool: each call a fresh process, the working directory kept, the output bounded.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use crate::message::ToolResult;
use crate::process::Command;
use crate::process::Exit;
use crate::process::Finished;
use crate::process::Leftovers;
use crate::process::Survivor;
use crate::sandbox::Network;
use crate::sandbox::Sandbox;
use crate::sandbox::network_wanted;
use crate::tools::artifacts::Artifacts;
use crate::tools::input::Input;
use crate::tools::input::ToolError;
use crate::tools::input::tell;

/// Characters of a result left for what is told beside the output: exit, directory, findings in memory.
const ROOM_FOR_NOTES: usize = 4_000;
/// Bytes kept at each end of an output for its file: practically every output whole, and no way to fill the disk.
const KEEP: usize = 4 * 1024 * 1024;

/// Bytes of the longest path of a directory.
const LONGEST_PATH: u64 = 64 * 1024;

/// Background processes that are named.
const JOBS: usize = 10;

/// Limits of the agent's commands.
#[derive(Clone, Debug)]
pub struct Limits {
    /// How long a command may take.
    pub usual: Duration,
    /// How long it may take when it asks for more.
    pub most: Duration,
    /// Time between TERM and KILL.
    pub grace: Duration,
    /// Characters of a result.
    pub shown: usize,
}

impl Default for Limits {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { usual: seconds(120), most: seconds(600), grace: seconds(1), shown: 30_000 }
    }
}

/// Runs the agent's commands.
pub(super) struct Shell<'a> {
    sandbox: &'a Sandbox,
    program: &'static str,
    root: PathBuf,
    dir: PathBuf,
    environment: BTreeMap<String, String>,
    limits: Limits,
    artifacts: Artifacts,
    /// The file into which each command tells its last directory.
    told: PathBuf,
}

impl<'a> Shell<'a> {
    /// Opens a shell that starts at `root` and keeps large outputs as `artifacts`; `desk` is for its own files.
    pub(super) fn new(
        sandbox: &'a Sandbox,
        root: &Path,
        environment: BTreeMap<String, String>,
        limits: Limits,
        artifacts: &Artifacts,
        desk: &Path,
    ) -> Self {
        let program = if has_bash(&environment) { "bash" } else { "sh" };
        let (dir, root, artifacts) = (root.to_owned(), root.to_owned(), artifacts.clone());
        Self { sandbox, program, root, dir, environment, limits, artifacts, told: desk.join("directory") }
    }

    /// Answers one call.
    pub(super) fn call(&mut self, input: &Value) -> Result<ToolResult, ToolError> {
        let input = Input::new(input, &["command", "restart", "timeout"])?;
        let command = input.text_if_given("command")?;
        match (input.flag("restart")?, command) {
            (true, None) => Ok(self.restart()),
            (true, Some(_)) => {
                Err(tell("`restart` and `command` are both given: send `restart` alone, then the command"))
            }
            (false, None) => Err(tell("`command` is missing: give it as a text, or `restart` as true")),
            (false, Some(command)) => {
                let limit = self.limit(input.number_if_given("timeout")?)?;
                self.run(command, limit)
            }
        }
    }

    /// Ends everything that runs in the background and says how much that was.
    pub(super) fn end_jobs(&mut self) -> Vec<Survivor> {
        self.sandbox.end()
    }

    /// Tells whether what runs in the background is reached by a check, too.
    pub(super) fn is_reached_from_outside(&self) -> bool {
        self.sandbox.network() == Network::On
    }

    fn restart(&mut self) -> ToolResult {
        let ended = self.end_jobs();
        self.dir.clone_from(&self.root);
        ToolResult::text(format!(
            "restarted: {}; the working directory is `{}`",
            jobs_ended(&ended),
            self.root.display()
        ))
    }

    fn limit(&self, asked: Option<f64>) -> Result<Duration, ToolError> {
        let Some(seconds) = asked else { return Ok(self.limits.usual) };
        let most = self.limits.most;
        let limit = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::ZERO);
        if limit.is_zero() || limit > most {
            return Err(tell(format!(
                "`timeout` is {seconds}: it must be above 0 and at most {} seconds; start what takes longer \
                 with `&` and its output sent to a file",
                most.as_secs()
            )));
        }
        Ok(limit)
    }

    fn run(&mut self, text: &str, limit: Duration) -> Result<ToolResult, ToolError> {
        if text.contains('\0') {
            return Err(tell("`command` holds a NUL character: send it without"));
        }
        let mut notes = Vec::new();
        self.leave_a_folder_that_is_gone(&mut notes);
        let finished = self.sandbox.run(&self.command(text, limit));
        notes.push(exit_told(&finished.exit, limit));
        notes.extend(network_hint(self.sandbox, &finished));
        self.follow(&mut notes);
        self.leave_a_folder_that_is_gone(&mut notes);
        let output = self.output(&finished, &mut notes)?;
        let is_error = !matches!(finished.exit, Exit::Code(_));
        let joint = if output.is_empty() || output.ends_with('\n') { "" } else { "\n" };
        let notes: Vec<String> = notes.iter().map(|note| format!("[{note}]")).collect();
        Ok(ToolResult { content: Value::String(format!("{output}{joint}{}", notes.join("\n"))), is_error })
    }

    fn command(&self, text: &str, limit: Duration) -> Command {
        // The trap tells the directory also after `exit`, and the shell's own builtin is meant, whatever the command
        // defines or forbids. A command with a trap of its own stays where it was.
        fs::remove_file(&self.told).ok();
        let tell = format!("command pwd -P >| {} 2>/dev/null || :", quoted(&self.told.to_string_lossy()));
        let text = format!("trap {} EXIT\n{text}", quoted(&tell));
        let mut command = Command::new(self.program, &["-c", &text], &self.dir, self.environment.clone()).limit(limit);
        command.grace = self.limits.grace;
        command.keep = KEEP;
        command.leftovers = Leftovers::Keep;
        command
    }

    /// Takes over the directory the command ended in.
    fn follow(&mut self, notes: &mut Vec<String>) {
        let Some(told) = read_told(&self.told) else { return };
        let dir = PathBuf::from(told.strip_suffix('\n').unwrap_or(&told));
        if told.is_empty() {
            notes.push(format!("the directory the command ended in is gone; back in `{}`", self.dir.display()));
        }
        if dir.is_absolute() && dir != self.dir {
            notes.push(format!("working directory: {}", dir.display()));
            self.dir = dir;
        }
    }

    fn leave_a_folder_that_is_gone(&mut self, notes: &mut Vec<String>) {
        if self.dir != self.root && !self.is_there(&self.dir) {
            notes.push(format!("`{}` is gone; back in `{}`", self.dir.display(), self.root.display()));
            self.dir.clone_from(&self.root);
        }
    }

    /// Tells whether commands find this folder; in a sandbox, folders such as `/tmp` are others than ours.
    fn is_there(&self, dir: &Path) -> bool {
        match self.sandbox.own_program() {
            None => dir.is_dir(),
            Some(_) => {
                let look = Command::new("true", &[], dir, self.environment.clone());
                self.sandbox.run(&look).exit == Exit::Code(0)
            }
        }
    }

    fn output(&self, finished: &Finished, notes: &mut Vec<String>) -> Result<String, ToolError> {
        let output = &finished.output;
        let shown = self.artifacts.show_output(output, self.limits.shown.saturating_sub(ROOM_FOR_NOTES))?;
        if shown.text.contains('\u{fffd}') && std::str::from_utf8(&output.kept()).is_err() {
            notes.push("bytes that are not UTF-8 were replaced".to_owned());
        }
        notes.extend(shown.rest);
        Ok(shown.text)
    }
}

/// Says that a failed command seems to want the network, which it cannot have here.
fn network_hint(sandbox: &Sandbox, finished: &Finished) -> Option<String> {
    let failed = finished.exit != Exit::Code(0);
    let wanted = failed && sandbox.network() == Network::Off && network_wanted(&finished.output.text());
    wanted.then(|| {
        "commands have no network here: `sandbox.network` is for the user to set; what the project needs is installed \
         by its init script when `LONGHAUL_PHASE` is `install`"
            .to_owned()
    })
}

/// Says the same below another text, or nothing.
pub(super) fn network_told(sandbox: &Sandbox, finished: &Finished) -> String {
    network_hint(sandbox, finished).map_or_else(String::new, |hint| format!("\n[{hint}]"))
}

/// Reads what a command told, which may have put anything in the file's place.
fn read_told(path: &Path) -> Option<String> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::CLOEXEC;
    let file = fs::File::from(rustix::fs::open(path, flags, rustix::fs::Mode::empty()).ok()?);
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut told = String::new();
    file.take(LONGEST_PATH).read_to_string(&mut told).ok()?;
    Some(told)
}

/// Says which background processes were ended.
pub(super) fn jobs_ended(ended: &[Survivor]) -> String {
    match ended {
        [] => "nothing was running in the background".to_owned(),
        ended => {
            let named: Vec<String> = ended.iter().take(JOBS).map(Survivor::to_string).collect();
            let more = ended.len().saturating_sub(JOBS);
            let more = if more == 0 { String::new() } else { format!(" and {more} more") };
            format!("ended in the background: {}{more}", named.join(", "))
        }
    }
}

fn exit_told(exit: &Exit, limit: Duration) -> String {
    match exit {
        Exit::Code(code) => format!("exit code {code}"),
        Exit::Signal(signal) => format!("ended by signal {signal}"),
        Exit::TimedOut => format!(
            "stopped after its limit of {} s; give `timeout` in seconds if it needs more, or start it with `&` \
             and its output sent to a file",
            limit.as_secs_f64()
        ),
        Exit::Silent | Exit::Interrupted => exit.to_string(),
        Exit::NotStarted(reason) => format!("not started: {reason}"),
    }
}

fn has_bash(environment: &BTreeMap<String, String>) -> bool {
    let path = environment.get("PATH").map(String::as_str).unwrap_or_default();
    path.split(':').any(|folder| Path::new(folder).join("bash").is_file())
}

/// Spells a text as one word of the shell.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::process;
    use tempfile::TempDir;

    use crate::process::Interrupt;

    use super::*;

    struct Place {
        folder: TempDir,
        sandbox: Sandbox,
    }

    impl Place {
        fn new() -> Self {
            Self {
                folder: tempfile::tempdir().unwrap(),
                sandbox: Sandbox::plain(Path::new("/nowhere"), &Interrupt::new()),
            }
        }

        fn root(&self) -> PathBuf {
            self.folder.path().canonicalize().unwrap().join("project")
        }

        fn shell(&self) -> Shell<'_> {
            let environment = BTreeMap::from([("PATH".to_owned(), std::env::var("PATH").unwrap())]);
            fs::create_dir_all(self.root()).unwrap();
            let limits = Limits { grace: Duration::from_millis(200), ..Limits::default() };
            let artifacts = Artifacts::new(&self.folder.path().join("artifacts"), &[]);
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
}
