//! `longhaul log`

use super::Context;
use super::error::Code;
use super::line::Line;
use super::line::Tone;
use super::pager;
use crate::engine;
use crate::engine::workspace::Access;
use crate::engine::workspace::Workspace;
use crate::failure::Failure;
use crate::memory::Author;
use crate::memory::Entry;
use crate::memory::Filter;
use crate::memory::MemoryPath;
use crate::memory::Store;
use crate::memory::Touch;
use crate::memory::Touched;
use anyhow::Result;
use serde_json::Value;
use serde_json::json;

/// The folder that shows the memory.
const VIEW: &str = ".longhaul/memory";

/// Show the history of the memory: what each session wrote, and why
///
/// The newest entry comes first. On a terminal it is shown through $LONGHAUL_PAGER, $PAGER or `less -FRX`; an empty
/// LONGHAUL_PAGER switches that off.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Show only what changed this file or folder, such as `features.json`, under its older names too
    #[arg(value_name = "PATH")]
    pub(super) path: Option<String>,

    /// Show the change itself below each entry
    #[arg(short, long)]
    pub(super) patch: bool,

    /// Show at most this many entries
    #[arg(short = 'n', value_name = "N")]
    pub(super) count: Option<usize>,

    /// Show only what this session wrote
    #[arg(long, value_name = "N")]
    pub(super) session: Option<u32>,

    /// Show only what concerns this feature
    #[arg(long, value_name = "ID")]
    pub(super) feature: Option<String>,

    /// Show only what this one wrote; `external` is a person, or whatever else works from outside
    #[arg(long, value_name = "WHO", value_parser = author)]
    pub(super) author: Option<Author>,

    /// Print each entry as JSON, one a line
    #[arg(long)]
    pub(super) json: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Code> {
    let filter = Filter {
        path: args.path.as_deref().map(memory_path).transpose()?,
        session: args.session,
        feature: args.feature.clone(),
        author: args.author,
        limit: args.count,
    };
    context.in_project(Access::Look, &[], |workspace| {
        pager::page(context);
        let mut found = false;
        for entry in workspace.memory.walk(&filter)? {
            found = true;
            show(&entry?, &workspace.memory, args, context)?;
            if !context.output.is_read() {
                break;
            }
        }
        if !found {
            require_known(args, workspace)?;
            context.output.note(&Line::plain("no commit of the memory fits"));
        }
        Ok(Code::Done)
    })
}

/// Prints one commit.
fn show(entry: &Entry, memory: &Store, args: &Args, context: &Context) -> Result<()> {
    let diff = args.patch.then(|| memory.diff(&entry.id)).transpose()?;
    if args.json {
        context.output.json(&json(entry, &memory.touched(entry)?, diff.as_deref()));
        return Ok(());
    }
    context.output.data_line(&line(entry));
    if let Some(diff) = diff {
        patch(&diff).iter().for_each(|line| context.output.data_line(line));
    }
    Ok(())
}

/// Refuses a session, a feature and a path that never were. Of those of long ago there may be commits and nothing else.
fn require_known(args: &Args, workspace: &Workspace) -> Result<()> {
    args.session.map(|session| engine::commands::status::session(workspace, session)).transpose()?;
    args.feature.as_deref().map(|id| engine::commands::status::feature(workspace, id)).transpose()?;
    args.path.as_deref().map(|path| require_known_path(path, workspace)).transpose()?;
    Ok(())
}

/// Refuses a path that never was, other than that of a folder that is always meant to be there.
fn require_known_path(path: &str, workspace: &Workspace) -> Result<()> {
    let wanted = memory_path(path)?;
    let is_folder =
        ["", "notes", "checks"].iter().any(|folder| MemoryPath::relative(folder).is_ok_and(|known| known == wanted));
    let filter = Filter { path: Some(wanted), limit: Some(1), ..Filter::default() };
    if is_folder || workspace.memory.walk(&filter)?.next().is_some() {
        return Ok(());
    }
    let text = format!("memory never held `{path}`");
    Err(Failure::usage(text).hint("`longhaul memory view` lists what it holds, `longhaul log` what it held").into())
}

fn author(text: &str) -> Result<Author, String> {
    let all = [Author::Agent, Author::Longhaul, Author::External];
    let known = all.map(|author| format!("`{}`", author.name())).join(", ");
    all.into_iter().find(|author| author.name() == text).ok_or_else(|| format!("there are {known}"))
}

