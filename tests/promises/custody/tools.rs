//! What of the user's home commands see: the tools, wherever people install them, and no key.

use crate::place::Place;
use crate::place::alone;
use crate::place::ended;
use crate::place::path;
use longhaul::process::Exit;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::fs::symlink;
use std::path::Path;

/// Programs below the home, each of which needs the file beside it in `lib`.
const TOOLS: [&str; 8] = [
    ".cargo/bin/tool",
    ".rustup/toolchains/stable/bin/tool",
    ".pyenv/versions/3/bin/tool",
    ".nvm/versions/node/v22/bin/tool",
    ".local/share/thing/bin/tool",
    ".local/pipx/venvs/thing/bin/tool",
    "miniconda3/bin/tool",
    "odd/place/tool",
];

/// Keys and private things, none of which a command may read.
const SECRETS: [&str; 15] = [
    ".cargo/credentials.toml",
    ".cargo/credentials",
    ".ssh/id_ed25519",
    ".aws/credentials",
    ".config/gh/hosts.yml",
    ".config/longhaul/config.toml",
    ".docker/config.json",
    ".gnupg/secret",
    ".kube/config",
    ".netrc",
    ".git-credentials",
    ".config/git/credentials",
    ".npmrc",
    ".local/share/keyrings/login.keyring",
    "letters/love.txt",
];

fn lay(home: &Path) {
    for tool in TOOLS {
        let program = home.join(tool);
        let (bin, lib) = (program.parent().unwrap(), program.parent().unwrap().parent().unwrap().join("lib"));
        fs::create_dir_all(bin).unwrap();
        fs::create_dir_all(&lib).unwrap();
        fs::write(lib.join("part"), "works").unwrap();
        fs::write(&program, "#!/bin/sh\ncat \"$(dirname \"$(realpath \"$0\")\")/../lib/part\"\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    for secret in SECRETS {
        fs::create_dir_all(home.join(secret).parent().unwrap()).unwrap();
        fs::write(home.join(secret), "a secret").unwrap();
    }
}

/// Reads every secret, by its path and by looking for it.
fn read_all(place: &Place) -> String {
    let home = place.home();
    let paths: Vec<String> = SECRETS.iter().map(|secret| home.join(secret).display().to_string()).collect();
    let text = format!("cat {}; grep -rs 'a secret' {}", paths.join(" "), home.display());
    let (_, said) = ended(&place.open().run(&place.command(&text)));
    said
}

#[test]
fn tools_of_the_home_work_and_its_keys_are_not_there() {
    let Some(mut place) = Place::held() else { return };
    let home = place.home();
    lay(&home);
    fs::create_dir_all(home.join(".local/bin")).unwrap();
    symlink("../share/thing/bin/tool", home.join(".local/bin/linked")).unwrap();
    let searched = [".local/bin", ".cargo/bin", "miniconda3/bin", "odd/place"];
    let searched = searched.map(|folder| home.join(folder).display().to_string()).join(":");
    place.settings.path = format!("{searched}:{}", path());

    let sandbox = place.open();
    for tool in TOOLS.iter().filter(|tool| !tool.starts_with("odd")).chain([&".local/bin/linked"]) {
        let told = ended(&sandbox.run(&place.command(&home.join(tool).display().to_string())));
        assert_eq!(told, (Exit::Code(0), "works".to_owned()), "{tool}");
    }
    // A folder on the PATH that is no whole installation is shown alone.
    let odd = ended(&sandbox.run(&place.command(&format!("test -x {0}/odd/place/tool; ls {0}/odd", home.display()))));
    assert_eq!(odd, (Exit::Code(0), "place".to_owned()));
    drop(sandbox);
    let said = read_all(&place);
    assert!(!said.contains("a secret"), "{said}");
    for folder in [".ssh", ".aws", ".config", "letters"] {
        let (exit, _) = place.run(&format!("ls -d {}/{folder}", home.display()));
        assert_ne!(exit, Exit::Code(0), "{folder}");
    }
}

/// A project that holds its user's home cannot have the home hidden; its keys are hidden one by one.
#[test]
fn a_project_that_is_the_home_shows_no_keys_either() {
    let Some(place) = Place::held_in(tempfile::tempdir().unwrap(), "home") else { return };
    lay(&place.home());
    let said = read_all(&place);
    let read: Vec<&&str> = SECRETS
        .iter()
        .filter(|secret| said.contains(**secret) && said.contains(&format!("{secret}:a secret")))
        .collect();
    assert_eq!(read, [&"letters/love.txt"], "{said}");
}

/// The twin: in plain mode all of it is read.
#[test]
fn in_plain_mode_keys_are_read() {
    let _alone = alone();
    let place = Place::plain();
    lay(&place.home());
    let said = read_all(&place);
    assert!(said.matches("a secret").count() >= 2 * SECRETS.len(), "{said}");
}
