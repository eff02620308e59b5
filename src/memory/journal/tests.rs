use git2::ObjectType;

use super::*;
use crate::memory::repository::object::Object;

const ME: Identity = [7; 16];

struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> (Self, Journal) {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::create(folder.path(), ME, None).unwrap();
        (Self { folder }, journal)
    }

    fn open(&self) -> Journal {
        match Journal::open(self.folder.path(), &ME).unwrap() {
            Found::Journal(journal) => journal,
            Found::Nothing | Found::Foreign => panic!("no journal"),
        }
    }

    fn records(&self) -> Vec<Record> {
        records(&mut self.open())
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(Journal::path(self.folder.path())).unwrap()
    }

    fn write(&self, bytes: &[u8]) {
        fs::write(Journal::path(self.folder.path()), bytes).unwrap();
    }
}

fn records(journal: &mut Journal) -> Vec<Record> {
    let mut all = Vec::new();
    journal
        .each(&mut |record| {
            all.push(record);
            Ok(())
        })
        .unwrap();
    all
}

fn record(number: usize, old: Option<&Record>) -> Record {
    let blob = Object::new(ObjectType::Blob, format!("text {number}").into_bytes()).unwrap();
    let tree = Object::new(ObjectType::Tree, Vec::new()).unwrap();
    Record { old: old.map(|old| old.new), new: blob.id, objects: vec![blob, tree] }
}

#[test]
fn what_was_appended_is_there_for_the_next_process_and_says_where_the_branch_is() {
    let (bench, mut journal) = Bench::new();
    assert_eq!((bench.open().head(), bench.records()), (None, vec![]));
    let first = record(1, None);
    let second = record(2, Some(&first));
    for record in [&first, &second] {
        assert_eq!(journal.append(record).unwrap(), Appended::Yes);
    }
    assert_eq!(bench.open().head(), Some(second.new));
    assert_eq!(bench.records(), [first, second.clone()]);

    journal.restart(Some(second.new)).unwrap();
    let again = bench.open();
    assert_eq!((again.head(), again.commits()), (Some(second.new), 0));
    let third = record(3, Some(&second));
    journal.append(&third).unwrap();
    assert_eq!(bench.records(), [third], "what the records of before left behind is not read");
}

#[test]
fn another_process_takes_in_what_was_written_meanwhile() {
    let (bench, mut journal) = Bench::new();
    let mut other = bench.open();
    let first = record(1, None);
    journal.append(&first).unwrap();
    assert_eq!(other.head(), None, "its twin");
    other.refresh().unwrap();
    assert_eq!(other.head(), Some(first.new));
    let second = record(2, Some(&first));
    other.append(&second).unwrap();
    other.restart(Some(second.new)).unwrap();
    journal.refresh().unwrap();
    assert_eq!((journal.head(), journal.commits()), (Some(second.new), 0));
}

#[test]
fn a_torn_or_damaged_record_and_all_after_it_are_not_read() {
    let (bench, mut journal) = Bench::new();
    let first = record(1, None);
    journal.append(&first).unwrap();
    let start = journal.end as usize;
    let second = record(2, Some(&first));
    journal.append(&second).unwrap();
    let end = journal.end as usize;
    journal.append(&record(3, Some(&second))).unwrap();
    let whole = bench.bytes();
    assert_eq!(bench.records().len(), 3);
    for at in start..end {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        bench.write(&damaged);
        assert_eq!(bench.records(), std::slice::from_ref(&first), "byte {at}");
        bench.write(&whole[..at]);
        assert_eq!(bench.records(), std::slice::from_ref(&first), "cut at {at}");
    }
    // The next one is written over what was torn.
    let mut torn = bench.open();
    torn.append(&second).unwrap();
    assert_eq!(bench.records(), [first, second]);
}

#[test]
fn of_two_headers_the_newer_whole_one_counts_and_without_one_it_is_foreign() {
    let (bench, mut journal) = Bench::new();
    let first = record(1, None);
    journal.append(&first).unwrap();
    journal.restart(Some(first.new)).unwrap();
    let whole = bench.bytes();
    let mut torn = whole.clone();
    torn[BLOCK + 50] ^= 1;
    bench.write(&torn);
    assert_eq!((bench.open().head(), bench.records().len()), (Some(first.new), 1), "the checkpoint did not happen");
    torn[50] ^= 1;
    for bytes in [&torn[..], &whole[..100], &whole[..2 * BLOCK - 1], b"", b"something else"] {
        bench.write(bytes);
        assert!(matches!(Journal::open(bench.folder.path(), &ME).unwrap(), Found::Foreign));
    }
    bench.write(&whole);
    assert!(matches!(Journal::open(bench.folder.path(), &[8; 16]).unwrap(), Found::Foreign), "another memory's");
    fs::remove_file(Journal::path(bench.folder.path())).unwrap();
    assert!(matches!(Journal::open(bench.folder.path(), &ME).unwrap(), Found::Nothing));
}

#[test]
fn it_grows_by_steps_and_says_when_it_is_full() {
    let (bench, mut journal) = Bench::new();
    let large = |bytes: usize| {
        let blob = Object::new(ObjectType::Blob, vec![b'x'; bytes]).unwrap();
        Record { old: None, new: blob.id, objects: vec![blob] }
    };
    let before = bench.bytes().len() as u64;
    journal.append(&large(1000)).unwrap();
    assert_eq!(bench.bytes().len() as u64, before, "an append changes bytes only");
    journal.append(&large(STEP as usize)).unwrap();
    assert_eq!(bench.bytes().len() as u64 % STEP, 0);
    assert_eq!(journal.append(&large(MOST as usize)).unwrap(), Appended::TooLarge);
    let mut appended = 2;
    while journal.append(&large(1_000_000)).unwrap() == Appended::Yes {
        appended += 1;
    }
    assert!(bench.bytes().len() as u64 <= MOST && appended > 10);
    assert_eq!(bench.records().len(), appended);
    journal.restart(None).unwrap();
    assert_eq!(journal.append(&large(1_000_000)).unwrap(), Appended::Yes);
}

/// The twin is the file as one process knew it: zeros written from there on would take the other's records.
#[test]
fn two_processes_make_it_larger_in_turns_and_neither_takes_the_others_records() {
    let (bench, mut ours) = Bench::new();
    let mut theirs = bench.open();
    let large = |number: usize, old: Option<&Record>| {
        let mut record = record(number, old);
        record.objects.push(Object::new(ObjectType::Blob, vec![b'x'; STEP as usize / 5]).unwrap());
        record
    };
    let mut written: Vec<Record> = Vec::new();
    for number in 0..24 {
        // Now the one, now the other goes beyond the end of the file, which the other one made.
        let journal = if number % 7 < 4 { &mut ours } else { &mut theirs };
        journal.refresh().unwrap();
        let next = large(number, written.last());
        assert_eq!(journal.append(&next).unwrap(), Appended::Yes);
        written.push(next);
        assert_eq!(bench.records(), written, "after {number}");
    }
    assert!(bench.bytes().len() as u64 > FIRST + 4 * STEP);
    assert!(!bench.open().is_doubtful().unwrap());
}
