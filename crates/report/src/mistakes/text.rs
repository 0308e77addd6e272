use std::fmt::Write as _;

use annotate_snippets::{AnnotationKind, Element, Group, Level, Origin, Renderer, Snippet};

use wf_base::{
    diag::{CheckedFile, Diagnostic, Severity},
    source::{SourceText, Span},
    units::plural,
    untrusted::{BAD, GOOD, WARN, paint, rendered, untrusted},
};

/// The maximum number of diagnostics of one file that are drawn.
const MAX_DRAWN: usize = 50;

/// The distance in bytes beyond which places in a text are drawn separately.
const SNIPPET_DISTANCE: u32 = 4096;

/// The longest part of the text that is drawn around a place, in bytes.
const MAX_WINDOW_SIZE: usize = 16 * 1024;

/// Draws the diagnostics of a file: the text underlined, with labels and remedies.
pub fn text(checked: &CheckedFile, width: usize) -> String {
    let renderer = Renderer::styled().term_width(width);
    let mut text = String::new();
    for diagnostic in checked.diagnostics.iter().take(MAX_DRAWN) {
        let safe = safe(diagnostic);
        let group = group(&checked.source, &safe);
        text.push_str(&rendered(&renderer.render(&[group])));
        text.push_str("\n\n");
    }
    let more = checked.diagnostics.len().saturating_sub(MAX_DRAWN);
    if more > 0 {
        let path = checked.source.path();
        let _ = write!(text, "{path}: {} more not shown\n\n", plural(more, "problem"));
    }
    text
}

/// One line about all files: `3 files checked · 2 errors, 1 warning`.
pub fn summary(files: &[CheckedFile]) -> String {
    let sum = |severity| files.iter().map(|file| file.count(severity)).sum::<usize>();
    let (errors, warnings) = (sum(Severity::Error), sum(Severity::Warning));
    let count = format!("{} checked", plural(files.len(), "file"));
    let errors = (errors > 0).then(|| paint(BAD, &plural(errors, "error")));
    let warnings = (warnings > 0).then(|| paint(WARN, &plural(warnings, "warning")));
    let counts: Vec<String> = errors.into_iter().chain(warnings).collect();
    if counts.is_empty() {
        format!("{count}, {}\n", paint(GOOD, "no problems found"))
    } else {
        format!("{count}, {}\n", counts.join(", "))
    }
}

/// A diagnostic with messages of one line each, though they quote the file.
fn safe(diagnostic: &Diagnostic) -> Diagnostic {
    let mut safe = diagnostic.clone();
    let also = safe.related.iter_mut().map(|label| &mut label.text);
    let own = [&mut safe.message, &mut safe.label].into_iter();
    for text in own.chain(&mut safe.help).chain(also) {
        *text = untrusted(text).to_string();
    }
    safe
}

