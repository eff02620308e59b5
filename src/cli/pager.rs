//! Long output on a terminal, given to the user's pager.

use super::Context;
use super::output::Output;
use super::signals;
use crate::config::Environment;
use crate::process;
use crate::process::Pager;
use std::io;
use std::io::Write;

/// What shows it where the user names nothing.
const USUAL: &str = "less -FRX";

/// Lets the user leaf through what is printed from now on, where standard output is a terminal.
pub(super) fn page(context: &Context) {
    let dumb = context.environment.get("TERM").is_none_or(|terminal| terminal == "dumb");
    if let Some(text) = named(&context.environment).filter(|_| Output::is_on_terminal() && !dumb) {
        context.output.show_data_in(Box::new(Paged { text, environment: context.environment.clone(), to: None }));
    }
}

/// Returns the pager, none when it is not there or is none.
fn named(environment: &Environment) -> Option<String> {
    let set = |name: &str| environment.variables.get(name).map(String::as_str);
    let text = set("LONGHAUL_PAGER").or_else(|| set("PAGER")).unwrap_or(USUAL).trim();
    let program = text.split_whitespace().next().filter(|program| *program != "cat")?;
    // What only the shell understands is left to it.
    let is_plain = program.chars().all(|c| c.is_alphanumeric() || "/._-+".contains(c));
    let path = environment.outside().remove("PATH").unwrap_or_default();
    let there = !is_plain || process::find_program(program, &path, &environment.directory).is_some();
    there.then(|| text.to_owned())
}

/// A pager that is started by the first thing to show.
struct Paged {
    text: String,
    environment: Environment,
    to: Option<Box<dyn Write + Send>>,
}

impl Paged {
    fn to(&mut self) -> &mut dyn Write {
        let start = || start(&self.text, &self.environment).unwrap_or_else(Output::plain);
        self.to.get_or_insert_with(start)
    }
}

impl Write for Paged {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.as_mut().map_or(Ok(()), Write::flush)
    }
}

fn start(text: &str, environment: &Environment) -> Option<Box<dyn Write + Send>> {
    let mut variables = environment.outside();
    // Colours shown, short texts left on the screen, unless the user has it otherwise.
    variables.entry("LESS".to_owned()).or_insert_with(|| "FRX".to_owned());
    let pager = Pager::start(text, &variables).ok()?;
    signals::leave_to_pager();
    Some(Box::new(pager))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_pager_is_the_one_that_is_named_and_there() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["less", "most"] {
            std::fs::write(folder.path().join(name), "").unwrap();
            std::fs::set_permissions(folder.path().join(name), std::fs::Permissions::from_mode(0o700)).unwrap();
        }
        let path = folder.path().to_string_lossy().into_owned();
        let of = |given: &[(&str, &str)]| {
            let path = ("PATH".to_owned(), path.clone());
            let given = given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            let (variables, directory) = (given.chain([path]).collect(), folder.path().to_owned());
            named(&Environment { variables, directory, ..Environment::default() })
        };
        assert_eq!(of(&[]).as_deref(), Some("less -FRX"));
        assert_eq!(of(&[("PAGER", "most -s")]).as_deref(), Some("most -s"));
        assert_eq!(of(&[("PAGER", "most"), ("LONGHAUL_PAGER", "less")]).as_deref(), Some("less"));
        assert_eq!(of(&[("PAGER", "X=1 \"$HOME\"/p")]).as_deref(), Some("X=1 \"$HOME\"/p"), "the shell knows");
        for none in ["", "cat", "absent --flag"] {
            assert_eq!(of(&[("PAGER", "most"), ("LONGHAUL_PAGER", none)]), None, "{none}");
        }
    }
}
