//! `longhaul feature`

use super::Context;
use super::error::Code;
use super::output::Output;
use crate::checklist::Edit as Change;
use crate::checklist::Edited;
use crate::checklist::Place;
use crate::checklist::parse_json;
use crate::engine;
use crate::engine::commands::feature::Added;
use crate::engine::workspace::Access;
use crate::engine::workspace::Workspace;
use crate::failure::Failure;
use crate::process;
use crate::process::Exit;
use anyhow::Result;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::Path;
use std::path::PathBuf;

/// Change the checklist by hand
#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    Add(Add),
    Edit(Edit),
    /// List all features with their states
    List,
    Move(Move),
    /// Remove a feature
    Remove(One),
    Block(Block),
    /// Try a blocked, waiting or accepted feature again
    Reopen(One),
}

/// Add a feature, or several as JSON
///
/// `feature add -` reads one feature or an array of them from standard input; a title and a check suffice. Each check is
/// run once: it has to be red before work begins, else it proves nothing. The whole form:
///
/// {"id": "…", "title": "…", "description": "…", "steps": ["…"], "priority": 10, "required": true, "depends_on": ["…"],
/// "check": {"run": "…", "cwd": ".", "timeout": "5m", "setup": "init", "ready": "curl -fs localhost:3000", "runs": 1,
/// "closure": ["tests/e2e/**"], "expect": "…"}}
///
/// "required": false never holds up success. "milestone": true has a check over all of "depends_on", run when they are
/// done; with "kind": "manual" in its check the run pauses there until you accept it.
#[derive(Debug, clap::Args)]
pub(super) struct Add {
    /// Read the features as JSON from standard input
    #[arg(value_name = "-", value_parser = ["-"], conflicts_with_all = ["id", "title", "check", "description"])]
    stdin: Option<String>,

    /// Name it so; made from the title when left out
    #[arg(long, value_name = "ID")]
    id: Option<String>,

    /// Say what a user can then do
    #[arg(long, value_name = "TITLE", required_unless_present = "stdin")]
    title: Option<String>,

    /// Prove it by this command, which ends with 0 when the feature works
    #[arg(long, value_name = "COMMAND", required_unless_present = "stdin")]
    check: Option<String>,

    /// Describe it further
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,

    /// Let it wait for this feature; may be repeated
    #[arg(long = "depends-on", value_name = "ID", conflicts_with = "stdin")]
    depends_on: Vec<String>,

    /// Limit one run of the check, such as `30s` or `5m`
    #[arg(long, value_name = "DURATION", conflicts_with = "stdin")]
    timeout: Option<String>,
}

/// Change a feature in your editor, or by JSON
///
/// Opens what you may change of the feature in $VISUAL or $EDITOR, or in `vi` on a terminal. A text that is no feature changes nothing and is kept;
/// the same command opens it again. A check that you change is approved by you, and has to be red before it can prove
/// anything.
#[derive(Debug, clap::Args)]
pub(super) struct Edit {
    /// The feature's id
    #[arg(value_name = "FEATURE")]
    id: String,

    /// Take the fields to change as a JSON object, `-` from standard input; what is left out stays, null removes
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    json: Option<String>,
}

/// Move a feature in the order of work
///
/// Dependencies come first all the same, and what regressed before everything else.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("place").required(true))]
pub(super) struct Move {
    /// The feature's id
    #[arg(value_name = "FEATURE")]
    id: String,

    /// Put it before this feature
    #[arg(long, value_name = "FEATURE", group = "place")]
    before: Option<String>,

    /// Put it after this feature
    #[arg(long, value_name = "FEATURE", group = "place")]
    after: Option<String>,

    /// Put it first
    #[arg(long, group = "place")]
    first: bool,

    /// Put it last
    #[arg(long, group = "place")]
    last: bool,
}

impl Move {
    fn place(&self) -> Place {
        match (&self.before, &self.after) {
            (Some(other), _) => Place::Before(other.clone()),
            (None, Some(other)) => Place::After(other.clone()),
            (None, None) if self.first => Place::First,
            (None, None) => Place::Last,
        }
    }
}