fn group<'a>(source: &'a SourceText, diagnostic: &'a Diagnostic) -> Group<'a> {
    let level = match diagnostic.severity() {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level.primary_title(diagnostic.message.as_str()).id(diagnostic.code.as_str());
    let mut group = Group::with_title(title).elements(snippets(source, diagnostic));
    if let Some(help) = &diagnostic.help {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    group
}

/// The places of a diagnostic: those near the first in one snippet, the others one each.
fn snippets<'a>(source: &'a SourceText, diagnostic: &'a Diagnostic) -> Vec<Element<'a>> {
    if source.text().is_empty() {
        return vec![Origin::path(untrusted(source.path()).to_string()).into()];
    }
    let near = |span: Span| diagnostic.span.start.abs_diff(span.start) < SNIPPET_DISTANCE;
    let labels = || diagnostic.related.iter().map(|l| (l.span, l.text.as_str(), false));
    let own = (diagnostic.span, diagnostic.label.as_str(), true);
    let close = labels().filter(|(span, ..)| near(*span));
    let mut elements = vec![snippet(source, std::iter::once(own).chain(close).collect())];
    let apart = labels().filter(|(span, ..)| !near(*span));
    elements.extend(apart.map(|label| snippet(source, vec![label])));
    elements
}

fn snippet<'a>(source: &'a SourceText, marks: Vec<(Span, &'a str, bool)>) -> Element<'a> {
    let start = marks.iter().map(|(span, ..)| span.start).min().unwrap_or(0);
    let end = marks.iter().map(|(span, ..)| span.end).max().unwrap_or(0);
    let window = window(source.text(), start as usize, end as usize);
    let shown = source.text().get(window.clone()).unwrap_or("");
    let offset = u32::try_from(window.start).unwrap_or(u32::MAX);
    let mut snippet = Snippet::source(shown)
        .path(untrusted(source.path()).to_string())
        .line_start(source.line_column(offset).line);
    for (span, label, primary) in marks {
        let kind = if primary { AnnotationKind::Primary } else { AnnotationKind::Context };
        let range = clamp(span, &window, shown);
        let label = (!label.is_empty()).then_some(label);
        snippet = snippet.annotation(kind.span(range).label(label));
    }
    snippet.into()
}

/// The whole lines around a range, as far as their size can be drawn.
fn window(text: &str, start: usize, end: usize) -> std::ops::Range<usize> {
    let start = start.min(text.len());
    let end = end.clamp(start, text.len()).min(start + MAX_WINDOW_SIZE);
    let before = text.get(..start).and_then(|t| t.rfind('\n'));
    let from = before.map_or(0, |at| at + 1).max(start.saturating_sub(MAX_WINDOW_SIZE));
    let after = text.get(end..).and_then(|t| t.find('\n'));
    let to = after.map_or(text.len(), |at| end + at).min(end + MAX_WINDOW_SIZE);
    boundary(text, from)..boundary(text, to)
}

fn boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn clamp(span: Span, window: &std::ops::Range<usize>, shown: &str) -> std::ops::Range<usize> {
    let within = |at: u32| boundary(shown, (at as usize).saturating_sub(window.start));
    let start = within(span.start);
    start..within(span.end).max(start)
}

#[cfg(test)]
mod tests {
    use super::{summary, text};
    use crate::mistakes::tests::sample;
    use wf_base::{
        diag::{CheckedFile, Code, Diagnostic},
        source::{SourceText, Span},
        untrusted::plain,
    };

    #[test]
    fn every_place_is_underlined() {
        let expected = "\
error[plan/duplicate-id]: two steps are called `build`
 --> plans/a.md:5:10
  |
4 |   - {id: build}
  |          ----- the first
5 |   - {id: build}
  |          ^^^^^ the second
  |
  = help: give one of them another id

";
        assert_eq!(plain(&text(&sample::checked(), 80)), expected);
    }

    #[test]
    fn a_file_without_text_is_named() {
        let wrong = Diagnostic::new(Code::FileUnreadable, Span::default(), "it is a folder");
        let checked = CheckedFile { source: SourceText::new("a", ""), diagnostics: vec![wrong] };
        let expected = "error[file/unreadable]: it is a folder\n--> a\n\n";
        assert_eq!(plain(&text(&checked, 80)), expected);
    }

    #[test]
    fn no_place_in_no_text_breaks_it() {
        let long = "ü".repeat(100_000);
        for body in ["a", "ä\n", "---\nx: 1\n", "\n\n\n", long.as_str()] {
            for (start, end) in [(0, 0), (1, 3), (2, 1), (90_001, 200_000), (0, 999_999)] {
                let wrong = Diagnostic::new(Code::YamlSyntax, Span::new(start, end), "odd")
                    .with_related(Span::new(end, start), "here")
                    .with_label("there");
                let checked = CheckedFile { source: SourceText::new("a", body), diagnostics: vec![wrong] };
                assert!(plain(&text(&checked, 80)).contains("odd"));
            }
        }
    }

    #[test]
    fn the_summary_counts() {
        let all = [sample::checked(), sample::checked()];
        assert_eq!(plain(&summary(&all)), "2 files checked, 2 errors\n");
        assert_eq!(plain(&summary(&[])), "0 files checked, no problems found\n");
    }
}
