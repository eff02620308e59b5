//! The list of damages, each with what git says of it and what is left after a repair.

use std::fs;

use crate::memory::fixture::Memory;
use crate::memory::fsck::tests::change;
use crate::memory::fsck::tests::halve;
use crate::memory::fsck::tests::in_pack;
use crate::memory::fsck::tests::lose_journal;
use crate::memory::fsck::tests::memory;
use crate::memory::fsck::tests::object;
use crate::memory::fsck::tests::packed;
use crate::memory::fsck::tests::write;
use crate::memory::journal::Journal;
use crate::memory::repository::branch::BRANCH;

/// What git says of a damage.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Git {
    Damaged,
    /// It cannot see it.
    Sound,
}

/// What is left after `--repair`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Left {
    Nothing,
    /// What is named cannot be had back.
    Lost(&'static str),
}

pub(super) struct Damage {
    pub(super) name: &'static str,
    pub(super) make: fn() -> Memory,
    pub(super) harm: fn(&Memory),
    pub(super) git: Git,
    pub(super) left: Left,
}

const MEND: Left = Left::Nothing;

/// Calls of one line each.
fn damage(name: &'static str, harm: fn(&Memory), git: Git, left: Left) -> Damage {
    Damage { name, make: memory, harm, git, left }
}

fn of_packs(name: &'static str, harm: fn(&Memory), left: Left) -> Damage {
    Damage { name, make: packed, harm, git: Git::Damaged, left }
}

