use std::collections::VecDeque;

use wf_base::{
    time::Moment,
    untrusted::{DIM, UntrustedText, paint},
};
use wf_exec::log::{LogChunk, LogStream};

/// The longest incomplete line to hold back, in bytes.
const OPEN_LIMIT: usize = 64 * 1024;

/// The start of a heading. No shown line of a step begins like one.
pub const HEADING: &str = "── ";

/// The format of the lines of a log.
#[derive(Clone, Debug, Default)]
pub struct LogLineFormat {
    /// The only stream to show.
    pub only_stream: Option<LogStream>,
    /// True to print the time before each line.
    pub timestamps: bool,
    /// The name to print before each line.
    pub prefix: Option<String>,
    /// The step and the attempt in each line, as a JSON object.
    pub json_subject: Option<(String, u32)>,
    /// True to print the bytes as they are.
    pub raw: bool,
}

/// Turns the parts of a log into lines.
#[derive(Debug, Default)]
pub struct LogLineFormatter {
    format: LogLineFormat,
    partial_lines: Vec<(LogStream, Moment, Vec<u8>)>,
}

impl LogLineFormatter {
    /// A formatter of lines.
    pub fn new(form: LogLineFormat) -> Self {
        Self { format: form, partial_lines: Vec::new() }
    }

    /// Adds a chunk and returns the complete lines. In raw form without a prefix, the
    /// bytes are passed on directly.
    pub fn push(&mut self, chunk: &LogChunk) -> Vec<u8> {
        if self.format.only_stream.is_some_and(|only| only != chunk.stream) {
            return Vec::new();
        }
        if self.format.raw && self.format.prefix.is_none() {
            return chunk.bytes.clone();
        }
        let mut out = Vec::new();
        for part in chunk.bytes.split_inclusive(|byte| *byte == b'\n') {
            let (at, mut line) = self.take_chunk(chunk.stream).unwrap_or((chunk.at, Vec::new()));
            line.extend_from_slice(part);
            if part.ends_with(b"\n") || line.len() > OPEN_LIMIT {
                self.line(chunk.stream, at, &line, &mut out);
            } else {
                self.partial_lines.push((chunk.stream, at, line));
            }
        }
        out
    }

    /// Returns the last line, without a line end.
    pub fn close(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        for (stream, at, line) in std::mem::take(&mut self.partial_lines) {
            self.line(stream, at, &line, &mut out);
        }
        out
    }

    fn take_chunk(&mut self, stream: LogStream) -> Option<(Moment, Vec<u8>)> {
        let at = self.partial_lines.iter().position(|(own, ..)| *own == stream)?;
        let (_, moment, line) = self.partial_lines.swap_remove(at);
        Some((moment, line))
    }

    fn line(&self, stream: LogStream, at: Moment, line: &[u8], out: &mut Vec<u8>) {
        if let Some((step, attempt)) = &self.format.json_subject {
            let text = String::from_utf8_lossy(line);
            let stream = match stream {
                LogStream::Out => "stdout",
                LogStream::Err => "stderr",
                LogStream::Note => "note",
            };
            let object = serde_json::json!({
                "v": 1,
                "step": step,
                "attempt": attempt,
                "stream": stream,
                "at": at,
                "line": text.strip_suffix('\n').unwrap_or(&text),
            });
            out.extend_from_slice(object.to_string().as_bytes());
            out.push(b'\n');
            return;
        }
        if self.format.timestamps {
            out.extend_from_slice(paint(DIM, &at.to_string()).as_bytes());
            out.push(b' ');
        }
        if let Some(prefix) = &self.format.prefix {
            out.extend_from_slice(paint(DIM, &format!("{prefix} │")).as_bytes());
            out.push(b' ');
        }
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        if self.format.raw {
            out.extend_from_slice(line);
        } else {
            let text = UntrustedText::printed(line).to_string();
            let alone = !self.format.timestamps && self.format.prefix.is_none();
            if alone && text.starts_with(HEADING) {
                out.extend_from_slice("│ ".as_bytes());
            }
            out.extend_from_slice(text.as_bytes());
        }
        out.push(b'\n');
    }
}

/// The last lines of a text.
pub fn last_lines(text: &[u8], count: usize) -> Vec<u8> {
    let mut last = VecDeque::new();
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        last.push_back(line);
        if last.len() > count {
            last.pop_front();
        }
    }
    Vec::from(last).concat()
}

#[cfg(test)]
mod tests {
    use super::{LogLineFormat, LogLineFormatter, last_lines};
    use wf_base::{time::Moment, untrusted::plain};
    use wf_exec::log::{LogChunk, LogStream};

    fn chunk(stream: LogStream, millis: i64, text: &str) -> LogChunk {
        LogChunk { stream, at: Moment::from_millis(millis), bytes: text.into() }
    }

    fn check(form: LogLineFormat, expected: &str) {
        let mut lines = LogLineFormatter::new(form);
        let mut out = Vec::new();
        for part in [
            chunk(LogStream::Out, 0, "a\nb"),
            chunk(LogStream::Err, 1_000, "oops\n"),
            chunk(LogStream::Out, 2_000, "c\n"),
            chunk(LogStream::Out, 3_000, "d"),
        ] {
            out.extend(lines.push(&part));
        }
        out.extend(lines.close());
        assert_eq!(plain(&String::from_utf8(out).unwrap()), expected);
    }

    #[test]
    fn bytes_pass_as_they_are() {
        let raw = LogLineFormat { raw: true, ..LogLineFormat::default() };
        check(raw.clone(), "a\nboops\nc\nd");
        let only = Some(LogStream::Err);
        check(LogLineFormat { only_stream: only, ..raw }, "oops\n");
    }

    #[test]
    fn lines_are_safe_to_look_at() {
        let mut lines = LogLineFormatter::new(LogLineFormat::default());
        let mut out = lines.push(&chunk(LogStream::Out, 0, "\u{1b}[2"));
        out.extend(lines.push(&chunk(LogStream::Out, 0, "Ja\u{202e}\n\u{1b}[1mb\n")));
        assert_eq!(String::from_utf8(out).unwrap(), "⟨U+001B⟩[2Ja⟨U+202E⟩\nb\n");
    }

    #[test]
    fn a_line_has_the_time_of_its_beginning() {
        let form = LogLineFormat {
            timestamps: true,
            prefix: Some("build".into()),
            only_stream: Some(LogStream::Out),
            ..LogLineFormat::default()
        };
        let expected = "1970-01-01T00:00:00.000Z build │ a\n\
            1970-01-01T00:00:00.000Z build │ bc\n\
            1970-01-01T00:00:03.000Z build │ d\n";
        check(form, expected);
    }

    #[test]
    fn the_last_lines_are_the_last() {
        assert_eq!(last_lines(b"a\nb\nc", 2), b"b\nc");
        assert_eq!(last_lines(b"a\n", 5), b"a\n");
        assert_eq!(last_lines(b"a\n", 0), b"");
    }
}
