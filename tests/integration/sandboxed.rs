//! What holds the agent's commands with bubblewrap, seen through whole runs.

use crate::support::Project;
use crate::support::bash;
use crate::support::call;
use crate::support::hand_over;
use crate::support::reply;
use crate::support::session;
use serde_json::json;
use std::time::Duration;
use std::time::Instant;

/// Plays these commands in one session and returns what the agent was told of each.
fn told(project: &Project) -> Vec<String> {
    project.run(["run", "--sessions", "1"]);
    let ended = project.events(1).into_iter().filter(|event| event["type"] == "tool_ended");
    ended.map(|event| event["content"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn what_is_not_the_agents_cannot_be_written_or_is_not_there() {
    let attempts = [
        "echo x > .longhaul/memory/features.json",
        "mv .longhaul away",
        "mv .git away",
        "echo x >> .git/config",
        "echo x > .git/hooks/pre-commit",
        "echo x > .git/longhaul/x",
        "touch /usr/bin/x",
        "echo x > /proc/sys/kernel/core_pattern",
    ];
    let calls = attempts.map(bash);
    let project = Project::ready().sandboxed().feature("a", "test -f a").model([session([
        reply(calls),
        reply([bash(
            "ls -A .git/longhaul; ls -A ~; touch mine; git add mine; git commit -qm mine; git log -1 --format=%s",
        )]),
        reply([hand_over()]),
    ])]);
    let told = told(&project);
    for (attempt, result) in attempts.iter().zip(&told) {
        assert!(result.contains("[exit code 1]"), "{attempt}: {result}");
    }
    assert_eq!(told[attempts.len()], "sessions\nmine\n[exit code 0]");
    assert_eq!(project.git(["log", "-1", "--format=%s"]), "mine");
}

#[test]
fn what_was_too_long_for_the_context_can_be_read_from_inside() {
    let digest = "$(seq 1 20000 | sha256sum | cut -d' ' -f1)";
    let project = Project::ready().sandboxed().feature("a", "test -f a").model([session([
        reply([bash("seq 1 20000")]),
        reply([bash(&format!("sed -n 10000p .git/longhaul/sessions/0001/artifacts/{digest}.txt"))]),
        reply([bash("touch .git/longhaul/sessions/0001/artifacts/mine")]),
        reply([hand_over()]),
    ])]);
    let told = told(&project);
    assert!(told[0].contains("artifacts/") && !told[0].contains("\n10000\n"), "{}", told[0]);
    assert_eq!(told[1], "10000\n[exit code 0]");
    assert!(told[2].contains("[exit code 1]"), "{}", told[2]);
}

#[test]
fn an_image_close_to_the_limit_comes_through() {
    let make = "{ printf '\\211PNG\\r\\n\\032\\n\\0\\0\\0\\rIHDR\\0\\0\\0\\001\\0\\0\\0\\001'; head -c 3700000 /dev/zero; printf IEND; } >a.png";
    let view = call("str_replace_based_edit_tool", json!({"command": "view", "path": "a.png"}));
    let project = Project::ready().sandboxed().feature("a", "test -f a").model([session([
        reply([bash(make)]),
        reply([view]),
        reply([hand_over()]),
    ])]);
    project.run(["run", "--sessions", "1"]);

    let messages = project.played().requests().pop().unwrap()["messages"].clone();
    let block = &messages[4]["content"][0]["content"][0];
    assert_eq!((&block["type"], &block["source"]["media_type"]), (&json!("image"), &json!("image/png")));
    assert!(block["source"]["data"].as_str().unwrap().len() > 4_900_000);
}

#[test]
fn a_server_is_there_for_the_next_command_and_gone_with_the_session() {
    let up =
        "python3 -m http.server 8123 >/dev/null 2>&1 & sleep 300 & setsid -f sleep 301; env -i setsid -f sleep 302";
    let asks = "for i in 1 2 3 4 5 6 7 8 9; do python3 -c 'import urllib.request as u; \
                print(u.urlopen(\"http://127.0.0.1:8123/\").status)' 2>/dev/null && break; sleep 0.3; done";
    let project = Project::ready().sandboxed().feature("a", "test -f a").model([session([
        reply([bash(up)]),
        reply([bash(asks)]),
        reply([hand_over()]),
    ])]);
    let told = told(&project);
    assert_eq!(told[1], "200\n[exit code 0]");
    let all = std::process::Command::new("ps").args(["-eo", "args"]).output().unwrap();
    let all = String::from_utf8_lossy(&all.stdout).into_owned();
    assert!(!all.contains("http.server 8123") && !all.contains("sleep 302"), "{all}");
}

#[test]
fn the_editor_follows_no_link_out_of_the_project() {
    let project = Project::ready().sandboxed().feature("a", "test -f a");
    let outside = project.home().join("secret");
    std::fs::write(&outside, "secret\n").unwrap();
    let link = format!("ln -s '{}' link; ln -s .git/hooks hooks", outside.display());
    let view = call("str_replace_based_edit_tool", json!({"command": "view", "path": "link"}));
    let plant =
        call("str_replace_based_edit_tool", json!({"command": "create", "path": "hooks/pre-commit", "file_text": "x"}));
    let write = call("str_replace_based_edit_tool", json!({"command": "create", "path": "a", "file_text": "x\n"}));
    let project = project.model([session([reply([bash(&link), view, plant, write]), reply([hand_over()])])]);
    let told = told(&project);
    assert!(!told[1].contains("secret\n"), "{}", told[1]);
    assert!(told[2].contains("cannot") || told[2].contains("git's own"), "{}", told[2]);
    assert_eq!(project.read("a"), "x\n");
}

/// Lists the processes of the machine whose command line holds a word.
fn living(word: &str) -> Vec<String> {
    let all = std::process::Command::new("ps").args(["-eo", "pid,args"]).output().unwrap();
    String::from_utf8_lossy(&all.stdout).lines().filter(|line| line.contains(word)).map(str::to_owned).collect()
}

/// Kills a run in the middle of a command that has left processes in every way, and returns those that live on.
fn killed_in_a_command(project: &Project, word: &str) -> Vec<String> {
    let mut child = project.start(["run"]);
    let mark = project.root().join("here");
    while !mark.exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(!living(word).is_empty());
    child.kill().unwrap();
    child.wait().unwrap();
    let start = Instant::now();
    while !living(word).is_empty() && start.elapsed() < Duration::from_secs(3) {
        std::thread::sleep(Duration::from_millis(20));
    }
    living(word)
}

/// With the process that holds it, a sandbox ends, whatever is in it; in plain mode, the twin, all of it lives on.
#[test]
fn a_killed_run_leaves_no_process_behind() {
    let leave = |word: &str| {
        let stuck = format!(
            "trap '' TERM HUP; sleep {word} & setsid -f sleep {word}; env -i setsid -f sleep {word}; touch here; sleep {word}"
        );
        Project::ready().feature("a", "test -f a").model([session([reply([bash(&stuck)]), reply([hand_over()])])])
    };
    let word = format!("300.1{}", std::process::id());
    assert_eq!(killed_in_a_command(&leave(&word).sandboxed(), &word), Vec::<String>::new());
    let word = format!("300.2{}", std::process::id());
    let left = killed_in_a_command(&leave(&word), &word);
    let numbers: Vec<&str> = left.iter().filter_map(|line| line.split_whitespace().next()).collect();
    let kill = format!("kill -9 {}", numbers.join(" "));
    std::process::Command::new("sh").args(["-c", &kill]).status().unwrap();
    assert!(left.len() >= 4, "{left:?}");
}

/// Whoever starts longhaul may leave descriptors open; commands get none of them, nor one of ours.
#[test]
fn a_command_gets_no_descriptor_but_its_own_three() {
    for mode in ["off", "bubblewrap"] {
        let looks = bash("ls /proc/self/fd | tr '\\n' ' '");
        let project = Project::ready().variable("LONGHAUL_SANDBOX_MODE", mode).feature("a", "test -f a");
        let project = project.model([session([reply([looks]), reply([hand_over()])])]);
        let mut leaky = std::process::Command::new("sh");
        leaky.args([
            "-c",
            "exec 7<README 8>../written 9<.; exec \"$0\" run --sessions 1",
            env!("CARGO_BIN_EXE_longhaul"),
        ]);
        let run = leaky.current_dir(project.root()).env_clear().envs(project.environment()).output().unwrap();
        let told = project.played().results_in(2);
        assert!(told.starts_with("0 1 2 3 \n"), "{mode}: {told}\n{run:?}");
    }
}

/// The sandbox has folders of its own, in which a command stays as in any other.
#[test]
fn a_folder_that_is_only_in_the_sandbox_is_kept_until_it_is_gone() {
    let folder = format!("/tmp/only-inside-{}", std::process::id());
    let project = Project::ready().sandboxed().feature("a", "test -f a").model([session([
        reply([bash(&format!("mkdir {folder}; cd {folder}"))]),
        reply([bash("pwd")]),
        reply([bash(&format!("rmdir {folder}"))]),
        reply([bash("pwd"), hand_over()]),
    ])]);
    let told = told(&project);
    assert!(told[0].contains(&format!("working directory: {folder}")), "{}", told[0]);
    assert!(told[1].starts_with(&folder), "{}", told[1]);
    assert!(told[2].contains("is gone"), "{}", told[2]);
    assert!(told[3].starts_with(&*project.root().to_string_lossy()), "{}", told[3]);
}

/// A whole run, from where the user stands and with what they have.
#[test]
fn a_project_reached_by_a_link_and_a_user_without_a_home_are_held_too() {
    let makes = || session([reply([bash("pwd; touch a; git add a && git commit -qm made")]), reply([hand_over()])]);
    let project = Project::ready().sandboxed().feature("a", "test -f a").feature("b", "test -f b");
    let project = project.model([makes(), session([reply([bash("touch b")]), reply([hand_over()])])]);
    let link = project.root().with_file_name("link");
    std::os::unix::fs::symlink(project.root(), &link).unwrap();

    let run = project.command(["run", "--sessions", "1"]).current_dir(&link).output().unwrap();
    assert!(!project.events(1).is_empty(), "{run:?}");
    assert_eq!(project.status("a"), "proven", "{}", String::from_utf8_lossy(&run.stderr));
    assert_eq!(project.git(["log", "--format=%s", "-1"]), "made");

    // What is held in the repository changes nothing for who works with it.
    project.git(["worktree", "add", "-q", "../linked"]);
    let linked = project.command(["status"]).current_dir(project.root().with_file_name("linked")).output().unwrap();
    assert!(linked.status.success(), "{linked:?}");
    project.git(["worktree", "remove", "../linked"]);

    let run = project.command(["run"]).env_remove("HOME").output().unwrap();
    assert_eq!(run.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.stderr));
}

/// What a sandbox refuses to mount is set aside, or the project could never be worked on again.
#[test]
fn a_link_in_place_of_a_folder_of_the_repository_stops_no_later_run() {
    let project = Project::ready().sandboxed().feature("a", "test -f a");
    let plant = "mkdir -p .git/modules/x && cd .git/modules/x && touch HEAD && ln -s /etc hooks && ln -s /etc config";
    let project = project.model([
        session([reply([bash(plant)]), reply([hand_over()])]),
        session([reply([bash("touch a")]), reply([hand_over()])]),
    ]);
    let worktrees = project.root().join(".git/worktrees");
    std::fs::remove_dir(&worktrees).ok();
    std::os::unix::fs::symlink("/etc", &worktrees).unwrap();

    project
        .run(["run"])
        .exits(0)
        .prints("done: 1 feature proven")
        .shows("worktrees` was a link")
        .shows("hooks` was a link");

    assert!(!worktrees.is_symlink());
    assert!(project.root().join(".git/longhaul/outputs/worktrees").is_symlink());
}

#[test]
fn settings_of_git_that_are_turned_off_stay_off_inside() {
    let project = Project::ready().sandboxed().variable("GIT_CONFIG_GLOBAL", "/dev/null").feature("a", "test -f a");
    let project = project.model([session([reply([bash("echo > /dev/null && touch a")]), reply([hand_over()])])]);

    project.run(["run"]).exits(0).prints("done: 1 feature proven");
}

/// Lays a program beside the project, which is below `/tmp`, with what it needs beside it.
fn program_beside(project: &Project, installation: &str) -> std::path::PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let folder = project.root().join("..").canonicalize().unwrap().join(installation);
    std::fs::create_dir_all(folder.join("bin")).unwrap();
    std::fs::create_dir_all(folder.join("lib")).unwrap();
    std::fs::write(folder.join("lib/part"), "").unwrap();
    let program = folder.join("bin/house-tool");
    std::fs::write(&program, "#!/bin/sh\ncat \"$(dirname \"$0\")/../lib/part\"\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    program
}

fn with_path(project: Project, program: &std::path::Path) -> Project {
    let path = format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap());
    project.variable("PATH", &path)
}

#[test]
fn a_program_on_the_path_below_a_replaced_folder_is_there_and_one_beside_it_is_told() {
    let project = Project::ready().sandboxed();
    let (shown, hidden) = (program_beside(&project, "shown"), program_beside(&project, "hidden"));
    let project = with_path(project, &shown).feature("a", "house-tool && test -f a");
    project.run(["doctor"]).exits(0).prints("1 check, every program is there: house-tool");
    project.run(["check", "a"]).exits(8).hides("not runnable");

    let project = project.feature("b", &format!("{} && test -f a", hidden.display()));
    let reason = format!("lies in `{}`, which the sandbox does not show", hidden.display());
    let folder = hidden.parent().unwrap().parent().unwrap().display().to_string();
    let way_out = format!("add `{folder}` to `sandbox.read`");
    project.run(["doctor"]).exits(0).prints(&format!("`{}` {reason}; needed by: check of b", hidden.display()));
    project.run(["doctor"]).prints(&way_out);
    project.run(["check", "b"]).shows("not runnable").shows(&format!("{reason}: {way_out}"));
    // The way out is one.
    let project = project.variable("LONGHAUL_SANDBOX_READ", &folder);
    project.run(["doctor"]).exits(0).hides("does not show");
    project.run(["check", "b"]).exits(8).hides("not runnable");
}

#[test]
fn a_folder_on_the_path_into_which_others_can_write_is_not_shown() {
    use std::os::unix::fs::PermissionsExt;
    let project = Project::ready().sandboxed();
    let program = program_beside(&project, "open");
    let folder = program.parent().unwrap().to_owned();
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o777)).unwrap();
    let project = with_path(project, &program).feature("a", "house-tool && test -f a");

    let told = format!("`{}` is on your PATH, but others can write into it", folder.display());
    project
        .run(["doctor"])
        .exits(0)
        .prints(&told)
        .prints("since others can write into its folder; needed by: check of a");
    project.run(["check", "a"]).shows("not runnable").shows("since others can write into its folder");
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).unwrap();
    project.run(["doctor"]).exits(0).hides("others can write");
    project.run(["check", "a"]).exits(8).hides("not runnable");
}

