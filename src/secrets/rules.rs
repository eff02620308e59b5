//! Secrets that are known by their form, as those who hand them out document it.

use std::ops::Range;
use std::sync::LazyLock;
use std::sync::OnceLock;

use regex::bytes::Regex;
use regex::bytes::RegexSet;

/// A form: its name, and an expression. What is in its group `s` is the secret; without one, all of it.
type Rule = (&'static str, &'static str);

const RULES: [Rule; 76] = [
    ("anthropic-key", r"\bsk-ant-[a-z]{3,8}[0-9]{2}-[A-Za-z0-9_-]{24,}"),
    (
        "openai-key",
        r"\bsk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{32,}|\bsk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}|\bsk-[A-Za-z0-9]{48}\b",
    ),
    ("deepseek-key", r"\bsk-[0-9a-f]{32}\b"),
    ("langfuse-key", r"\bsk-lf-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"),
    ("openrouter-key", r"\bsk-or-v1-[0-9a-f]{64}\b"),
    ("aws-access-key", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b"),
    (
        "aws-secret-key",
        r#"(?i)aws_?(?:secret)?_?(?:access)?_?key["']?\s{0,3}[=:]{1,2}\s{0,3}["']?(?P<s>[A-Za-z0-9/+]{40})\b"#,
    ),
    ("azure-storage-key", r"\bAccountKey=(?P<s>[A-Za-z0-9+/]{86}==)"),
    ("google-api-key", r"\bAIza[A-Za-z0-9_-]{35}\b"),
    ("google-oauth", r"\bya29\.[A-Za-z0-9_-]{30,}|\b1//0[A-Za-z0-9_-]{40,}|\bGOCSPX-[A-Za-z0-9_-]{28}\b"),
    ("github-token", r"\bgh[pousr]_[A-Za-z0-9]{36,}\b|\bgithub_pat_[A-Za-z0-9_]{60,}\b"),
    ("gitlab-token", r"\bgl(?:pat|dt|rt|ptt|cbt|soat)-[A-Za-z0-9_-]{20,}"),
    ("atlassian-token", r"\bATATT3[A-Za-z0-9_=-]{60,}"),
    ("slack-token", r"\bxox[abeoprs]-(?:[0-9A-Za-z]+-)+[0-9A-Za-z]{10,}|\bxapp-[0-9]-[A-Z0-9]+-[0-9]+-[0-9a-f]{32,}"),
    (
        "slack-webhook",
        r"hooks\.slack\.com/(?:services|workflows)/(?P<s>T[A-Z0-9]{6,}/[AB][A-Z0-9]{6,}/[A-Za-z0-9/]{16,})",
    ),
    ("discord-token", r"\b[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}"),
    ("discord-webhook", r"discord(?:app)?\.com/api/webhooks/[0-9]{10,}/(?P<s>[A-Za-z0-9_-]{60,})"),
    ("telegram-token", r"\b[0-9]{8,10}:AA[A-Za-z0-9_-]{33}\b"),
    ("stripe-key", r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{20,}\b|\bwhsec_[A-Za-z0-9+/]{32,}"),
    ("twilio-key", r"\bSK[0-9a-f]{32}\b"),
    ("sendgrid-key", r"\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}\b"),
    ("mailgun-key", r"\bkey-[0-9a-f]{32}\b"),
    ("shopify-token", r"\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}\b"),
    (
        "npm-token",
        r#"\bnpm_[A-Za-z0-9]{36}\b|(?m:^|[\s:"'`(])_auth(?:Token)?\s{0,3}=\s{0,3}"?(?P<s>[A-Za-z0-9+/]{16,}={0,2})"#,
    ),
    ("rubygems-key", r"\brubygems_[0-9a-f]{48}\b"),
    ("tailscale-key", r"\btskey-[a-z]{3,8}-[A-Za-z0-9-]{16,}"),
    ("square-token", r"\bsq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,}"),
    ("planetscale-token", r"\bpscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.-]{24,}"),
    ("nvidia-key", r"\bnvapi-[A-Za-z0-9_-]{40,}"),
    ("vercel-token", r"\bvercel_blob_rw_[A-Za-z0-9]{8,}_[A-Za-z0-9]{20,}\b"),
    ("okta-token", r"\bSSWS\s{1,3}(?P<s>00[A-Za-z0-9_-]{38,})"),
    ("netlify-token", r"\bnfp_[A-Za-z0-9]{36,}\b"),
    ("fireworks-key", r"\bfw_[A-Za-z0-9]{22,}\b"),
    ("resend-key", r"\bre_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}\b"),
    ("pypi-token", r"\bpypi-AgE[A-Za-z0-9_-]{50,}"),
    ("crates-token", r"\bcio[A-Za-z0-9]{32}\b"),
    ("docker-login", r#""auth"\s{0,3}:\s{0,3}"(?P<s>[A-Za-z0-9+/]{16,}={0,2})""#),
    ("docker-token", r"\bdckr_(?:pat|oat)_[A-Za-z0-9_-]{27,}"),
    ("huggingface-token", r"\bhf_[A-Za-z]{34}\b"),
    ("digitalocean-token", r"\bdo[opr]_v1_[a-f0-9]{64}\b"),
    ("databricks-token", r"\bdapi[a-f0-9]{32}\b"),
    ("vault-token", r"\bhv[sbr]\.[A-Za-z0-9_-]{24,}"),
    ("age-key", r"\bAGE-SECRET-KEY-1[A-Z0-9]{58}\b"),
    ("groq-key", r"\bgsk_[A-Za-z0-9]{40,}\b"),
    ("xai-key", r"\bxai-[A-Za-z0-9]{60,}\b"),
    ("perplexity-key", r"\bpplx-[A-Za-z0-9]{40,}\b"),
    ("replicate-token", r"\br8_[A-Za-z0-9]{37,}\b"),
    ("notion-token", r"\bntn_[A-Za-z0-9]{40,}\b|\bsecret_[A-Za-z0-9]{43}\b"),
    ("linear-key", r"\blin_(?:api|oauth)_[A-Za-z0-9]{32,}\b"),
    ("newrelic-key", r"\bNRAK-[A-Z0-9]{27}\b"),
    ("grafana-token", r"\bglsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}\b|\bglc_[A-Za-z0-9+/]{40,}"),
    ("sentry-token", r"\bsntrys_[A-Za-z0-9+/=_]{40,}|\bsntryu_[a-f0-9]{64}\b"),
    ("pulumi-token", r"\bpul-[a-f0-9]{40}\b"),
    ("doppler-token", r"\bdp\.(?:pt|st|sa|ct|scim|audit)\.(?:[A-Za-z0-9_-]{1,40}\.)?[A-Za-z0-9]{40,}\b"),
    ("postman-key", r"\bPMAK-[a-f0-9]{24}-[a-f0-9]{34}\b"),
    ("figma-token", r"\bfigd_[A-Za-z0-9_-]{38,}"),
    ("airtable-token", r"\bpat[A-Za-z0-9]{14}\.[a-f0-9]{64}\b"),
    ("supabase-key", r"\bsbp_[a-f0-9]{40}\b|\bsb_secret_[A-Za-z0-9_-]{20,}"),
    ("fly-token", r"\bfm[12][a-z]?_[A-Za-z0-9+/=_-]{60,}|\bfo1_[A-Za-z0-9_-]{40,}"),
    ("heroku-key", r"\bHRKU-[A-Za-z0-9_-]{36,}"),
    ("bitbucket-token", r"\bATBB[A-Za-z0-9]{28,}\b"),
    ("terraform-token", r"\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{60,}"),
    ("azure-client-secret", r"\b[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}"),
    ("azure-signature", r"[?&;]sig=(?P<s>[A-Za-z0-9%+/]{40,}(?:=|%3[dD])?)"),
    ("one-time-secret", r"\botpauth://[a-z]{4}/[^\s'<>]*[?&]secret=(?P<s>[A-Za-z2-7]{16,})"),
    (
        "password-hash",
        r"\$(?:[1567y]|2[abxy]|gy|apr1)\$[./A-Za-z0-9$=,]{25,}|\$argon2(?:id?|d)\$v=[0-9]+\$[A-Za-z0-9+/=,$]{40,}|\{SHA\}[A-Za-z0-9+/]{27}=",
    ),
    (
        "password-of-postgres",
        r"(?m)^[^\s:#]{1,64}:(?:5432|5433|6432|\*):[^\s:]{1,64}:[^\s:]{1,64}:(?P<s>[^\s:$<{]{6,})$",
    ),
    ("password-of-curl", r#"\bcurl\s(?:[^\n]{0,200}\s)?(?:-u|--user)[ =]?["']?[^\s:"'$]{1,64}:(?P<s>[^\s"'$<{*]{6,})"#),
    (
        "password-of-mysql",
        r#"\b(?:mysql(?:dump|admin|import)?|mariadb(?:-dump|-admin)?)\s(?:[^\n]{0,200}\s)?-p["']?(?P<s>[^\s"'`$<{*-][^\s"'`$<{*]{7,})"#,
    ),
    ("password-of-ssh", r#"\bsshpass\s{1,3}-p\s{0,3}["']?(?P<s>[^\s"'`$<{*]{6,})"#),
    ("password-of-wifi", r#"\bpsk\s{0,3}=\s{0,3}"(?P<s>[^"\n<>{}$*]{8,63})""#),
    ("key-in-base64", r#"client-key-data["']?\s{0,3}:\s{0,3}["']?(?P<s>[A-Za-z0-9+/]{24,}={0,2})"#),
    // In a string of JSON its lines end with a backslash and a letter. Without a line of its own it is only spoken of.
    (
        "private-key",
        r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----[A-Za-z0-9+/=\s\\:,.-]*?[A-Za-z0-9+/]{24,}[A-Za-z0-9+/=\s\\:,.-]*",
    ),
    ("putty-key", r"\bPrivate-Lines: [0-9]+[\s\\rn]+(?P<s>[A-Za-z0-9+/=\s\\]{40,})"),
    ("json-web-token", r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
    (
        "password-in-address",
        r#"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@"'`<>{}$]{0,64}:(?P<s>(?:[^\s/@"'`<>{}$*%]|%[0-9A-Fa-f]{2}){6,})@[A-Za-z0-9\[]"#,
    ),
];

/// What a value has in it that stands for a secret, and a form that only shows what one looks like.
const PLACEHOLDERS: [&str; 9] =
    ["password", "passwd", "secret", "changeme", "example", "postgres", "your", "placeholder", "xxxx"];
/// The last is the key of the documentation that everybody quotes.
const EXAMPLES: [&str; 3] = ["example", "xxxx", "4ec39hqlyjwdarjtt1zdp7dc"];

#[expect(clippy::unwrap_used, reason = "the expressions are fixed, and every test of this file compiles them")]
static SET: LazyLock<RegexSet> = LazyLock::new(|| RegexSet::new(RULES.map(|(_, pattern)| pattern)).unwrap());

/// Each compiled only once it is known to fit, which is seldom.
static FORMS: [OnceLock<Option<Regex>>; RULES.len()] = [const { OnceLock::new() }; RULES.len()];

/// Returns where a rule finds something, and its name.
pub(super) fn find(text: &[u8]) -> Vec<(Range<usize>, &'static str)> {
    let mut found = Vec::new();
    for index in SET.matches(text) {
        let (name, pattern) = RULES[index];
        let expression = FORMS[index].get_or_init(|| Regex::new(pattern).ok());
        let Some(expression) = expression else { continue };
        for captures in expression.captures_iter(text) {
            let inner = captures.name("s").filter(|secret| !stands_for_one(secret.as_bytes()));
            let whole = captures.get(0).filter(|whole| captures.name("s").is_none() && !is_example(whole.as_bytes()));
            found.extend(inner.or(whole).map(|secret| (secret.range(), name)));
        }
    }
    found
}

fn is_example(form: &[u8]) -> bool {
    let lower = String::from_utf8_lossy(form).to_lowercase();
    EXAMPLES.iter().any(|word| lower.contains(word))
}

/// Tells whether a value says by itself that it is no secret, as in a documentation.
pub(super) fn stands_for_one(secret: &[u8]) -> bool {
    let lower = String::from_utf8_lossy(secret).to_lowercase();
    PLACEHOLDERS.iter().any(|word| lower.contains(word)) || lower.bytes().all(|byte| Some(byte) == lower.bytes().next())
}
