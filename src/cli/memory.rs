//! `longhaul memory`

mod fsck;
mod past;
mod prune;
mod purge;

use super::Context;
use super::error::Code;
use crate::engine::workspace;
use crate::engine::workspace::Access;
use crate::engine::workspace::Workspace;
use crate::failure::Failure;
use crate::memory;
use crate::memory::Author;
use crate::memory::Origin;
use crate::memory::Store;
use anyhow::Result;
use serde_json::Value;
use serde_json::json;
use std::io;
use std::io::ErrorKind;
use std::io::Read;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

/// The folder all paths of the tool begin with.
const ROOT: &str = "/memories";

/// Use the memory tool by hand
///
/// A path may be written as the agent writes it, `/memories/notes/db.md`, or without the first folder: `notes/db.md`. Where
/// a text is asked for, `-` takes it from standard input.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Work on the memory in this folder instead of the project's; it is made when absent, and has no rules but the tool's
    #[arg(long, global = true, value_name = "DIR")]
    pub(super) store: Option<PathBuf>,

    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Show a file, or the files of a folder
    View {
        #[arg(default_value = ROOT)]
        path: String,
        /// Show only these lines, such as `--lines 1 20`; -1 is the last one
        #[arg(long, num_args = 2, value_names = ["FIRST", "LAST"], allow_negative_numbers = true)]
        lines: Option<Vec<i64>>,
    },
    /// Make a file
    Create {
        path: String,
        #[arg(allow_hyphen_values = true)]
        text: String,
    },
    /// Replace a text that occurs once in a file
    #[command(name = "str_replace")]
    StrReplace {
        path: String,
        #[arg(allow_hyphen_values = true)]
        old: String,
        #[arg(allow_hyphen_values = true)]
        new: String,
    },
    /// Insert a text after a line of a file; 0 is before the first
    Insert {
        path: String,
        line: u64,
        #[arg(allow_hyphen_values = true)]
        text: String,
    },
    /// Delete a file or a folder
    Delete { path: String },
    /// Rename a file or a folder, or move it, also into a folder that is there
    Rename { old: String, new: String },
    /// Show how two states of the memory differ
    Diff(past::Diff),
    /// Bring back an earlier state, as a new commit
    ///
    /// `restore PATH` takes the newest change of a file or folder back, a deletion too. Another restore takes that back.
    /// What longhaul records is never taken back: progress stays, and a feature is done only if it is done now.
    Restore(past::Restore),
    /// Remove a text, such as a key, for good: from the whole history, the view and the records of sessions
    ///
    /// It is looked for as it is and in hex, base64, JSON and percent, each line of several by itself too (of 6 bytes and more;
    /// it says which are shorter), and a mark stands in its place.
    /// All else stays, dates and authors too; commits from the first that had it get new ids.
    Purge(purge::Args),
    /// Remove notes that nobody used for a time
    ///
    /// Notes of the types `user` and `feedback` stay, and history keeps what goes. `memory.expire_unused` does the same after
    /// each session.
    Prune(prune::Args),
    /// Read all of the memory and say what is damaged
    ///
    /// Journal, objects, packs, refs and the records of sessions are read; the exit code is 7 if something is damaged.
    /// Nothing is changed without --repair, which puts back what the journal, the view or the records of sessions still
    /// have, sets the rest aside in the state's folder `found`, and names what is lost, also in the place of a lost record.
    /// The history of the memory is secured by its digests, a record is not: a line of it that was changed or taken out
    /// with care cannot be seen.
    Fsck(fsck::Args),
    /// Read tool calls as JSON lines and answer each with one
    ///
    /// A line is the input of the memory tool or a whole `tool_use` block. Its answer is durable, and written out, before the
    /// next line is read.
    Apply,
}

impl Command {
    /// What a session may not write, and what changes all, waits for the end of a run: an agent that calls this could else
    /// change its own checks.
    fn access(&self) -> Access {
        match self {
            Self::View { .. } | Self::Diff(_) => Access::Look,
            Self::Restore(restore) if restore.dry_run => Access::Look,
            Self::Restore(restore) if restore.shared_path().is_some() => Access::Write,
            Self::Create { .. }
            | Self::StrReplace { .. }
            | Self::Insert { .. }
            | Self::Delete { .. }
            | Self::Rename { .. }
            | Self::Prune(_)
            | Self::Apply => Access::Write,
            Self::Restore(_) | Self::Purge(_) | Self::Fsck(_) => Access::Change,
        }
    }

