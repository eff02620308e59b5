//! Which files the texts of a check write themselves, such as by `chmod +x tests/a.sh`: what a person approved that way is
//! no trick of what is tested.
//!
//! It is no shell: a file too many is watched less closely, a file too few would have honest work refused.

use crate::gate::words;

/// Programs that change the files they name.
const CHANGING: [&str; 8] = ["chmod", "chown", "chgrp", "touch", "setfacl", "dos2unix", "truncate", "tee"];

/// Those that change the last one.
const COPYING: [&str; 5] = ["cp", "mv", "ln", "install", "rsync"];

/// Commands of git that write files of the tree.
const OF_GIT: [&str; 4] = ["checkout", "restore", "reset", "stash"];

/// What some texts write, in their own spelling; the empty name stands for anything.
pub(in crate::gate) struct Written(Vec<String>);

impl Written {
    /// Reads the texts.
    pub(in crate::gate) fn by<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let commands = |text: &str| {
            words::spelled_out(text)
                .replace("${HOME}", "~")
                .replace("$HOME", "~")
                .replace(">|", ">")
                .replace(">&", "> ")
        };
        Self(texts.into_iter().flat_map(|text| of_text(&commands(text))).collect())
    }

    /// Tells whether this path below the project's root, or below memory's `checks/`, may be one of them.
    pub(in crate::gate) fn holds(&self, path: &str) -> bool {
        let path = format!("/{path}");
        let means = |name: &String| {
            let folder = format!("/{}", words::fixed_part(name));
            match name.is_empty() {
                true => true,
                false if words::is_pattern(name) => folder == "/" || path.contains(&format!("{folder}/")),
                false if name.starts_with('/') => name.ends_with(&path),
                false => format!("{path}/").contains(&format!("/{name}/")),
            }
        };
        self.0.iter().any(means)
    }
}

fn of_text(text: &str) -> Vec<String> {
    let commands = text.split(['\n', ';', '&', '|', '(', ')', '`']);
    commands.flat_map(|command| of_command(&command.replace('>', " > "))).collect()
}

fn of_command(command: &str) -> Vec<String> {
    let words: Vec<&str> = command.split_whitespace().map(|word| word.trim_matches(['"', '\''])).collect();
    let has = |names: &[&str]| words.iter().any(|word| names.contains(&words::name(word)));
    let redirected = words.windows(2).filter(|pair| pair[0] == ">").map(|pair| pair[1]).filter(|to| !to.contains('$'));
    let mut written: Vec<String> = redirected.filter_map(plain_name).collect();
    let named = words.iter().take_while(|word| **word != ">").filter(|word| !word.starts_with('-'));
    if has(&CHANGING) || has(&["sed", "perl"]) && words.iter().any(|word| word.starts_with("-i")) {
        written.extend(named.clone().filter_map(|word| plain_name(word)));
    }
    if has(&COPYING) {
        written.extend(named.last().and_then(|word| plain_name(word)));
    }
    if has(&["git"]) && has(&OF_GIT) {
        written.push(String::new());
    }
    written
}

/// Returns a name as it may end a path below the root; what a variable alone holds may be anything.
fn plain_name(word: &str) -> Option<String> {
    let of_memory = ["${LONGHAUL_CHECKS}", "$LONGHAUL_CHECKS"].iter().find_map(|folder| word.strip_prefix(folder));
    let name = of_memory.map(|rest| format!("checks{}", rest.trim_start_matches('"')));
    let name = name.unwrap_or_else(|| word.trim_start_matches("./").to_owned());
    let name = name.trim_end_matches('/');
    match name {
        "" => None,
        "." => Some(String::new()),
        name if name.starts_with('$') && !name.contains('/') => Some(String::new()),
        name => Some(
            name.rsplit_once("$").map_or(name, |(_, rest)| rest.split_once('/').map_or("", |(_, end)| end)).to_owned(),
        )
        .filter(|name| !name.is_empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_text_writes_itself_is_known() {
        let cases = [
            ("chmod +x tests/a.sh && ./tests/a.sh", "tests/a.sh", true),
            ("chmod +x tests/*.sh; sh tests/a.sh", "tests/a.sh", true),
            ("chmod -R u+x ./tests", "tests/unit/a.sh", true),
            ("cd tests && chmod +x a.sh && ./a.sh", "tests/a.sh", true),
            ("for t in tests/*.sh; do chmod +x \"$t\"; sh $t; done", "tests/a.sh", true),
            ("find tests -name '*.sh' -exec chmod +x {} +", "tests/a.sh", true),
            ("chmod +x \"$LONGHAUL_CHECKS/a.sh\"", "checks/a.sh", true),
            ("touch tests/__init__.py; python3 -m unittest tests/a.py", "tests/__init__.py", true),
            ("sh gen.sh >tests/expected.txt && git diff --exit-code", "tests/expected.txt", true),
            ("sed -i 's/\\r//' tests/a.sh", "tests/a.sh", true),
            ("git checkout HEAD -- tests; sh tests/a.sh", "tests/a.sh", true),
            ("cp .env.example .env && npm test", ".env", true),
            ("echo a=b >\"$HOME/.npmrc\" && npm test", "~/.npmrc", true),
            ("sh -c 'chmod +x tests/a.sh'", "tests/a.sh", true),
            ("sh app.sh && sh tests/a.sh", "tests/a.sh", false),
            ("chmod +x app.sh && sh tests/a.sh", "tests/a.sh", false),
            ("cp tests/a.sh /tmp/x && sh tests/a.sh > \"$TMPDIR/out\" 2>&1", "tests/a.sh", false),
            ("cp -r . \"$TMPDIR/all\"; sh tests/a.sh", "tests/a.sh", false),
            ("chmod +x /home/ada/project/tests/a.sh", "tests/a.sh", true),
            ("sed -n p tests/a.sh", "tests/a.sh", false),
            ("git diff tests/a.sh > /dev/null", "tests/a.sh", false),
        ];
        for (text, path, expected) in cases {
            assert_eq!(Written::by([text]).holds(path), expected, "{text}");
        }
    }
}
