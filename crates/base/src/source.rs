//! Texts written by a user, and locations in them.
//!
//! **Invariant:** a [`Span`] lies on character boundaries of the [`SourceText`] it was made for.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    fmt,
    ops::{Deref, Range},
    sync::Arc,
};

use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::{
    digest::Sha256Digest,
    name::{Name, PlanId},
};

/// A half-open range of bytes in one [`Source`](SourceText).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// Makes the span `start..end`; texts are bounded far below 4 GiB, so larger offsets saturate.
    pub fn new(start: usize, end: usize) -> Self {
        let clamp = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Self { start: clamp(start), end: clamp(end) }
    }

    /// Returns the same range for indexing.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// Returns a part of this span, by offsets from its start.
    #[must_use]
    pub fn subspan(self, range: Range<usize>) -> Self {
        let start = self.start as usize;
        Self::new(start + range.start, start + range.end)
    }
}

/// A value and its span in the text.
#[derive(Clone, Debug, Default)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// The span.
    pub span: Span,
}

impl<T> Spanned<T> {
    /// Pairs a value with its span.
    pub fn new(value: T, span: Span) -> Self {
        Self { value, span }
    }

    /// Maps the value and keeps the span.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Spanned<U> {
        Spanned { value: change(self.value), span: self.span }
    }
}

impl<T> Deref for Spanned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

/// A span does not show in a schema: editors see the value alone.
impl<T: JsonSchema> JsonSchema for Spanned<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

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

/// The location of a declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclarationSite {
    /// The file, relative to the workspace.
    pub path: String,
    pub line: usize,
}

/// The locations of the steps of plans, and of the checks of the plans themselves.
#[derive(Clone, Debug, Default)]
pub struct DeclarationSites {
    steps: BTreeMap<(PlanId, Name), DeclarationSite>,
    checks: BTreeMap<(PlanId, Name), DeclarationSite>,
}

impl DeclarationSites {
    /// Records the location of a step of a plan.
    pub fn put_step(&mut self, plan: &PlanId, step: &Name, site: DeclarationSite) {
        self.steps.insert((plan.clone(), step.clone()), site);
    }

    /// Records the location of a check of a plan itself.
    pub fn put_check(&mut self, plan: &PlanId, check: &Name, site: DeclarationSite) {
        self.checks.insert((plan.clone(), check.clone()), site);
    }

    /// Returns the location of a step.
    pub fn step(&self, plan: &PlanId, step: &Name) -> Option<&DeclarationSite> {
        self.steps.get(&(plan.clone(), step.clone()))
    }

    /// Returns the location of a check of a plan itself.
    pub fn check(&self, plan: &PlanId, check: &Name) -> Option<&DeclarationSite> {
        self.checks.get(&(plan.clone(), check.clone()))
    }
}
