//! The tool to search files: by a pattern, within limits of entries, bytes and answers.

use std::{io::Read as _, path::Path, time::Duration};

use globset::{GlobBuilder, GlobMatcher};
use memchr::memchr;
use regex::bytes::{Regex, RegexBuilder};
use rustix::{fs::FileType, time::ClockId};
use walkdir::{DirEntry, WalkDir};

use super::{answer::shown, error::FileToolError, workspace::ToolWorkspace};

/// The folders left out of searches: what is in them belongs to git and to wf.
const SKIPPED_FOLDERS: [&str; 2] = [".git", ".wf"];

/// The maximum number of matching lines.
const MAX_MATCHES: usize = 200;

/// The maximum number of files and folders that are visited.
const MAX_VISITED: usize = 50_000;

/// The maximum number of bytes that are searched, and of one file.
const MAX_BYTES: u64 = 256 << 20;
const MAX_FILE_BYTES: u64 = 8 << 20;

/// The maximum duration of a search.
const MAX_DURATION: Duration = Duration::from_secs(20);

/// The memory of a compiled expression, in bytes.
const MAX_PATTERN_BYTES: usize = 1 << 20;

/// The number of characters shown of a matching line.
const LINE_CHARS: usize = 200;

/// The number of bytes at the beginning of a file deciding whether it is text.
const HEAD_BYTES: usize = 8 * 1024;

/// The request for a search.
pub(super) struct SearchQuery<'a> {
    pub(super) pattern: &'a str,
    pub(super) path: Option<&'a str>,
    pub(super) glob: Option<&'a str>,
}

/// Searches the text files below a path, or one file, in the order of their paths.
pub(super) fn search(workspace: &ToolWorkspace, query: &SearchQuery<'_>) -> Result<String, FileToolError> {
    let mut search = FileSearch::new(workspace, query)?;
    let path = query.path.unwrap_or(".");
    let (real, kind) = workspace.find(path)?;
    if kind == FileType::Directory {
        search.folder(&real);
    } else {
        // An error is told here alone: of many files some may be unreadable.
        drop(workspace.open_file(path)?);
        search.file(&real, kind);
    }
    Ok(search.report())
}

struct FileSearch<'a> {
    workspace: &'a ToolWorkspace,
    pattern: Regex,
    glob: Option<FileGlob>,
    lines: Vec<String>,
    files: usize,
    bytes: u64,
    until: Duration,
    /// The number of files that were too large, binary or unreadable.
    skipped: usize,
    /// The limit behind the early end of the search.
    ended_by: Option<&'static str>,
}

/// A glob of the files to search.
struct FileGlob {
    matcher: GlobMatcher,
    /// True if it is compared with the name alone.
    is_name: bool,
}

impl<'a> FileSearch<'a> {
    fn new(workspace: &'a ToolWorkspace, query: &SearchQuery<'_>) -> Result<Self, FileToolError> {
        let pattern = RegexBuilder::new(query.pattern)
            .size_limit(MAX_PATTERN_BYTES)
            .dfa_size_limit(MAX_PATTERN_BYTES)
            .build()
            .map_err(|error| bad_pattern("pattern", &error))?;
        let glob = query.glob.map(FileGlob::new).transpose()?;
        let until = now() + MAX_DURATION;
        let (files, bytes, skipped) = (0, 0, 0);
        Ok(Self { workspace, pattern, glob, lines: Vec::new(), files, bytes, until, skipped, ended_by: None })
    }

    fn folder(&mut self, real: &Path) {
        let top = self.workspace.absolute(real);
        let is_searched = |entry: &DirEntry| {
            entry.depth() == 0 || !SKIPPED_FOLDERS.iter().any(|name| entry.file_name() == *name)
        };
        let walk = WalkDir::new(&top).sort_by_file_name().into_iter().filter_entry(is_searched);
        for (visited, entry) in walk.enumerate() {
            if visited > MAX_VISITED {
                self.ended_by = Some("50,000 files and folders were visited");
            }
            if self.ended_by.is_some() {
                return;
            }
            let Ok(entry) = entry else {
                self.skipped += 1;
                continue;
            };
            let below = entry.path().strip_prefix(&top).unwrap_or(entry.path());
            if entry.file_type().is_file() {
                self.file(&real.join(below), FileType::RegularFile);
            }
        }
    }

