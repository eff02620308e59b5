//! Secrets of the machine: keys in files that only the superuser reads, and the keyrings of the kernel.

use crate::place::INSIDE;
use crate::place::Place;
use crate::place::alone;
use crate::place::ended;
use crate::place::is_attacker;
use crate::place::outside;
use crate::place::own_program;
use crate::place::path;
use crate::place::skipped;
use longhaul::process;
use longhaul::process::Command;
use longhaul::process::Exit;
use longhaul::process::Interrupt;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Files below `/etc`, none of which a command may read.
const OF_THE_MACHINE: [&str; 9] = [
    "gshadow",
    "gshadow-",
    "krb5.keytab",
    "letsencrypt/live/host/privkey.pem",
    "shadow",
    "shadow-",
    "ssh/ssh_host_ed25519_key",
    "ssh/ssh_host_rsa_key",
    "ssl/private/server.key",
];

/// And what everybody may know.
const PUBLIC: &str = "ssh/ssh_host_ed25519_key.pub";

fn read_all() -> String {
    let files: Vec<String> = OF_THE_MACHINE.iter().chain([&PUBLIC]).map(|file| format!("/etc/{file}")).collect();
    format!("cat {}; grep -rs \"secret of longhaul's test\" /etc", files.join(" "))
}

/// Runs where another `/etc` lies over the machine's.
#[test]
#[ignore = "runs in a place that a test makes"]
fn in_another_etc() {
    if !is_attacker() {
        return;
    }
    let place = Place::held().expect("bubblewrap works here");
    let (_, said) = ended(&place.open().run(&place.command(&read_all())));
    assert!(!said.contains("secret of longhaul's test") && said.contains("for everybody"), "{said}");
    // The twin: in plain mode all of it is read.
    let _alone = alone();
    let (_, said) = ended(&Place::plain().open().run(&place.command(&read_all())));
    assert_eq!(said.matches("secret of longhaul's test").count(), 2 * OF_THE_MACHINE.len(), "{said}");
}

#[test]
fn keys_of_the_machine_are_not_there() {
    if Place::held().is_none() {
        return;
    }
    if !rustix::process::getuid().is_root() {
        skipped("only the superuser can lay another /etc over the machine's, and read those files");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let etc = folder.path().join("etc");
    outside(Path::new("/"), &["cp", "-a", "/etc", &etc.to_string_lossy()]);
    for file in OF_THE_MACHINE.iter().chain([&PUBLIC]) {
        fs::create_dir_all(etc.join(file).parent().unwrap()).unwrap();
        fs::write(etc.join(file), if *file == PUBLIC { "for everybody\n" } else { "secret of longhaul's test\n" })
            .unwrap();
    }
    let text = "mount --bind \"$0\" /etc && exec \"$1\" secrets::in_another_etc --exact --ignored --nocapture";
    let (etc, program) = (etc.display().to_string(), own_program().display().to_string());
    let env = BTreeMap::from([("PATH".to_owned(), path()), (INSIDE.to_owned(), "1".to_owned())]);
    let words = ["--mount", "--propagation", "private", "sh", "-c", text, &etc, &program];
    let command = Command::new("unshare", &words, Path::new("/"), env).limit(Duration::from_secs(60));
    let finished = process::run(&command, &Interrupt::new());
    let said = finished.output.text();
    assert!(finished.exit == Exit::Code(0) && said.contains("1 passed"), "{:?}\n{said}", finished.exit);
}

/// Adds a key that goes with the process, asks for the user's keyring, and looks for a key by name; prints what the kernel
/// said.
const KEYRINGS: &str = r#"
import ctypes, os, platform, sys
calls = {"x86_64": (248, 249, 250), "aarch64": (217, 218, 219)}.get(platform.machine())
if calls is None:
    sys.exit("unknown processor")
kernel = ctypes.CDLL(None, use_errno=True)
def told(name, *arguments):
    answer = kernel.syscall(*arguments)
    print(name, "done" if answer >= 0 else os.strerror(ctypes.get_errno()))
add, request, control = calls
told("add_key", add, b"user", b"longhaul-test", b"from inside", 11, -2)
told("keyctl", control, 0, -4, 0)
told("request_key", request, b"user", b"longhaul-test", None, 0)
told("socket", {"x86_64": 41, "aarch64": 198}[platform.machine()], 1, 1, 0)
"#;

#[test]
fn keyrings_of_the_kernel_are_not_there() {
    let _alone = alone();
    let plain = Place::plain();
    let ask = format!("python3 - <<'END'\n{KEYRINGS}\nEND");
    let (exit, said) = ended(&plain.open().run(&plain.command(&ask)));
    if exit != Exit::Code(0) || !said.contains("add_key done") {
        skipped(&format!("the twin does not reach a keyring here: {said}"));
        return;
    }
    // The twin: without the filter all of it is there.
    assert_eq!(said, "add_key done\nkeyctl done\nrequest_key done\nsocket done");
    for place in [Place::held(), Place::held().map(Place::online)].into_iter().flatten() {
        let (exit, said) = place.run(&ask);
        let none = "Function not implemented";
        let expected = format!("add_key {none}\nkeyctl {none}\nrequest_key {none}\nsocket done");
        assert_eq!((exit, said), (Exit::Code(0), expected));
    }
}
