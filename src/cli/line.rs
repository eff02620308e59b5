//! A line for people: pieces of text, each with a tone. Without colour the words alone must say it all.

use super::visible;
use unicode_width::UnicodeWidthChar;
use unicode_width::UnicodeWidthStr;

/// How a piece of text is meant.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Tone {
    Plain,
    Strong,
    Dim,
    Good,
    Bad,
    Careful,
}

impl Tone {
    /// Returns the parameters of the terminal's `select graphic rendition`.
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Strong => "1",
            Self::Dim => "2",
            Self::Good => "32",
            Self::Bad => "31",
            Self::Careful => "33",
        }
    }
}

/// Pieces of one line. Whatever they say, they stay on it: each is made visible when it is added.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Line {
    pieces: Vec<(Tone, String)>,
    /// Columns that the pieces take.
    width: usize,
}

impl Line {
    /// Makes a line of one piece.
    pub(super) fn new(tone: Tone, text: &str) -> Self {
        Self::default().add(tone, text)
    }

    /// Makes a line without a tone.
    pub(super) fn plain(text: &str) -> Self {
        Self::new(Tone::Plain, text)
    }

    /// Adds a piece.
    pub(super) fn add(mut self, tone: Tone, text: &str) -> Self {
        let text = visible::line(text).into_owned();
        self.width += text.width();
        self.pieces.push((tone, text));
        self
    }

    /// Adds the pieces of another line.
    pub(super) fn join(mut self, other: Self) -> Self {
        self.width += other.width;
        self.pieces.extend(other.pieces);
        self
    }

    /// Fills the line with spaces up to a column; it always gets at least two, so that columns never touch.
    pub(super) fn column(self, column: usize) -> Self {
        let spaces = column.saturating_sub(self.width).max(2);
        self.add(Tone::Plain, &" ".repeat(spaces))
    }

    /// Renders the line, with the terminal's codes or without.
    pub(super) fn render(&self, colour: bool) -> String {
        let piece = |(tone, text): &(Tone, String)| match tone.code() {
            code if colour && !code.is_empty() => format!("\x1b[{code}m{text}\x1b[0m"),
            _ => text.clone(),
        };
        self.pieces.iter().map(piece).collect()
    }
}

/// Cuts text to so many columns, with `…` as the last one when something is missing.
pub(super) fn cut(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut left = columns.saturating_sub(1);
    let fits = |c: &char| match left.checked_sub(c.width().unwrap_or(0)) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    };
    let mut kept: String = text.chars().take_while(fits).collect();
    if columns > 0 {
        kept.push('…');
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_adds_nothing_but_codes() {
        let line = Line::new(Tone::Strong, "check login").add(Tone::Plain, ": ").add(Tone::Bad, "failed");
        assert_eq!(line.render(false), "check login: failed");
        assert_eq!(line.render(true), "\x1b[1mcheck login\x1b[0m: \x1b[31mfailed\x1b[0m");
    }

    #[test]
    fn a_piece_cannot_leave_its_line_nor_style_it() {
        assert_eq!(Line::plain("a\nb\x1b[31m").render(true), r"a\nb\u{1b}[31m");
    }

    #[test]
    fn columns_count_what_the_eye_sees() {
        assert_eq!(Line::plain("漢字").column(6).add(Tone::Plain, "x").render(false), "漢字  x");
        assert_eq!(Line::plain("long").column(3).add(Tone::Plain, "x").render(false), "long  x");
    }

    #[test]
    fn cutting_never_exceeds_the_columns() {
        let cases = [
            ("abcdef", 6, "abcdef"),
            ("abcdef", 5, "abcd…"),
            ("漢字漢字", 5, "漢字…"),
            ("漢字漢字", 4, "漢…"),
            ("ab", 0, ""),
        ];
        for (text, columns, expected) in cases {
            assert_eq!(cut(text, columns), expected);
            assert!(cut(text, columns).width() <= columns);
        }
    }
}
