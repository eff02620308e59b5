//! Where a check runs, and what of the project is there.

use super::*;
use crate::gate::checkout::Prepared;
use crate::gate::checkout::Private;
use crate::gate::checkout::check_out;

#[test]
fn a_lock_file_or_a_setting_decides_where_checks_run() {
    let bench = Bench::new();
    let site = |wanted, prepare: &str| site(&bench.project, wanted, prepare, None, None).unwrap();
    let place = |wanted, prepare| site(wanted, prepare).place;
    assert_eq!(place(Checkout::Auto, ""), Place::Clean);
    bench.write("web/package-lock.json", "{}");
    assert_eq!(place(Checkout::Auto, ""), Place::Clean, "it is not tracked");
    bench.commit();
    let Site { place: found, why, .. } = site(Checkout::Auto, "");
    assert_eq!(found, Place::InPlace);
    let disclosed = bench.judge(&bench.approved("true")).to_evidence()["disclosed"].to_string();
    assert!(disclosed.contains("not in a clean checkout: `web/package-lock.json` is there"), "{disclosed}");
    assert!(why.contains("`web/package-lock.json`"), "{why}");
    assert_eq!(place(Checkout::Auto, "npm ci"), Place::Clean);
    assert_eq!(place(Checkout::Clean, ""), Place::Clean);
    assert_eq!(place(Checkout::InPlace, "npm ci"), Place::InPlace);
}

#[test]
fn a_lock_file_of_later_does_not_take_a_check_out_of_its_clean_checkout() {
    let bench = Bench::new();
    let check = bench.approved("test -e answer");
    bench.write(".gitignore", "answer\n");
    bench.write("answer", "");
    bench.write("package-lock.json", "{}");
    bench.work();
    let known = |since: &str| Known { since: Some(since.to_owned()), ..bench.known(&check) };
    let first = bench.red.commit.clone();
    let verdict = bench.judge_knowing(&check, &known(&first));
    assert_eq!(verdict.finding(), Finding::Failed);
    let detail = verdict.trial().detail();
    let way_out = "a person can set `gate.prepare = \"npm ci\"`, or `gate.checkout = \"in-place\"`";
    assert!(detail.contains("`package-lock.json` came after") && detail.contains(way_out), "{detail}");
    assert_eq!(bench.judge_knowing(&check, &known(&"1".repeat(40))).finding(), Finding::Failed, "that commit is gone");
    // The twin: without the record of an earlier commit it passes on what no commit has.
    assert_eq!(bench.finding(&check), Finding::Passed);
    let head = bench.project.head().unwrap().unwrap();
    assert_eq!(
        bench.judge_knowing(&check, &known(&head.commit)).finding(),
        Finding::Passed,
        "approved with a lock file"
    );
}

#[test]
fn the_init_script_installs_what_a_lock_file_of_later_names() {
    let mut bench = Bench::new();
    bench.install_script = Some("exec sh './init.sh'".to_owned());
    let check = bench.approved("grep -x 1 modules/lib");
    bench.write(".gitignore", "modules\n");
    bench.write("yarn.lock", "1\n");
    bench.work();
    let known = Known { since: Some(bench.red.commit.clone()), ..bench.known(&check) };
    let judge = |bench: &Bench| bench.judge_knowing(&check, &known);
    assert!(judge(&bench).trial().detail().contains("nothing installs"), "there is no such script yet");

    bench.write("init.sh", "test $LONGHAUL_PHASE = install || exit 9; mkdir modules; cp yarn.lock modules/lib\n");
    bench.commit();
    let verdict = judge(&bench);
    assert!(verdict.proves(), "{verdict:?}");
    let disclosed = verdict.to_evidence()["disclosed"].to_string();
    assert!(
        disclosed.contains("`yarn.lock` came after the check was approved; the init script installed"),
        "{disclosed}"
    );

    bench.write("yarn.lock", "2\n");
    bench.write("init.sh", "echo no such package; exit 3\n");
    bench.commit();
    let verdict = judge(&bench);
    assert_eq!(verdict.finding(), Finding::NotReady);
    let failed = "the init script, which installs what `yarn.lock` names, failed in a clean checkout: exit code 3";
    assert_eq!((verdict.trial().detail(), verdict.trial().last_lines(1).as_str()), (failed, "no such package"));
}

