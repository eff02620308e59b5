//! What a command did to the view of memory, in words for the agent.

use crate::clip;
use crate::memory::Findings;

/// Characters that findings may add to a result.
const SHOWN: usize = 2_000;

/// Says what was found; `None` when the agent need not know.
pub(super) fn told(findings: &Findings) -> Option<String> {
    let mut lines = Vec::new();
    let paths =
        |paths: &[String]| paths.iter().map(|path| format!("`/memories/{path}`")).collect::<Vec<_>>().join(", ");
    if !findings.moved.is_empty() || !findings.undone.is_empty() {
        lines.push(
            "the history of memory was changed by a command and put back: it is longhaul's. This session cannot prove \
             its feature any more; commit what works and hand over"
                .to_owned(),
        );
    }
    if !findings.restored.is_empty() {
        lines.push(format!(
            "{} was changed by a command and put back: it is longhaul's. This session cannot prove its feature \
             any more; commit what works and hand over",
            paths(&findings.restored)
        ));
    }
    if !findings.adopted.is_empty() {
        lines.push(format!("{} was changed by a command and is kept; use the `memory` tool", paths(&findings.adopted)));
    }
    for (path, why) in &findings.refused {
        lines.push(format!("`/memories/{path}` was changed by a command and is not kept: {why}"));
    }
    let elsewhere = findings.set_aside.iter().filter(|(path, _)| !findings.restored.contains(path));
    lines
        .extend(elsewhere.map(|(path, _)| {
            format!("`/memories/{path}` was no plain file or may not be changed so; it was put back")
        }));
    let lines: Vec<String> = lines.iter().map(|line| format!("[memory: {line}]")).collect();
    (!lines.is_empty()).then(|| clip::head(&lines.join("\n"), SHOWN))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn only_what_the_agent_did_is_told() {
        assert_eq!(told(&Findings { projected: vec!["a.md".to_owned()], ..Findings::default() }), None);
        let file = |path: &str| (path.to_owned(), PathBuf::from("kept"));
        let findings = Findings {
            restored: vec!["features.json".to_owned()],
            adopted: vec!["notes/a.md".to_owned()],
            set_aside: vec![file("features.json"), file("notes/pipe")],
            ..Findings::default()
        };
        let told = told(&findings).unwrap();
        assert!(told.starts_with("[memory: `/memories/features.json` was changed by a command and put back"), "{told}");
        assert_eq!(told.lines().count(), 3, "{told}");
    }
}
