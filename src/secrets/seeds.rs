//! Secrets made up while a test runs, so that none lies in the sources, and texts without any.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

use super::Found;
use super::Scanner;
use super::Secrets;

const LETTERS: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const ALPHA: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
const CAPITALS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const HEX: &str = "0123456789abcdef";

/// Draws letters; the same ones for the same number.
struct Draw(u64);

impl Draw {
    fn of(&mut self, count: usize, from: &str) -> String {
        let from: Vec<char> = from.chars().collect();
        (0..count)
            .map(|_| {
                self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                from[(self.0 >> 33) as usize % from.len()]
            })
            .collect()
    }
}

/// Returns a secret of each kind with the rule that has to know it, and the text in which it stands.
pub(crate) fn seeds(number: u64) -> Vec<(&'static str, String, String)> {
    let all =
        [widespread(&mut Draw(number)), of_services(&mut Draw(number + 1000)), everyday(&mut Draw(number + 3000))];
    all.concat()
}

fn widespread(draw: &mut Draw) -> Vec<(&'static str, String, String)> {
    let mut of = |count, from| draw.of(count, from);
    let jwt = format!("ey{}{}.ey{}{}.{}", "J", of(20, LETTERS), "J", of(40, LETTERS), of(43, LETTERS));
    let body = format!("{}\n{}\n", of(64, LETTERS), of(64, LETTERS));
    let private = |kind: &str| format!("-----BEGIN {kind}PRIVATE KEY-----\n{body}");
    vec![
        plain("anthropic-key", format!("sk-{}-api03-{}", "ant", of(93, LETTERS))),
        plain("openai-key", format!("sk-{}-{}", "proj", of(48, LETTERS))),
        plain("openai-key", format!("sk-{}", of(48, LETTERS))),
        plain("openrouter-key", format!("sk-or-{}-{}", "v1", of(64, HEX))),
        plain("aws-access-key", format!("AK{}{}", "IA", of(16, CAPITALS))),
        beside("aws-secret-key", of(40, LETTERS), "AWS_SECRET_ACCESS_KEY=", ""),
        beside("azure-storage-key", format!("{}==", of(86, LETTERS)), "DefaultEndpoints;AccountKey=", ";"),
        plain("google-api-key", format!("AI{}{}", "za", of(35, LETTERS))),
        plain("google-oauth", format!("GOCS{}{}", "PX-", of(28, LETTERS))),
        plain("google-oauth", format!("ya{}{}", "29.", of(60, LETTERS))),
        plain("github-token", format!("gh{}{}", "p_", of(36, LETTERS))),
        plain("github-token", format!("github_{}{}", "pat_", of(82, LETTERS))),
        plain("gitlab-token", format!("gl{}{}", "pat-", of(20, LETTERS))),
        plain("atlassian-token", format!("ATA{}{}", "TT3", of(80, LETTERS))),
        plain("slack-token", format!("xo{}{}-{}", "xb-", of(12, "0123456789"), of(24, LETTERS))),
        beside(
            "slack-webhook",
            format!("T{}/B{}/{}", of(8, CAPITALS), of(8, CAPITALS), of(24, LETTERS)),
            "curl https://hooks.slack.com/services/",
            "",
        ),
        plain("discord-token", format!("M{}.{}.{}", of(25, LETTERS), of(6, LETTERS), of(38, LETTERS))),
        beside("discord-webhook", of(68, LETTERS), "https://discord.com/api/webhooks/123456789012/", ""),
        plain("telegram-token", format!("{}:A{}{}", of(9, "123456789"), "A", of(33, LETTERS))),
        plain("stripe-key", format!("sk_{}{}", "live_", of(24, LETTERS))),
        plain("stripe-key", format!("rk_{}{}", "test_", of(24, LETTERS))),
        plain("stripe-key", format!("wh{}{}", "sec_", of(32, LETTERS))),
        plain("twilio-key", format!("S{}{}", "K", of(32, HEX))),
        plain("sendgrid-key", format!("S{}.{}.{}", "G", of(22, LETTERS), of(43, LETTERS))),
        plain("mailgun-key", format!("ke{}{}", "y-", of(32, HEX))),
        plain("shopify-token", format!("sh{}{}", "pat_", of(32, HEX))),
        plain("npm-token", format!("np{}{}", "m_", of(36, LETTERS))),
        plain("pypi-token", format!("py{}{}", "pi-AgE", of(80, LETTERS))),
        plain("crates-token", format!("ci{}{}", "o", of(32, LETTERS))),
        plain("docker-token", format!("dck{}{}", "r_pat_", of(27, LETTERS))),
        plain("huggingface-token", format!("h{}{}", "f_", of(34, ALPHA))),
        plain("digitalocean-token", format!("do{}{}", "p_v1_", of(64, HEX))),
        plain("databricks-token", format!("da{}{}", "pi", of(32, HEX))),
        plain("vault-token", format!("hv{}{}", "s.", of(24, LETTERS))),
        plain("age-key", format!("AGE-SECRET-{}{}", "KEY-1", of(58, CAPITALS))),
        plain("private-key", private("")),
        plain("private-key", private("RSA ")),
        plain("private-key", private("OPENSSH ")),
        plain("json-web-token", jwt.clone()),
        beside("password-in-address", of(12, LETTERS), "the database: postgres://app:", "@db.internal:5432/app"),
        beside("password-in-address", of(20, LETTERS), "redis://:", "@cache:6379/0"),
        beside("assigned-secret", of(24, LETTERS), "SESSION_SECRET=\"", "\""),
        beside("assigned-secret", of(32, HEX), "api_key: ", "\n"),
        beside("assigned-secret", of(20, LETTERS), "the password is `", "`."),
        beside("assigned-secret", of(40, LETTERS), "curl -H 'Authorization: Bearer ", "' https://example.org"),
        beside("assigned-secret", of(28, LETTERS), "{\"client_secret\": \"", "\"}"),
        beside("json-web-token", jwt, "auth_token: ", ""),
    ]
}