/// Renders a commit for programs.
fn json(entry: &Entry, all: &[Touched], patch: Option<&str>) -> Value {
    let touched = |touched: &Touched| match &touched.how {
        Touch::Added => json!({"path": touched.path, "how": "added"}),
        Touch::Changed => json!({"path": touched.path, "how": "changed"}),
        Touch::Removed => json!({"path": touched.path, "how": "removed"}),
        Touch::Renamed { from } => json!({"path": touched.path, "how": "renamed", "from": from}),
    };
    let trailers: Vec<Value> = entry.trailers.iter().map(|(name, value)| json!([name, value])).collect();
    let mut value = json!({
        "id": entry.id, "parent": entry.parent, "author": entry.author, "at": entry.at.to_string(),
        "subject": entry.subject, "body": entry.body, "session": entry.session, "feature": entry.feature,
        "trailers": trailers, "touched": all.iter().map(touched).collect::<Vec<_>>(),
    });
    if let Some(patch) = patch {
        value["patch"] = json!(patch);
    }
    value
}

/// Reads a path as the agent writes it, or without the first folder, or as a shell completes it in the project.
pub(super) fn memory_path(text: &str) -> Result<MemoryPath> {
    let parsed = match in_view(text) {
        Some(path) => MemoryPath::relative(path),
        None if text.starts_with('/') => MemoryPath::parse(text),
        None => MemoryPath::relative(text),
    };
    parsed.map_err(|error| Failure::usage(format!("`{text}` is no path in memory: {error}")).into())
}

/// Returns what stands behind the folder that shows the memory.
fn in_view(text: &str) -> Option<&str> {
    let (before, path) = text.split_once(VIEW)?;
    let is_whole = (before.is_empty() || before.ends_with('/')) && (path.is_empty() || path.starts_with('/'));
    is_whole.then(|| path.trim_start_matches('/'))
}

/// Renders a commit on one line: id, time, writer, session, subject.
pub(super) fn line(entry: &Entry) -> Line {
    let at = entry.at.strftime("%Y-%m-%d %H:%M").to_string();
    let session = entry.session.map_or_else(String::new, |session| format!("session {session}"));
    let short = entry.id.get(..8).unwrap_or(&entry.id);
    let line = Line::new(Tone::Careful, short).column(10).add(Tone::Dim, &at).column(28);
    let line = line.add(Tone::Strong, &entry.author).column(38).add(Tone::Plain, &session);
    line.column(51).add(Tone::Plain, &entry.subject)
}

/// Renders a change as git writes it, below its commit.
fn patch(diff: &str) -> Vec<Line> {
    let below = |line: &str| Line::plain("    ").join(patch_line(line));
    diff.lines().map(below).chain([Line::default()]).collect()
}

/// Renders a line of a patch; added and removed ones are marked by tone too.
pub(super) fn patch_line(line: &str) -> Line {
    let tone = match line.as_bytes().first() {
        Some(b'+') if !line.starts_with("+++") => Tone::Good,
        Some(b'-') if !line.starts_with("---") => Tone::Bad,
        Some(b'@') => Tone::Dim,
        _ => Tone::Plain,
    };
    Line::new(tone, &line.replace('\t', "    "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_says_when_who_and_what() {
        let entry = Entry {
            id: "0123456789abcdef".into(),
            parent: None,
            author: "agent".into(),
            at: "2026-11-29T14:03:59Z".parse().unwrap(),
            subject: "memory: create notes/db.md".into(),
            body: String::new(),
            session: Some(7),
            feature: None,
            trailers: Vec::new(),
        };
        let expected = "01234567  2026-11-29 14:03  agent     session 7    memory: create notes/db.md";
        assert_eq!(line(&entry).render(false), expected);
        let without = Entry { session: None, author: "longhaul".into(), subject: "init: a\u{202e}\nb".into(), ..entry };
        let expected = r"01234567  2026-11-29 14:03  longhaul               init: a\u{202e}\nb";
        assert_eq!(line(&without).render(false), expected);
    }

    #[test]
    fn a_path_is_read_in_each_way_that_it_is_written() {
        let all =
            ["notes/a.md", "/memories/notes/a.md", ".longhaul/memory/notes/a.md", "./.longhaul/memory/notes/a.md"];
        for text in
            all.into_iter().chain(["../../.longhaul/memory/notes/a.md", "/home/me/p/.longhaul/memory/notes/a.md"])
        {
            assert_eq!(memory_path(text).unwrap().as_str(), "notes/a.md", "{text}");
        }
        assert!(memory_path(".longhaul/memory/").unwrap().is_root());
        assert_eq!(memory_path("x.longhaul/memory").unwrap().as_str(), "x.longhaul/memory", "its twin: another folder");
    }

    #[test]
    fn a_change_keeps_its_lines() {
        let diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+\tnew\x1b[2J\n";
        let lines: Vec<_> = patch(diff).iter().map(|line| line.render(true)).collect();
        let expected = [
            "    --- a/x",
            "    +++ b/x",
            "    \x1b[2m@@ -1 +1 @@\x1b[0m",
            "    \x1b[31m-old\x1b[0m",
            "    \x1b[32m+    new\\u{1b}[2J\x1b[0m",
            "",
        ];
        assert_eq!(lines, expected);
    }
}
