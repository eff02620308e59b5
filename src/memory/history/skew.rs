//! The clock may be wrong by years, and jump: order and expiry do not depend on it.

use jiff::Timestamp;

use crate::clock::Clock;
use crate::memory::fixture::Memory;
use crate::memory::history::Filter;
use crate::memory::history::trailers::Author;
use crate::memory::history::trailers::Origin;

const NOW: i64 = 1_800_000_000;
const TEN_YEARS: i64 = 10 * 366 * 86_400;

/// Clocks that stand ten years back, ten years ahead, run backwards, and jump.
const CLOCKS: [(&str, [i64; 6]); 5] = [
    ("right", [0, 1, 2, 3, 4, 5]),
    ("back", [-TEN_YEARS, -TEN_YEARS, -TEN_YEARS + 1, -TEN_YEARS + 1, -TEN_YEARS + 2, -TEN_YEARS + 3]),
    ("ahead", [TEN_YEARS, TEN_YEARS, TEN_YEARS + 1, TEN_YEARS + 1, TEN_YEARS + 2, TEN_YEARS + 3]),
    ("backwards", [0, -86_400, -2 * 86_400, -3 * 86_400, -4 * 86_400, -5 * 86_400]),
    ("jumping", [0, TEN_YEARS, -TEN_YEARS, 0, TEN_YEARS, 5]),
];

fn set(memory: &mut Memory, skew: i64) {
    memory.store.clock = Clock::fixed(Timestamp::from_second(NOW + skew).unwrap());
}

fn note(number: usize) -> String {
    format!("---\nname: n{number}\ndescription: d\ntype: project\n---\ntext\n")
}

/// Writes six notes, each at its time and in its session.
fn written(skews: [i64; 6]) -> Memory {
    let mut memory = Memory::project(&[]);
    for (number, skew) in skews.into_iter().enumerate() {
        set(&mut memory, skew);
        memory.store.count_day().unwrap();
        let input = serde_json::json!({
            "command": "create", "path": format!("/memories/notes/{number}.md"), "file_text": note(number),
        });
        let origin = Origin { session: Some(number as u32 + 1), ..Origin::of(Author::Agent) };
        assert!(!memory.store.run(&input, &origin).unwrap().is_error);
    }
    memory
}

#[test]
fn under_any_clock_history_is_newest_first_and_every_write_has_the_same_tree() {
    let mut trees = Vec::new();
    for (name, skews) in CLOCKS {
        let memory = written(skews);
        let wanted: Vec<String> = (0..6).rev().map(|number| format!("memory: create notes/{number}.md")).collect();
        assert_eq!(memory.subjects(), wanted, "{name}");
        assert_eq!(memory.store.last_session().unwrap(), 6, "{name}");
        let first = memory.store.history(&Filter { limit: Some(1), ..Filter::default() }).unwrap();
        assert_eq!(first[0].at.as_second(), NOW + skews[5], "{name}");
        trees.push(memory.git(&["rev-parse", "main:notes"]));
        assert!(memory.open_again().recovered().is_empty(), "{name}");
    }
    assert!(trees.windows(2).all(|two| two[0] == two[1]), "{trees:?}");
}

#[test]
fn by_their_times_they_would_be_out_of_order() {
    let memory = written(CLOCKS[4].1);
    let mut times: Vec<i64> =
        memory.store.history(&Filter::default()).unwrap().iter().map(|entry| entry.at.as_second()).collect();
    let told = times.clone();
    times.sort_by_key(|time| -time);
    assert_ne!(times, told);
}

#[test]
fn under_any_clock_a_note_is_unused_by_days_that_were_counted_and_by_no_others() {
    for (name, skews) in CLOCKS {
        let mut memory = written(skews);
        let notes: Vec<String> = (0..6).map(|number| format!("notes/{number}.md")).collect();
        memory.store.mark_used(notes.iter().map(String::as_str)).unwrap();
        for skew in [0, -TEN_YEARS, TEN_YEARS, 1] {
            set(&mut memory, skew);
            assert!(memory.store.unused_for(6).unwrap().is_empty(), "{name}: no session was held since");
        }
        for day in 1..=6 {
            assert!(memory.store.unused_for(6).unwrap().is_empty(), "{name}, day {day}");
            set(&mut memory, if day % 2 == 0 { -TEN_YEARS } else { TEN_YEARS } + day * 86_400 * 30);
            memory.store.count_day().unwrap();
        }
        assert_eq!(memory.store.unused_for(6).unwrap().len(), 6, "{name}");
    }
}
