use std::fmt;
use std::sync::Arc;

use super::Span;
use crate::digest::Sha256Digest;

/// One text: its path as the user knows it, and its content.
#[derive(Clone, Debug)]
pub struct SourceText {
    path: Arc<str>,
    text: Arc<str>,
    lines: Arc<[u32]>,
}

/// A location for users: lines and columns from one, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineColumn {
    pub line: usize,
    /// The column in characters, from one.
    pub column: usize,
}

impl SourceText {
    /// Makes a source from a text; `path` is shown in messages and never opened.
    pub fn new(path: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> Self {
        let text: Arc<str> = text.into();
        let starts = text.match_indices('\n').map(|(at, _)| u32::try_from(at + 1).unwrap_or(u32::MAX));
        let lines = std::iter::once(0).chain(starts).collect();
        Self { path: path.into(), text, lines }
    }

    /// Returns the same text under another path.
    #[must_use]
    pub fn with_path(&self, path: impl Into<Arc<str>>) -> Self {
        Self { path: path.into(), text: Arc::clone(&self.text), lines: Arc::clone(&self.lines) }
    }

    /// Returns the path as shown.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the text of a span; empty if the span is not of this source.
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.range()).unwrap_or("")
    }

    pub fn digest(&self) -> Sha256Digest {
        Sha256Digest::of_bytes(self.text.as_bytes())
    }

    /// Returns the line and column of a byte offset.
    pub fn line_column(&self, offset: u32) -> LineColumn {
        let line = self.lines.partition_point(|start| *start <= offset).max(1);
        let start = self.lines.get(line - 1).copied().unwrap_or(0);
        let before = self.text.get(start as usize..offset as usize).unwrap_or("");
        LineColumn { line, column: before.chars().count() + 1 }
    }
}

impl fmt::Display for LineColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}
