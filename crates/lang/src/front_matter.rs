use wf_base::diag::{Code, Diagnostic};
use wf_base::source::Span;
use wf_base::yaml::{FenceError, FrontMatter};

/// Splits a spec file at its `---` lines.
pub fn split(text: &str) -> Result<FrontMatter, Box<Diagnostic>> {
    FrontMatter::split(text).map_err(|reason| Box::new(mistake(reason, text)))
}

fn mistake(error: FenceError, text: &str) -> Diagnostic {
    let start = if text.starts_with('\u{feff}') { 3 } else { 0 };
    let place = |shown| Span::new(start, start).subspan(0..shown);
    match error {
        FenceError::Start => {
            let first = text.get(start..).and_then(|text| text.lines().next()).unwrap_or("");
            let shown = first.trim_end().chars().take(40).map(char::len_utf8).sum();
            let message = "the file does not start with a `---` line";
            let help = "start with `---`, then the YAML, then `---`, then the Markdown";
            Diagnostic::new(Code::FrontMatterMissing, place(shown), message).with_help(help)
        }
        FenceError::Close => {
            let message = "the front matter that starts here has no closing `---` line";
            let mistake = Diagnostic::new(Code::FrontMatterOpen, place(3), message);
            mistake.with_help("close it with a `---` line")
        }
    }
}
