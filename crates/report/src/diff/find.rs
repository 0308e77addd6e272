use std::collections::{BTreeMap, BTreeSet};

use super::{ChangeDirection, PartChange, PlanDiff, SummaryChange};
use crate::consent::{PlanSummary, RiskDirection, SummaryLine, SummaryLineKind};

/// A part of a plan: its plan, and its name in there; either may be empty.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct PlanPart<'c> {
    plan: &'c str,
    name: &'c str,
}

type PartLines<'c> = BTreeMap<PlanPart<'c>, Vec<&'c SummaryLine>>;

/// Finds the changes in meaning from one version to another.
pub fn diff(before: &PlanSummary, after: &PlanSummary) -> PlanDiff {
    let (old, new) = (parts(before), parts(after));
    let mut plan_diff = PlanDiff::default();
    let renamed = moves(&old, &new, &mut plan_diff.parts);
    let is_moved = |line: &SummaryLine| renamed.contains(&PlanPart::of(line));
    let by_path = |summary: &PlanSummary| -> BTreeMap<String, SummaryLine> {
        let lines = summary.lines.iter().filter(|line| !is_moved(line));
        lines.map(|line| (line.path(), line.clone())).collect()
    };
    let (was, is) = (by_path(before), by_path(after));
    let shake = DiffContext::of(&was, &is, !plan_diff.parts.is_empty());
    for line in after.lines.iter().filter(|line| !is_moved(line)) {
        let old = was.get(&line.path());
        plan_diff.changes.extend(shake.change(old, Some(line)));
    }
    for line in before.lines.iter().filter(|line| !is_moved(line)) {
        if !is.contains_key(&line.path()) {
            plan_diff.changes.extend(shake.change(Some(line), None));
        }
    }
    plan_diff
}

fn parts(summary: &PlanSummary) -> PartLines<'_> {
    let mut parts = PartLines::new();
    for line in &summary.lines {
        parts.entry(PlanPart::of(line)).or_default().push(line);
    }
    parts
}

/// Notes the added and removed parts; returns the renamed ones under both names.
fn moves<'c>(
    old: &PartLines<'c>,
    new: &PartLines<'c>,
    part_changes: &mut Vec<PartChange>,
) -> BTreeSet<PlanPart<'c>> {
    let mut renamed = BTreeSet::new();
    let mut gone: Vec<_> = old.iter().filter(|(part, _)| !new.contains_key(*part)).collect();
    for (part, lines) in new.iter().filter(|(part, _)| !old.contains_key(*part)) {
        let twin = gone.iter().position(|(other, own)| has_same_content(part, lines, other, own));
        if let Some(twin) = twin {
            let (other, _) = gone.remove(twin);
            renamed.extend([*part, *other]);
            part_changes.push(PartChange::Renamed { from: other.shown(), to: part.shown() });
        } else {
            part_changes.push(PartChange::Added { part: part.shown() });
        }
    }
    let removed = gone.into_iter().map(|(part, _)| PartChange::Removed { part: part.shown() });
    part_changes.extend(removed);
    renamed
}

/// True if two parts of the same kind have the same content.
fn has_same_content(
    old_part: &PlanPart<'_>,
    old_lines: &[&SummaryLine],
    new_part: &PlanPart<'_>,
    new_lines: &[&SummaryLine],
) -> bool {
    let sort = |within: &str| within.split('.').next().unwrap_or("").to_owned();
    let texts = |lines: &[&SummaryLine]| -> Vec<(String, String)> {
        let own = lines.iter().map(|line| (line.key.clone(), line.text.clone()));
        own.collect()
    };
    old_part.plan == new_part.plan
        && sort(old_part.name) == sort(new_part.name)
        && texts(old_lines) == texts(new_lines)
}

impl<'c> PlanPart<'c> {
    fn of(line: &'c SummaryLine) -> Self {
        Self { plan: &line.plan, name: &line.part }
    }

    fn shown(&self) -> String {
        match (self.plan, self.name) {
            ("", name) => name.to_owned(),
            (plan, "") => plan.to_owned(),
            (plan, name) => format!("{plan}: {name}"),
        }
    }
}

/// The circumstances that bear on the direction of changes.
struct DiffContext {
    /// The lines that were added or removed.
    whole_parts: BTreeSet<String>,
    /// The parts with an added or removed sandbox: its permissions have no direction of their own.
    sandbox_changed: BTreeSet<String>,
    /// True if parts were added, removed or renamed, so their order changes anyway.
    parts_changed: bool,
}

