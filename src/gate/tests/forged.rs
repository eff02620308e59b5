//! Objects of git that an agent has written byte by byte.

use super::*;

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
