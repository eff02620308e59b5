//! What the demo has to show. A scene has been seen when a line of a child's output holds all of its words, after the
//! scene before it.

/// One thing to see; what holds the agent's commands can make it look different.
struct Scene {
    title: &'static str,
    words: &'static [&'static str],
    /// Title and words where bubblewrap keeps the agent from the attempt itself.
    held: Option<(&'static str, &'static [&'static str])>,
}

const SCENES: [Scene; 12] = [
    scene("the initializer turns the specification into checks and a checklist", &["session 1", "initializer"]),
    scene("a feature is proven by its check", &["check add-list: passed", "proven"]),
    // The check's own words: it found the items 10, 11 and 12 marked along with 1.
    scene("a false «done»: refused, and the check says why", &["1 10 11 12"]),
    scene("the checklist attacked with the memory tool: refused", &["error", "features.json"]),
    scene("the fault is repaired and the feature proven", &["check done: passed", "proven"]),
    Scene {
        held: Some(("the checklist attacked by shell: it cannot be written there", &["exit code", "features.json"])),
        ..scene(
            "the checklist attacked by shell: undone, and the session proves nothing",
            &["session 5", "proves nothing"],
        )
    },
    scene("its code was right, and its check proves it", &["check remove: passed", "proven"]),
    scene("a longhaul killed in mid-session", &["kill -9"]),
    scene("the next one goes on from the last committed state", &["session 6", "interrupted"]),
    scene("the interrupted feature is finished and proven", &["check search: passed", "proven"]),
    scene("a regression, caught by the sweep after the session", &["regressed", "add-list"]),
    scene("the regression is repaired and the feature proven", &["check add-list: passed", "proven"]),
];

const fn scene(title: &'static str, words: &'static [&'static str]) -> Scene {
    Scene { title, words, held: None }
}

/// How far the story has been told.
pub(super) struct Story {
    next: usize,
}

impl Story {
    /// Begins the story.
    pub(super) fn new() -> Self {
        Self { next: 0 }
    }

    /// Makes a story with nothing left to tell.
    pub(super) fn over() -> Self {
        Self { next: SCENES.len() }
    }

    /// Takes a line, and returns the title of the scene it completes.
    pub(super) fn hear(&mut self, line: &str) -> Option<&'static str> {
        let scene = SCENES.get(self.next)?;
        let ways = std::iter::once((scene.title, scene.words)).chain(scene.held);
        let (title, _) = ways.into_iter().find(|(_, words)| words.iter().all(|word| line.contains(word)))?;
        self.next += 1;
        Some(title)
    }

    /// Counts the scenes seen.
    pub(super) fn told(&self) -> usize {
        self.next
    }

    /// Returns the title of the first scene that was not seen.
    pub(super) fn missing(&self) -> Option<&'static str> {
        SCENES.get(self.next).map(|scene| scene.title)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenes_count_in_their_order_only() {
        let mut story = Story::new();
        assert_eq!(story.hear("check add-list: passed in 0.1 s, proven"), None, "the initializer comes first");
        assert!(story.hear("session 1 · initializer · a-model").is_some());
        assert_eq!(story.hear("check add-list: passed in 0.1 s"), None, "passed is not proven");
        assert_eq!(story.missing(), Some("a feature is proven by its check"));
        assert!(story.hear("check add-list: passed in 0.1 s, proven").is_some());
        assert_eq!((story.told(), Story::over().missing()), (2, None));
    }
}
