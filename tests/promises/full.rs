//! A disk that is full: what memory holds can be read, also what a power cut left in the journal alone; writes say why they
//! cannot be done, and go on once there is room.

use std::io::Write;
use std::process::Command;

/// Runs in a place of its own, on a small disk; each line that begins with `not:` is a complaint.
const SCRIPT: &str = r#"
mount -t tmpfs -o size=32m none "$DISK" || { echo 'skip: no small disk can be mounted here'; exit 0; }
mkdir "$DISK/p" && cd "$DISK/p" || exit 9
export HOME="$DISK" GIT_CONFIG_NOSYSTEM=1
git init -q . && git -c user.name=x -c user.email=x@x commit -q --allow-empty -m first || exit 9
"$LONGHAUL" init >&2 || exit 9
"$LONGHAUL" memory create work/a.md 'what was written' >&2 || exit 9
g() { git --git-dir=.git/longhaul/memory.git "$@"; }
for name in main 'main^{tree}' main:work main:work/a.md; do
    id=$(g rev-parse "$name")
    ids="$ids .git/longhaul/memory.git/objects/$(echo "$id" | cut -c1-2)/$(echo "$id" | cut -c3-)"
done
for file in $ids; do : > "$file"; done
: > .git/longhaul/memory.git/refs/heads/main
dd if=/dev/zero of=../fill bs=4k 2>/dev/null
"$LONGHAUL" status > /dev/null || echo "not: status ended with $?"
"$LONGHAUL" log -n 1 2>/dev/null | grep -q 'create work/a.md' || echo 'not: log shows the newest commit'
"$LONGHAUL" memory view work/a.md 2>/dev/null | grep -q 'what was written' || echo 'not: the note is shown'
"$LONGHAUL" memory create work/b.md 'more' > /dev/null 2> ../refused && echo 'not: a write was refused'
grep -qi 'space' ../refused || { grep -q . ../refused && sed 's/^/not: the reason is told: /' ../refused; }
for file in $ids; do test -s "$file" && echo "not: $file is as it was"; done
rm ../fill
"$LONGHAUL" memory create work/b.md 'more' > /dev/null || echo "not: a write when there is room ended with $?"
g fsck --strict || echo 'not: git finds it sound'
echo done
"#;

/// T37.
#[test]
fn a_full_disk_that_needs_mending_can_be_read() {
    let disk = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let output = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "sh", "-c", SCRIPT])
        .env("DISK", disk.path())
        .env("LONGHAUL", env!("CARGO_BIN_EXE_longhaul"))
        .output()
        .unwrap();
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let skipped = said.strip_prefix("skip: ").or_else(|| errors.strip_prefix("unshare: "));
    if let Some(reason) = skipped {
        writeln!(std::io::stderr(), "skipped: {}", reason.trim()).ok();
        return;
    }
    assert_eq!(said, "done\n", "{errors}");
}