/// What a person shows by name is shown, though it is a key; what lies beside it is not.
#[test]
fn a_key_that_is_shown_by_name_is_there_and_no_other() {
    let keys = [".ssh/known_hosts", ".cargo/credentials.toml", ".ssh/id_ed25519", ".cargo/credentials"];
    for (sandboxed, shown) in [(true, 2), (true, 0), (false, 4)] {
        let project = Project::ready().feature("a", "test -f a");
        for key in keys {
            let path = project.home().join(key);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, format!("text of {key}\n")).unwrap();
        }
        let by_path = project.home().join(keys[1]).display().to_string();
        let named = if shown == 2 { format!("[\"~/{}\", \"{by_path}\"]", keys[0]) } else { String::new() };
        let project = if sandboxed { project.sandboxed() } else { project };
        let reads = keys.map(|key| project.home().join(key).display().to_string()).join(" ");
        let reads = format!("cat {reads}");
        let project = project.variable("LONGHAUL_SANDBOX_READ", &named);
        let told = told(&project.model([session([reply([bash(&reads)]), reply([hand_over()])])]));

        for (number, key) in keys.iter().enumerate() {
            assert_eq!(told[0].contains(&format!("text of {key}\n")), number < shown, "{key}, {sandboxed}: {told:?}");
        }
    }
}

