//! Where the demo plays: a fresh git project, a private home, and an environment that holds nothing of the user's.

use crate::config::Environment;
use crate::failure::Failure;
use crate::process;
use crate::process::Exit;
use crate::process::Interrupt;
use anyhow::Context;
use anyhow::Result;
use anyhow::bail;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::path::PathBuf;
use tempfile::TempDir;

/// Where `sh` and `git` are looked for when there is no `PATH`.
const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A project and the world its commands see.
pub(super) struct Stage {
    project: PathBuf,
    kept: bool,
    program: PathBuf,
    variables: BTreeMap<String, String>,
    /// Settings given to the demo, for every command in it.
    set: Vec<String>,
    /// Home and temporary files; removed with the stage.
    _private: TempDir,
}

impl Stage {
    /// Makes the project with its specification committed, in `keep` or in a folder that goes away again.
    pub(super) fn set(
        keep: Option<&Path>,
        context: &super::Context,
        base_url: &str,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        let environment = &context.environment;
        let private = private_folder(environment)?;
        let project = match keep {
            Some(folder) => empty_folder(&environment.directory.join(folder))?,
            None => empty_folder(&private.path().join("todo-cli"))?,
        };
        let variables = variables(environment, private.path(), base_url)?;
        let program = std::env::current_exe().context("could not find longhaul's own program file")?;
        let set = context.set.iter().flat_map(|(key, value)| ["--set".to_owned(), format!("{key}={value}")]).collect();
        let stage = Self { project, kept: keep.is_some(), program, variables, set, _private: private };
        stage.make_project(interrupt)?;
        Ok(stage)
    }

    pub(super) fn project(&self) -> &Path {
        &self.project
    }

    pub(super) fn is_kept(&self) -> bool {
        self.kept
    }

    /// Returns the command that runs this very program in the project.
    pub(super) fn longhaul(&self, words: &[&str]) -> process::Command {
        // Should the demo itself be killed, its child gives up soon after the model is gone.
        let set = self.set.iter().map(String::as_str).chain(["--set", "provider.outage_budget=5s"]);
        let words: Vec<&str> = words.iter().copied().chain(set).collect();
        let mut command = process::Command::new("longhaul", &words, &self.project, self.variables.clone());
        command.program = self.program.clone().into_os_string();
        command
    }

    fn make_project(&self, interrupt: &Interrupt) -> Result<()> {
        let specification = self.project.join("SPEC.md");
        fs::write(&specification, super::SPECIFICATION)
            .with_context(|| format!("could not write `{}`", specification.display()))?;
        self.git(&["init", "--quiet"], interrupt)?;
        // Whatever git's default is called, the demo looks the same everywhere.
        self.git(&["symbolic-ref", "HEAD", "refs/heads/main"], interrupt)?;
        // The agent's own commits need somebody to be from, also when the project is kept.
        self.git(&["config", "user.name", "Demo"], interrupt)?;
        self.git(&["config", "user.email", "demo@longhaul.invalid"], interrupt)?;
        self.git(&["add", "SPEC.md"], interrupt)?;
        self.git(&["commit", "--quiet", "--no-verify", "--no-gpg-sign", "--message", "specification"], interrupt)
    }

    fn git(&self, words: &[&str], interrupt: &Interrupt) -> Result<()> {
        let mut command = process::Command::new("git", words, &self.project, self.variables.clone());
        command.env.insert("GIT_CONFIG_NOSYSTEM".to_owned(), "1".to_owned());
        let finished = process::run(&command, interrupt);
        match finished.exit {
            Exit::Code(0) => Ok(()),
            Exit::NotStarted(reason) => Err(Failure::new(crate::failure::Kind::Failed, reason)
                .hint("the demo needs `git`; install it and try again")
                .into()),
            exit => bail!("`git {}` ended with {exit:?}: {}", words.join(" "), finished.output.text().trim()),
        }
    }
}

fn private_folder(environment: &Environment) -> Result<TempDir> {
    let place = environment.get("TMPDIR").unwrap_or("/tmp");
    let made = tempfile::Builder::new().prefix("longhaul-demo-").tempdir_in(place);
    let folder = made.with_context(|| format!("could not make a folder in `{place}`; set TMPDIR to another place"))?;
    for name in ["home", "tmp"] {
        let path = folder.path().join(name);
        fs::create_dir(&path).with_context(|| format!("could not make `{}`", path.display()))?;
    }
    Ok(folder)
}

/// Makes the folder when it is missing; one that holds anything is left alone.
fn empty_folder(path: &Path) -> Result<PathBuf> {
    let shown = path.display();
    let unusable = |what: &str, error: &std::io::Error| {
        let failure = Failure::usage(format!("could not {what} the folder `{shown}`: {error}"));
        failure.hint("name a folder in a place where you can write, such as `./demo`")
    };
    fs::create_dir_all(path).map_err(|error| unusable("make", &error))?;
    let mut entries = fs::read_dir(path).map_err(|error| unusable("read", &error))?;
    if entries.next().is_some() {
        let failure = Failure::usage(format!("`{shown}` is not empty, and the demo overwrites nothing"));
        return Err(failure.hint("name a folder that does not exist yet").into());
    }
    path.canonicalize().with_context(|| format!("could not find `{shown}`"))
}

/// What the children see. Nothing is passed on but the way to the programs.
fn variables(environment: &Environment, private: &Path, base_url: &str) -> Result<BTreeMap<String, String>> {
    let text = |path: PathBuf| {
        let shown = path.display().to_string();
        path.into_os_string().into_string().map_err(|_| anyhow::anyhow!("the path `{shown}` is not UTF-8"))
    };
    let pairs = [
        ("PATH", environment.get("PATH").unwrap_or(USUAL_PATH).to_owned()),
        ("HOME", text(private.join("home"))?),
        ("TMPDIR", text(private.join("tmp"))?),
        ("ANTHROPIC_BASE_URL", base_url.to_owned()),
        // The scripted model takes any key but none.
        ("ANTHROPIC_API_KEY", "no-real-key".to_owned()),
    ];
    Ok(pairs.map(|(name, value)| (name.to_owned(), value)).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_anything_in_it_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        assert!(empty_folder(folder.path()).is_ok());
        assert!(empty_folder(&folder.path().join("new/one")).is_ok());
        let refused = empty_folder(folder.path()).unwrap_err().to_string();
        assert_eq!(refused, format!("`{}` is not empty, and the demo overwrites nothing", folder.path().display()));
    }

    #[test]
    fn nothing_of_the_users_reaches_the_children() {
        let outer = [("ANTHROPIC_API_KEY", "mine"), ("HOME", "/home/ada"), ("LONGHAUL_AGENT_MODEL", "x")];
        let outer = outer.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let environment = Environment { variables: outer, directory: PathBuf::from("/"), ..Environment::default() };
        let inner = variables(&environment, Path::new("/private"), "http://127.0.0.1:1").unwrap();
        let told: Vec<String> = inner.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let expected = [
            "ANTHROPIC_API_KEY=no-real-key",
            "ANTHROPIC_BASE_URL=http://127.0.0.1:1",
            "HOME=/private/home",
            "PATH=/usr/local/bin:/usr/bin:/bin",
            "TMPDIR=/private/tmp",
        ];
        assert_eq!(told, expected);
    }
}
