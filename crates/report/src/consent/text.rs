use std::fmt::Write as _;

use anstyle::Style;

use super::{PlanSummary, RiskDirection, SummaryLine, SummaryLineKind};
use wf_base::{
    digest::Sha256Digest,
    units::plural,
    untrusted::{BAD, BOLD, DIM, NAME, WARN, hides, paint, untrusted},
};
use wf_model::{Goal, JsonObject, Plan};

/// The maximum number of files shown: those that differ from the last approval are shown besides.
const MAX_SHOWN_FILES: usize = 30;
/// The width of lines.
const LINE_WIDTH: usize = 80;
const KEY_COLUMN_WIDTH: usize = 20;

/// Returns everything a plan will do as text for the approver. `path` is the plan's file,
/// `files` are those the decision covers with their digests, `params` the values given, `goal`
/// the goal starting it by itself.
pub fn consent(
    plan: &Plan,
    path: &str,
    files: &[(String, Sha256Digest)],
    params: &JsonObject,
    goal: Option<&Goal>,
) -> String {
    let view = PlanSummary::of_plan(plan, path).add_params(params).add_goal_if_any(goal);
    let mut text = format!("{}  {}\n", paint(BOLD, plan.id().as_str()), untrusted(path));
    text.push_str(&warnings(&view));
    text.push_str(&PlanSummary::of_risk(plan).text());
    if !files.is_empty() {
        let _ = writeln!(text, "\n{}", paint(BOLD, "files"));
        for (file, digest) in files.iter().take(MAX_SHOWN_FILES) {
            let digest = paint(DIM, &digest.short());
            let _ = writeln!(text, "  {digest}  {}", untrusted(file));
        }
        if let Some(more) = files.len().checked_sub(MAX_SHOWN_FILES).filter(|more| *more > 0) {
            let _ = writeln!(text, "  … and {} more, all in the approval", plural(more, "file"));
        }
    }
    text.push_str(&view.text());
    text
}

/// The most important warnings, which come first.
fn warnings(summary: &PlanSummary) -> String {
    let mut text = String::new();
    let free = summary.lines.iter().filter(|line| is_free(line)).count();
    if free > 0 {
        let steps = plural(free, "step");
        let warning = format!("{steps} without a sandbox: they may do whatever your user may do");
        let _ = writeln!(text, "{} {warning}", paint(WARN, "!"));
    }
    let hidden: Vec<String> = summary.invisible_lines().map(SummaryLine::path).collect();
    if !hidden.is_empty() {
        let subject = "invisible characters are shown as ⟨U+…⟩ in";
        let _ = writeln!(text, "{} {subject}", paint(BAD, "!"));
        for path in hidden {
            let _ = writeln!(text, "    {}", untrusted(&path));
        }
    }
    text
}

fn is_free(line: &SummaryLine) -> bool {
    line.key == "sandbox" && line.part != "workspace" && line.risk == RiskDirection::AtMost(1.0)
}

impl PlanSummary {
    /// Returns all lines as text, part by part, in full, with at most 80 columns.
    pub fn text(&self) -> String {
        let mut page = SummaryFormatter::default();
        let mut part = None;
        for line in &self.lines {
            let own = (line.plan.as_str(), line.part.as_str());
            if part != Some(own) {
                page.close("");
                page.last_key.clear();
                let _ = writeln!(page.text, "\n{}", heading(line));
                part = Some(own);
            }
            page.line(line);
        }
        page.close("");
        page.text
    }
}

/// Lines being formatted. Those that belong to a line with a shorter key are printed below it.
#[derive(Default)]
struct SummaryFormatter<'a> {
    text: String,
    /// The keys of the lines the following ones may belong to, each with the defaults below it
    /// that are not written yet.
    parent_keys: Vec<(&'a str, Vec<String>)>,
    /// The defaults of the part, not written yet.
    pending_defaults: Vec<String>,
    /// The key of the line before.
    last_key: String,
}

impl<'a> SummaryFormatter<'a> {
    fn line(&mut self, line: &'a SummaryLine) {
        self.close(&line.key);
        let owner = self.parent_keys.last().map_or(0, |(above, _)| above.len() + 1);
        let key = line.key.get(owner..).unwrap_or(&line.key);
        let indent = 2 + 2 * self.parent_keys.len();
        if line.is_default {
            let word = line.text.split(':').next().unwrap_or("");
            let usual = match self.parent_keys.last_mut() {
                Some((_, usual)) => usual,
                None => &mut self.pending_defaults,
            };
            return usual.push(format!("{key} {word}"));
        }
        // In a list, the key repeats the text.
        let key = key.strip_suffix(&format!("[{}]", line.text)).unwrap_or(key);
        let shown = if self.last_key == key { "" } else { key };
        self.text.push_str(&labelled(shown, &line.text, indent, style(line)));
        key.clone_into(&mut self.last_key);
        if line.text.contains('\n') || line.part == "workspace" {
            return;
        }
        self.parent_keys.push((&line.key, Vec::new()));
    }

