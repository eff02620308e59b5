//! The table of what tools load by themselves.

use anyhow::Context;
use anyhow::Result;
use globset::GlobBuilder;
use globset::GlobSet;
use globset::GlobSetBuilder;
use std::sync::LazyLock;

/// Names in any folder, and patterns for paths with a slash. `gate.soft_closure` adds more.
const LOADED: [&str; 39] = [
    // Python
    "conftest.py",
    "pytest.ini",
    ".pytest.ini",
    "tox.ini",
    "noxfile.py",
    "sitecustomize.py",
    "usercustomize.py",
    "*.pth",
    // A package of tests is loaded before its tests.
    "{test,tests,e2e,spec}/**/__init__.py",
    "/{unittest,pytest,_pytest}/**",
    "pytest.toml",
    ".pytest.toml",
    ".python-version",
    ".tool-versions",
    "mise.toml",
    ".coveragerc",
    "manage.py",
    // JavaScript
    "{jest,vitest,vite,playwright,cypress,babel,webpack,rollup,karma,ava,wdio}.config.*",
    "jest.setup.*",
    "vitest.{setup,workspace}.*",
    ".mocharc*",
    ".babelrc*",
    ".swcrc",
    ".nycrc*",
    "tsconfig*.json",
    "jsconfig.json",
    ".env",
    ".env.*",
    // Rust
    "**/.config/nextest.toml",
    // Ruby
    "Rakefile",
    ".rspec",
    "{spec,rails}_helper.rb",
    "test_helper.rb",
    // PHP
    "phpunit.xml*",
    // .NET
    "*.runsettings",
    // Others
    "CMakeLists.txt",
    "CMakePresets.json",
    "meson.build",
    ".bash{rc,_profile}",
];

/// Those that are known by the rules of now only: what was approved before is not changed by them.
const LOADED_NOW: [&str; 26] = [
    // Plug-ins of Python are found by them.
    "**/*.{dist,egg}-info/entry_points.txt",
    "**/EGG-INFO/entry_points.txt",
    // At the root, compiled modules go before the tests of the same name; elsewhere they are left out.
    "/{test_*,*_test}.{so,*.so}",
    // JavaScript
    "{karma,nightwatch}.conf.*",
    "wdio.conf.*",
    ".c8rc*",
    "jasmine.json",
    "**/__mocks__/**",
    // C and C++: where a folder is given with `-I` or the like, its headers go before those of the system.
    "{assert,complex,ctype,errno,fenv,float,inttypes,iso646,limits,locale,math,setjmp,signal,stdalign,stdarg,stdatomic,stdbool,\
     stddef,stdint,stdio,stdlib,stdnoreturn,string,strings,tgmath,threads,time,uchar,unistd,wchar,wctype}.h",
    "{cassert,cctype,cerrno,cfloat,climits,cmath,csignal,cstdarg,cstddef,cstdint,cstdio,cstdlib,cstring,ctime,cwchar,exception,\
     functional,iostream,algorithm,memory,optional,ostream,sstream,stdexcept,string,string_view,utility,vector}",
    "**/{bits/stdc++,features,sys/cdefs,sys/stat,sys/time,sys/types,sys/wait}.h",
    // Others
    ".proverc",
    ".bazelrc",
    "BUILD",
    "BUILD.bazel",
    "WORKSPACE",
    "MODULE.bazel",
    "CTestTestfile.cmake",
    ".mise.toml",
    ".busted",
    ".Rprofile",
    "php.ini",
    "docker-compose*.y*ml",
    "compose*.y*ml",
    "Justfile",
    ".justfile",
];