/// Those of services, and passwords where programs keep them.
fn of_services(draw: &mut Draw) -> Vec<(&'static str, String, String)> {
    let mut of = |count, from| draw.of(count, from);
    vec![
        plain("groq-key", format!("gs{}{}", "k_", of(52, LETTERS))),
        plain("xai-key", format!("xa{}{}", "i-", of(80, LETTERS))),
        plain("perplexity-key", format!("ppl{}{}", "x-", of(48, LETTERS))),
        plain("replicate-token", format!("r{}{}", "8_", of(37, LETTERS))),
        plain("notion-token", format!("nt{}{}", "n_", of(46, LETTERS))),
        plain("linear-key", format!("lin_{}{}", "api_", of(40, LETTERS))),
        plain("newrelic-key", format!("NR{}{}", "AK-", of(27, CAPITALS))),
        plain("grafana-token", format!("gl{}{}_{}", "sa_", of(32, LETTERS), of(8, HEX))),
        plain("sentry-token", format!("sn{}{}", "trys_", of(80, LETTERS))),
        plain("pulumi-token", format!("pu{}{}", "l-", of(40, HEX))),
        plain("doppler-token", format!("dp.{}.{}", "pt", of(43, LETTERS))),
        plain("doppler-token", format!("dp.{}.dev.{}", "st", of(43, LETTERS))),
        plain("postman-key", format!("PM{}{}-{}", "AK-", of(24, HEX), of(34, HEX))),
        plain("figma-token", format!("fi{}{}", "gd_", of(40, LETTERS))),
        plain("airtable-token", format!("pa{}{}.{}", "t", of(14, LETTERS), of(64, HEX))),
        plain("supabase-key", format!("sb{}{}", "p_", of(40, HEX))),
        plain("fly-token", format!("fm{}{}", "2_", of(100, LETTERS))),
        plain("heroku-key", format!("HR{}{}", "KU-", of(60, LETTERS))),
        plain("bitbucket-token", format!("AT{}{}", "BB", of(32, LETTERS))),
        plain("terraform-token", format!("{}.{}.{}", of(14, LETTERS), "atlasv1", of(67, LETTERS))),
        plain("azure-client-secret", format!("{}8{}~{}", of(3, LETTERS), "Q", of(34, LETTERS))),
        beside("azure-signature", of(43, LETTERS), "https://a.blob.core.windows.net/b?sv=2022-11-02&sig=", "%3D&sp=r"),
        beside("one-time-secret", of(32, CAPITALS), "otpauth://totp/a:b?secret=", "&issuer=a"),
        plain("password-hash", format!("$6${}${}", of(16, LETTERS), of(86, LETTERS))),
        plain("password-hash", format!("${}$10${}", "2b", of(53, LETTERS))),
        plain("password-hash", format!("{}{}=", "{SHA}", of(27, LETTERS))),
        beside("password-of-curl", of(12, LETTERS), "curl -s -u app:", " https://example.org"),
        beside("putty-key", of(64, LETTERS), "Private-Lines: 8\n", "\n"),
    ]
}

