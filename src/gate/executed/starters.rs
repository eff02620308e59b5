//! Programs that start another one: that is read as if it stood alone.

use crate::gate::executed::aside;
use crate::gate::words;

/// Programs that start another one, with the options behind which a value comes.
const STARTING: [(&str, &[&str]); 53] = [
    // With `-v` it only tells where a program is.
    ("command", &["-v", "-V"]),
    ("time", &["-f", "--format", "-o", "--output"]),
    ("prlimit", &[]),
    ("setarch", &[]),
    ("unshare", &["-S", "-G", "--setuid", "--setgid"]),
    ("runuser", &["-u", "--user"]),
    ("valgrind", &[]),
    ("npx", &["-p", "--package"]),
    ("bunx", &[]),
    ("pnpm", &[]),
    ("uv", &[]),
    ("poetry", &[]),
    ("pipenv", &[]),
    ("pdm", &[]),
    ("rye", &[]),
    ("hatch", &[]),
    ("nice", &["-n", "--adjustment"]),
    ("ionice", &["-c", "-n", "--class", "--classdata"]),
    ("chrt", &[]),
    ("taskset", &[]),
    ("xvfb-run", &["-s", "--server-args", "-n", "-e", "-w"]),
    ("stdbuf", &["-i", "-o", "-e"]),
    ("setsid", &[]),
    ("sudo", &["-u", "-g", "--user", "--group"]),
    ("doas", &["-u"]),
    ("unbuffer", &[]),
    ("chronic", &[]),
    ("busybox", &[]),
    ("dbus-run-session", &[]),
    ("strace", &["-e", "-o"]),
    ("ltrace", &["-e", "-o"]),
    ("fakeroot", &[]),
    ("eatmydata", &[]),
    ("linux32", &[]),
    ("linux64", &[]),
    ("setpriv", &[]),
    ("cpulimit", &[]),
    ("cgexec", &["-g"]),
    ("numactl", &["-N", "-m", "-C"]),
    ("rlwrap", &[]),
    ("firejail", &[]),
    ("dumb-init", &[]),
    ("tini", &[]),
    ("torsocks", &[]),
    ("cross-env", &[]),
    ("env-cmd", &["-f"]),
    ("dotenv", &["-e", "-f"]),
    ("bundle", &[]),
    ("conda", &["-n", "--name", "-p", "--prefix"]),
    ("micromamba", &["-n", "--name", "-p", "--prefix"]),
    ("pyenv", &[]),
    ("rbenv", &[]),
    ("mise", &[]),
];

/// Of programs that start another one, those that take one more word before it: a time, a user, a folder.
const BEHIND_A_WORD: [&str; 6] = ["faketime", "datefudge", "gosu", "su-exec", "setuidgid", "chroot"];

/// Their words for that.
const SUBCOMMANDS: [&str; 3] = ["run", "exec", "dlx"];

/// Those that wait for a lock first, with the options behind which a value comes.
const LOCKING: &str = "flock";
const LOCKING_VALUED: [&str; 5] = ["-w", "--wait", "--timeout", "-E", "--conflict-exit-code"];

/// Programs that give the text behind `-c` to a shell.
const GIVING: [&str; 3] = [LOCKING, "script", "su"];

/// Takes away the programs that start another, with their options.
pub(super) fn started(words: &[String]) -> &[String] {
    let mut rest = words;
    while let Some(word) = rest.first() {
        if of_system(word).is_some_and(|program| BEHIND_A_WORD.contains(&program)) {
            let behind = behind_a_word(rest);
            if behind.is_empty() {
                break;
            }
            rest = behind;
            continue;
        }
        let Some((_, valued)) = starter(word) else { break };
        let is_behind = |at: usize| {
            let word = rest[at].as_str();
            let is_value = at > 1 && valued.contains(&rest[at - 1].as_str());
            // No program begins with a digit: such a word is how nice, or on which processor.
            word.starts_with(|c: char| c == '-' || c.is_ascii_digit()) || SUBCOMMANDS.contains(&word) || is_value
        };
        let next = (1..rest.len()).find(|at| !is_behind(*at)).unwrap_or(rest.len());
        let behind = aside::command_itself(&rest[next..]);
        if behind.is_empty() {
            break;
        }
        rest = behind;
    }
    rest
}

/// Returns what comes behind the options of such a program and the word that it takes.
fn behind_a_word(words: &[String]) -> &[String] {
    // With `-f` the time may begin as an option does.
    let is_word = |at: &usize| !words[*at].starts_with('-') || words[at - 1] == "-f";
    let word = (1..words.len()).find(is_word).unwrap_or(words.len());
    let behind = words.get(word + 1..).unwrap_or_default();
    let options = behind.iter().take_while(|word| word.starts_with('-')).count();
    aside::command_itself(&behind[options..])
}