    /// Closes the lines the next key does not belong to.
    fn close(&mut self, next: &str) {
        while let Some((above, _)) = self.parent_keys.last() {
            let below = next.strip_prefix(above);
            if below.is_some_and(|rest| rest.starts_with('.')) {
                return;
            }
            let indent = 2 + 2 * self.parent_keys.len();
            let usual = self.parent_keys.pop().map_or_else(Vec::new, |(_, usual)| usual);
            self.write_defaults(&usual, indent);
        }
        if next.is_empty() {
            let usual = std::mem::take(&mut self.pending_defaults);
            self.write_defaults(&usual, 2);
        }
    }

    fn write_defaults(&mut self, usual: &[String], indent: usize) {
        if !usual.is_empty() {
            let usual = usual.join(", ");
            self.text.push_str(&labelled("otherwise", &usual, indent, DIM));
        }
    }
}

fn heading(line: &SummaryLine) -> String {
    let part = match line.part.split_once('.') {
        Some(("steps", id)) => format!("step {id}"),
        Some(("finally", id)) => format!("finally step {id}"),
        Some(("gates", id)) => format!("gate {id}"),
        _ if line.part.is_empty() => "plan".into(),
        _ => line.part.clone(),
    };
    match line.plan.as_str() {
        "" => paint(BOLD, &untrusted(&part)),
        path => format!("{} {}", paint(NAME, &untrusted(path)), paint(BOLD, &untrusted(&part))),
    }
}

/// A key and its text, in full.
fn labelled(key: &str, content: &str, indent: usize, style: Style) -> String {
    let key = untrusted(key).to_string();
    let wide = key.chars().count();
    let mut text = format!("{:indent$}{}", "", paint(DIM, &key));
    if content.contains('\n') {
        text.push('\n');
        block(content, indent + 2, &mut text);
        return text;
    }
    let left = indent + KEY_COLUMN_WIDTH + 1;
    if wide > KEY_COLUMN_WIDTH {
        let _ = write!(text, "\n{:left$}", "");
    } else {
        let _ = write!(text, "{:1$}", "", KEY_COLUMN_WIDTH + 1 - wide);
    }
    let parts = wrapped(&untrusted(content).to_string(), LINE_WIDTH - left);
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            let _ = write!(text, "{:1$}{2} ", "", left - 2, paint(DIM, "┆"));
        }
        let _ = writeln!(text, "{}", paint(style, part.trim_end()));
    }
    text
}

fn style(line: &SummaryLine) -> Style {
    if hides(&line.text) || hides(&line.key) {
        return BAD;
    }
    match (line.kind, line.risk) {
        (SummaryLineKind::Reach, RiskDirection::Grant) => WARN,
        (SummaryLineKind::Reach | SummaryLineKind::Proof, RiskDirection::AtMost(level)) if level > 0.0 => {
            WARN
        }
        _ => Style::new(),
    }
}

/// Several lines, each behind a bar; a continued one has a broken bar.
fn block(body: &str, indent: usize, text: &mut String) {
    for line in body.trim_end_matches('\n').split('\n') {
        let shown = untrusted(line).to_string();
        for (at, part) in wrapped(&shown, LINE_WIDTH - indent - 2).into_iter().enumerate() {
            let bar = paint(DIM, if at == 0 { "│" } else { "┆" });
            let style = if hides(line) { BAD } else { Style::new() };
            let part = match part.trim_end() {
                "" => String::new(),
                part => format!(" {}", paint(style, part)),
            };
            let _ = writeln!(text, "{:indent$}{bar}{part}", "");
        }
    }
}

/// A line made safe to display, in parts that leave so many columns free.
pub(crate) fn drawn(line: &str, indent: usize) -> Vec<String> {
    wrapped(&untrusted(line).to_string(), LINE_WIDTH - indent)
}

/// A text in parts of at most so many characters; broken at spaces where there are any.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut parts = Vec::new();
    let mut left: Vec<char> = text.chars().collect();
    while left.len() > width {
        let space = left.iter().take(width).rposition(|c| *c == ' ');
        let cut = space.map_or(width, |at| at + 1).max(width / 2);
        let rest = left.split_off(cut);
        parts.push(left.into_iter().collect());
        left = rest;
    }
    parts.push(left.into_iter().collect());
    parts
}
