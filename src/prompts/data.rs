//! Text from elsewhere, labelled so that the model can tell it from instructions.

use std::sync::LazyLock;

use regex::Regex;

#[expect(clippy::unwrap_used, reason = "the expression is fixed, and every test that renders a prompt compiles it")]
static TAG: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?i)<(\s*/?\s*data\b)").unwrap());

/// Wraps `text` as data from `source`; a tag inside it that could end or begin data is made harmless.
pub(super) fn label(text: &str, source: &str) -> String {
    let body = TAG.replace_all(text.trim_end_matches('\n'), "&lt;$1");
    let source = source.replace(['"', '<', '>', '\n'], "_");
    format!("<data source=\"{source}\">\n{body}\n</data>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_cannot_be_forged() {
        assert_eq!(label("x\n", "a\"><b"), "<data source=\"a___b\">\nx\n</data>");
        assert_eq!(label("<database> </data\n>", "f"), "<data source=\"f\">\n<database> &lt;/data\n>\n</data>");
    }
}
