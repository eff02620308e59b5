//! Modules that code of Node names without their endings, such as by `require('./tests')`.

use regex::Regex;
use std::sync::LazyLock;

/// How such code names a module beside it.
static REQUIRED: LazyLock<Regex> = LazyLock::new(|| {
    let form = r#"\b(?:require|import|from)\s*\(?\s*\\?["'](\.{1,2}/[^"'\\]+)\\?["']"#;
    Regex::new(form).expect("a regular expression written here")
});

/// What Node adds to such a name, in its order; before it is there, the first and the last are what it will be.
const ADDED: [&str; 5] = [".js", ".json", ".cjs", ".mjs", "/index.js"];

/// Returns the modules that a text names so.
pub(in crate::gate) fn modules(text: &str) -> Vec<String> {
    REQUIRED.captures_iter(text).map(|found| found[1].to_owned()).collect()
}

/// Returns what the path of a module that is not there as it is written means: the file that is, or those it may become.
pub(in crate::gate) fn meant(path: &str, is_there: &dyn Fn(&str) -> bool) -> Vec<String> {
    let forms: Vec<String> = ADDED.iter().map(|end| format!("{path}{end}")).collect();
    match forms.iter().find(|form| is_there(form)) {
        Some(form) => vec![form.clone()],
        None => [forms.first(), forms.last()].into_iter().flatten().cloned().collect(),
    }
}
