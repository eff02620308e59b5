//! Programs that start another one: that is read as if it stood alone.

use crate::gate::words;

/// Programs that start another one, and their words for that.
const STARTING: [&str; 14] = [
    "npx", "bunx", "pnpm", "uv", "poetry", "pipenv", "pdm", "rye", "hatch", "nice", "xvfb-run", "stdbuf", "setsid",
    "sudo",
];
const SUBCOMMANDS: [&str; 3] = ["run", "exec", "dlx"];

/// Takes away the programs that start another, with their options.
pub(super) fn started(words: &[String]) -> &[String] {
    let mut rest = words;
    while rest.first().is_some_and(|word| STARTING.contains(&words::name(word))) {
        let behind =
            rest.iter().skip(1).take_while(|word| word.starts_with('-') || SUBCOMMANDS.contains(&word.as_str()));
        let next = 1 + behind.count();
        if next >= rest.len() {
            break;
        }
        rest = &rest[next..];
    }
    rest
}
