use std::collections::{BTreeMap, BTreeSet};

use super::{Change, Diff, Moved, Way};
use crate::report::consent::{Consent, Kind, Line, Sense};

/// The name of a part, and its lines.
type Parts<'c> = BTreeMap<(&'c str, &'c str), Vec<&'c Line>>;

/// Finds what changes in meaning from one version to another.
pub fn diff(before: &Consent, after: &Consent) -> Diff {
    let (old, new) = (parts(before), parts(after));
    let mut found = Diff::default();
    let renamed = moves(&old, &new, &mut found.moved);
    let is_moved = |line: &Line| renamed.contains(&(line.plan.as_str(), line.within.as_str()));
    let by_path = |consent: &Consent| -> BTreeMap<String, Line> {
        let lines = consent.lines.iter().filter(|line| !is_moved(line));
        lines.map(|line| (line.path(), line.clone())).collect()
    };
    let (was, is) = (by_path(before), by_path(after));
    let shake = Shake::of(&was, &is, !found.moved.is_empty());
    for line in after.lines.iter().filter(|line| !is_moved(line)) {
        let old = was.get(&line.path());
        found.changes.extend(shake.change(old, Some(line)));
    }
    for line in before.lines.iter().filter(|line| !is_moved(line)) {
        if !is.contains_key(&line.path()) {
            found.changes.extend(shake.change(Some(line), None));
        }
    }
    found
}

fn parts(consent: &Consent) -> Parts<'_> {
    let mut parts = Parts::new();
    for line in &consent.lines {
        let part = (line.plan.as_str(), line.within.as_str());
        parts.entry(part).or_default().push(line);
    }
    parts
}

/// Notes the parts that came and went; gives the parts that have only another name, under both.
fn moves<'c>(
    old: &Parts<'c>,
    new: &Parts<'c>,
    moved: &mut Vec<Moved>,
) -> BTreeSet<(&'c str, &'c str)> {
    let mut renamed = BTreeSet::new();
    let mut gone: Vec<_> = old
        .iter()
        .filter(|(part, _)| !new.contains_key(*part))
        .collect();
    for (part, lines) in new.iter().filter(|(part, _)| !old.contains_key(*part)) {
        let twin = gone
            .iter()
            .position(|(other, own)| same(part, lines, other, own));
        if let Some(twin) = twin {
            let (other, _) = gone.remove(twin);
            renamed.extend([*part, *other]);
            moved.push(Moved::Renamed {
                from: name(*other),
                to: name(*part),
            });
        } else {
            moved.push(Moved::Added { part: name(*part) });
        }
    }
    let removed = gone
        .into_iter()
        .map(|(part, _)| Moved::Removed { part: name(*part) });
    moved.extend(removed);
    renamed
}

/// Whether two parts of the same sort say the same.
fn same(a: &(&str, &str), old: &[&Line], b: &(&str, &str), new: &[&Line]) -> bool {
    let sort = |within: &str| within.split('.').next().unwrap_or("").to_owned();
    let said = |lines: &[&Line]| -> Vec<(String, String)> {
        let own = lines
            .iter()
            .map(|line| (line.key.clone(), line.text.clone()));
        own.collect()
    };
    a.0 == b.0 && sort(a.1) == sort(b.1) && said(old) == said(new)
}

fn name((plan, within): (&str, &str)) -> String {
    match (plan, within) {
        ("", within) => within.to_owned(),
        (plan, "") => plan.to_owned(),
        (plan, within) => format!("{plan}: {within}"),
    }
}

/// What bears on the direction of changes.
struct Shake {
    /// The lines that came or went.
    whole: BTreeSet<String>,
    /// The parts whose sandbox came or went: what it allows has no direction of its own.
    unboxed: BTreeSet<String>,
    /// Whether parts came, went or were renamed, so that their order is another anyway.
    moved: bool,
}

