//! What every subcommand works with, and how it gets its settings.

use super::output::Output;
use super::project_settings::SharedSettings;
use super::sandbox::Commands;
use super::settings::settle;
use super::signals;
use crate::clock::Clock;
use crate::config::Config;
use crate::config::Environment;
use crate::config::File;
use crate::config::Sources;
use crate::config::Trust;
use crate::engine::custody::SHARED;
use crate::engine::custody::same_text;
use crate::engine::session::mend;
use crate::engine::settings::Read;
use crate::engine::workspace::Access;
use crate::engine::workspace::Workspace;
use crate::failure::Failure;
use crate::process;
use crate::process::Interrupt;
use crate::project::Project;
use anyhow::Result;
use std::path::PathBuf;
use std::sync::Arc;

/// The world as one command sees it.
pub struct Context {
    pub environment: Environment,
    pub output: Arc<Output>,
    pub clock: Clock,
    /// Settings given by `--set`.
    pub set: Vec<(String, String)>,
}

impl Context {
    /// Reads all settings; `flags` are those that an option of their own gives. Notes about them are told.
    pub fn config(&self, flags: &[(&str, Option<String>)]) -> Result<(Config, Read)> {
        let (config, read) = self.quiet_config(flags)?;
        config.notes.iter().for_each(|note| self.output.warn(note));
        Ok((config, read))
    }

    /// Reads all settings and leaves it to the caller to tell the notes.
    pub(super) fn quiet_config(&self, flags: &[(&str, Option<String>)]) -> Result<(Config, Read)> {
        let shared = SharedSettings::find(&self.environment)?;
        let given = flags.iter().filter_map(|(key, value)| Some(((*key).to_owned(), value.clone()?)));
        let flags: Vec<(String, String)> = self.set.iter().cloned().chain(given).collect();
        let user = self.user_settings()?;
        let own = self.own_files(user.as_ref());
        let (project, trust) = shared.as_ref().map_or((None, Trust::None), SharedSettings::holding);
        let read = Read { shared: project.as_ref().map(|file| file.text.clone()), own };
        let variables = Some(&self.environment.variables);
        let mut config = Config::load(&Sources { user, project, trust, variables, flags: &flags })?;
        config.notes.extend(shared.as_ref().and_then(SharedSettings::replaced).map(str::to_owned));
        Ok((config, read))
    }

    /// Reads the user's own settings.
    pub(super) fn user_settings(&self) -> Result<Option<File>> {
        Ok(self.environment.user_config().map(|path| File::read(&path)).transpose()?.flatten())
    }

    /// Returns the user's own files as they are now; a session has no business with them.
    fn own_files(&self, config: Option<&File>) -> Vec<(PathBuf, Option<String>)> {
        let config = self.environment.user_config().map(|path| (path, config.map(|file| file.text.clone())));
        let trust = self.environment.trust_file().map(|path| (path.clone(), std::fs::read_to_string(path).ok()));
        config.into_iter().chain(trust).collect()
    }

    /// Opens the project around the working directory, with its memory, and works in it.
    ///
    /// A command that changes something listens for signals, so that an interrupt ends it in order.
    pub fn in_project<T>(
        &self,
        access: Access,
        flags: &[(&str, Option<String>)],
        work: impl FnOnce(&mut Workspace) -> Result<T>,
    ) -> Result<T> {
        let commands = if access == Access::Work { Commands::WillRun } else { Commands::None };
        let (config, read) = self.config(flags)?;
        let settings = settle(&config, read, self, commands)?;
        let interrupt = Interrupt::new();
        if access != Access::Look {
            signals::watch(&interrupt, &self.output)?;
        }
        if access == Access::Work {
            process::adopt_orphans();
            self.output.tick();
        }
        let directory = &self.environment.directory;
        let mut workspace = Workspace::open(directory, access, &settings, self.clock, &*self.output, &interrupt)?;
        if access == Access::Work {
            mend::before_work(&workspace)?;
        }
        let output = Arc::clone(&self.output);
        workspace.memory.on_notice(move |text| output.warn(text));
        work(&mut workspace)
    }
}

/// Refuses shared settings that are not committed as they lie there: the agent may have written them.
pub(super) fn require_committed_settings(project: &Project) -> Result<()> {
    let Some(file) = File::read(&project.root().join(SHARED))? else { return Ok(()) };
    let committed = match project.head()? {
        Some(head) => project.blob_at(&head.commit, SHARED)?,
        None => None,
    };
    let committed = committed.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    if committed.is_some() && same_text(committed.as_deref(), Some(&file.text)) {
        return Ok(());
    }
    Err(Failure::usage(format!("`{SHARED}` is not committed as it lies there"))
        .hint(format!("look at it, then `git add {SHARED} && git commit`, or remove it"))
        .into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process;
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::Path;

    fn git(folder: &Path, args: &[&str]) {
        let who = ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"];
        let mut environment: BTreeMap<_, _> = who.map(|name| (name.to_owned(), "a@example.org".to_owned())).into();
        environment.insert("GIT_CONFIG_GLOBAL".to_owned(), "/dev/null".to_owned());
        environment.extend(std::env::var("PATH").map(|path| ("PATH".to_owned(), path)));
        let command = process::Command::new("git", args, folder, environment);
        let finished = process::run(&command, &process::Interrupt::new());
        assert!(matches!(finished.exit, process::Exit::Code(0)), "{}", finished.output.text());
    }

    fn repository() -> (tempfile::TempDir, Project) {
        let folder = tempfile::tempdir().unwrap();
        git(folder.path(), &["init", "--quiet"]);
        let project = Project::discover(folder.path(), BTreeMap::new()).unwrap();
        (folder, project)
    }

    #[test]
    fn shared_settings_must_lie_there_as_committed() {
        let (folder, project) = repository();
        require_committed_settings(&project).unwrap();

        fs::write(folder.path().join(SHARED), "[budget]\nusd = 5\n").unwrap();
        let refused = require_committed_settings(&project).unwrap_err().to_string();
        assert_eq!(refused, "`longhaul.toml` is not committed as it lies there");

        git(folder.path(), &["add", SHARED]);
        git(folder.path(), &["commit", "--quiet", "--message", "settings"]);
        require_committed_settings(&project).unwrap();

        fs::write(folder.path().join(SHARED), "[budget]\nusd = 4\n").unwrap();
        assert!(require_committed_settings(&project).is_err());
    }

    #[test]
    fn settings_come_from_where_the_command_is_called() {
        let (folder, _) = repository();
        fs::write(folder.path().join(SHARED), "[budget]\nusd = 5\nsessions = 7\n").unwrap();
        let inner = folder.path().join("deep/er");
        fs::create_dir_all(&inner).unwrap();
        let environment = Environment { directory: inner, ..Environment::default() };
        let output = Arc::new(crate::cli::output::capture::Captured::default().output(None));
        let set = vec![("budget.usd".to_owned(), "3".to_owned())];
        let context = Context { environment, output, clock: Clock::system(), set };

        let config = context.config(&[("budget.tokens", Some("9".into())), ("budget.time", None)]).unwrap().0;
        assert_eq!((config.budget.run.usd, config.budget.run.sessions, config.budget.run.tokens), (3.0, 7, 9));
        assert_eq!(config.source("budget.sessions").to_string(), "`longhaul.toml`, line 3");
    }
}
