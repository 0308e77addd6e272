use std::collections::{BTreeMap, BTreeSet};

use super::facts::{At, Facts};
use super::place::{Label, Place};

/// How many labels one place has at most.
const MOST: usize = 200;

/// Which labels a move carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Carries {
    All,
    /// From a folder into it: what was fetched.
    Fetched,
    /// From a file to its folder: what is secret.
    Secrets,
}

/// The labels that reach each place.
#[derive(Debug, Default)]
pub(super) struct Solved {
    labels: Vec<BTreeSet<Label>>,
}

impl Solved {
    /// The labels of a place.
    pub(super) fn of(&self, place: At) -> impl Iterator<Item = &Label> {
        self.labels.get(place).into_iter().flatten()
    }

    /// The addresses that a place holds.
    pub(super) fn addresses(&self, place: At) -> Vec<&str> {
        let addresses = self.of(place).filter_map(|label| match label {
            Label::Address(address) => Some(address.as_str()),
            _ => None,
        });
        addresses.collect()
    }

    /// The paths that a place holds.
    pub(super) fn paths(&self, place: At) -> Vec<String> {
        let paths = self.of(place).filter_map(|label| match label {
            Label::Path(path) => Some(path.clone()),
            _ => None,
        });
        paths.collect()
    }
}

/// Carries every label to wherever it goes. Which files are read and written is known only when
/// the paths have arrived, so that everything is carried twice.
pub(super) fn solve(facts: &mut Facts) -> Solved {
    let first = carry(facts, &[]);
    let loads = facts.loads.clone();
    for (paths, into) in loads {
        for path in first.paths(paths) {
            let file = facts.file(&path);
            facts.moves(file, into);
        }
    }
    let stores = facts.stores.clone();
    for (paths, what) in stores {
        for path in first.paths(paths) {
            let file = facts.file(&path);
            facts.moves(what, file);
        }
    }
    let runs: Vec<At> = facts.runs.iter().map(|run| run.what).collect();
    for run in runs {
        for path in first.paths(run) {
            if facts.shipped(&path).is_none() {
                let file = facts.file(&path);
                facts.moves(file, run);
            }
        }
    }
    let near = neighbours(facts);
    carry(facts, &near)
}

fn carry(facts: &Facts, near: &[(At, At, Carries)]) -> Solved {
    let mut out: Vec<Vec<(At, Carries)>> = vec![Vec::new(); facts.places.len()];
    let all = facts
        .moves
        .iter()
        .map(|(from, to)| (*from, *to, Carries::All));
    for (from, to, carries) in all.chain(near.iter().copied()) {
        if let Some(out) = out.get_mut(from) {
            out.push((to, carries));
        }
    }
    let mut labels: Vec<BTreeSet<Label>> = vec![BTreeSet::new(); facts.places.len()];
    let mut open: Vec<(At, Label)> = Vec::new();
    let mut add = |at: At, label: Label, open: &mut Vec<(At, Label)>| {
        let Some(all) = labels.get_mut(at) else {
            return;
        };
        if all.len() < MOST && all.insert(label.clone()) {
            open.push((at, label));
        }
    };
    for (label, at) in &facts.labels {
        add(*at, label.clone(), &mut open);
    }
    while let Some((at, label)) = open.pop() {
        for (to, carries) in out.get(at).into_iter().flatten() {
            let goes = match carries {
                Carries::All => true,
                Carries::Fetched => matches!(label, Label::Fetched(_)),
                Carries::Secrets => matches!(label, Label::Secret(_) | Label::Packed),
            };
            if goes {
                add(*to, label.clone(), &mut open);
            }
        }
    }
    Solved { labels }
}

/// The moves between files that are the same under two names, and between folders and what is in
/// them.
fn neighbours(facts: &Facts) -> Vec<(At, At, Carries)> {
    let mut files: BTreeMap<&str, At> = BTreeMap::new();
    let mut named: BTreeMap<&str, Vec<(&str, At)>> = BTreeMap::new();
    for (at, place) in facts.places.iter().enumerate() {
        if let Place::File(path) = place {
            files.insert(path, at);
            let name = path.rsplit('/').next().unwrap_or_default();
            named.entry(name).or_default().push((path, at));
        }
    }
    let mut found = Vec::new();
    for (path, at) in &files {
        for (cut, _) in path.match_indices('/') {
            let folder = path.get(..cut).unwrap_or_default();
            if let Some(folder) = files.get(folder).filter(|_| !is_shared(folder)) {
                found.push((*folder, *at, Carries::Fetched));
                found.push((*at, *folder, Carries::Secrets));
            }
        }
        let name = path.rsplit('/').next().unwrap_or_default();
        for (other, to) in named.get(name).into_iter().flatten().take(64) {
            let is_same = path
                .strip_suffix(other)
                .is_some_and(|rest| rest.ends_with('/'));
            let is_relative = !other.starts_with(['/', '~', '$']);
            if is_same && is_relative && facts.shipped(other).is_none() {
                found.push((*at, *to, Carries::All));
                found.push((*to, *at, Carries::All));
            }
        }
    }
    found
}

/// Whether a folder holds what has nothing to do with each other.
fn is_shared(folder: &str) -> bool {
    matches!(
        folder,
        "" | "~" | "/tmp" | "/var/tmp" | "/usr/local/bin" | "." | "~/.local/bin"
    )
}
