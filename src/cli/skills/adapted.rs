//! What is said of a skill that was imported.

use std::fmt::Write as _;

use super::fetch::Fetched;
use super::put::SKILLS;
use super::study::Studied;
use super::tell;
use crate::report::{BOLD, DIM, GOOD, WARN, paint};
use crate::skill::import::{Fate, Transformation};
use crate::untrusted::untrusted;

/// Everything that was done, and what is left to do.
pub fn text(fetched: &Fetched, done: &Transformation, studied: &Studied, is_dry: bool) -> String {
    let mut text = format!(
        "{}\n  from {}\n",
        paint(BOLD, &format!("the skill {}", done.name)),
        untrusted(&fetched.source)
    );
    if let Some(commit) = &fetched.commit {
        let _ = writeln!(text, "  commit {commit}");
    }
    let format = done.format.as_str();
    let _ = writeln!(text, "  format {format}: {}", untrusted(&done.why));
    text += &fields(done);
    text += &list(
        "left out",
        done.left_out
            .iter()
            .map(|out| format!("{}: {}", untrusted(&out.path), out.why)),
    );
    text += &by_hand(done);
    let found = tell::findings(studied);
    if !found.is_empty() {
        let _ = write!(text, "\n{}\n{found}", paint(BOLD, "inspection"));
    }
    text.push('\n');
    text + &next(done, studied, is_dry)
}

fn fields(done: &Transformation) -> String {
    let lines = done.fields.iter().map(|field| {
        let style = match field.fate {
            Fate::Kept => GOOD,
            Fate::Translated => BOLD,
            Fate::Dropped => WARN,
        };
        let fate = paint(style, field.fate.as_str());
        match field.why.as_str() {
            "" => format!("{}: {fate}", untrusted(&field.field)),
            why => format!("{}: {fate}, {}", untrusted(&field.field), untrusted(why)),
        }
    });
    list("fields", lines)
}

fn by_hand(done: &Transformation) -> String {
    let scripts = done.scripts.iter().map(|path| {
        format!(
            "{} declares nothing yet: no step can run it",
            untrusted(path)
        )
    });
    let all = done
        .review
        .iter()
        .map(|what| untrusted(what).to_string())
        .chain(scripts);
    let mut text = list("to be reviewed by hand", all);
    if let Some(suggestion) = &done.suggestion {
        let what = "a step could run them with this in SKILL.md, once you know what they need:";
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

fn next(done: &Transformation, studied: &Studied, is_dry: bool) -> String {
    let name = &done.name;
    let mut text = if is_dry {
        return format!("nothing was written: it would be {SKILLS}/{name}\n");
    } else {
        format!("imported {SKILLS}/{name}; no run uses it before it is locked\n")
    };
    if studied.is_dangerous() {
        text += "a danger refuses the lock: change the skill first\n";
    }
    text + &format!("look at it and lock it: wf skill lock {name}\n")
}