/// Git's settings may lie anywhere, also where nothing else is shown.
#[test]
fn settings_of_git_in_a_file_of_the_home_hold_inside() {
    let project = Project::ready().sandboxed().feature("a", "test -f a");
    let file = project.home().join("dot/files/git");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "[core]\nautocrlf = input\n").unwrap();
    let project = project.variable("GIT_CONFIG_GLOBAL", &file.display().to_string());
    let project = project.model([session([reply([bash("printf 'a\\r\\n' > a")]), reply([hand_over()])])]);

    project.run(["run"]).exits(0).prints("done: 1 feature proven");

    // That setting is read by the held git that commits: without it the line would keep its end.
    assert_eq!(project.git(["cat-file", "-s", "HEAD:a"]), "2");
}

/// Links in the git folder had folders of the machine shown writable, and keys shown that are hidden.
#[test]
fn no_link_in_the_git_folder_is_mounted_through() {
    for sandboxed in [true, false] {
        let project = Project::ready();
        let cargo = project.home().join(".cargo");
        std::fs::create_dir_all(cargo.join("bin")).unwrap();
        std::fs::write(cargo.join("credentials.toml"), "SECRET-OF-CARGO\n").unwrap();
        let git = project.root().join(".git");
        for (link, to) in
            [("worktrees", "../../home/.cargo"), ("config.worktree", "../../home/.cargo/credentials.toml")]
        {
            std::os::unix::fs::symlink(to, git.join(link)).unwrap();
        }
        let tries = "touch \"$HOME/.cargo/bin/one\" .git/worktrees/bin/two; \
                     cat \"$HOME/.cargo/credentials.toml\" .git/config.worktree; true";
        let looks = session([reply([bash(tries)]), reply([hand_over()])]);
        let project = if sandboxed { project.sandboxed() } else { project };
        let project = project.feature("a", "test -f a").model([looks]);

        let told = told(&project);

        assert_eq!(told[0].contains("SECRET-OF-CARGO"), !sandboxed, "{told:?}");
        for name in ["one", "two"] {
            assert_eq!(cargo.join("bin").join(name).exists(), !sandboxed, "{name}: {told:?}");
        }
    }
}

