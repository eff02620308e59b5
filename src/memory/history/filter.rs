//! Which commits are wanted.

use crate::memory::history::trailers;
use crate::memory::history::trailers::Author;
use crate::memory::rules::path::MemoryPath;

/// Which commits are wanted; the default is all of them.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only commits that changed this file, or something in this folder, also under its older names.
    pub path: Option<MemoryPath>,
    pub session: Option<u32>,
    /// Only commits that concern this feature, among others or alone.
    pub feature: Option<String>,
    pub author: Option<Author>,
    /// At most so many, the newest.
    pub limit: Option<usize>,
}

/// How a commit stands to what is wanted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Fit {
    Yes,
    No,
    /// Nothing older can be wanted.
    Older,
}

impl Filter {
    /// Tells whether a commit fits by who wrote it and what its text says; its path is looked at elsewhere.
    pub(super) fn fits(&self, author: &str, trailers: &[(String, String)]) -> Fit {
        if let Some(wanted) = self.session {
            match session(trailers) {
                Some(number) if number == wanted => {}
                Some(number) if number < wanted => return Fit::Older,
                _ => return Fit::No,
            }
        }
        let of_feature = self.feature.as_ref().is_none_or(|id| concerns(trailers, id));
        let by_author = self.author.is_none_or(|wanted| wanted == writer(author));
        if of_feature && by_author { Fit::Yes } else { Fit::No }
    }
}

/// Returns who wrote a commit with this author; whoever is not of ours comes from outside.
fn writer(author: &str) -> Author {
    let ours = [Author::Agent, Author::Longhaul].into_iter().find(|ours| ours.name() == author);
    ours.unwrap_or(Author::External)
}

/// Returns the session in which a commit was made.
pub(super) fn session(trailers: &[(String, String)]) -> Option<u32> {
    trailers::value(trailers, "Session")?.parse().ok()
}

fn concerns(trailers: &[(String, String)], id: &str) -> bool {
    trailers.iter().any(|(name, value)| name == "Feature" && value == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_fits_by_all_that_is_asked_for() {
        let trailers = [("Session".to_owned(), "3".to_owned()), ("Feature".to_owned(), "a".to_owned())];
        let fits = |filter: Filter, author: &str| filter.fits(author, &trailers);
        let of = |session| Filter { session: Some(session), ..Filter::default() };
        assert_eq!([2, 3, 4].map(|number| fits(of(number), "agent")), [Fit::No, Fit::Yes, Fit::Older]);
        let by = |author| Filter { author: Some(author), feature: Some("a".to_owned()), ..Filter::default() };
        assert_eq!(fits(by(Author::Agent), "agent"), Fit::Yes);
        assert_eq!(fits(by(Author::Longhaul), "agent"), Fit::No);
        assert_eq!(fits(by(Author::External), "Ada"), Fit::Yes);
        assert_eq!(Filter { feature: Some("b".to_owned()), ..by(Author::Agent) }.fits("agent", &trailers), Fit::No);
    }
}
