//! The tool to read a file: a part of its lines, within a size.

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader, Read as _},
};

use memchr::{memchr, memchr_iter};

use super::{answer::quoted, error::FileToolError, workspace::ToolWorkspace};

/// The number of bytes that one call reads of a file's text.
const MAX_READ_BYTES: u64 = 256 * 1024;

/// The number of characters of whole lines that one call returns: less than a result may have, so no line of it is cut.
const PAGE_CHARS: usize = 15_000;

/// The number of bytes looked at to find a line, and to count lines.
const MAX_SCANNED_BYTES: u64 = 64 << 20;

/// Reads lines of a text file, from one on.
pub(super) fn read_file(
    workspace: &ToolWorkspace,
    path: &str,
    offset: Option<u64>,
    limit: Option<u64>,
) -> Result<String, FileToolError> {
    let failed = |error| FileToolError::failed(path, "read", error);
    let mut scan = LineScan::new(workspace.open_file(path)?);
    let offset = offset.unwrap_or(1);
    if !scan.skip_lines(offset - 1).map_err(failed)? {
        if scan.lines == 0 && scan.is_at_end && offset == 1 {
            return Ok("[the file is empty]".to_owned());
        }
        let lines = scan.lines_text();
        return Err(FileToolError::NoSuchLine { path: quoted(path), lines, offset });
    }
    let mut bytes = Vec::new();
    (&mut scan.file).take(MAX_READ_BYTES).read_to_end(&mut bytes).map_err(failed)?;
    let has_more = !scan.file.fill_buf().map_err(failed)?.is_empty();
    let text = as_text(path, &bytes, has_more)?;
    let limit = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
    let page = first_lines(text, limit);
    let rest = bytes.get(page.len()..).unwrap_or_default();
    let begin = scan.lines + 1;
    scan.count(page.as_bytes());
    let last = scan.lines;
    if rest.is_empty() && !has_more {
        let is_whole = offset == 1;
        return Ok(if is_whole {
            page.to_owned()
        } else {
            noted(page, &format!("lines {begin} to {last}, the end"))
        });
    }
    scan.count(rest);
    scan.count_the_rest().map_err(failed)?;
    let (all, next) = (scan.lines_text(), last + 1);
    Ok(noted(page, &format!("lines {begin} to {last} of {all}; continue with offset {next}")))
}

/// Returns the text with a note at its end.
fn noted(text: &str, note: &str) -> String {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{text}{end}[{note}]")
}

/// Returns as many lines as are wanted and fit; at least one.
fn first_lines(text: &str, limit: usize) -> &str {
    let (mut length, mut chars) = (0, 0);
    for line in text.split_inclusive('\n').take(limit) {
        chars += line.chars().count();
        if length > 0 && chars > PAGE_CHARS {
            break;
        }
        length += line.len();
    }
    text.get(..length).unwrap_or(text)
}

/// Returns the bytes as text. If more bytes follow, the last character may be incomplete.
pub(super) fn as_text<'a>(path: &str, bytes: &'a [u8], has_more: bool) -> Result<&'a str, FileToolError> {
    let not_text = |reason| FileToolError::NotText { path: quoted(path), reason };
    if memchr(0, bytes).is_some() {
        return Err(not_text("it contains NUL bytes".into()));
    }
    match str::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(error) if has_more && error.error_len().is_none() => {
            let whole = bytes.get(..error.valid_up_to()).unwrap_or_default();
            Ok(str::from_utf8(whole).unwrap_or_default())
        }
        Err(error) => {
            let line = memchr_iter(b'\n', bytes.get(..error.valid_up_to()).unwrap_or_default()).count();
            Err(not_text(format!("it is not UTF-8 (after {line} lines of the part that was read)")))
        }
    }
}

/// A file read once, from begin to end, while its lines are counted.
struct LineScan {
    file: BufReader<File>,
    /// The number of lines so far; one without an end counts, too.
    lines: u64,
    scanned: u64,
    /// True if the last line so far has no end.
    is_open: bool,
    is_at_end: bool,
}

impl LineScan {
    fn new(file: File) -> Self {
        Self { file: BufReader::new(file), lines: 0, scanned: 0, is_open: false, is_at_end: false }
    }

    /// Skips lines; false: no line follows, or not within the bytes looked at.
    fn skip_lines(&mut self, count: u64) -> io::Result<bool> {
        while self.lines < count && self.scanned < MAX_SCANNED_BYTES {
            let (ends, length) = match self.file.fill_buf()? {
                [] => break,
                bytes => match memchr(b'\n', bytes) {
                    Some(at) => (true, at + 1),
                    None => (false, bytes.len()),
                },
            };
            self.file.consume(length);
            self.scanned += length as u64;
            self.lines += u64::from(ends);
            self.is_open = !ends;
        }
        let is_there = self.lines == count;
        self.lines += u64::from(self.is_open);
        self.is_at_end = self.file.fill_buf()?.is_empty();
        Ok(is_there && !self.is_at_end)
    }

    /// Counts the lines of the bytes after it.
    fn count(&mut self, bytes: &[u8]) {
        if let Some(last) = bytes.last() {
            let ends = memchr_iter(b'\n', bytes).count() as u64;
            // The line that was open is counted already.
            self.lines += ends - u64::from(self.is_open && ends > 0);
            let was_open = self.is_open && ends == 0;
            self.is_open = *last != b'\n';
            self.lines += u64::from(self.is_open && !was_open);
            self.scanned += bytes.len() as u64;
        }
    }

    fn count_the_rest(&mut self) -> io::Result<()> {
        let mut bytes = vec![0; 64 * 1024];
        while self.scanned < MAX_SCANNED_BYTES {
            let length = self.file.read(&mut bytes)?;
            if length == 0 {
                break;
            }
            self.count(bytes.get(..length).unwrap_or_default());
        }
        self.is_at_end = self.file.fill_buf()?.is_empty();
        Ok(())
    }

    fn lines_text(&self) -> String {
        match (self.lines, self.is_at_end) {
            (1, true) => "1 line".to_owned(),
            (lines, true) => format!("{lines} lines"),
            (lines, false) => format!("more than {lines} lines"),
        }
    }
}