#[test]
fn what_is_in_no_commit_is_not_there_in_a_clean_checkout() {
    let bench = Bench::new();
    let check = bench.approved("test -e untracked || test -e ignored || grep more src/product.txt");
    bench.write(".gitignore", "ignored\n");
    bench.work();
    for path in ["untracked", "ignored"] {
        bench.write(path, "");
    }
    bench.write("src/product.txt", "after and more\n");
    let verdict = bench.judge(&check);
    assert_eq!(verdict.finding(), Finding::Failed);
    let detail = verdict.trial().detail();
    assert_eq!(
        detail,
        "not in the tested commit: not in any commit: `src/product.txt`; git does not track, so a clean checkout does not hold: `ignored`, `untracked` (`gate.checkout`)"
    );
    bench.write("src/product.txt", "after\n");
    // The twin: in the working tree they are there.
    let bench = Bench { settings: Settings { checkout: Checkout::InPlace, ..bench.settings.clone() }, ..bench };
    assert_eq!(bench.finding(&check), Finding::Passed);
    assert_eq!(bench.judge(&check).to_evidence()["untracked"], json!(["untracked"]));
}

#[test]
fn a_clean_checkout_knows_git_and_moves_nobodys_branch() {
    let bench = Bench::new();
    let who = "-c user.name=t -c user.email=t@localhost";
    let commit = format!("git log -1 --format=%s | grep work && echo x > new && git add new && git {who} commit -qm x");
    let check = bench.approved(&commit);
    bench.work();
    let (head, index) = (bench.project.head().unwrap(), fs::read(bench.root().join(".git/index")).unwrap());
    let verdict = bench.judge(&check);
    assert!(verdict.proves(), "{verdict:?}");
    assert_eq!(bench.project.head().unwrap(), head);
    assert_eq!(fs::read(bench.root().join(".git/index")).unwrap(), index);
    assert!(!bench.root().join("new").exists());
}

#[test]
fn a_check_that_changes_a_tracked_file_does_not_pass_and_leaves_the_users_tree_alone() {
    let bench = Bench::new();
    let check = bench.approved("touch src/product.txt; echo more >> src/product.txt");
    let touching = bench.approved("touch src/product.txt");
    bench.work();
    let verdict = bench.judge(&check);
    assert_eq!(verdict.finding(), Finding::TreeMoved);
    assert_eq!(
        verdict.trial().detail(),
        "the check changed tracked files: `src/product.txt`; what it writes belongs into `.gitignore`, and out of git with `git rm -r --cached FILE`"
    );
    assert_eq!(fs::read_to_string(bench.root().join("src/product.txt")).unwrap(), "after\n");
    assert_eq!(bench.finding(&touching), Finding::Passed);
}

#[test]
fn the_tree_lies_at_the_same_place_each_time_and_is_gone_afterwards() {
    let bench = Bench::new();
    let check = bench.approved("pwd");
    bench.work();
    let at = || bench.judge(&check).trial().last_lines(1);
    let first = at();
    assert_eq!(at(), first);
    assert!(!Path::new(&first).exists() && !Path::new(&first).starts_with(bench.root()), "{first}");
}

#[test]
fn prepare_runs_once_for_each_state_of_the_lock_files_and_no_check_changes_what_it_made() {
    let mut bench = Bench::new();
    let count = bench.folder.path().join("count");
    bench.settings.prepare =
        format!("echo once >> {}; mkdir -p web/modules; cp web/yarn.lock web/modules/lib", count.display());
    bench.write(".gitignore", "modules\n");
    bench.write("web/yarn.lock", "1\n");
    bench.commit();
    let check = bench.approved("cat web/modules/lib && echo broken > web/modules/lib");
    bench.work();
    let runs = || fs::read_to_string(&count).unwrap().lines().count();
    for _ in 0..2 {
        let verdict = bench.judge(&check);
        assert_eq!((verdict.finding(), verdict.trial().last_lines(1).as_str()), (Finding::Passed, "1"));
        assert_eq!(runs(), 1);
    }
    for (state, text) in ["2\n", "3\n", "4\n"].iter().enumerate() {
        bench.write("web/yarn.lock", text);
        bench.commit();
        assert_eq!(bench.judge(&check).trial().last_lines(1), text.trim());
        assert_eq!(runs(), state + 2);
    }
    let kept = fs::read_dir(bench.root().join(".git/longhaul/prepared")).unwrap().count();
    assert_eq!(kept, 2, "only the newest states are kept");
}