/// Those that also steer what installing makes, in the same form.
const INSTALLING: [&str; 33] = [
    "setup.cfg",
    "setup.py",
    "pyproject.toml",
    "package.json",
    "deno.json*",
    "bunfig.toml",
    ".npmrc",
    ".yarnrc*",
    ".pnpmfile.cjs",
    "pnpm-workspace.yaml",
    ".node-version",
    ".nvmrc",
    "build.rs",
    "Cargo.toml",
    "**/.cargo/config*",
    "rust-toolchain*",
    "go.mod",
    "go.work",
    "Gemfile",
    "{build,settings}.gradle*",
    "gradle.properties",
    "gradlew*",
    "mvnw*",
    "**/gradle/wrapper/*",
    "pom.xml",
    "**/.mvn/*",
    "composer.json",
    "Directory.Build.*",
    "{GNUm,M,m}akefile",
    "*.mk",
    "justfile",
    "Taskfile.y*ml",
    "mix.exs",
];

/// Modules that `unittest` and `pytest` load: one of that name at the root of the project, or beside a test, goes before it.
const MODULES: &str = "argparse,ast,base64,bdb,bisect,bz2,calendar,cmd,code,codeop,collections,contextlib,copy,copyreg,csv,\
    dataclasses,datetime,decimal,difflib,dis,email,enum,exceptiongroup,fnmatch,functools,gettext,glob,heapq,importlib,iniconfig,\
    inspect,ipaddress,json,keyword,linecache,locale,logging,lzma,ntpath,numbers,opcode,operator,os,packaging,pathlib,pdb,platform,\
    pluggy,pprint,py,pygments,pytest,_pytest,quopri,random,re,reprlib,runpy,selectors,shlex,shutil,signal,socket,sre_compile,\
    sre_constants,sre_parse,string,struct,subprocess,tempfile,textwrap,threading,time,token,tokenize,tomli,traceback,types,\
    typing,unittest,urllib,uuid,warnings,weakref,xml,zipfile";

/// The init script where none is named.
const INIT: &str = "init.sh";

/// Folders that installing fills.
const INSTALLED: [&str; 9] =
    ["node_modules", ".venv", "venv", "site-packages", "target", "vendor", ".tox", ".nox", "__pycache__"];

/// The tables are read once; it takes a while.
static TABLE: LazyLock<Option<GlobSet>> = LazyLock::new(|| {
    let modules = [
        format!("/{{{MODULES}}}.{{py,pyc,so,*.so}}"),
        format!("/{{{MODULES}}}/__init__.py"),
        format!("{{test,tests,e2e,spec}}/**/{{{MODULES}}}.{{py,pyc,so,*.so}}"),
    ];
    let modules: Vec<&str> = modules.iter().map(String::as_str).collect();
    set(&[&LOADED[..], &LOADED_NOW[..], &INSTALLING[..], &modules].concat()).ok()
});
pub(super) static NOW_TABLE: LazyLock<Option<GlobSet>> = LazyLock::new(|| set(&LOADED_NOW).ok());
static INSTALLING_TABLE: LazyLock<Option<GlobSet>> = LazyLock::new(|| set(&INSTALLING).ok());

/// Tells whether a file steers what installing makes.
pub(in crate::gate) fn steers_installing(path: &str) -> bool {
    INSTALLING_TABLE.as_ref().is_some_and(|table| table.is_match(path)) && installed_in(path).is_none()
}

/// Returns the folder on the way to a file that installing fills.
pub(in crate::gate) fn installed_in(path: &str) -> Option<&str> {
    folder_of(path, &INSTALLED)
}

/// Returns the topmost folder on the way to a file that has one of these names.
pub(super) fn folder_of<'a>(path: &'a str, names: &[&str]) -> Option<&'a str> {
    let mut folders = path.match_indices('/').map(|(at, _)| &path[..at]);
    folders.find(|folder| names.contains(&folder.rsplit('/').next().unwrap_or_default()))
}

/// The table together with the patterns of the settings.
pub(in crate::gate) struct Loaded<'a> {
    more: GlobSet,
    /// The init script, which may be the `setup` of a check.
    init: &'a str,
}

impl<'a> Loaded<'a> {
    pub(in crate::gate) fn new(more: &[String], init: Option<&'a str>) -> Result<Self> {
        let more = set(&more.iter().map(String::as_str).collect::<Vec<_>>())?;
        Ok(Self { more, init: init.unwrap_or(INIT) })
    }