    /// Returns the input of the memory tool this stands for; none for what is no call of it. `stdin` is what stands on standard input.
    fn input(&self, stdin: &mut dyn Read) -> Result<Option<Value>> {
        let mut text = |given: &str| match given {
            "-" => {
                let mut text = String::new();
                stdin.read_to_string(&mut text).map_err(|error| {
                    Failure::usage(format!("could not read the text on standard input: {error}"))
                        .hint("give it as UTF-8")
                })?;
                anyhow::Ok(text)
            }
            given => Ok(given.to_owned()),
        };
        Ok(Some(match self {
            Self::View { path, lines: None } => json!({"command": "view", "path": full(path)}),
            Self::View { path, lines: Some(range) } => {
                json!({"command": "view", "path": full(path), "view_range": range})
            }
            Self::Create { path, text: given } => {
                json!({"command": "create", "path": full(path), "file_text": text(given)?})
            }
            Self::StrReplace { path, old, new } => {
                json!({"command": "str_replace", "path": full(path), "old_str": old, "new_str": text(new)?})
            }
            Self::Insert { path, line, text: given } => {
                json!({"command": "insert", "path": full(path), "insert_line": line, "insert_text": text(given)?})
            }
            Self::Delete { path } => json!({"command": "delete", "path": full(path)}),
            Self::Rename { old, new } => json!({"command": "rename", "old_path": full(old), "new_path": full(new)}),
            Self::Diff(_) | Self::Restore(_) | Self::Purge(_) | Self::Prune(_) | Self::Fsck(_) | Self::Apply => {
                return Ok(None);
            }
        }))
    }
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Code> {
    let (command, store) = (&args.command, args.store.as_deref());
    // A memory that is looked at is not opened.
    if let Command::Fsck(fsck) = command {
        return fsck::run(fsck, store, context);
    }
    // Read before anything is opened: who types it may take long.
    let input = command.input(&mut std::io::stdin())?;
    match store {
        Some(folder) => {
            let folder = context.environment.directory.join(folder);
            refuse_a_projects(&folder)?;
            let output = Arc::clone(&context.output);
            let mut store = Store::open_or_create_free(&folder, context.clock, move |text| output.warn(text))?;
            store.recovered().iter().for_each(|text| context.output.warn(text));
            match command {
                Command::Purge(purge) => purge::run(purge, &mut store, &folder, context),
                Command::Prune(_) => Err(prune::refused()),
                _ => {
                    let served = serve(command, input.as_ref(), &mut store, context);
                    workspace::described(&store.unsaid()).iter().for_each(|line| context.output.warn(line));
                    served
                }
            }
        }
        None => context
            .in_project(command.access(), &[], |workspace| in_project(command, input.as_ref(), workspace, context)),
    }
}

fn in_project(command: &Command, input: Option<&Value>, workspace: &mut Workspace, context: &Context) -> Result<Code> {
    let keep_in = workspace.outputs();
    match command {
        Command::Purge(args) => {
            let root = workspace.project.root().to_owned();
            workspace.inspect(None, &keep_in)?;
            return purge::run(args, &mut workspace.memory, &root, context);
        }
        Command::Prune(args) => return prune::run(args, workspace, context),
        // What a person changed in the view is a state too.
        Command::Restore(restore) if !restore.dry_run => match restore.shared_path() {
            Some(path) => workspace.memory.take_in_edits(&path, &Origin::of(Author::External))?,
            None => drop(workspace.inspect(None, &keep_in)?),
        },
        _ => {}
    }
    let served = serve(command, input, &mut workspace.memory, context);
    let findings = workspace.memory.unsaid();
    workspace.tell_findings(&findings);
    served
}

/// A project's own memory has rules, and a lock; neither is to be walked around.
fn refuse_a_projects(folder: &Path) -> Result<()> {
    let inside = [".git", ".longhaul", "memory.git"];
    let within = |folder: &Path| folder.iter().any(|name| inside.iter().any(|part| name == *part));
    let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    if !within(folder) && !within(&real) && !folder.join("run.lock").exists() {
        return Ok(());
    }
    let text = format!("`{}` belongs to a repository or to a project's own memory, which has rules", folder.display());
    Err(Failure::usage(text).hint("leave out --store and call this in the project, or name another folder").into())
}

/// Answers one command, or the calls on standard input.
fn serve(command: &Command, input: Option<&Value>, store: &mut Store, context: &Context) -> Result<Code> {
    let origin = Origin::of(Author::External);
    let served = match (command, input) {
        (Command::Diff(diff), _) => diff.run(store, context),
        (Command::Restore(restore), _) => restore.run(store, context),
        (_, Some(input)) => answer(store, input, &origin, context),
        (_, None) => apply(store, &origin, context),
    };
    store.recovered().iter().for_each(|text| context.output.warn(text));
    served
}

fn apply(store: &mut Store, origin: &Origin, context: &Context) -> Result<Code> {
    let around = context.environment.outside();
    let path = around.get("PATH").map_or("", String::as_str);
    match memory::apply(store, std::io::stdin().lock(), |answer| context.output.answer(answer), origin, path) {
        // Who asked has gone; nobody is left to answer.
        Err(error) if is_broken_pipe(&error) => Ok(Code::Done),
        served => served.map(|()| Code::Done),
    }
}

fn answer(store: &mut Store, input: &Value, origin: &Origin, context: &Context) -> Result<Code> {
    let result = store.run(&into_folder(store, input)?, origin)?;
    if result.is_error {
        let text = result.as_text();
        return Err(Failure::usage(text.strip_prefix("Error: ").unwrap_or(&text)).into());
    }
    match result.as_text() {
        text if text.is_empty() => context.output.data("(an image)"),
        text => context.output.data(&text),
    }
    Ok(Code::Done)
}

/// Lets a rename whose new path is a folder go into it, as `mv` does. One that is always meant to be there need not be yet.
fn into_folder(store: &Store, input: &Value) -> Result<Value> {
    let path =
        |name: &str| input[name].as_str().and_then(|path| path.strip_prefix(ROOT)).map(|path| path.trim_matches('/'));
    let (Some(old), Some(new)) = (path("old_path"), path("new_path")) else { return Ok(input.clone()) };
    let all = store.list()?;
    let is_file = all.iter().any(|(path, _)| path == old);
    let is_meant = is_file && ["notes", "checks"].contains(&new);
    let is_folder =
        is_meant || all.iter().any(|(path, _)| path.strip_prefix(new).is_some_and(|rest| rest.starts_with('/')));
    let mut input = input.clone();
    if is_folder && old != new {
        let name = old.rsplit('/').next().unwrap_or(old);
        input["new_path"] = json!(full(&format!("{new}/{name}")));
    }
    Ok(input)
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

/// Completes a path that was written without the first folder; what is wrong with it, the tool itself says.
fn full(path: &str) -> String {
    if path.starts_with('/') { path.to_owned() } else { format!("{ROOT}/{path}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Typed {
        #[command(flatten)]
        args: Args,
    }

    fn input(typed: &[&str], stdin: &str) -> Value {
        let typed = Typed::try_parse_from([&["memory"], typed].concat()).unwrap();
        typed.args.command.input(&mut stdin.as_bytes()).unwrap().unwrap()
    }

    #[test]
    fn each_command_becomes_an_input_of_the_tool() {
        let cases = [
            (&["view"][..], json!({"command": "view", "path": "/memories"})),
            (
                &["view", "notes/a.md", "--lines", "2", "-1"],
                json!({"command": "view", "path": "/memories/notes/a.md", "view_range": [2, -1]}),
            ),
            (
                &["create", "/memories/a", "x\n"],
                json!({"command": "create", "path": "/memories/a", "file_text": "x\n"}),
            ),
            (&["create", "a", "-"], json!({"command": "create", "path": "/memories/a", "file_text": "from\nstdin"})),
            (
                &["str_replace", "a", "old", "-"],
                json!({"command": "str_replace", "path": "/memories/a", "old_str": "old", "new_str": "from\nstdin"}),
            ),
            (
                &["insert", "a", "0", "x"],
                json!({"command": "insert", "path": "/memories/a", "insert_line": 0, "insert_text": "x"}),
            ),
            (&["delete", "../a"], json!({"command": "delete", "path": "/memories/../a"})),
            (&["rename", "a", "b"], json!({"command": "rename", "old_path": "/memories/a", "new_path": "/memories/b"})),
        ];
        for (typed, expected) in cases {
            assert_eq!(input(typed, "from\nstdin"), expected);
        }
    }

    #[test]
    fn apply_takes_its_store_before_or_after() {
        for typed in [&["memory", "--store", "d", "apply"], &["memory", "apply", "--store", "d"]] {
            let args = Typed::try_parse_from(typed).unwrap().args;
            assert_eq!(args.store, Some(PathBuf::from("d")));
            assert!(args.command.input(&mut std::io::empty()).unwrap().is_none());
        }
    }
}