/// Lets `prepare` run a script that runs another; returns how often it ran.
fn prepared_by_scripts(bench: &mut Bench) -> impl Fn() -> usize + use<> {
    let count = bench.folder.path().join("count");
    bench.settings.prepare = format!("echo once >> {}; sh tools/install.sh", count.display());
    bench.write(".gitignore", "made\n");
    bench.write("tools/install.sh", "mkdir made; sh tools/deep.sh\n");
    bench.write("tools/deep.sh", "touch made/answer\n");
    bench.write("package.json", "{}");
    bench.commit();
    move || fs::read_to_string(&count).unwrap_or_default().lines().count()
}

#[test]
fn prepare_runs_again_when_a_script_it_names_or_what_steers_it_changes() {
    let mut bench = Bench::new();
    let runs = prepared_by_scripts(&mut bench);
    let check = bench.approved("test -e made/answer");
    let mut seen = Vec::new();
    for (path, text) in [
        ("src/product.txt", "after\n"),
        ("src/product.txt", "and after\n"),
        ("package.json", "{\"scripts\": {}}"),
        ("node_modules/a/package.json", "{}"),
        ("tools/install.sh", "mkdir made made/more; sh tools/deep.sh\n"),
        ("tools/deep.sh", "true\n"),
    ] {
        bench.write(path, text);
        bench.commit();
        assert_eq!(bench.finding(&check), Finding::Passed, "{path}");
        seen.push(runs());
    }
    assert_eq!(seen, [1, 1, 2, 2, 3, 3]);
}

#[test]
fn what_another_commit_made_helps_no_check_of_the_last_sweep() {
    let mut bench = Bench::new();
    let runs = prepared_by_scripts(&mut bench);
    let check = bench.approved("test -e made/answer");
    bench.work();
    assert_eq!((bench.finding(&check), runs()), (Finding::Passed, 1));
    bench.write("tools/deep.sh", "true\n");
    bench.commit();
    let verdict = bench.judge(&check);
    assert_eq!((verdict.finding(), runs()), (Finding::Passed, 1), "the twin");
    assert_ne!(verdict.prepared(), Some(verdict.tree()));

    bench.reuse = Reuse::Same;
    let verdict = bench.judge(&check);
    assert_eq!((verdict.finding(), verdict.prepared(), runs()), (Finding::Failed, Some(verdict.tree()), 2));
    assert_eq!((bench.finding(&check), runs()), (Finding::Failed, 2), "made from this very tree, it is good for all");
}

#[test]
fn a_prepare_that_fails_leaves_the_check_not_ready_and_is_tried_again() {
    let mut bench = Bench::new();
    let check = bench.approved("true");
    bench.work();
    bench.settings.prepare = "echo no such package; exit 3".to_owned();
    let verdict = bench.judge(&check);
    assert_eq!(verdict.finding(), Finding::NotReady);
    assert_eq!(
        verdict.trial().detail(),
        "`gate.prepare` failed in a clean checkout: `echo no such package; exit 3`: exit code 3"
    );
    assert_eq!(verdict.trial().last_lines(1), "no such package");
    bench.settings.prepare = "true".to_owned();
    assert_eq!(bench.finding(&check), Finding::Passed);
}

#[test]
fn submodules_come_along_where_they_were_fetched_and_are_missed_aloud_where_not() {
    let bench = Bench::new();
    let other = bench.folder.path().join("other");
    let make = format!(
        "init -q {0} && echo text > {0}/file && git -C {0} add -A && git -C {0} -c user.name=t -c user.email=t@localhost commit -qm other",
        other.display()
    );
    bench.git(&make);
    bench.git(&format!("-c protocol.file.allow=always submodule --quiet add {} sub", other.display()));
    let check = bench.approved("cat sub/file");
    bench.commit();
    let verdict = bench.judge(&check);
    assert!(verdict.proves(), "{verdict:?}");
    fs::remove_dir_all(bench.root().join("sub")).unwrap();
    fs::create_dir(bench.root().join("sub")).unwrap();
    let verdict = bench.judge(&check);
    assert_eq!(verdict.finding(), Finding::Failed);
    let disclosed = verdict.to_last_verdict()["disclosed"].to_string();
    assert!(disclosed.contains("`sub` is not there: its commit was not fetched"), "{disclosed}");
}

