use std::collections::VecDeque;
use wf_base::untrusted::UntrustedText;

/// The longest part of a line that is kept, in bytes.
const LINE_LIMIT: usize = 400;

/// The last lines of an output, in bounded memory.
#[derive(Clone, Debug)]
pub struct OutputTail {
    limit: usize,
    lines: VecDeque<String>,
    partial_line: Vec<u8>,
}

impl Default for OutputTail {
    /// A tail of as many lines as are shown of a failure.
    fn default() -> Self {
        Self::new(20)
    }
}

impl OutputTail {
    /// Keeps up to `limit` lines.
    pub fn new(limit: usize) -> Self {
        Self { limit, lines: VecDeque::new(), partial_line: Vec::new() }
    }

    /// Takes more output.
    pub fn push(&mut self, bytes: &[u8]) {
        let mut parts = bytes.split(|byte| *byte == b'\n');
        self.extend(parts.next().unwrap_or(&[]));
        for part in parts {
            self.close();
            self.extend(part);
        }
    }

    /// Returns the lines kept, the last one even if it has no end.
    pub fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.lines.iter().cloned().collect();
        if !self.partial_line.is_empty() {
            lines.push(line_text(&self.partial_line));
        }
        let surplus = lines.len().saturating_sub(self.limit);
        lines.split_off(surplus)
    }

    /// Returns the last line with any text, even if it has no end; empty if there is none.
    pub fn last_line(&self) -> String {
        let partial_line = line_text(&self.partial_line);
        let mut lines = std::iter::once(&partial_line).chain(self.lines.iter().rev());
        lines.find(|line| !line.trim().is_empty()).cloned().unwrap_or_default()
    }

    fn extend(&mut self, part: &[u8]) {
        append_to_line(&mut self.partial_line, part, LINE_LIMIT);
    }

    fn close(&mut self) {
        self.lines.push_back(line_text(&self.partial_line));
        self.partial_line.clear();
        if self.lines.len() > self.limit {
            self.lines.pop_front();
        }
    }
}

/// Adds to a line, up to a limit. Text before a carriage return is overwritten.
pub(super) fn append_to_line(line: &mut Vec<u8>, part: &[u8], limit: usize) {
    let shown = part.trim_ascii_end();
    let returned = line.ends_with(b"\r") && !shown.is_empty();
    let part = match memchr::memrchr(b'\r', shown) {
        Some(at) => part.get(at + 1..).unwrap_or_default(),
        None => part,
    };
    if returned || shown.contains(&b'\r') {
        line.clear();
    }
    let free = limit.saturating_sub(line.len());
    line.extend(part.iter().take(free));
    if part.ends_with(b"\r") && !line.ends_with(b"\r") {
        line.push(b'\r');
    }
}

/// A line of a worker's output, made safe to display.
pub(super) fn line_text(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    UntrustedText::printed(line).to_string()
}

#[cfg(test)]
mod tests {
    use super::OutputTail;

    fn check(chunks: &[&str], expected: &[&str]) {
        let mut tail = OutputTail::new(2);
        for chunk in chunks {
            tail.push(chunk.as_bytes());
        }
        assert_eq!(tail.lines(), expected, "{chunks:?}");
    }

    #[test]
    fn the_last_lines_stay() {
        check(&[], &[]);
        check(&["a\nb\nc\n"], &["b", "c"]);
        check(&["a\nb", "c\nd"], &["bc", "d"]);
        check(&["a\r\n", "\x1b[31mred\x1b[0m\x07\n"], &["a", "red⟨U+0007⟩"]);
        check(&["\n\n"], &["", ""]);
    }

    #[test]
    fn a_line_without_an_end_stays_small() {
        let mut tail = OutputTail::new(2);
        for _ in 0..10_000 {
            tail.push(&[b'x'; 1000]);
        }
        assert_eq!(tail.lines(), ["x".repeat(400)]);
    }
}
