//! What a shell with `-e` makes of the written texts.

use super::*;
use std::process::Command;

/// Runs a text in a folder with some files, as the gate does; returns whether it passed.
fn passes(shell: &[&str], text: &str) -> bool {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("yes"), "true\n").unwrap();
    std::fs::write(folder.path().join("no"), "false\n").unwrap();
    std::fs::write(folder.path().join("lax"), "set +e\n").unwrap();
    let own = "test() { :; }\nsh() { :; }\nunalias() { :; }\nalias test=true unalias=true\nown() { echo own; }\n";
    std::fs::write(folder.path().join("own"), own).unwrap();
    let run = Command::new(shell[0]).args(&shell[1..]).arg(text).current_dir(folder.path()).output().unwrap();
    run.status.success()
}

const DASH: &[&str] = &["sh", "-ec"];
const BASH: &[&str] = &["bash", "--posix", "-O", "xpg_echo", "-o", "pipefail", "-ec"];

const RED: [&str; 22] = [
    "sh no && sh yes\nsh yes",
    "sh no; sh yes; sh yes",
    "sh yes && sh no; sh yes",
    "for t in no yes; do sh $t; done",
    "for t in no yes; do sh $t; done && echo well",
    "x=$(sh no); sh yes",
    "! test -e yes\nsh yes",
    "sh yes && ! sh yes # not\nsh yes",
    "sh yes &&\n  # a comment\n  sh no\nsh yes",
    "cat <<END && sh no\n&& ' body\nEND\nsh yes",
    "(sh no && sh yes)\nsh yes",
    ". ./lax && sh no && sh yes",
    "f() { sh no; sh yes; }; f; sh yes",
    "f() { sh no; sh yes; }; f && sh yes",
    "[ -e yes ] && . ./no; sh no; sh yes",
    "if sh no; then sh yes; fi; sh no && sh yes; sh yes",
    "kill -0 999999; sh yes",
    "x=$(sh no); echo \"$x\"; sh yes",
    ". ./own; test a = b",
    ". ./own && test a = b && sh yes",
    ". ./own\ntest a = b\nsh yes",
    "[ -f own ] && . ./own\nsh no\nsh yes",
];

const GREEN: [&str; 25] = [
    ". ./own; test \"$(own)\" = own && sh yes",
    "[ -f none ] && . ./none && export A=b; sh yes",
    "[ -f none ] && . ./none || . ./own || exit 1; own",
    "sh no; [ $? -eq 1 ]",
    "sleep 9 & p=$!; sh yes; kill $p",
    "sleep 9 & p=$!; sleep 0.1; kill $p; wait $p 2>/dev/null; sh yes",
    "kill 999999 2>/dev/null; sh yes",
    "if sh no; then exit 1; fi; sh yes",
    "sh no || sh yes; sh yes",
    "sh yes && sh no || sh yes\nsh yes",
    "[ -f .env ] && . ./.env\nsh yes",
    "! [ -f yes ] && export A=b; sh yes",
    "out=$(sh no); test \"$out\" = ''",
    "out=$(sh no 2>&1)\necho \"a${out}\" | grep -q a\nsh yes",
    "trap 'rm -f x' EXIT; sh yes && sh yes",
    "cat <<'END' >x && sh yes\nsh no && it's\nEND\ngrep -q 'no && it' x",
    "f() { sh no && return 1; return 0; }; f; sh yes",
    "case a in a|b) sh no && exit 1;; (c) exit 1;; esac; sh yes",
    "test \"$(echo 'a && b')\" = \"a && b\" && echo a '&&' b \\&\\& && sh yes",
    "while sh no && sh no; do :; done; sh yes",
    "(cd . && sh yes) && { sh yes; } && sh yes",
    "set +e; sh no; sh yes",
    "x=${y:-a && b} && test \"$x\" = 'a && b'",
    "sh yes && sleep 9 & sh yes; kill $!",
    "cat <<A <<-B && sh yes # a && b\nA\n\tbody\n\tB\n! sh no",
];

#[test]
fn each_command_counts_and_what_only_prepares_does_not() {
    for shell in [DASH, BASH].into_iter().filter(|shell| passes(shell, "true")) {
        for text in RED {
            assert!(!passes(shell, &each_counts(text)), "{shell:?}: {text}\n{}", each_counts(text));
        }
        for text in GREEN {
            let options = if looks_itself(text) { "-c" } else { "-ec" };
            let shell = [&shell[..shell.len() - 1], &[options]].concat();
            assert!(passes(&shell, &each_counts(text)), "{shell:?}: {text}\n{}", each_counts(text));
        }
    }
}

#[test]
fn a_shell_alone_does_not_see_them() {
    assert!(RED.iter().filter(|text| text.contains("./own")).all(|text| passes(DASH, text)));
    assert!(passes(DASH, RED[0]) && passes(&["sh", "-c"], RED[1]) && passes(DASH, RED[6]));
}

#[test]
fn what_cannot_be_understood_stays_as_it_is() {
    for text in
        ["a && b; }", "a && 'b", "a && (b", "a &&", "fi && a", "a && $(b", "a && b <<END", "[[ a && b ]]", "a; b"]
    {
        assert_eq!(each_counts(text), text);
    }
    assert_eq!(each_counts("a && b"), "a; [ $? -eq 0 ] || exit 1; b");
    assert_eq!(each_counts("ä='ö' && b\nc"), "ä='ö'; [ $? -eq 0 ] || exit 1; b\nc");
}