impl Shake {
    fn of(was: &BTreeMap<String, Line>, is: &BTreeMap<String, Line>, moved: bool) -> Self {
        let only = |a: &BTreeMap<String, Line>, b: &BTreeMap<String, Line>| -> Vec<String> {
            let lone = a.keys().filter(|path| !b.contains_key(*path));
            lone.cloned().collect()
        };
        let boxes = is.iter().filter(|(path, line)| {
            let old = was.get(*path);
            line.key == "sandbox" && old.is_some_and(|old| old.text != line.text)
        });
        Self {
            whole: only(was, is).into_iter().chain(only(is, was)).collect(),
            unboxed: boxes
                .map(|(path, _)| part(path, "sandbox").to_owned())
                .collect(),
            moved,
        }
    }

    fn change(&self, before: Option<&Line>, after: Option<&Line>) -> Option<Change> {
        let line = after.or(before)?;
        let same = before.zip(after).is_some_and(|(a, b)| a.text == b.text);
        let alone = before.is_none() || after.is_none();
        // What is usual, and what lies in other changes, says nothing of its own.
        if same || alone && line.usual || line.key == "order" && self.moved {
            return None;
        }
        let path = line.path();
        let is_detail = self.unboxed.contains(part(&path, &line.key))
            && (line.key.starts_with("allow.") || line.key.starts_with("limits."));
        let way = match (before, after) {
            _ if is_detail => Way::Other,
            (Some(before), Some(after)) => between(before.sense, after.sense),
            (Some(_), None) if self.is_part_of_whole(&path) => Way::Other,
            (None, Some(line)) if self.is_part_of_whole(&path) && line.kind != Kind::Reach => {
                Way::Other
            }
            (None, Some(line)) => coming(line),
            (Some(line), None) => coming(line).turned(),
            (None, None) => Way::Other,
        };
        Some(Change {
            before: before.cloned(),
            after: after.cloned(),
            way,
        })
    }

    /// Whether the line that a line belongs to came or went, too.
    fn is_part_of_whole(&self, path: &str) -> bool {
        let mut dots = path.match_indices('.');
        dots.any(|(at, _)| self.whole.contains(path.get(..at).unwrap_or("")))
    }
}

/// The path of the part that a line stands in.
fn part<'p>(path: &'p str, key: &str) -> &'p str {
    path.strip_suffix(key).unwrap_or(path)
}

impl Way {
    fn turned(self) -> Self {
        match self {
            Self::Looser => Self::Tighter,
            Self::Tighter => Self::Looser,
            Self::Other => Self::Other,
        }
    }
}

fn between(before: Sense, after: Sense) -> Way {
    match (before, after) {
        (Sense::AtMost(a), Sense::AtMost(b)) if b > a => Way::Looser,
        (Sense::AtMost(a), Sense::AtMost(b)) if b < a => Way::Tighter,
        (Sense::AtLeast(a), Sense::AtLeast(b)) if b > a => Way::Tighter,
        (Sense::AtLeast(a), Sense::AtLeast(b)) if b < a => Way::Looser,
        _ => Way::Other,
    }
}

/// The direction of a line that was not there.
fn coming(line: &Line) -> Way {
    match (line.sense, line.kind) {
        (Sense::Grant, _) => Way::Looser,
        // Without a limit there is none.
        (Sense::AtMost(_), Kind::Reach) if line.key.starts_with("budget.") => Way::Tighter,
        // Without it there was the rule, and nobody knows here which of the two is more.
        (Sense::AtMost(_), Kind::Reach) if line.key.contains("limits.") => Way::Other,
        (Sense::AtMost(level), Kind::Reach) if level > 0.0 => Way::Looser,
        (Sense::AtMost(_), Kind::Reach) | (Sense::Plain, _) => Way::Other,
        (Sense::Guard | Sense::AtMost(_) | Sense::AtLeast(_), _) => Way::Tighter,
    }
}
