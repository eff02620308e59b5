//! What came while a check ran and is loaded by tools by themselves: files that the tested program laid there for the next
//! one, which no commit shows.

use super::Run;
use crate::gate::Check;
use crate::gate::Finding;
use crate::gate::Rules;
use crate::gate::closure;
use crate::gate::soft::Loaded;
use crate::gate::verdict::Trial;
use crate::gate::words;
use crate::gate::written::Written;
use crate::process::Leftovers;
use crate::project::listed;
use crate::sandbox::Level;
use anyhow::Result;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

/// Entries of a tree that are looked at, and how deep they may lie.
const SEEN: usize = 100_000;
const DEPTH: usize = 32;

/// Time to look where only commands can.
const LIMIT: Duration = Duration::from_secs(10);

/// What is ours, and no part of the tree.
const OURS: [&str; 2] = [".git", ".longhaul"];

/// Lists what is read in a home.
const AT_HOME: &str = "cd \"$HOME\" && for f in .bash_login .bash_profile .bashrc .npmrc .profile .yarnrc .yarnrc.yml .zshenv \
    .cargo/config .cargo/config.toml .node_libraries .node_modules .local/lib/python*/site-packages/*.pth \
    .local/lib/python*/site-packages/*customize*; do if [ -e \"$f\" ]; then printf '~/%s\\n' \"$f\"; fi; done";

/// Lists what lies above the tree, where that is a folder of the check's own.
const ABOVE: &str = "cd -P .. && if [ -w . ]; then for f in * .[!.]* .cargo/*; do \
    if [ -e \"$f\" ]; then printf '../%s\\n' \"$f\"; fi; done; fi";

/// Programs that make such files, and how these end.
const MAKERS: [(&[&str], &str); 2] =
    [(&["cmake", "configure", "qmake", "autogen.sh"], "Makefile"), (&["pip", "pip3", "uv", "poetry", "pipx"], ".pth")];

/// What lies there at one time.
pub(super) struct Survey {
    folders: BTreeSet<PathBuf>,
    files: BTreeSet<String>,
    /// At home, and above the tree.
    beyond: BTreeSet<String>,
}

impl Run<'_> {
    /// Looks at what lies there now. What is beyond the tree takes commands, so it is looked at where it can refuse a pass.
    pub(super) fn survey(&self) -> Result<Survey> {
        let loaded = self.loaded()?;
        let (folders, files) = in_tree(self.around.folder, &loaded);
        let beyond = if self.around.settings.strict { self.beyond(&loaded)? } else { BTreeSet::new() };
        Ok(Survey { folders, files, beyond })
    }

    /// Tells of a pass what came since, and refuses it where the settings say so. What the check's own text makes is meant.
    pub(super) fn tell_planted(&self, trial: &mut Trial, before: &Survey, check: &Check) -> Result<()> {
        if trial.finding != Finding::Passed {
            return Ok(());
        }
        let (loaded, now) = (self.loaded()?, self.survey()?);
        // In folders that were not there, such as one for a build, nobody looks for the rest.
        let is_read = |path: &&String| {
            Path::new(path).parent().is_some_and(|folder| before.folders.contains(folder))
                || loaded.holds_by_folder(path)
        };
        let planted = now.files.difference(&before.files).filter(is_read);
        let planted = planted.chain(now.beyond.difference(&before.beyond));
        let texts = closure::texts(check, self.around.files);
        let written = Written::by(texts.iter().map(String::as_str));
        let planted = planted.filter(|path| !written.holds(path) && !is_made(path, &texts));
        trial.planted = planted.cloned().collect();
        if !trial.planted.is_empty() {
            trial
                .add(&format!("came while the check ran, and tools load it by themselves: {}", listed(&trial.planted)));
            if self.around.settings.strict {
                trial.finding = Finding::CheckChanged;
                trial.add("`gate.strict` refuses that");
            }
        }
        Ok(())
    }

    fn loaded(&self) -> Result<Loaded<'_>> {
        Loaded::new(&self.around.settings.soft_closure, self.around.init_path)
    }

    fn beyond(&self, loaded: &Loaded) -> Result<BTreeSet<String>> {
        // What lies above a working tree is the user's.
        let is_own = self.sandbox.level() == Level::Bubblewrap || self.around.git_dir.is_some();
        let text = if is_own { format!("{ABOVE}\n{AT_HOME}") } else { AT_HOME.to_owned() };
        let (finished, _) = self.shell((&text, Rules::First), ".", None, LIMIT, Leftovers::End)?;
        let is_read = |path: &&str| match path.strip_prefix("../") {
            Some(name) => name == "node_modules" || loaded.holds(name),
            None => path.starts_with("~/"),
        };
        Ok(finished.output.text().lines().filter(is_read).map(str::to_owned).collect())
    }
}

/// Tells whether a program that a text names makes such files.
fn is_made(path: &str, texts: &[String]) -> bool {
    let named = |programs: &[&str]| {
        texts.iter().flat_map(|text| words::words(text)).any(|word| programs.contains(&words::name(&word)))
    };
    MAKERS.iter().any(|(programs, end)| path.ends_with(end) && named(programs))
}

/// Lists the folders of a tree, and the files that tools load by themselves.
fn in_tree(root: &Path, loaded: &Loaded) -> (BTreeSet<PathBuf>, BTreeSet<String>) {
    let (mut folders, mut files) = (BTreeSet::from([PathBuf::new()]), BTreeSet::new());
    let (mut open, mut seen) = (vec![PathBuf::new()], 0);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(root.join(&folder)).into_iter().flatten().flatten() {
            seen += 1;
            if seen > SEEN {
                return (folders, files);
            }
            let path = folder.join(entry.file_name());
            let name = path.to_string_lossy().into_owned();
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let is_ours = OURS.contains(&name.as_str());
            if is_folder && !is_ours && !Loaded::is_filled(&name) && path.components().count() < DEPTH {
                folders.insert(path.clone());
                open.push(path);
            } else if !is_folder && loaded.holds(&name) {
                files.insert(name);
            }
        }
    }
    (folders, files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_named_program_makes_is_no_plant() {
        let made = |path: &str, text: &str| is_made(path, &[text.to_owned()]);
        assert!(made("Makefile", "./configure && make check") && made("sub/Makefile", "cmake . && make test"));
        assert!(made("~/.local/lib/python3.12/site-packages/x.pth", "pip install -e . && pytest"));
        assert!(!made("GNUmakefile", "cmake . && make test") && !made("Makefile", "make test"));
    }

    #[test]
    fn folders_that_installing_fills_and_those_of_ours_are_not_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        for path in ["conftest.py", "a/package.json", "a/x.py", "node_modules/a/package.json", ".git/Makefile"] {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let (folders, files) = in_tree(folder.path(), &Loaded::new(&[], None).unwrap());
        assert_eq!(folders, BTreeSet::from(["".into(), "a".into()]));
        assert_eq!(files, BTreeSet::from(["a/package.json".to_owned(), "conftest.py".to_owned()]));
    }
}
