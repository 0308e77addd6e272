use std::collections::{BTreeMap, BTreeSet};

use super::{
    facts::{FlowFacts, ValuePlaceIx},
    place::{FlowLabel, ValuePlace},
};

/// The maximum number of labels of a place.
const MOST: usize = 200;

/// The labels a move carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CarriedLabels {
    All,
    /// From a folder into it: fetched content.
    Fetched,
    /// From a file to its folder: secrets.
    Secrets,
}

/// The labels that reach each place.
#[derive(Debug, Default)]
pub(super) struct FlowSolution {
    labels: Vec<BTreeSet<FlowLabel>>,
}

impl FlowSolution {
    /// Returns the labels of a place.
    pub(super) fn labels_at(&self, place: ValuePlaceIx) -> impl Iterator<Item = &FlowLabel> {
        self.labels.get(place).into_iter().flatten()
    }

    /// Returns the addresses a place holds.
    pub(super) fn addresses(&self, place: ValuePlaceIx) -> Vec<&str> {
        let addresses = self.labels_at(place).filter_map(|label| match label {
            FlowLabel::Address(address) => Some(address.as_str()),
            _ => None,
        });
        addresses.collect()
    }

    /// Returns the paths a place holds.
    pub(super) fn paths(&self, place: ValuePlaceIx) -> Vec<String> {
        let paths = self.labels_at(place).filter_map(|label| match label {
            FlowLabel::Path(path) => Some(path.clone()),
            _ => None,
        });
        paths.collect()
    }
}

/// Carries every label along all moves. The files that are read and written are known only after
/// the paths have arrived, so everything is carried twice.
pub(super) fn solve(facts: &mut FlowFacts) -> FlowSolution {
    let first = carry(facts, &[]);
    let loads = facts.loads.clone();
    for (paths, into) in loads {
        for path in first.paths(paths) {
            let file = facts.file(&path);
            facts.moves(file, into);
        }
    }
    let stores = facts.stores.clone();
    for (paths, content) in stores {
        for path in first.paths(paths) {
            let file = facts.file(&path);
            facts.moves(content, file);
        }
    }
    let runs: Vec<ValuePlaceIx> = facts.run_events.iter().map(|run| run.place).collect();
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

fn carry(facts: &FlowFacts, near: &[(ValuePlaceIx, ValuePlaceIx, CarriedLabels)]) -> FlowSolution {
    let mut out: Vec<Vec<(ValuePlaceIx, CarriedLabels)>> = vec![Vec::new(); facts.places.len()];
    let moves = facts.moves.iter().map(|(from, to)| (*from, *to, CarriedLabels::All));
    for (from, to, carries) in moves.chain(near.iter().copied()) {
        if let Some(out) = out.get_mut(from) {
            out.push((to, carries));
        }
    }
    let mut labels: Vec<BTreeSet<FlowLabel>> = vec![BTreeSet::new(); facts.places.len()];
    let mut open: Vec<(ValuePlaceIx, FlowLabel)> = Vec::new();
    let mut add = |at: ValuePlaceIx, label: FlowLabel, open: &mut Vec<(ValuePlaceIx, FlowLabel)>| {
        let Some(flow_labels) = labels.get_mut(at) else {
            return;
        };
        if flow_labels.len() < MOST && flow_labels.insert(label.clone()) {
            open.push((at, label));
        }
    };
    for (label, at) in &facts.labels {
        add(*at, label.clone(), &mut open);
    }
    while let Some((at, label)) = open.pop() {
        for (to, carries) in out.get(at).into_iter().flatten() {
            let goes = match carries {
                CarriedLabels::All => true,
                CarriedLabels::Fetched => matches!(label, FlowLabel::Fetched(_)),
                CarriedLabels::Secrets => matches!(label, FlowLabel::Secret(_) | FlowLabel::Packed),
            };
            if goes {
                add(*to, label.clone(), &mut open);
            }
        }
    }
    FlowSolution { labels }
}

/// Returns the moves between files that are the same under two names, and between folders and their
/// content.
fn neighbours(facts: &FlowFacts) -> Vec<(ValuePlaceIx, ValuePlaceIx, CarriedLabels)> {
    let mut files: BTreeMap<&str, ValuePlaceIx> = BTreeMap::new();
    let mut named: BTreeMap<&str, Vec<(&str, ValuePlaceIx)>> = BTreeMap::new();
    for (at, place) in facts.places.iter().enumerate() {
        if let ValuePlace::File(path) = place {
            files.insert(path, at);
            let name = path.rsplit('/').next().unwrap_or_default();
            named.entry(name).or_default().push((path, at));
        }
    }
    let mut moves = Vec::new();
    for (path, at) in &files {
        for (cut, _) in path.match_indices('/') {
            let folder = path.get(..cut).unwrap_or_default();
            if let Some(folder) = files.get(folder).filter(|_| !is_shared(folder)) {
                moves.push((*folder, *at, CarriedLabels::Fetched));
                moves.push((*at, *folder, CarriedLabels::Secrets));
            }
        }
        let name = path.rsplit('/').next().unwrap_or_default();
        for (other, to) in named.get(name).into_iter().flatten().take(64) {
            let is_same = path.strip_suffix(other).is_some_and(|rest| rest.ends_with('/'));
            let is_relative = !other.starts_with(['/', '~', '$']);
            if is_same && is_relative && facts.shipped(other).is_none() {
                moves.push((*at, *to, CarriedLabels::All));
                moves.push((*to, *at, CarriedLabels::All));
            }
        }
    }
    moves
}

/// True if the contents of a folder are unrelated to each other.
fn is_shared(folder: &str) -> bool {
    matches!(folder, "" | "~" | "/tmp" | "/var/tmp" | "/usr/local/bin" | "." | "~/.local/bin")
}
