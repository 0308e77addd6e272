//! The preview of a retry, in words.

use std::fmt::Write as _;

use wf_app::retry::{PreviewedStep, RetryPreview};
use wf_base::{name::RunId, units::plural, untrusted::styled_line};

/// The number of named steps in one line.
const MAX_NAMED: usize = 5;

/// One line: `retries run 1a2b3c4d · reuses 2 results: c, d · runs again: a, b (+3 downstream)`.
pub fn summary_line(preview: &RetryPreview, run: &RunId) -> String {
    let mut text = format!("retries run {} · reuses {}", run.short(), plural(preview.reused.len(), "result"));
    if !preview.reused.is_empty() {
        let _ = write!(text, ": {}", abbreviated(&preview.reused));
    }
    let again = preview.rerun_roots.len() + preview.downstream;
    if again == 0 && preview.has_checks {
        text.push_str(" · runs again: only the plan's checks");
    } else if again == 0 {
        text.push_str(" · runs again: no steps");
    } else if preview.rerun_roots.is_empty() {
        let _ = write!(text, " · runs again: {}", plural(preview.downstream, "step"));
    } else {
        let _ = write!(text, " · runs again: {}", abbreviated(&preview.rerun_roots));
        if preview.downstream > 0 {
            let _ = write!(text, " (+{} downstream)", preview.downstream);
        }
    }
    if preview.deselected > 0 {
        let _ = write!(text, " · skips {}", preview.deselected);
    }
    format!("{}\n", styled_line(&text))
}

/// Lists every step with its decision, one line each.
pub fn step_list(preview: &RetryPreview) -> String {
    let width = preview.steps.iter().map(|step| step.name.chars().count());
    let width = width.max().unwrap_or(0);
    let mut text = String::new();
    for PreviewedStep { name, decision, reason } in &preview.steps {
        let line = format!("  {decision:<10}  {name:<width$}  {reason}");
        let _ = writeln!(text, "{}", styled_line(line.trim_end()));
    }
    text
}

/// The first of some names, and the number of the others.
fn abbreviated(names: &[String]) -> String {
    let first: Vec<&str> = names.iter().take(MAX_NAMED).map(String::as_str).collect();
    let more = match names.len() - first.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    first.join(", ") + &more
}
