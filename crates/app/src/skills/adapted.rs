//! The report of an imported skill.

use std::fmt::Write as _;

use super::{fetch::FetchedSkill, put::SKILLS, tell};
use crate::skills::InspectedSkill;
use wf_base::{
    remedy::UserAction,
    untrusted::{BOLD, DIM, GOOD, WARN, paint, untrusted},
};
use wf_skill::import::{FieldOutcome, SkillConversion};

/// The completed changes, and the remaining work.
pub fn adaptation_text(
    fetched: &FetchedSkill,
    conversion: &SkillConversion,
    inspected: &InspectedSkill,
    is_dry: bool,
    words: &dyn Fn(&UserAction) -> String,
) -> String {
    let mut text = format!(
        "{}\n  from {}\n",
        paint(BOLD, &format!("the skill {}", conversion.name)),
        untrusted(&fetched.source)
    );
    if let Some(commit) = &fetched.commit {
        let _ = writeln!(text, "  commit {commit}");
    }
    let format = conversion.format.as_str();
    let _ = writeln!(text, "  format {format}: {}", untrusted(&conversion.reason));
    text += &fields(conversion);
    text += &list(
        "left out",
        conversion.left_out.iter().map(|out| format!("{}: {}", untrusted(&out.path), out.reason)),
    );
    text += &manual_changes(conversion);
    let findings = tell::findings(inspected);
    if !findings.is_empty() {
        let _ = write!(text, "\n{}\n{findings}", paint(BOLD, "inspection"));
    }
    text.push('\n');
    text + &next(conversion, inspected, is_dry, words)
}

fn fields(conversion: &SkillConversion) -> String {
    let lines = conversion.fields.iter().map(|field| {
        let style = match field.fate {
            FieldOutcome::Kept => GOOD,
            FieldOutcome::Translated => BOLD,
            FieldOutcome::Dropped => WARN,
        };
        let fate = paint(style, field.fate.as_str());
        match field.reason.as_str() {
            "" => format!("{}: {fate}", untrusted(&field.field)),
            reason => format!("{}: {fate}, {}", untrusted(&field.field), untrusted(reason)),
        }
    });
    list("fields", lines)
}

fn manual_changes(conversion: &SkillConversion) -> String {
    let scripts = conversion
        .scripts
        .iter()
        .map(|path| format!("{} declares nothing yet, so no step can run it", untrusted(path)));
    let changes = conversion.review.iter().map(|change| untrusted(change).to_string()).chain(scripts);
    let mut text = list("to review by hand", changes);
    if let Some(suggestion) = &conversion.suggestion {
        let what = "to let steps run them, declare what they need in SKILL.md:";
        let _ = writeln!(text, "  {}", paint(DIM, what));
        for line in suggestion.lines() {
            let _ = writeln!(text, "    {}", untrusted(line));
        }
    }
    text
}

fn list(title: &str, all: impl Iterator<Item = String>) -> String {
    let lines: String = all.map(|line| format!("  {line}\n")).collect();
    if lines.is_empty() {
        return lines;
    }
    format!("\n{}\n{lines}", paint(BOLD, title))
}

fn next(
    conversion: &SkillConversion,
    inspected: &InspectedSkill,
    is_dry: bool,
    words: &dyn Fn(&UserAction) -> String,
) -> String {
    let name = &conversion.name;
    let mut text = if is_dry {
        return format!("dry run, nothing was written to {SKILLS}/{name}\n");
    } else {
        format!("imported {SKILLS}/{name}; it cannot be used until it is locked\n")
    };
    if inspected.is_dangerous() {
        text += "it cannot be locked while it contains a danger: change the skill first\n";
    }
    text + &format!("review it, then lock it: {}\n", words(&UserAction::LockSkill(name.clone())))
}