/// As people write them down, and those of more services.
fn everyday(draw: &mut Draw) -> Vec<(&'static str, String, String)> {
    const BASE64: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/";
    const SIGNS: &str = "abcdefghjkmnpqrstuvwxyzABCDEFGHJKMNPQRSTUVWXYZ23456789!$#@%&*";
    let mut of = |count, from| draw.of(count, from);
    let uuid = [8, 4, 4, 4, 12].map(|count| of(count, HEX)).join("-");
    vec![
        beside("assigned-secret", of(28, LETTERS), "DB_PASS=", ""),
        beside("assigned-secret", of(28, LETTERS), "db-pwd: ", ""),
        beside("assigned-secret", of(28, LETTERS), "password            =            ", ""),
        beside("assigned-secret", of(28, LETTERS), "<password>", "</password>"),
        beside("assigned-secret", of(28, LETTERS), "| password | ", " |"),
        beside("assigned-secret", of(32, LETTERS), "API key is ", ""),
        beside("assigned-secret", of(28, LETTERS), "Passwort: ", ""),
        beside("assigned-secret", of(32, LETTERS), "{\"token\":{\"value\":\"", "\"}}"),
        beside("assigned-secret", of(32, LETTERS), "token: >-\n  ", "\n"),
        beside("assigned-secret", of(28, LETTERS), "setPassword(\"", "\")"),
        beside("assigned-secret", format!("Z{}", of(19, SIGNS)), "password = \"", "\""),
        beside("password-of-mysql", of(16, LETTERS), "mysql -u root -p", " shop"),
        beside("password-of-ssh", of(12, LETTERS), "sshpass -p ", " ssh host"),
        beside("password-of-wifi", of(16, LETTERS), "psk=\"", "\""),
        beside("docker-login", of(28, BASE64), "{\"auths\": {\"r.io\": {\"auth\": \"", "=\"}}}"),
        beside("npm-token", of(32, BASE64), "_auth=", ""),
        beside("key-in-base64", format!("LS0tLS1CRUdJTi{}", of(60, BASE64)), "client-key-data: ", ""),
        beside("password-in-address", format!("{}%21{}", of(8, LETTERS), of(6, LETTERS)), "mysql://root:", "@h/x"),
        plain("rubygems-key", format!("ruby{}{}", "gems_", of(48, HEX))),
        plain("deepseek-key", format!("sk{}{}", "-", of(32, HEX))),
        plain("langfuse-key", format!("sk-{}{uuid}", "lf-")),
        plain("tailscale-key", format!("ts{}{}-{}", "key-auth-", of(12, LETTERS), of(32, LETTERS))),
        plain("square-token", format!("sq0{}{}", "atp-", of(22, LETTERS))),
        plain("planetscale-token", format!("psc{}{}", "ale_tkn_", of(43, LETTERS))),
        plain("nvidia-key", format!("nv{}{}", "api-", of(64, LETTERS))),
        plain("vercel-token", format!("vercel_{}{}_{}", "blob_rw_", of(16, LETTERS), of(30, LETTERS))),
        beside("okta-token", format!("00{}", of(40, LETTERS)), "Authorization: SSWS ", ""),
        plain("netlify-token", format!("n{}{}", "fp_", of(40, LETTERS))),
        plain("fireworks-key", format!("f{}{}", "w_", of(24, LETTERS))),
        plain("resend-key", format!("r{}{}_{}", "e_", of(8, LETTERS), of(24, LETTERS))),
        plain("google-oauth", format!("1/{}{}", "/0", of(60, LETTERS))),
    ]
}