#[test]
fn pointers_of_large_files_and_what_a_filter_wrote_are_disclosed() {
    let bench = Bench::new();
    bench.write("large.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n");
    bench.write("crlf.txt", "a\n");
    bench.write(".gitattributes", "crlf.txt text eol=crlf\n");
    let check = bench.approved("true");
    bench.work();
    let disclosed = bench.judge(&check).to_evidence()["disclosed"].to_string();
    assert!(disclosed.contains("LFS pointers instead of the files: `large.bin`"), "{disclosed}");
    assert!(disclosed.contains("written by a filter of git's: `crlf.txt`"), "{disclosed}");
}

#[test]
fn links_that_lead_out_of_the_commit_are_disclosed() {
    let bench = Bench::new();
    let check = bench.approved("true");
    for (name, target) in
        [("inside", "src/product.txt"), ("src/up", "../src"), ("out", "src/../../x"), ("far", "/etc/hosts")]
    {
        std::os::unix::fs::symlink(target, bench.root().join(name)).unwrap();
    }
    bench.work();
    let disclosed = bench.judge(&check).to_evidence()["disclosed"].to_string();
    assert!(disclosed.contains("links to files in no commit: `far`, `out`\""), "{disclosed}");
}

#[test]
fn a_link_out_of_the_commit_that_came_after_approval_is_not_there() {
    let bench = Bench::new();
    let outside = bench.folder.path().join("answer");
    fs::write(&outside, "").unwrap();
    let link = |name: &str| std::os::unix::fs::symlink(&outside, bench.root().join(name)).unwrap();
    link("old");
    let approved = bench.commit();
    let (needs_old, needs_new) = (bench.approved("test -e old"), bench.approved("test -e new"));
    link("new");
    bench.work();
    let judge = |check: &Check, since: &str| {
        bench.judge_knowing(check, &Known { since: Some(since.to_owned()), ..bench.known(check) })
    };

    let verdict = judge(&needs_new, &approved);
    assert_eq!(verdict.finding(), Finding::Failed);
    let detail = verdict.trial().detail();
    assert!(detail.contains("so they are not in the tested tree; commit the file itself: `new`"), "{detail}");
    let verdict = judge(&needs_old, &approved);
    assert!(verdict.proves(), "a link that was there before and one that nothing needs: {verdict:?}");
    let disclosed = verdict.to_evidence()["disclosed"].to_string();
    assert!(disclosed.contains("links to files in no commit: `old`"), "{disclosed}");
    assert!(disclosed.contains("came after the check was approved: `new`"), "{disclosed}");
    assert_eq!(judge(&needs_old, &"1".repeat(40)).finding(), Finding::Failed, "that commit is gone");
    // The twin: approved with the link in it.
    let head = bench.project.head().unwrap().unwrap().commit;
    assert_eq!(judge(&needs_new, &head).finding(), Finding::Passed);
}

#[test]
fn a_sparse_checkout_leaves_nothing_out_of_a_clean_one() {
    let bench = Bench::new();
    bench.write("far/away", "x\n");
    let check = bench.approved("cat far/away");
    bench.work();
    bench.git("sparse-checkout set near");
    assert!(!bench.root().join("far").exists());
    assert_eq!(bench.finding(&check), Finding::Passed);
}

#[test]
fn what_prepare_made_lies_over_no_file_of_the_commit_and_leads_nowhere() {
    let mut bench = Bench::new();
    let outside = bench.folder.path().join("outside");
    fs::create_dir_all(&outside).unwrap();
    bench.settings.prepare = format!(
        "mkdir -p made; for f in now later; do echo prepared | tee made/$f; done; ln -s {} linked",
        outside.display()
    );
    bench.write("yarn.lock", "1\n");
    bench.commit();
    let check = bench.approved("cat made/now made/later linked/file 2> /dev/null || true");
    bench.work();
    assert_eq!(bench.judge(&check).trial().last_lines(3), "prepared\nprepared");
    // What was kept for these lock files is from a time when the commit did not hold them.
    bench.write("made/later", "committed\n");
    bench.write("linked/file", "committed\n");
    bench.commit();

    assert_eq!(bench.judge(&check).trial().last_lines(3), "prepared\ncommitted\ncommitted");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);

    // The twin: laid after the commit, what was kept lies over it.
    let tree = bench.project.head().unwrap().unwrap().tree;
    let mut private = Private::open(bench.folder.path(), bench.root()).unwrap();
    let at = private.tree();
    check_out(&bench.project, &tree, None, &mut private, &at).unwrap();
    let entries = bench.project.entries(&tree).unwrap();
    let state = bench.project.common_dir().join("longhaul");
    let prepared = Prepared::of(&state, &entries, &bench.settings.prepare, &private.tree());
    assert!(prepared.made_from().is_some());
    fs::remove_dir_all(private.tree().join("linked")).unwrap();
    prepared.lay(&private.tree(), &bench.gate().host_environment()).unwrap();
    assert_eq!(fs::read_to_string(private.tree().join("made/later")).unwrap(), "prepared\n");
}

