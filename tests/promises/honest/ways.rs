//! Ways in which an agent does its work. `work` does what the project is asked for; what else a way may call is in the
//! `ways.sh` of each project.

/// One way to do the work.
pub(super) struct Way {
    pub(super) name: &'static str,
    /// Shell text that prepares the project before the feature is added.
    pub(super) start: &'static str,
    /// What the agent runs, session by session.
    pub(super) sessions: &'static [&'static str],
}

const fn way(name: &'static str, sessions: &'static [&'static str]) -> Way {
    Way { name, start: "", sessions }
}

pub(super) const WAYS: &[Way] = &[
    way("leaves_it_uncommitted", &["work"]),
    way("commits_it", &["work; git add -A; git commit -qm 'it works'"]),
    way(
        "commits_in_steps",
        &[
            "echo begun > docs/plan.txt; git add -A; git commit -qm plan; work; git commit -qam done; git tag v1; echo end >> README",
        ],
    ),
    way("adds_a_test", &["work; add_test"]),
    way("adds_a_case_to_the_test", &["work; add_case; git add -A; git commit -qm 'with one more case'"]),
    way("touches_up_the_test", &["work; echo >> $pinned; touch $pinned"]),
    way("changes_the_manifest", &["work; manifest"]),
    way("refactors", &["work; refactor"]),
    way(
        "renames_files",
        &["work; git mv README ReadMe; git mv docs/notes.txt docs/words.txt; mv docs/old.txt docs/older.txt"],
    ),
    way("removes_files", &["work; git rm -q docs/notes.txt; rm docs/old.txt"]),
    way(
        "swaps_files_and_folders",
        &["work; rm README; mkdir README; echo text > README/text; rm -r docs; echo docs > docs"],
    ),
    way(
        "adds_binary_files",
        &["work; head -c 2000000 /dev/urandom > logo.png; printf 'a\\0b' > docs/nul.bin; : > empty"],
    ),
    way(
        "works_in_a_subfolder",
        &["mkdir -p a/b/c/d/e/f; cd a/b/c/d/e/f; echo deep > file; (cd ../../../../../..; work); cd ../.."],
    ),
    way(
        "uses_unusual_names",
        &[
            "work; for name in 'a b' 'ä' 'new\nline' -dash '*' ' blank ' '\"quoted\"' 'back\\slash' \"it's\" '😀' '#x' '$HOME' ':(top)x' '~'; do \
          echo text > \"./docs/$name\"; done; mkdir '[a]'; echo text > '[a]/!b'",
        ],
    ),
    Way {
        name: "ends_lines_as_windows_does",
        start: "printf '* text=auto\\n*.txt text eol=crlf\\n*.png binary\\n' > .gitattributes; git add --renormalize .",
        sessions: &["work; printf 'one\\r\\ntwo\\r\\n' > docs/lines.txt; printf 'mixed\\r\\nends\\n' > docs/mixed"],
    },
    way(
        "sets_execute_bits",
        &[
            "work; chmod +x $program; printf '#!/bin/sh\\necho hi\\n' > run; chmod 755 run; chmod 600 README; chmod -w docs/notes.txt",
        ],
    ),
    way(
        "makes_links",
        &[
            "work; ln -s $program current; ln -s nowhere dangling; ln -s . docs/here; ln -s ../README docs/up; ln README docs/hard",
        ],
    ),
    way(
        "builds_what_is_ignored",
        &[
            "work; mkdir -p out/deep; echo built > out/deep/file; echo said > run.log; echo 'tmp/' >> .gitignore; mkdir tmp; echo x > tmp/x",
        ],
    ),
    way(
        "merges_a_branch",
        &[
            "git checkout -qb side; work; git commit -qam work; git checkout -q main; echo more > docs/more.txt; git add -A; \
          git commit -qm more; git merge -q --no-edit side; git branch -d side",
        ],
    ),
    way(
        "rewrites_its_own_commits",
        &[
            "echo x > x; git add -A; git commit -qm x; git commit -q --amend -m y; work; git commit -qam z; git reset -q --soft HEAD~2; \
          git commit -qm all",
        ],
    ),
    way(
        "stashes_and_takes_back",
        &[
            "work; git stash -q -u; git checkout -q --detach; git switch -q main; git stash pop -q; git worktree add -q ../side; git worktree remove ../side",
        ],
    ),
    way(
        "leaves_programs_running",
        &[
            "work; sleep 300 & setsid sleep 300 >/dev/null 2>&1 & (trap '' TERM; exec setsid sh -c 'while :; do sleep 1; done') >/dev/null 2>&1 &",
        ],
    ),
    way(
        "makes_many_files",
        &["work; mkdir many; for n in $(seq 400); do echo $n > many/$n; done; seq 1000000 > docs/long.txt"],
    ),
    way("fails_first_and_succeeds_then", &["echo 'not yet' >> README", "work"]),
    Way {
        name: "uses_filters",
        start: "git config filter.trim.clean \"sed 's/ *$//'\"; git config filter.trim.smudge cat; \
            git config core.autocrlf input; echo '*.txt filter=trim' > .gitattributes",
        sessions: &["work; printf 'blanks   \\nat the end  \\n' > docs/blanks.txt"],
    },
];