fn starter(word: &str) -> Option<&'static (&'static str, &'static [&'static str])> {
    STARTING.iter().find(|(program, _)| *program == words::name(word))
}

/// Returns the command that one such as `flock FILE sh a.sh` starts, unless that is a text for a shell.
pub(super) fn behind_lock(words: &[String]) -> Option<&[String]> {
    let is_option = |at: usize| words[at].starts_with('-') || LOCKING_VALUED.contains(&words[at - 1].as_str());
    let is_lock = of_system(words.first()?) == Some(LOCKING);
    let file = (1..words.len()).find(|at| !is_option(*at)).filter(|_| is_lock)?;
    let behind = &words[file + 1..];
    behind.first().is_some_and(|word| !word.starts_with('-')).then_some(behind)
}

/// Returns the text that a command gives to a shell, other than to one that it names.
pub(super) fn text_for_a_shell(words: &[String]) -> Option<String> {
    let program = of_system(words.first()?)?;
    if program == "eval" {
        return Some(words[1..].join(" "));
    }
    let is_cluster = |word: &str| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c');
    let behind = words.windows(2).find(|pair| is_cluster(&pair[0]) || pair[0] == "--command").map(|pair| &pair[1]);
    let put_together = words.iter().find_map(|word| word.strip_prefix("--command="));
    behind.map(String::as_str).or(put_together).filter(|_| GIVING.contains(&program)).map(str::to_owned)
}

/// Returns the name of a program of the system, or of the shell: what lies in the project may do anything.
fn of_system(word: &str) -> Option<&str> {
    let bare = words::name(word);
    (bare.len() == word.len() || word.starts_with("/usr/") || word.starts_with("/bin/")).then_some(bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn what_is_started_is_seen_and_what_a_product_is_given_is_not() {
        for text in [
            "npx -y sh e2e.sh",
            "nice -n 5 sh e2e.sh",
            "nice timeout -s KILL 5 sh e2e.sh",
            "sudo -u ada env -u A B=1 sh e2e.sh",
            "taskset -c 0 setsid -w sh e2e.sh",
            "flock -w 5 -x lock sh e2e.sh",
            "/usr/bin/flock lock nice sh e2e.sh",
            "busybox sh e2e.sh",
            "command sh e2e.sh",
            "command -p sh e2e.sh",
            "time -p sh e2e.sh",
            "/usr/bin/time -f %e sh e2e.sh",
            "prlimit --nofile=100 sh e2e.sh",
            "setarch -R unshare -r sh e2e.sh",
            "runuser -u ada -- sh e2e.sh",
            "valgrind -q sh e2e.sh",
            "faketime 2020-01-01 sh e2e.sh",
            "faketime -m -f -15d sh e2e.sh",
            "faketime yesterday timeout 5 sh e2e.sh",
            "nice datefudge -s tomorrow sh e2e.sh",
            "LD_PRELOAD=/usr/lib/libfaketime.so.1 FAKETIME=-15d sh e2e.sh",
            "cross-env A=b sh e2e.sh",
            "gosu ada sh e2e.sh",
        ] {
            let words = split(text);
            assert_eq!(started(aside::command_itself(&words)), ["sh", "e2e.sh"], "{text}");
        }
        for text in
            ["./flock lock sh e2e.sh", "sh app.sh nice sh e2e.sh", "flock 9", "flock -n 9", "npx -y", "command -v sh"]
        {
            let words = split(text);
            assert_eq!(started(aside::command_itself(&words)), words, "{text}");
        }
        for text in ["./faketime 2020-01-01 sh e2e.sh", "faketime -v", "faketime 2020-01-01"] {
            let words = split(text);
            assert_eq!(started(aside::command_itself(&words)), words, "{text}");
        }
    }

    #[test]
    fn a_text_for_a_shell_is_found() {
        let text = |words: &[&str]| {
            text_for_a_shell(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()).unwrap_or_default()
        };
        for words in [
            &["flock", "lock", "-c", "sh a"][..],
            &["script", "-qec", "sh a", "/dev/null"],
            &["script", "-q", "--command=sh a"],
            &["su", "ada", "-c", "sh a"],
            &["eval", "sh", "a"],
            &["eval", "sh a"],
        ] {
            assert_eq!(text(words), "sh a", "{words:?}");
        }
        for words in [&["./script", "-c", "sh a"][..], &["grep", "-c", "sh a"], &["flock", "lock", "sh", "a"]] {
            assert_eq!(text(words), "", "{words:?}");
        }
    }
}