fn plain(rule: &'static str, secret: String) -> (&'static str, String, String) {
    (rule, secret.clone(), secret)
}

fn beside(rule: &'static str, secret: String, before: &str, after: &str) -> (&'static str, String, String) {
    let text = format!("{before}{secret}{after}");
    (rule, secret, text)
}

#[test]
fn forty_secrets_of_twenty_kinds_are_found_wherever_they_stand() {
    let mut kinds = std::collections::BTreeSet::new();
    let (mut seeded, mut assigned, mut missed) = (0, 0, Vec::new());
    for number in 1..=10 {
        for (rule, secret, text) in seeds(number) {
            for around in [format!("notes\n\n{text}"), format!("- key: {text}, for now\n"), format!("(`{text}`)")] {
                let redacted = Scanner::default().redact(&around);
                if redacted.contains(secret.trim_end()) {
                    missed.push((rule, around));
                    continue;
                }
                assert!(redacted.contains(" left out]"), "{redacted}");
                assert_eq!(Scanner::default().scan(redacted.as_bytes()), [], "{redacted}");
            }
            kinds.insert(rule);
            seeded += 1;
            assigned += usize::from(rule == "assigned-secret");
        }
    }
    assert!(kinds.len() >= 30 && seeded >= 40 * 10, "{} kinds, {seeded} secrets", kinds.len());
    let pass = format!("localhost:5432:app:app:{}\n", Draw(1).of(12, LETTERS));
    assert_eq!(Scanner::default().redact(&pass), "localhost:5432:app:app:[password-of-postgres left out]\n");
    // Without a known form it is told by how it looks, and a few look like words: at most one in twenty.
    assert!(
        missed.iter().all(|(rule, _)| *rule == "assigned-secret") && missed.len() * 20 <= assigned * 3,
        "{missed:?}"
    );
}

/// How many of a hundred drawn values of this length are found beside a word.
fn found_of_hundred(length: usize) -> usize {
    let is_found = |number: &u64| {
        let value = Draw(*number).of(length, LETTERS);
        let texts = [format!("DB_PASSWORD={value}"), format!("api_key: \"{value}\""), format!("token: {value}\n")];
        texts.iter().all(|text| !Scanner::default().redact(text).contains(&value))
    };
    (1..=100).filter(is_found).count()
}

#[test]
fn a_short_password_is_found_beside_a_word() {
    for length in [12, 13, 15] {
        assert!(found_of_hundred(length) >= 80, "{} of 100 with {length} letters", found_of_hundred(length));
    }
    assert!(found_of_hundred(20) >= 90, "{}", found_of_hundred(20));
    assert_eq!(found_of_hundred(10), 0, "its twin: what is shorter may be anything");
}

#[test]
fn a_find_tells_its_rule_and_its_line_and_overlapping_ones_are_one() {
    let secret = seeds(7).swap_remove(10).1;
    let text = format!("a\nb\ntoken: {secret}\n");
    let found = Scanner::default().scan(text.as_bytes());
    let at = text.find(&secret).unwrap();
    let expected = Found { rule: "github-token", line: 3, bytes: at..at + secret.len() };
    assert_eq!(found, [expected]);

    let known = Scanner::new(Secrets::new(["plain words".to_owned()]));
    assert_eq!(known.redact("these plain words\n"), "these [known-secret left out]\n");
    assert_eq!(Scanner::default().redact("these plain words\n"), "these plain words\n", "its twin");
}