    /// Tells whether tools load this file by themselves.
    pub(in crate::gate) fn holds(&self, path: &str) -> bool {
        let known = TABLE.as_ref().is_some_and(|table| table.is_match(path)) || self.more.is_match(path);
        path == self.init || known && installed_in(path).is_none()
    }

    /// Tells whether it is known by the folders on the way to it, and not by its name alone.
    pub(in crate::gate) fn holds_by_folder(&self, path: &str) -> bool {
        let by_folder = |at: &usize| {
            LOADED.iter().chain(&LOADED_NOW).chain(&INSTALLING).nth(*at).is_none_or(|glob| glob.contains('/'))
        };
        let known = TABLE.as_ref().is_some_and(|table| table.matches(path).iter().any(by_folder));
        installed_in(path).is_none() && (known || self.more.is_match(path))
    }

    /// Tells whether installing fills this folder.
    pub(in crate::gate) fn is_filled(folder: &str) -> bool {
        installed_in(&format!("{folder}/")).is_some()
    }
}

fn set(patterns: &[&str]) -> Result<GlobSet> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let at_root = pattern.trim_start_matches('/').to_owned();
        let anywhere = if pattern.contains('/') { at_root } else { format!("**/{pattern}") };
        let glob = GlobBuilder::new(&anywhere).literal_separator(true).build();
        set.add(glob.with_context(|| format!("`{pattern}` in `gate.soft_closure` is not a pattern"))?);
    }
    set.build().context("could not read `gate.soft_closure`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tools_load_by_themselves_is_known_in_any_folder() {
        let loaded = Loaded::new(&["fixtures/**".to_owned()], Some("tools/boot")).unwrap();
        assert!(TABLE.is_some());
        for path in [
            "conftest.py",
            "tests/conftest.py",
            "tests/unit/__init__.py",
            "tests/subprocess.py",
            "unittest.py",
            "unittest/case.py",
            "argparse.py",
            "difflib.cpython-312-x86_64-linux-gnu.so",
            "logging/__init__.py",
            "tests/unit/difflib.py",
            "web/package.json",
            "web/jest.config.ts",
            "crates/a/build.rs",
            ".cargo/config.toml",
            "a/.cargo/config",
            "Makefile",
            "lib/x.pth",
            ".env.test",
            "fixtures/a/b",
            "tools/boot",
            "android/gradlew",
            "src/evil-1.dist-info/entry_points.txt",
            "web/src/__mocks__/api.js",
            ".proverc",
            "Justfile",
            "test_app.abi3.so",
            "include/assert.h",
            "lib/include/cassert",
            "inc/sys/types.h",
        ] {
            assert!(loaded.holds(path), "{path}");
        }
        for path in [
            "src/main.rs",
            "web/node_modules/a/package.json",
            "package.json.md",
            "my-conftest.py",
            "src/calendar.py",
            "logging/levels.go",
            "difflib.md",
            "lib/app.so",
            "tests/test_app.abi3.so",
            "include/app.h",
            "types.h",
            "string/a.c",
            "a/fixtures/b",
            "init.sh",
            "x.egg-info/PKG-INFO",
            ".venv/lib/site-packages/x.dist-info/entry_points.txt",
        ] {
            assert!(!loaded.holds(path), "{path}");
        }
        assert!(Loaded::new(&["a[".to_owned()], None).is_err());
        assert!(Loaded::new(&[], None).unwrap().holds("init.sh"));
    }

    #[test]
    fn some_count_by_their_folder_and_some_by_their_name_alone() {
        let loaded = Loaded::new(&["data/**".to_owned()], None).unwrap();
        for path in [".cargo/config.toml", "unittest/case.py", "logging/__init__.py", "data/a"] {
            assert!(loaded.holds_by_folder(path), "{path}");
        }
        assert!(!loaded.holds_by_folder("build/Makefile") && !loaded.holds_by_folder("vendor/.cargo/config"));
    }
}
