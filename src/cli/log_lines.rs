use std::collections::VecDeque;

use crate::exec::log::{Chunk, Stream};
use crate::report::{DIM, paint};
use crate::time::Moment;
use crate::untrusted::Untrusted;

/// The longest line that is held back while its end has not come, in bytes.
const OPEN_LIMIT: usize = 64 * 1024;

/// How a heading begins. No line of a step is shown that begins like one.
pub const HEADING: &str = "── ";

/// How the lines of a log are shown.
#[derive(Clone, Debug, Default)]
pub struct Form {
    /// Only this stream.
    pub only: Option<Stream>,
    /// The time before each line.
    pub timestamps: bool,
    /// A name before each line.
    pub prefix: Option<String>,
    /// Each line as a JSON object that names this step and attempt.
    pub object: Option<(String, u32)>,
    /// The bytes as they are.
    pub raw: bool,
}

/// Turns the parts of a log into lines.
#[derive(Debug, Default)]
pub struct LogLines {
    form: Form,
    open: Vec<(Stream, Moment, Vec<u8>)>,
}

impl LogLines {
    /// Shows lines in a form.
    pub fn new(form: Form) -> Self {
        Self {
            form,
            open: Vec::new(),
        }
    }

    /// Takes a part in and gives the lines that are complete. Where they are asked for as they are, and
    /// nothing is put before them, bytes pass.
    pub fn push(&mut self, chunk: &Chunk) -> Vec<u8> {
        if self.form.only.is_some_and(|only| only != chunk.stream) {
            return Vec::new();
        }
        if self.form.raw && self.form.prefix.is_none() {
            return chunk.bytes.clone();
        }
        let mut out = Vec::new();
        for part in chunk.bytes.split_inclusive(|byte| *byte == b'\n') {
            let (at, mut line) = self.take(chunk.stream).unwrap_or((chunk.at, Vec::new()));
            line.extend_from_slice(part);
            if part.ends_with(b"\n") || line.len() > OPEN_LIMIT {
                self.line(chunk.stream, at, &line, &mut out);
            } else {
                self.open.push((chunk.stream, at, line));
            }
        }
        out
    }

    /// Gives what has no line end.
    pub fn close(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        for (stream, at, line) in std::mem::take(&mut self.open) {
            self.line(stream, at, &line, &mut out);
        }
        out
    }

    fn take(&mut self, stream: Stream) -> Option<(Moment, Vec<u8>)> {
        let at = self.open.iter().position(|(own, ..)| *own == stream)?;
        let (_, moment, line) = self.open.swap_remove(at);
        Some((moment, line))
    }

    fn line(&self, stream: Stream, at: Moment, line: &[u8], out: &mut Vec<u8>) {
        if let Some((step, attempt)) = &self.form.object {
            let text = String::from_utf8_lossy(line);
            let stream = match stream {
                Stream::Out => "stdout",
                Stream::Err => "stderr",
                Stream::Note => "note",
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
        if self.form.timestamps {
            out.extend_from_slice(paint(DIM, &at.to_string()).as_bytes());
            out.push(b' ');
        }
        if let Some(prefix) = &self.form.prefix {
            out.extend_from_slice(paint(DIM, &format!("{prefix} │")).as_bytes());
            out.push(b' ');
        }
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        if self.form.raw {
            out.extend_from_slice(line);
        } else {
            let text = Untrusted::printed(line).to_string();
            let alone = !self.form.timestamps && self.form.prefix.is_none();
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
    use super::{Form, LogLines, last_lines};
    use crate::exec::log::{Chunk, Stream};
    use crate::report::plain;
    use crate::time::Moment;

    fn chunk(stream: Stream, millis: i64, text: &str) -> Chunk {
        Chunk {
            stream,
            at: Moment::from_millis(millis),
            bytes: text.into(),
        }
    }

    fn check(form: Form, expected: &str) {
        let mut lines = LogLines::new(form);
        let mut out = Vec::new();
        for part in [
            chunk(Stream::Out, 0, "a\nb"),
            chunk(Stream::Err, 1_000, "oops\n"),
            chunk(Stream::Out, 2_000, "c\n"),
            chunk(Stream::Out, 3_000, "d"),
        ] {
            out.extend(lines.push(&part));
        }
        out.extend(lines.close());
        assert_eq!(plain(&String::from_utf8(out).unwrap()), expected);
    }

    #[test]
    fn bytes_pass_as_they_are() {
        let raw = Form {
            raw: true,
            ..Form::default()
        };
        check(raw.clone(), "a\nboops\nc\nd");
        let only = Some(Stream::Err);
        check(Form { only, ..raw }, "oops\n");
    }

    #[test]
    fn lines_are_safe_to_look_at() {
        let mut lines = LogLines::new(Form::default());
        let mut out = lines.push(&chunk(Stream::Out, 0, "\u{1b}[2"));
        out.extend(lines.push(&chunk(Stream::Out, 0, "Ja\u{202e}\n\u{1b}[1mb\n")));
        assert_eq!(String::from_utf8(out).unwrap(), "⟨U+001B⟩[2Ja⟨U+202E⟩\nb\n");
    }

    #[test]
    fn a_line_has_the_time_of_its_beginning() {
        let form = Form {
            timestamps: true,
            prefix: Some("build".into()),
            only: Some(Stream::Out),
            ..Form::default()
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