/// What is missing in the git folder could be made, so it is there and held.
#[test]
fn the_folder_of_worktrees_cannot_become_a_link() {
    let tries = "rm -rf .git/worktrees; mv .git/worktrees .git/w; ln -sT . .git/worktrees; test -L .git/worktrees && echo linked";
    let looks = session([reply([bash(tries)]), reply([hand_over()])]);
    let project = Project::ready().sandboxed().feature("a", "test -f a").model([looks]);
    let told = told(&project);
    assert!(!told[0].contains("linked"), "{told:?}");
    assert_eq!(project.git(["worktree", "list"]).lines().count(), 1);
}

/// Of the user's folder of git's settings a held `git` sees the settings, and not the credentials beside them.
#[test]
fn a_held_git_sees_no_credentials_where_the_users_settings_lie_elsewhere() {
    for (sandboxed, seen) in [(true, ""), (false, "token-of-git\n")] {
        let project = Project::new();
        let config = project.home().join("elsewhere/git");
        std::fs::create_dir_all(&config).unwrap();
        std::fs::write(config.join("credentials"), "token-of-git\n").unwrap();
        let reads = "cat \"$XDG_CONFIG_HOME/git/credentials\" >> .git/seen 2>/dev/null; cat";
        std::fs::write(config.join("config"), format!("[filter \"f\"]\nclean = {reads:?}\n")).unwrap();
        let elsewhere = project.home().join("elsewhere").display().to_string();
        let project = project.variable("XDG_CONFIG_HOME", &elsewhere);
        let project = if sandboxed { project.sandboxed() } else { project };
        project.write(".gitattributes", "*.txt filter=f\n");
        project.write(".git/seen", "");
        project.git(["add", "-A"]);
        project.git(["commit", "-qm", "filter"]);
        project.run(["init"]).exits(0);
        let project = project
            .feature("a", "test -f a.txt")
            .model([session([reply([bash("echo a > a.txt")]), reply([hand_over()])])]);
        project.write(".git/seen", "");

        project.run(["run"]).exits(0);

        let read = project.read(".git/seen");
        assert_eq!(read.is_empty(), seen.is_empty(), "sandboxed {sandboxed}: {read:?}");
        assert!(seen.is_empty() || read.starts_with(seen), "{read:?}");
    }
}