#[test]
fn an_object_whose_bytes_are_not_what_it_is_named_after_is_not_tested() {
    let bench = Bench::new();
    bench.write("tool.sh", "exit 1\n");
    let check = bench.approved("sh tool.sh");
    bench.work();
    assert_eq!(bench.finding(&check), Finding::Failed);
    let object = |text: &str| {
        let id = crate::project::blob_id(text.as_bytes());
        (bench.root().join(".git/objects").join(&id[..2]).join(&id[2..]), id)
    };
    let ((path, id), (other, _)) = (object("exit 1\n"), object("after\n"));
    bench.project.require_sound(&id, "tool.sh").unwrap();

    fs::remove_file(&path).unwrap();
    fs::copy(other, &path).unwrap();

    // The twin: git takes those bytes for the file.
    bench.git(&format!("cat-file blob {id} > ../shown"));
    assert_eq!(fs::read_to_string(bench.folder.path().join("shown")).unwrap(), "after\n");
    let told = format!("git's object `{id}` of `tool.sh` is not what it is named after");
    assert_eq!(bench.project.require_sound(&id, "tool.sh").unwrap_err().to_string(), told);
    let known = Known { red: Some(bench.red_of(&check)), ..Known::default() };
    let refused = bench.gate().judge("login", &check, &known, &|_| None).unwrap_err();
    assert_eq!(refused.to_string(), told, "{refused:?}");
}

/// The tree of a submodule is an agent's to write, byte by byte: names in it must not lead out of the checkout.
#[test]
fn a_submodule_whose_tree_leads_elsewhere_is_not_laid_out() {
    let forge = r#"
import hashlib, os, sys, zlib
def put(kind, data):
    raw = kind.encode() + b" %d\0" % len(data) + data
    name = hashlib.sha1(raw).hexdigest()
    path = ".git/objects/%s/%s" % (name[:2], name[2:])
    os.makedirs(os.path.dirname(path), exist_ok=True)
    open(path, "wb").write(zlib.compress(raw))
    return name
def entry(mode, name, id): return ("%s %s\0" % (mode, name)).encode() + bytes.fromhex(id)
outside, blob = sys.argv[2], put("blob", b"evil\n")
inner = put("tree", entry("100755", "x", blob))
trees = {
    "absolute": entry("100755", outside + "/absolute", blob),
    "above": entry("100755", "../../outside/above", blob),
    "link": entry("120000", "a", put("blob", outside.encode())) + entry("40000", "a", inner),
    "honest": entry("100755", "x", blob),
}
commit = "tree %s\nauthor a <a@a> 1700000000 +0000\ncommitter a <a@a> 1700000000 +0000\n\nx\n"
print(put("commit", (commit % put("tree", trees[sys.argv[1]])).encode()))
"#;
    for trick in ["absolute", "above", "link", "honest"] {
        let bench = Bench::new();
        let outside = bench.folder.path().join("outside");
        fs::create_dir_all(&outside).unwrap();
        fs::write(bench.folder.path().join("forge.py"), forge).unwrap();
        let check = bench.approved("cat sub/x || true; grep after src/product.txt");
        bench.git(&format!(
            "init -q sub && cd sub && c=$(python3 ../../forge.py {trick} {}) && git update-ref HEAD $c && cd .. && \
             printf '[submodule \"sub\"]\\n\\tpath = sub\\n\\turl = ./sub\\n' > .gitmodules && git add .gitmodules && \
             git update-index --add --cacheinfo 160000,$c,sub",
            outside.display()
        ));
        bench.work();

        let verdict = bench.judge(&check);

        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0, "{trick}");
        let missed = verdict.to_evidence()["disclosed"].to_string().contains("`sub` is not there");
        assert_eq!(missed, trick != "honest", "{trick}: {verdict:?}");
    }
}