#[test]
fn what_only_speaks_of_secrets_is_none() {
    for text in [
        "token: process.env.GITHUB_TOKEN_FOR_RELEASE2",
        "the password is `correct-horse-battery-staple`",
        "set API_KEY=your_api_key_1234567890abcdef before",
        "postgres://user:password@localhost:5432/db and https://user:$TOKEN@host",
        "secret: ${{ secrets.DEPLOY_KEY_2024 }}",
        "password = hunter2",
        "the token bucket refills 100 tokens every 2.5 seconds",
        "api key 2027-01-15T10:00:00Z expires",
        "tokens: input_tokens=1234567890123456",
        "<div class=\"sk-fading-circle-animation-wrapper-outer\">",
        "AKIAEXAMPLE, sk-ant-…, ghp_XXXXXXXX",
        "the secret lies in /run/secrets/db-password-v2, read by src/auth/token_provider.rs:42",
        "access key pair id: see docs/keys.md#rotation-2024",
        "password: ****************",
        "commit 0123456789abcdef0123456789abcdef01234567 fixed the login",
        "token = crypto.randomBytes(32).toString('hex')",
        "Basic authentication-via-ldap3-connector",
        "a file that begins with `-----BEGIN RSA PRIVATE KEY-----` is no certificate",
        "-----BEGIN PRIVATE KEY----- is how the new form begins, -----BEGIN RSA PRIVATE KEY----- the old one",
        "System.Xml, Version=4.0.0.0, Culture=neutral, PublicKeyToken=31bf3856ad364e35",
        "the public key token b77a5c561934e089 is that of the framework",
        concat!("call it with sk_test_", "4eC39HqLyjWDarjtT1zdp7dc, as the documentation does"),
        "token = parseBase64Url(value), then secret: getV2Config",
        "password: bcrypt2Rounds, access_key: KeyVersion2Id",
        "curl -u user:password https://example.org and curl -u \"$USER:$TOKEN\" https://example.org",
        "localhost:5432:app:app:password",
        "the hash begins with $2b$10$ or $6$",
        "eth token 0xdAC17F958D2ee523a2206206994597C13D831ec7",
        "all tests pass: 12 of 12, and pass (see section 4.2.1 of Rfc6749Spec)",
        "mysql -u root -p shop, mysql -h db --password, sshpass -p \"$PASS\" ssh host",
        "certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUM",
        "{\"auth\": \"basic\"} and _auth = client_auth",
    ] {
        assert_eq!(Scanner::default().scan(text.as_bytes()), [], "{text}");
    }
}

/// Returns the files below a folder that a person may read.
fn texts(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            texts(&path, all);
        } else if path.extension().is_some_and(|end| end == "rs" || end == "md" || end == "json" || end == "toml") {
            all.push(path);
        }
    }
}

#[test]
fn ordinary_text_raises_at_most_one_false_alarm_in_ten_thousand_lines() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = vec![root.join("README.md"), root.join("Cargo.toml")];
    for folder in ["src", "tests", "templates", "examples"] {
        texts(&root.join(folder), &mut files);
    }
    files.retain(|path| !path.starts_with(root.join("src/secrets")));
    let (mut lines, mut alarms) = (0, Vec::new());
    for path in files {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        lines += text.lines().count();
        let found = Scanner::default().scan(text.as_bytes());
        alarms.extend(found.into_iter().map(|found| (path.clone(), text[found.bytes.clone()].to_owned(), found)));
    }
    assert!(lines > 50_000, "{lines}");
    assert!(alarms.len() <= lines / 10_000, "{} in {lines} lines: {alarms:#?}", alarms.len());
}