/// What a filter of the project leaves, which runs when longhaul's own `git` looks and commits, does not outlive the run.
#[test]
fn what_a_filter_of_gits_leaves_does_not_outlive_the_run() {
    for project in [Project::ready().sandboxed(), Project::ready()] {
        let word = format!("300.3{}", std::process::id());
        let filter =
            format!("setsid -f sleep {word} >/dev/null 2>&1; pgrep -f 'sleep {word}' >> .git/filter-left; cat");
        project.git(["config", "filter.stay.clean", &filter]);
        project.write(".gitattributes", "*.txt filter=stay\n");
        project.git(["add", "-A"]);
        project.git(["commit", "-qm", "filter"]);
        let project = project
            .feature("a", "test -f a.txt")
            .model([session([reply([bash("echo a > a.txt")]), reply([hand_over()])])]);

        project.run(["run"]).exits(0);

        assert!(!project.read(".git/filter-left").is_empty(), "the filter did its part");
        assert_eq!(living(&word), Vec::<String>::new());
    }
}

/// A service with a socket in a folder that the sandbox shows.
struct Service {
    folder: std::path::PathBuf,
    _listener: std::os::unix::net::UnixListener,
}

impl Service {
    /// Starts one; none where no such folder can be made.
    fn start(name: &str) -> Option<Self> {
        let folder = std::path::PathBuf::from(format!("/var/lib/longhaul-test-{}-{name}", std::process::id()));
        std::fs::create_dir(&folder).ok()?;
        let _listener = std::os::unix::net::UnixListener::bind(folder.join("socket")).unwrap();
        Some(Self { folder, _listener })
    }