    /// Searches a file by its path without links.
    fn file(&mut self, real: &Path, kind: FileType) {
        if self.glob.as_ref().is_some_and(|glob| !glob.matches(real)) {
            return;
        }
        let opened = self.workspace.open_found(real, kind).ok();
        let mut bytes = Vec::new();
        let read = (opened.as_ref())
            .map(|opened_file| (&opened_file.file).take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes));
        let is_binary = memchr(0, bytes.get(..HEAD_BYTES).unwrap_or(&bytes)).is_some();
        if !matches!(read, Some(Ok(_))) || bytes.len() as u64 > MAX_FILE_BYTES || is_binary {
            self.skipped += 1;
            return;
        }
        self.files += 1;
        self.bytes += bytes.len() as u64;
        // The end of the last line begins no other.
        let text = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        for (at, line) in text.split(|byte| *byte == b'\n').enumerate() {
            // A line ending of another system is no part of the line.
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if self.pattern.is_match(line) {
                self.workspace.note_shown(real);
                if let Some(opened_file) = &opened {
                    self.workspace.note_read(opened_file);
                }
                self.lines.push(format!("{}:{}: {}", shown(real), at + 1, excerpt(&self.pattern, line)));
            }
            if self.lines.len() >= MAX_MATCHES {
                self.ended_by = Some("200 lines match");
                return;
            }
            if at % 1_000 == 0 && now() > self.until {
                self.ended_by = Some("20 seconds were over");
                return;
            }
        }
        if self.bytes > MAX_BYTES {
            self.ended_by = Some("256 MiB were searched");
        }
    }

    fn report(self) -> String {
        let mut lines = self.lines;
        if lines.is_empty() {
            lines.push(format!("[no match in {}]", counted(self.files, "file")));
        }
        if self.skipped > 0 {
            let skipped = counted(self.skipped, "file");
            lines.push(format!("[{skipped} skipped: binary, larger than 8 MiB or not readable]"));
        }
        if let Some(limit) = self.ended_by {
            lines.push(format!("[the search ended early, because {limit}: narrow it down]"));
        }
        lines.join("\n")
    }
}

impl FileGlob {
    fn new(glob: &str) -> Result<Self, FileToolError> {
        let built = GlobBuilder::new(glob.trim_start_matches("./")).literal_separator(true).build();
        let built = built.map_err(|error| bad_pattern("glob", &error))?;
        Ok(Self { matcher: built.compile_matcher(), is_name: !glob.contains('/') })
    }

    fn matches(&self, real: &Path) -> bool {
        let name = real.file_name().map(Path::new).filter(|_| self.is_name);
        self.matcher.is_match(name.unwrap_or(real))
    }
}

/// Returns the part of a line around its first match.
fn excerpt(pattern: &Regex, line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    if text.chars().count() <= LINE_CHARS {
        return text.into_owned();
    }
    let start = pattern.find(line).map_or(0, |hit| hit.start());
    // A quarter of it shows what is before the match.
    let before = String::from_utf8_lossy(line.get(..start).unwrap_or_default()).chars().count();
    let from = before.saturating_sub(LINE_CHARS / 4);
    let part: String = text.chars().skip(from).take(LINE_CHARS).collect();
    let (left, right) = (from > 0, from + LINE_CHARS < text.chars().count());
    format!("{}{part}{}", if left { "…" } else { "" }, if right { "…" } else { "" })
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Explains why an expression does not compile: the last line of an error tells the reason.
fn bad_pattern(name: &'static str, error: &dyn std::fmt::Display) -> FileToolError {
    let message = error.to_string();
    let reason = message.lines().next_back().unwrap_or_default();
    FileToolError::BadPattern { name, reason: reason.trim_start_matches("error: ").to_owned() }
}

fn now() -> Duration {
    let now = rustix::time::clock_gettime(ClockId::Monotonic);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
}
