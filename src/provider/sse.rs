//! Server-sent events: bytes in any split become events.
//!
//! Follows the event stream format of the HTML standard, with one exception told at [`EventReader::finish`].

/// One event as it came; what the data means is decided in `stream`.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct RawEvent {
    /// The value of the `event:` field, empty when there was none.
    pub(super) name: String,
    /// The `data:` lines, joined by line feeds.
    pub(super) data: Vec<u8>,
}

/// An event, or a single line of it, was larger than allowed.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct TooLarge;

/// Collects bytes until an event is whole.
#[derive(Debug)]
pub(super) struct EventReader {
    limit: usize,
    line: Vec<u8>,
    name: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    /// The last byte was a carriage return; a line feed right after it belongs to the same line end.
    after_return: bool,
    at_start: bool,
}

impl EventReader {
    /// Makes a reader that refuses events above `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            name: Vec::new(),
            data: Vec::new(),
            has_data: false,
            after_return: false,
            at_start: true,
        }
    }

    /// Takes bytes and hands on every event they complete.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Result<Vec<RawEvent>, TooLarge> {
        let mut events = Vec::new();
        let mut rest = bytes;
        if self.after_return && !rest.is_empty() {
            self.after_return = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            self.extend_line(&rest[..end])?;
            let returned = rest[end] == b'\r';
            rest = &rest[end + 1..];
            if returned && rest.is_empty() {
                self.after_return = true;
            } else if returned {
                rest = rest.strip_prefix(b"\n").unwrap_or(rest);
            }
            events.extend(self.end_line());
        }
        self.extend_line(rest)?;
        Ok(events)
    }

    /// Hands on the event that the end of the stream left open.
    ///
    /// The standard drops it. Some gateways leave out the last blank line, and an event cut short cannot pass for a
    /// whole one, since its data is no JSON then.
    pub(super) fn finish(&mut self) -> Option<RawEvent> {
        if !self.line.is_empty() {
            self.end_line();
        }
        self.end_event()
    }

    fn extend_line(&mut self, bytes: &[u8]) -> Result<(), TooLarge> {
        if self.line.len() + self.data.len() + bytes.len() > self.limit {
            return Err(TooLarge);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self) -> Option<RawEvent> {
        let mut line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.at_start) && line.starts_with(b"\xEF\xBB\xBF") {
            line.drain(..3);
        }
        if line.is_empty() {
            return self.end_event();
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let value = line.get(colon + 1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match &line[..colon] {
            b"event" => self.name = value.to_vec(),
            b"data" => self.extend_data(value),
            // A comment (no field name), `id`, `retry`, or a field of a later version.
            _ => {}
        }
        None
    }

    fn extend_data(&mut self, value: &[u8]) {
        if std::mem::replace(&mut self.has_data, true) {
            self.data.push(b'\n');
        }
        self.data.extend_from_slice(value);
    }

    fn end_event(&mut self) -> Option<RawEvent> {
        let name = String::from_utf8_lossy(&std::mem::take(&mut self.name)).into_owned();
        let data = std::mem::take(&mut self.data);
        std::mem::take(&mut self.has_data).then_some(RawEvent { name, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8], size: usize) -> Vec<(String, String)> {
        let mut reader = EventReader::new(1000);
        let mut events: Vec<RawEvent> = text.chunks(size).flat_map(|chunk| reader.feed(chunk).unwrap()).collect();
        events.extend(reader.finish());
        events.into_iter().map(|event| (event.name, String::from_utf8(event.data).unwrap())).collect()
    }

    fn event(name: &str, data: &str) -> (String, String) {
        (name.to_owned(), data.to_owned())
    }

    #[test]
    fn every_line_end_and_every_split_gives_the_same_events() {
        let expected = [event("a", "1\n2"), event("", "3"), event("b", "")];
        for end in ["\n", "\r\n", "\r"] {
            let text = "event: a\ndata: 1\ndata:2\n\ndata: 3\n\nevent:b\ndata\n\n".replace('\n', end);
            for size in 1..=text.len() {
                assert_eq!(read(text.as_bytes(), size), expected, "line end {end:?}, chunks of {size}");
            }
        }
    }

    #[test]
    fn comments_other_fields_and_events_without_data_are_passed_over() {
        let text = b": hello\n\nid: 7\nretry: 10\nfuture: x\n\nevent: lonely\n\nevent: a\n: within\ndata: 1\n\n";

        assert_eq!(read(text, 3), [event("a", "1")]);
    }

    #[test]
    fn a_byte_order_mark_and_only_one_blank_after_the_colon_are_left_out() {
        assert_eq!(read(b"\xEF\xBB\xBFdata:  x \n\n", 1), [event("", " x ")]);
    }

    #[test]
    fn the_event_left_open_by_the_end_of_the_stream_is_handed_on() {
        assert_eq!(read(b"event: a\ndata: 1", 4), [event("a", "1")]);
        assert_eq!(read(b"event: a\ndata: 1\n", 4), [event("a", "1")]);
    }

    #[test]
    fn an_event_above_the_limit_is_refused_before_it_is_whole() {
        let mut reader = EventReader::new(20);
        assert_eq!(reader.feed(b"data: 0123456789\n").map(|events| events.len()), Ok(0));
        assert_eq!(reader.feed(b"data: 0123456789"), Err(TooLarge));

        let mut reader = EventReader::new(20);
        let whole = reader.feed(b"data: 0123456789\n\ndata: 0123456789\n\n").unwrap();
        assert_eq!(whole.len(), 2, "the limit counts for one event, not for the stream");
    }
}
