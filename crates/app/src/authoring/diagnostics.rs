use std::fmt::Write as _;

use wf_base::{
    diag::{CheckedFile, Diagnostic, Severity},
    source::SourceText,
};

/// The maximum number of errors a planner is told at once.
const MOST: usize = 20;

/// The maximum length of a quoted line, in characters.
const LINE_CHARS: usize = 160;

/// Returns the errors of files as text for a model. The first file is the plan.
pub(super) fn errors_for_model(files: &[CheckedFile]) -> String {
    let located: Vec<(usize, &SourceText, &Diagnostic)> = files
        .iter()
        .enumerate()
        .flat_map(|(at, file)| file.diagnostics.iter().map(move |diagnostic| (at, &file.source, diagnostic)))
        .filter(|(.., diagnostic)| diagnostic.severity() == Severity::Error)
        .collect();
    let mut text = String::from("The plan has errors. Answer with the whole plan, without them:\n");
    for (at, source, diagnostic) in located.iter().take(MOST) {
        let place = source.line_column(diagnostic.span.start);
        let line = source.text().lines().nth(place.line.saturating_sub(1)).unwrap_or("");
        let line: String = line.trim().chars().take(LINE_CHARS).collect();
        let file = if *at == 0 { String::new() } else { format!("{}, ", source.path()) };
        let _ = write!(text, "\n- {file}line {}, `{line}`: {}", place.line, diagnostic.message);
        if let Some(help) = &diagnostic.help {
            let _ = write!(text, " ({help})");
        }
    }
    if let Some(more) = located.len().checked_sub(MOST).filter(|more| *more > 0) {
        let _ = write!(text, "\n- and {more} more");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::errors_for_model;
    use wf_base::{
        diag::{CheckedFile, Code, Diagnostic},
        source::{SourceText, Span},
    };

    fn file(path: &str, text: &str, errors: usize) -> CheckedFile {
        let start = u32::try_from(text.find('x').unwrap()).unwrap();
        let span = Span { start, end: start + 1 };
        let diagnostic = Diagnostic::new(Code::KeyUnknown, span, "unknown key `x`").with_help("leave it out");
        CheckedFile { source: SourceText::new(path, text), diagnostics: vec![diagnostic; errors] }
    }

    #[test]
    fn a_model_is_told_line_mistake_and_remedy() {
        let text = errors_for_model(&[file("plan.md", "---\n  x: 1\n", 1), file("gates/g.md", "x: 2\n", 1)]);
        let expected = "The plan has errors. Answer with the whole plan, without them:\n\
            \n- line 2, `x: 1`: unknown key `x` (leave it out)\
            \n- gates/g.md, line 1, `x: 2`: unknown key `x` (leave it out)";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_model_is_told_a_bounded_number_of_mistakes() {
        let text = errors_for_model(&[file("plan.md", &format!("x{}", "y".repeat(1000)), 50)]);
        assert_eq!(text.lines().count(), 23);
        assert!(text.ends_with("- and 30 more") && text.len() < 6000, "{text}");
    }
}
