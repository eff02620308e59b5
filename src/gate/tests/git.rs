//! What git knows in a clean checkout: what a clone of the commit would.

use super::*;

/// Lists the files that are kept for the newest commit.
fn kept(bench: &Bench, extension: &str) -> usize {
    let head = bench.project.head().unwrap().unwrap().commit;
    let all = fs::read_dir(bench.root().join(".git/longhaul/history")).unwrap().map(|entry| entry.unwrap().path());
    let of_head = |path: &std::path::PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with(&head);
    let packs = fs::read_dir(all.into_iter().find(of_head).unwrap().join("objects/pack")).unwrap();
    packs.filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|found| found == extension)).count()
}

/// Stores bytes in no commit and returns the object's id.
fn store(bench: &Bench, text: &str) -> String {
    bench.write("x", text);
    bench.git("hash-object -w x > ../id");
    fs::remove_file(bench.root().join("x")).unwrap();
    fs::read_to_string(bench.folder.path().join("id")).unwrap().trim().to_owned()
}

fn passes_in_place(bench: &Bench, check: &Check) -> bool {
    let settings = Settings { checkout: Checkout::InPlace, ..bench.settings.clone() };
    let gate = Gate { settings: &settings, ..bench.gate() };
    gate.judge("login", check, &bench.known(check), &|_| None).unwrap().proves()
}

#[test]
fn git_answers_as_in_a_clone_of_the_commit() {
    let bench = Bench::new();
    bench.git("tag -a v1 -m one");
    bench.git("tag light");
    let check = bench.approved(
        "test $(git describe) = v1-1-g$(git rev-parse --short HEAD)
         test \"$(git log --format=%s)\" = \"$(printf 'work\\nwork')\"
         test \"$(git ls-files)\" = src/product.txt
         test \"$(git tag)\" = \"$(printf 'light\\nv1')\"
         test \"$(git for-each-ref | wc -l)\" = 2
         test -z \"$(git status --porcelain)\"
         test $(git rev-parse --abbrev-ref HEAD) = HEAD
         git fsck --full --strict",
    );
    bench.work();
    bench.git("checkout -qb other");
    bench.git("commit -qm elsewhere --allow-empty");
    bench.git("tag later");
    bench.git("checkout -q main");
    for _ in 0..2 {
        let verdict = bench.judge(&check);
        assert!(verdict.proves(), "{}", verdict.trial().output().unwrap().text());
        assert!(!verdict.to_evidence()["disclosed"].to_string().contains("git"), "{verdict:?}");
    }
}

#[test]
fn what_is_in_no_commit_is_not_among_gits_objects() {
    let bench = Bench::new();
    let answer = store(&bench, "answer\n");
    let asks = [
        format!("git cat-file -e {answer}"),
        "git rev-parse answer".to_owned(),
        "git for-each-ref --format='%(refname)' | grep answer > /dev/null".to_owned(),
        "test -e \"$(git rev-parse --git-path objects/answer)\"".to_owned(),
        "test -e \"$(git rev-parse --git-path refs/answer)\"".to_owned(),
    ];
    let checks = asks.map(|ask| bench.approved(&ask));
    bench.work();
    bench.git(&format!("tag answer {answer}"));
    bench.git(&format!("update-ref refs/heads/answer {}", bench.red.commit));
    bench.write(".git/objects/answer", "");
    bench.write(".git/refs/answer", "");
    for check in &checks {
        let found = bench.finding(check);
        assert!(found.is_red(), "{}: {found}", check.run);
        assert!(passes_in_place(&bench, check), "the twin: in the working tree git has it: {}", check.run);
    }
}

#[test]
fn a_commit_that_was_tested_before_is_not_seen_from_one_that_does_not_have_it() {
    let bench = Bench::new();
    let passes = bench.approved("true");
    bench.work();
    bench.write("answer", "answer\n");
    let answer = bench.commit();
    assert_eq!(bench.finding(&passes), Finding::Passed);
    bench.git("reset -q --hard HEAD^");
    bench.write("other", "");
    bench.commit();
    let asks = bench.approved(&format!("git cat-file -e {answer}"));
    assert!(bench.finding(&asks).is_red());
    // Nor by a graft, which only this repository would have.
    bench.write(".git/info/grafts", &format!("{} {answer}\n", bench.project.head().unwrap().unwrap().commit));
    bench.git("tag new-key");
    assert!(bench.finding(&asks).is_red());
    fs::remove_file(bench.root().join(".git/info/grafts")).unwrap();
    bench.git(&format!("merge -q --no-edit -s ours {answer}"));
    assert_eq!(bench.finding(&asks), Finding::Passed, "the twin: now it has it");
}