    /// A command that says whether it reaches the service.
    fn reach(&self) -> serde_json::Value {
        let socket = self.folder.join("socket");
        let connect = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])";
        bash(&format!("python3 -c '{connect}' {} 2>/dev/null && echo reached || echo out of reach", socket.display()))
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.folder).ok();
    }
}

#[test]
fn a_socket_of_a_service_that_is_there_when_the_sandbox_opens_is_out_of_reach() {
    let Some(service) = Service::start("there") else {
        return crate::support::skipped("nothing can be written below `/var/lib`");
    };
    let looks = || session([reply([service.reach()]), reply([hand_over()])]);
    let project = || Project::ready().feature("a", "test -f a").model([looks()]);

    assert!(told(&project().sandboxed())[0].starts_with("out of reach"));
    assert!(told(&project())[0].starts_with("reached"), "in plain mode it is not hidden");
}

/// What the README calls not held: a service that starts later.
#[test]
fn a_socket_of_a_service_that_starts_later_is_not_hidden() {
    let folder = std::path::PathBuf::from(format!("/var/lib/longhaul-test-{}-later", std::process::id()));
    let waits = format!("touch opened; while [ ! -e {}/socket ]; do sleep 0.05; done", folder.display());
    let connect = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])";
    let reaches = format!("python3 -c '{connect}' {}/socket && echo reached", folder.display());
    let project = Project::ready()
        .sandboxed()
        .feature("a", "test -f a")
        .model([session([reply([bash(&waits), bash(&reaches)]), reply([hand_over()])])]);
    if std::fs::create_dir(&folder).and_then(|()| std::fs::remove_dir(&folder)).is_err() {
        return crate::support::skipped("nothing can be written below `/var/lib`");
    }
    let opened = project.root().join("opened");
    let service = std::thread::spawn(move || {
        while !opened.exists() {
            std::thread::sleep(Duration::from_millis(10));
        }
        Service::start("later")
    });

    let told = told(&project);

    assert!(service.join().unwrap().is_some());
    assert!(told[1].starts_with("reached"), "{told:?}");
}