/// Set a feature aside until you reopen it
#[derive(Debug, clap::Args)]
pub(super) struct Block {
    /// The feature's id
    #[arg(value_name = "FEATURE")]
    id: String,

    /// Say why; shown with the feature
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

/// One feature, by its id.
#[derive(Debug, clap::Args)]
pub(super) struct One {
    /// The feature's id
    #[arg(value_name = "FEATURE")]
    pub(super) id: String,
}

impl Add {
    /// Returns the features as JSON in the checklist's own form; `stdin` is what stands on standard input.
    fn features(&self, stdin: impl FnOnce() -> Result<String>) -> Result<Value> {
        if self.stdin.is_some() {
            let text = stdin()?;
            return parse_json(&text).map_err(|error| {
                Failure::usage(format!("standard input is not a feature as JSON: {error}"))
                    .hint(r#"write it as {"title": "…", "check": {"run": "…"}}, or an array of such"#)
                    .into()
            });
        }
        let mut feature = Map::new();
        let texts = [("id", &self.id), ("title", &self.title), ("description", &self.description)];
        for (key, text) in texts {
            feature.extend(text.iter().map(|text| (key.to_owned(), json!(text))));
        }
        if !self.depends_on.is_empty() {
            feature.insert("depends_on".to_owned(), json!(self.depends_on));
        }
        let mut check = json!({"run": self.check});
        if let Some(timeout) = &self.timeout {
            check["timeout"] = json!(timeout);
        }
        feature.insert("check".to_owned(), check);
        Ok(Value::Object(feature))
    }
}

pub(super) fn run(command: &Command, context: &Context) -> Result<Code> {
    match command {
        Command::Add(add) => {
            let json = add.features(read_stdin)?;
            let added =
                context.in_project(Access::Work, &[], |workspace| engine::commands::feature::add(workspace, &json))?;
            added.iter().for_each(|added| tell(added, context));
        }
        Command::List => {
            let report = context.in_project(Access::Look, &[], engine::commands::status::report)?;
            match report.features.as_slice() {
                [] => context
                    .output
                    .note_block("the checklist is empty; `longhaul feature add --help` says how to fill it"),
                features => super::status::table(features).iter().for_each(|line| context.output.data_line(line)),
            }
        }
        Command::Edit(args) => edit(args, context)?,
        Command::Move(args) => {
            let id = &args.id;
            let first = context
                .in_project(Access::Work, &[], |ws| engine::commands::feature::move_to(ws, id, &args.place()))?;
            context.output.data(&format!("{id}: moved"));
            if !first.is_empty() {
                context.output.warn(&format!("{id} depends on {}, which come first all the same", first.join(", ")));
            }
        }
        Command::Block(Block { id, reason }) => {
            context
                .in_project(Access::Work, &[], |workspace| engine::commands::feature::block(workspace, id, reason))?;
            context.output.data(&format!("{id}: blocked; `longhaul feature reopen {id}` tries it again"));
        }
        Command::Remove(One { id }) => {
            context.in_project(Access::Work, &[], |workspace| engine::commands::feature::remove(workspace, id))?;
            context.output.data(&format!("{id}: removed; its history stays in memory"));
        }
        Command::Reopen(One { id }) => {
            let state =
                context.in_project(Access::Work, &[], |workspace| engine::commands::feature::reopen(workspace, id))?;
            context.output.data(&format!("{id}: reopened, {state}"));
        }
    }
    Ok(Code::Done)
}

/// Changes a feature by JSON or, without any, in the user's editor.
fn edit(args: &Edit, context: &Context) -> Result<()> {
    let id = &args.id;
    let given = args.json.as_deref().map(given_json).transpose()?;
    let (added, edited) = context.in_project(Access::Work, &[], |workspace| match given {
        Some(json) => engine::commands::feature::edit(workspace, id, &Change::Merge(json)),
        None => {
            let editor = Editor::of(id, context, workspace)?;
            engine::commands::draft::edit(workspace, id, |file| editor.open(file))
        }
    })?;
    match edited {
        Edited::Nothing => context.output.data(&format!("{id}: nothing changed")),
        Edited::Words => context.output.data(&format!("{id}: changed, {}", added.state)),
        Edited::Check => tell(&added, context),
    }
    Ok(())
}

fn given_json(text: &str) -> Result<Value> {
    let text = if text == "-" { read_stdin()? } else { text.to_owned() };
    parse_json(&text).map_err(|error| {
        Failure::usage(format!("what was given is no JSON: {error}"))
            .hint(r#"write the fields to change as {"title": "…", "check": {"timeout": "10m"}}"#)
            .into()
    })
}

/// The user's editor; text for `sh`, as git takes it.
struct Editor {
    text: String,
    folder: PathBuf,
    environment: BTreeMap<String, String>,
}

impl Editor {
    fn of(id: &str, context: &Context, workspace: &Workspace) -> Result<Self> {
        let environment = &context.environment;
        let named = environment.get("VISUAL").or(environment.get("EDITOR"));
        // What a person named may need no terminal; `vi` does.
        if named.is_none() && !(std::io::stdin().is_terminal() && Output::is_on_terminal()) {
            let text = "there is no terminal for an editor, and neither VISUAL nor EDITOR names one";
            return Err(Failure::usage(text)
                .hint(format!(r#"give the change as JSON: `longhaul feature edit {id} --json '{{"title": "…"}}'`"#))
                .into());
        }
        let (folder, environment) = (environment.directory.clone(), workspace.settings.outer.clone());
        Ok(Self { text: named.unwrap_or("vi").to_owned(), folder, environment })
    }

    fn open(&self, file: &Path) -> Result<()> {
        match process::run_on_terminal(&self.text, file, &self.folder, &self.environment) {
            Exit::Code(0) => Ok(()),
            exit => {
                Err(Failure::usage(format!("the editor `{}` ended with {exit}, so nothing was changed", self.text))
                    .hint("set VISUAL or EDITOR to your editor, or give the change with `--json`")
                    .into())
            }
        }
    }
}

/// Says what was added, and which files now decide its check.
fn tell(added: &Added, context: &Context) {
    context.output.data(&format!("{}: {}", added.id, added.state));
    for (path, there) in &added.closure {
        let absent = if *there { "" } else { " (absent, and pinned as absent)" };
        context.output.data(&format!("  pinned {path}{absent}"));
    }
}

fn read_stdin() -> Result<String> {
    std::io::read_to_string(std::io::stdin())
        .map_err(|error| Failure::usage(format!("could not read standard input: {error}")).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add() -> Add {
        let (stdin, id, description, timeout) = (None, None, None, None);
        let (title, check) = (Some("Greets".to_owned()), Some("sh t.sh".to_owned()));
        Add { stdin, id, title, check, description, depends_on: Vec::new(), timeout }
    }

    fn none() -> Result<String> {
        Err(anyhow::anyhow!("standard input was read"))
    }

    #[test]
    fn options_become_a_feature_in_the_checklists_form() {
        assert_eq!(add().features(none).unwrap(), json!({"title": "Greets", "check": {"run": "sh t.sh"}}));
        let full = Add {
            id: Some("hi".into()),
            description: Some("d".into()),
            depends_on: vec!["a".into(), "b".into()],
            timeout: Some("30s".into()),
            ..add()
        };
        let expected = json!({"id": "hi", "title": "Greets", "description": "d", "depends_on": ["a", "b"],
                              "check": {"run": "sh t.sh", "timeout": "30s"}});
        assert_eq!(full.features(none).unwrap(), expected);
    }

    #[test]
    fn a_dash_reads_json_and_says_where_it_is_wrong() {
        let dash = Add { stdin: Some("-".into()), title: None, check: None, ..add() };
        let given = r#"[{"title": "A", "check": {"run": "x"}}]"#;
        assert_eq!(dash.features(|| Ok(given.into())).unwrap(), serde_json::from_str::<Value>(given).unwrap());
        let error = dash.features(|| Ok("{\n\"title\": }".into())).unwrap_err().to_string();
        assert_eq!(error, "standard input is not a feature as JSON: line 2, column 10: expected value");
    }
}
