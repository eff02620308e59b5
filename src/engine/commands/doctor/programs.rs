//! What to install when a program is missing.

/// Programs and the Debian packages that hold them; other systems name them alike.
const PACKAGES: [(&str, &str); 52] = [
    ("bash", "bash"),
    ("bc", "bc"),
    ("bundle", "ruby-bundler"),
    ("cargo", "cargo"),
    ("chromium", "chromium"),
    ("cmake", "cmake"),
    ("composer", "composer"),
    ("curl", "curl"),
    ("docker", "docker.io"),
    ("expect", "expect"),
    ("file", "file"),
    ("g++", "g++"),
    ("gcc", "gcc"),
    ("git", "git"),
    ("go", "golang-go"),
    ("gradle", "gradle"),
    ("java", "default-jre-headless"),
    ("javac", "default-jdk-headless"),
    ("jq", "jq"),
    ("lsof", "lsof"),
    ("make", "make"),
    ("mvn", "maven"),
    ("mysql", "default-mysql-client"),
    ("nc", "netcat-openbsd"),
    ("node", "nodejs"),
    ("npm", "npm"),
    ("npx", "npm"),
    ("perl", "perl"),
    ("php", "php-cli"),
    ("pip", "python3-pip"),
    ("pip3", "python3-pip"),
    ("pipenv", "pipenv"),
    ("poetry", "python3-poetry"),
    ("ps", "procps"),
    ("psql", "postgresql-client"),
    ("pytest", "python3-pytest"),
    ("python", "python-is-python3"),
    ("python3", "python3"),
    ("redis-cli", "redis-tools"),
    ("rg", "ripgrep"),
    ("ruby", "ruby"),
    ("rustc", "rustc"),
    ("shellcheck", "shellcheck"),
    ("sqlite3", "sqlite3"),
    ("ss", "iproute2"),
    ("tmux", "tmux"),
    ("tox", "tox"),
    ("unzip", "unzip"),
    ("wget", "wget"),
    ("xmllint", "libxml2-utils"),
    ("xvfb-run", "xvfb"),
    ("zip", "zip"),
];

/// Programs that come by another way than a Debian package.
const OTHERWISE: [(&str, &str); 9] = [
    ("bun", "see https://bun.sh"),
    ("cypress", "`npm install cypress` in the project, and `npx cypress` in the check"),
    ("deno", "see https://deno.com"),
    ("jest", "`npm install jest` in the project, and `npx jest` in the check"),
    ("playwright", "`npm install playwright` in the project, and `npx playwright` in the check"),
    ("pnpm", "`npm install -g pnpm`"),
    ("uv", "`pipx install uv`"),
    ("vitest", "`npm install vitest` in the project, and `npx vitest` in the check"),
    ("yarn", "`npm install -g yarn`"),
];

/// Says how to get a program; none when it is not known.
pub(super) fn way_to_get(program: &str) -> Option<String> {
    let package = PACKAGES.iter().find(|(name, _)| *name == program);
    let package = package.map(|(_, package)| format!("install the Debian package `{package}`"));
    package.or_else(|| Some(OTHERWISE.iter().find(|(name, _)| *name == program)?.1.to_owned()))
}