impl DiffContext {
    fn of(was: &BTreeMap<String, SummaryLine>, is: &BTreeMap<String, SummaryLine>, moved: bool) -> Self {
        let only = |a: &BTreeMap<String, SummaryLine>, b: &BTreeMap<String, SummaryLine>| -> Vec<String> {
            let lone = a.keys().filter(|path| !b.contains_key(*path));
            lone.cloned().collect()
        };
        let boxes = is.iter().filter(|(path, line)| {
            let old = was.get(*path);
            line.key == "sandbox" && old.is_some_and(|old| old.text != line.text)
        });
        Self {
            whole_parts: only(was, is).into_iter().chain(only(is, was)).collect(),
            sandbox_changed: boxes.map(|(path, _)| part(path, "sandbox").to_owned()).collect(),
            parts_changed: moved,
        }
    }

    fn change(&self, before: Option<&SummaryLine>, after: Option<&SummaryLine>) -> Option<SummaryChange> {
        let line = after.or(before)?;
        let same = before.zip(after).is_some_and(|(a, b)| a.text == b.text);
        let alone = before.is_none() || after.is_none();
        // Defaults, and lines that are part of other changes, are no changes of their own.
        if same || alone && line.is_default || line.key == "order" && self.parts_changed {
            return None;
        }
        let path = line.path();
        let is_detail = self.sandbox_changed.contains(part(&path, &line.key))
            && (line.key.starts_with("allow.") || line.key.starts_with("limits."));
        let way = match (before, after) {
            _ if is_detail => ChangeDirection::Other,
            (Some(before), Some(after)) => changed_direction(before.risk, after.risk),
            (Some(_), None) if self.is_part_of_whole(&path) => ChangeDirection::Other,
            (None, Some(line)) if self.is_part_of_whole(&path) && line.kind != SummaryLineKind::Reach => {
                ChangeDirection::Other
            }
            (None, Some(line)) => added_direction(line),
            (Some(line), None) => added_direction(line).reversed_direction(),
            (None, None) => ChangeDirection::Other,
        };
        Some(SummaryChange { before: before.cloned(), after: after.cloned(), direction: way })
    }

    /// True if the line a line belongs to was added or removed, too.
    fn is_part_of_whole(&self, path: &str) -> bool {
        let mut dots = path.match_indices('.');
        dots.any(|(at, _)| self.whole_parts.contains(path.get(..at).unwrap_or("")))
    }
}

/// The path of the part a line belongs to.
fn part<'p>(path: &'p str, key: &str) -> &'p str {
    path.strip_suffix(key).unwrap_or(path)
}

impl ChangeDirection {
    fn reversed_direction(self) -> Self {
        match self {
            Self::Looser => Self::Tighter,
            Self::Tighter => Self::Looser,
            Self::Other => Self::Other,
        }
    }
}

fn changed_direction(before: RiskDirection, after: RiskDirection) -> ChangeDirection {
    match (before, after) {
        (RiskDirection::AtMost(a), RiskDirection::AtMost(b)) if b > a => ChangeDirection::Looser,
        (RiskDirection::AtMost(a), RiskDirection::AtMost(b)) if b < a => ChangeDirection::Tighter,
        (RiskDirection::AtLeast(a), RiskDirection::AtLeast(b)) if b > a => ChangeDirection::Tighter,
        (RiskDirection::AtLeast(a), RiskDirection::AtLeast(b)) if b < a => ChangeDirection::Looser,
        _ => ChangeDirection::Other,
    }
}

fn added_direction(line: &SummaryLine) -> ChangeDirection {
    match (line.risk, line.kind) {
        (RiskDirection::Grant, _) => ChangeDirection::Looser,
        // Without it, the amount is unlimited.
        (RiskDirection::AtMost(_), SummaryLineKind::Reach) if line.key.starts_with("budget.") => {
            ChangeDirection::Tighter
        }
        // Without it the default applied, and it is not known here which of the two is larger.
        (RiskDirection::AtMost(_), SummaryLineKind::Reach) if line.key.contains("limits.") => {
            ChangeDirection::Other
        }
        (RiskDirection::AtMost(level), SummaryLineKind::Reach) if level > 0.0 => ChangeDirection::Looser,
        (RiskDirection::AtMost(_), SummaryLineKind::Reach) | (RiskDirection::Plain, _) => {
            ChangeDirection::Other
        }
        (RiskDirection::Guard | RiskDirection::AtMost(_) | RiskDirection::AtLeast(_), _) => {
            ChangeDirection::Tighter
        }
    }
}
