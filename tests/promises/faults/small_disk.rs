//! A real disk that is full, of bytes or of files: what was answered stays, writes say why they cannot be done, and go on once
//! there is room.

use crate::support::skipped;
use std::process::Command;

/// Runs in a place of its own; each line that begins with `not:` is a complaint.
const SCRIPT: &str = r#"
cd "$DISK" || exit 9
truncate -s 24M disk && mkfs.ext4 -q -F -m 0 -N 600 disk && mkdir mnt || { echo 'skip: no disk can be made here'; exit 0; }
mount -o loop disk mnt || { echo 'skip: a disk in a file cannot be mounted here'; exit 0; }
trap 'cd /; umount -l "$DISK/mnt"' EXIT
cd mnt && export HOME="$DISK"
memory() { "$LONGHAUL" memory "$@" --store m; }
memory create first 'text of first' > /dev/null || exit 9
answered=first
for full in files bytes; do
    mkdir fill
    case $full in
        files) n=0; while : 2> /dev/null > "fill/$n"; do n=$((n + 1)); done ;;
        bytes) dd if=/dev/zero of=fill/file bs=4k 2> /dev/null ;;
    esac
    n=0
    while memory create "$full/$n" "text of $full/$n" > /dev/null 2> ../refused; do
        answered="$answered $full/$n"
        n=$((n + 1))
        test $n -gt 100 && echo "not: the disk has no $full left" && break
    done
    grep -qi 'no space left' ../refused || sed "s/^/not: the reason is told ($full): /" ../refused
    for file in $answered; do
        memory view "$file" 2> ../refused | grep -q "text of $file" || echo "not: $file is shown while no $full are left: $(cat ../refused)"
    done
    rm -r fill
    memory create "after/$full" "text of after/$full" > /dev/null || echo "not: a write when there is room ended with $?"
    answered="$answered after/$full"
    for file in $answered; do
        memory view "$file" | grep -q "text of $file" || echo "not: $file is there"
    done
    git --git-dir=m/memory.git fsck --strict --no-dangling 2>&1 | sed 's/^/not: git finds it sound: /'
    memory fsck > /dev/null || echo 'not: it is sound'
    find m -name '*.lock' ! -name write.lock -o -name 'tmp_object_*' -o -name '.longhaul-new-*' | sed 's/^/not: nothing is left over: /'
done
echo done
"#;

#[test]
fn a_full_disk_loses_nothing_and_is_written_when_there_is_room() {
    let disk = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let output = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "bash", "-c", SCRIPT])
        .env("DISK", disk.path())
        .env("LONGHAUL", env!("CARGO_BIN_EXE_longhaul"))
        .output()
        .unwrap();
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let reason = said.strip_prefix("skip: ").or_else(|| errors.strip_prefix("unshare: "));
    match reason {
        Some(reason) => skipped(reason.trim()),
        None => assert_eq!(said, "done\n", "{errors}"),
    }
}
