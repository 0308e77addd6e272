//! Server-sent events, from bytes in any chunks.
//!
//! **Invariant:** the same bytes give the same events, however they are cut. **Invariant:** an event has a bounded
//! size, and so has what is kept between two chunks.

/// A server-sent event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// Its type; empty: the default, `message`.
    pub event: String,
    /// Its data, lines joined by line feeds.
    pub data: String,
}

/// The reason why bytes are no stream of events.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    /// A line is not text.
    #[error("a line of the stream is not valid UTF-8")]
    Utf8,
    /// An event is too large.
    #[error("an event of the stream exceeds {limit} bytes")]
    TooLarge {
        /// The maximum size of an event, in bytes.
        limit: usize,
    },
}

/// A parser of a stream of server-sent events.
#[derive(Debug)]
pub struct SseParser {
    limit: usize,
    line: Vec<u8>,
    /// True after a carriage return: a line feed following belongs to it.
    is_after_return: bool,
    is_first_line: bool,
    event: String,
    data: String,
    has_data: bool,
}

impl SseParser {
    /// Creates a parser that accepts events of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            is_after_return: false,
            is_first_line: true,
            event: String::new(),
            data: String::new(),
            has_data: false,
        }
    }

    /// Takes the next bytes of the stream and adds the events they complete. After an error the stream is
    /// useless. An event no blank line ends is never completed, as the standard says.
    pub fn push(&mut self, bytes: &[u8], events: &mut Vec<SseEvent>) -> Result<(), SseError> {
        for &byte in bytes {
            let is_second_half = std::mem::take(&mut self.is_after_return) && byte == b'\n';
            match byte {
                b'\n' if is_second_half => {}
                b'\n' | b'\r' => {
                    self.is_after_return = byte == b'\r';
                    events.extend(self.end_line()?);
                }
                _ if self.line.len() + self.data.len() >= self.limit => {
                    return Err(SseError::TooLarge { limit: self.limit });
                }
                _ => self.line.push(byte),
            }
        }
        Ok(())
    }

    fn end_line(&mut self) -> Result<Option<SseEvent>, SseError> {
        let line = std::mem::take(&mut self.line);
        let mut line = std::str::from_utf8(&line).map_err(|_| SseError::Utf8)?;
        if std::mem::take(&mut self.is_first_line) {
            line = line.strip_prefix('\u{feff}').unwrap_or(line);
        }
        if line.is_empty() {
            return Ok(self.end_event());
        }
        // A comment has an empty name.
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "event" => value.clone_into(&mut self.event),
            "data" => {
                if self.has_data {
                    self.data.push('\n');
                }
                self.has_data = true;
                self.data.push_str(value);
            }
            _ => {}
        }
        Ok(None)
    }

    fn end_event(&mut self) -> Option<SseEvent> {
        let event = std::mem::take(&mut self.event);
        let data = std::mem::take(&mut self.data);
        std::mem::take(&mut self.has_data).then_some(SseEvent { event, data })
    }
}

#[cfg(test)]
mod tests;