#[test]
fn a_tag_that_is_gone_leaves_nothing_behind() {
    let bench = Bench::new();
    let check = bench.approved("git cat-file -e $(cat src/product.txt)");
    bench.work();
    bench.git("tag -a v1 -m answer");
    bench.git("rev-parse v1 > src/product.txt");
    bench.commit();
    assert_eq!(bench.finding(&check), Finding::Passed, "the twin");
    bench.git("tag -d v1");
    bench.write("more", "");
    bench.commit();
    assert!(bench.finding(&check).is_red());
}

#[test]
fn a_forged_object_is_not_seen_under_the_name_it_has_taken() {
    let bench = Bench::new();
    let (old, forged) = (store(&bench, "before\n"), store(&bench, "answer\n"));
    bench.work();
    let object = |id: &str| bench.root().join(".git/objects").join(&id[..2]).join(&id[2..]);
    fs::remove_file(object(&old)).unwrap();
    fs::copy(object(&forged), object(&old)).unwrap();
    let asks = bench.approved(&format!("git cat-file blob {old} | grep answer"));
    assert_eq!(bench.finding(&asks), Finding::Failed);
    assert!(passes_in_place(&bench, &asks), "the twin");
}

#[test]
fn each_commit_adds_what_it_brings_and_rewritten_history_is_packed_anew() {
    let bench = Bench::new();
    let check = bench.approved("git log --format=%s | wc -l");
    let commits = |bench: &Bench| bench.judge(&check).trial().last_lines(1);
    bench.work();
    assert_eq!((commits(&bench).as_str(), kept(&bench, "pack")), ("2", 1));
    bench.write("more", "");
    bench.commit();
    assert_eq!((commits(&bench).as_str(), kept(&bench, "pack")), ("3", 2));
    bench.git("commit -q --amend -m other");
    assert_eq!((commits(&bench).as_str(), kept(&bench, "pack")), ("3", 2), "from the commit before");
    bench.git("commit -q --amend -m third");
    assert_eq!((commits(&bench).as_str(), kept(&bench, "pack")), ("3", 1), "that one is not kept any more");
    assert_eq!(fs::read_dir(bench.root().join(".git/longhaul/history")).unwrap().count(), 2);
}

#[test]
fn an_agents_own_look_knows_what_it_has_not_committed() {
    let bench = Bench::new();
    let check = bench.approved("git ls-files | grep new > /dev/null; git show :new; git diff --cached --name-only");
    bench.write("new", "not committed\n");
    let trial = bench.gate().try_out(&check, &Known::default(), &|_| None).unwrap();
    assert_eq!((trial.finding(), trial.last_lines(2).as_str()), (Finding::Passed, "not committed\nnew"));
}

#[test]
fn missing_objects_are_told_and_no_reason_to_fail() {
    let bench = Bench::new();
    let old = store(&bench, "before\n");
    let check = bench.approved("git log --oneline && git ls-files");
    bench.work();
    fs::remove_file(bench.root().join(".git/objects").join(&old[..2]).join(&old[2..])).unwrap();
    let verdict = bench.judge(&check);
    assert!(verdict.proves(), "{verdict:?}");
    let disclosed = verdict.to_evidence()["disclosed"].to_string();
    assert!(disclosed.contains("git's history in the checkout has gaps"), "{disclosed}");
}

#[test]
fn a_shallow_clone_ends_where_it_ends() {
    let bench = Bench::new();
    let check = bench.approved("git log --oneline | wc -l && git fsck");
    bench.work();
    let head = bench.project.head().unwrap().unwrap().commit;
    bench.write(".git/shallow", &format!("{head}\n"));
    let verdict = bench.judge(&check);
    assert!(verdict.proves() && verdict.trial().output().unwrap().text().starts_with("1\n"), "{verdict:?}");
    fs::remove_file(bench.root().join(".git/shallow")).unwrap();
    assert!(bench.judge(&check).trial().output().unwrap().text().starts_with("2\n"));
}
