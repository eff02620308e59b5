//! What surrounds the process, taken once in `main` and handed down, so that tests can give another.

use crate::process;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Variables and working directory of the process.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    pub variables: BTreeMap<String, String>,
    pub directory: PathBuf,
    /// This program itself, to be started again inside a sandbox.
    pub program: PathBuf,
}

impl Environment {
    /// Takes the process's own. Variables that are not UTF-8 are left out: no setting can be one.
    ///
    /// A working directory that was removed counts as `.`: the first use of it then fails with a message of its own.
    pub fn take() -> Self {
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        let directory = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
        Self { variables, directory, program: std::env::current_exe().unwrap_or_default() }
    }

    /// Returns a variable that is set to something.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Returns the variables with a `PATH` that leads into no project: what lies there an agent may have written.
    pub fn outside(&self) -> BTreeMap<String, String> {
        let mut variables = self.variables.clone();
        let root = self.directory.ancestors().find(|folder| folder.join(".git").exists());
        if let (Some(path), Some(root)) = (variables.get_mut("PATH"), root) {
            *path = process::path_outside(path, root);
        }
        variables
    }

    /// Returns where the user's own settings lie; none without a home directory.
    ///
    /// A relative `XDG_CONFIG_HOME` is ignored, as its specification asks.
    pub fn user_config(&self) -> Option<PathBuf> {
        Some(self.user_folder()?.join("config.toml"))
    }

    /// Returns the file with what the user trusts; none without a home directory.
    pub fn trust_file(&self) -> Option<PathBuf> {
        Some(self.user_folder()?.join("trust.toml"))
    }

    fn user_folder(&self) -> Option<PathBuf> {
        let absolute = |name| self.get(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let folder = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))?;
        Some(folder.join("longhaul"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Environment {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Environment { variables, directory: PathBuf::from("/"), ..Environment::default() }
    }

    #[test]
    fn the_users_file_lies_where_xdg_says() {
        let both = environment(&[("XDG_CONFIG_HOME", "/x"), ("HOME", "/home/ada")]);
        assert_eq!(both.user_config(), Some(PathBuf::from("/x/longhaul/config.toml")));
        let home = environment(&[("XDG_CONFIG_HOME", "relative"), ("HOME", "/home/ada")]);
        assert_eq!(home.user_config(), Some(PathBuf::from("/home/ada/.config/longhaul/config.toml")));
    }

    #[test]
    fn no_home_means_no_users_file() {
        assert_eq!(environment(&[]).user_config(), None);
        assert_eq!(environment(&[("HOME", "")]).user_config(), None);
    }
}