#[expect(clippy::too_many_lines, reason = "a list")]
pub(super) fn damages() -> Vec<Damage> {
    use Git::Damaged;
    use Git::Sound;
    vec![
        damage("a commit emptied", |m| write(object(m, "main"), b""), Damaged, MEND),
        damage("a commit cut", |m| halve(object(m, "main~1")), Damaged, MEND),
        damage("a commit of zeros", |m| write(object(m, "main"), &[0; 200]), Damaged, MEND),
        damage("a commit deleted", |m| fs::remove_file(object(m, "main~2")).unwrap(), Damaged, MEND),
        damage("a tree emptied", |m| write(object(m, "main^{tree}"), b""), Damaged, MEND),
        damage("a tree cut", |m| halve(object(m, "main:notes")), Damaged, MEND),
        damage(
            "a tree that is another",
            |m| drop(fs::copy(object(m, "main:notes"), object(m, "main^{tree}"))),
            Damaged,
            MEND,
        ),
        damage("a tree deleted", |m| fs::remove_file(object(m, "main:notes/deep")).unwrap(), Damaged, MEND),
        damage("a file emptied", |m| write(object(m, "main:notes/a.md"), b""), Damaged, MEND),
        damage("a file cut", |m| halve(object(m, "main:notes/a.md")), Damaged, MEND),
        damage("a file of garbage", |m| write(object(m, "main~2:notes/a.md"), b"garbage"), Damaged, MEND),
        damage("a file deleted", |m| fs::remove_file(object(m, "main:features.json")).unwrap(), Damaged, MEND),
        damage(
            "a folder in a file's place",
            |m| {
                let path = object(m, "main:notes/a.md");
                fs::remove_file(&path).unwrap();
                fs::create_dir_all(path.join("x")).unwrap();
            },
            Damaged,
            MEND,
        ),
        damage(
            "a file that is shown, no journal",
            |m| {
                write(object(m, "main:notes/a.md"), b"");
                lose_journal(m);
            },
            Damaged,
            MEND,
        ),
        damage(
            "all folders that are shown, no journal",
            |m| {
                let files = ["main^{tree}", "main:notes", "main:notes/deep"].map(|name| object(m, name));
                files.into_iter().for_each(|path| write(path, b""));
                lose_journal(m);
            },
            Damaged,
            MEND,
        ),
        damage(
            "a file that a session sent, no journal",
            |m| {
                write(object(m, "main~2:notes/a.md"), b"");
                lose_journal(m);
                let events = m.place.state.join("sessions/1/events.jsonl");
                write(events, br#"{"input":{"command":"create","file_text":"two"}}"#);
            },
            Damaged,
            MEND,
        ),
        damage(
            "a file that a session kept, no journal",
            |m| {
                write(object(m, "main~2:notes/a.md"), b"");
                lose_journal(m);
                write(m.place.state.join("sessions/1/artifacts/note"), b"two");
            },
            Damaged,
            MEND,
        ),
        damage(
            "an older file, no journal",
            |m| {
                write(object(m, "main~2:notes/a.md"), b"");
                lose_journal(m);
            },
            Damaged,
            Left::Lost("the file `notes/a.md` as it was at the commit"),
        ),
        damage(
            "an older folder, no journal",
            |m| {
                write(object(m, "main~2:notes"), b"");
                lose_journal(m);
            },
            Damaged,
            Left::Lost("the folder `notes` as it was at the commit"),
        ),
        damage(
            "an older commit, no journal",
            |m| {
                write(object(m, "main~1"), b"");
                lose_journal(m);
            },
            Damaged,
            Left::Lost("and with it the way to all older ones"),
        ),
        damage(
            "the newest commit, no journal",
            |m| {
                write(object(m, "main"), b"");
                lose_journal(m);
            },
            Damaged,
            MEND,
        ),
        damage(
            "something unreachable cut",
            |m| {
                write(m.outside("x"), b"unreachable");
                let id = m.git(&["hash-object", "-w", m.outside("x").to_str().unwrap()]);
                halve(m.place.repository.join("objects").join(&id[..2]).join(id[2..].trim()));
            },
            Damaged,
            MEND,
        ),
        damage("the branch of nonsense", |m| write(m.place.repository.join(BRANCH), b"nonsense\n"), Damaged, MEND),
        damage("the branch emptied", |m| write(m.place.repository.join(BRANCH), b""), Damaged, MEND),
        damage(
            "the branch at what is not there",
            |m| write(m.place.repository.join(BRANCH), &[b'1'; 40]),
            Damaged,
            MEND,
        ),
        damage(
            "the branch emptied, no journal",
            |m| {
                write(m.place.repository.join(BRANCH), b"");
                lose_journal(m);
            },
            Damaged,
            MEND,
        ),
        damage("the branch deleted", |m| fs::remove_file(m.place.repository.join(BRANCH)).unwrap(), Sound, MEND),
        damage("the branch elsewhere", |m| drop(m.git(&["update-ref", "refs/heads/main", "main~2"])), Sound, MEND),
        damage(
            "another ref of nonsense",
            |m| write(m.place.repository.join("refs/heads/x"), b"nonsense\n"),
            Damaged,
            MEND,
        ),
        damage("HEAD emptied", |m| write(m.place.repository.join("HEAD"), b""), Damaged, MEND),
        damage("HEAD elsewhere", |m| write(m.place.repository.join("HEAD"), b"ref: refs/heads/other\n"), Sound, MEND),
        damage("the config emptied", |m| write(m.place.repository.join("config"), b""), Sound, MEND),
        damage("the config of nonsense", |m| write(m.place.repository.join("config"), b"[nonsense"), Damaged, MEND),
        damage(
            "another place for objects",
            |m| write(m.place.repository.join("objects/info/alternates"), b"/x\n"),
            Sound,
            MEND,
        ),
        damage(
            "grafts",
            |m| {
                let graft = m.git(&["rev-parse", "main"]);
                write(m.place.repository.join("info/grafts"), graft.as_bytes());
            },
            Sound,
            MEND,
        ),
        damage("a replacement", |m| drop(m.git(&["replace", "main", "main~1"])), Sound, MEND),
        damage(
            "a record of the branch that is wrong",
            |m| {
                let log = m.place.repository.join("logs").join(BRANCH);
                change(log, |bytes| bytes[..40].copy_from_slice(&[b'1'; 40]));
            },
            Damaged,
            MEND,
        ),
        damage(
            "the journal's header",
            |m| change(Journal::path(&m.place.state), |bytes| bytes[30..9000].fill(7)),
            Sound,
            MEND,
        ),
        damage(
            "another memory's journal",
            |m| {
                let other = memory();
                fs::copy(Journal::path(&other.place.state), Journal::path(&m.place.state)).unwrap();
            },
            Sound,
            MEND,
        ),
        of_packs("a pack cut", |m| halve(in_pack(m, "pack")), Left::Lost("is missing")),
        of_packs(
            "a pack with one wrong byte at its end",
            |m| change(in_pack(m, "pack"), |b| *b.last_mut().unwrap() ^= 1),
            MEND,
        ),
        of_packs("a pack emptied", |m| write(in_pack(m, "pack"), b""), Left::Lost("is missing")),
        of_packs("a pack deleted", |m| fs::remove_file(in_pack(m, "pack")).unwrap(), Left::Lost("is missing")),
        of_packs("an index with a wrong byte", |m| change(in_pack(m, "idx"), |b| b[1100] ^= 1), MEND),
        of_packs("an index cut", |m| halve(in_pack(m, "idx")), MEND),
        of_packs("an index deleted", |m| fs::remove_file(in_pack(m, "idx")).unwrap(), MEND),
    ]
}
