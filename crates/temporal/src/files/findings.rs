//! The findings of a host: the differences made by work in its copy of a workspace, and the files of runs, left by any
//! work. They are a chain of objects, each with the one before.
//!
//! Steps on one host share the files of its copy, so the files of one of them may be found at the end of another one, and
//! reports may arrive in another order than they were made.
//!
//! **Invariant:** a report brings all findings of its host up to its own, so its reader has the files of
//! its time.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use wf_base::digest::Sha256Digest;

use crate::files::{
    objects::{ObjectError, Objects},
    parcel::{Parcel, RunFile},
    tree::{PathChange, TreeChange, TreeEntry},
};

/// The news of a copy at a time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The object with the finding before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Sha256Digest>,
    /// Its number among those of the copy, from 1.
    pub number: u64,
    /// The number of the look that found it.
    pub look: u64,
    /// The differences in the workspace.
    #[serde(default, skip_serializing_if = "TreeChange::is_empty")]
    pub change: TreeChange,
    /// The files in the folders of runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<RunFile>,
}

/// The looks at a copy with files of some work as possible findings: those after the first, up to the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LookSpan {
    /// The number of looks before the work.
    pub first: u64,
    /// The number of the first look after it.
    pub last: u64,
}

/// The copy of a workspace where some work was done, and its findings.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FindingSource {
    /// The copy: no other one of any host has its name.
    pub copy: String,
    /// The looks at it with files of the work as possible findings.
    pub looks: LookSpan,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Parcel>,
}

/// The findings of a run so far, as far as they decide about the next ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingHistory {
    /// The last change of each path.
    paths: BTreeMap<String, LatestChange>,
    copies: BTreeMap<String, CopyHistory>,
}

/// The last change of a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct LatestChange {
    entry: Option<TreeEntry>,
    copy: String,
}

/// The accepted findings of a copy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct CopyHistory {
    /// The number of the last one.
    accepted: u64,
    conflicts: Vec<FileConflict>,
}

/// A file that two hosts changed at the same time, each to something else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FileConflict {
    look: u64,
    path: String,
    /// True if an attempt failed for it.
    is_settled: bool,
}

/// A finding, as every host has to know it.
#[derive(Debug, PartialEq, Eq)]
pub struct AcceptedFinding {
    /// The change that counts.
    pub change: TreeChange,
    /// The change making good again what came too late.
    pub reversal: TreeChange,
    /// The files in the folders of runs.
    pub files: Vec<RunFile>,
}

impl FindingHistory {
    /// Returns the findings up to one of a copy that have not been accepted yet, in order.
    pub fn lacking(
        &self,
        copy: &str,
        last: Option<Parcel>,
        objects: &Objects,
    ) -> Result<Vec<Finding>, ObjectError> {
        let accepted = self.copies.get(copy).map_or(0, |copy| copy.accepted);
        let (mut lacking, mut next) = (Vec::new(), last);
        while let Some(parcel) = next {
            let finding: Finding = parcel.open_now(objects)?;
            if finding.number <= accepted {
                break;
            }
            next = finding.before.map(Parcel::Object);
            lacking.push(finding);
        }
        lacking.reverse();
        Ok(lacking)
    }

    /// Accepts the next finding of a copy. A file another host has meanwhile made something else stays as that host
    /// made it.
    pub fn accept(&mut self, copy: &str, finding: Finding) -> AcceptedFinding {
        let Finding { number, look, change, files, .. } = finding;
        let history = self.copies.entry(copy.to_owned()).or_default();
        history.accepted = number;
        let (mut accepted, mut reversal) = (TreeChange::default(), TreeChange::default());
        for (path, change) in change.0 {
            match self.paths.get(&path) {
                Some(latest)
                    if latest.copy != copy
                        && latest.entry != change.before
                        && latest.entry != change.after =>
                {
                    let back = PathChange { before: change.after, after: latest.entry.clone() };
                    history.conflicts.push(FileConflict { look, path: path.clone(), is_settled: false });
                    reversal.0.insert(path, back);
                }
                _ => {
                    let latest = LatestChange { entry: change.after.clone(), copy: copy.to_owned() };
                    self.paths.insert(path.clone(), latest);
                    accepted.0.insert(path, change);
                }
            }
        }
        AcceptedFinding { change: accepted, reversal, files }
    }

    /// Returns a file in conflict: an attempt, now over, may have changed it at the same time as another host, and the
    /// change of the host stayed. The step is not known, so all steps count whose end was just before the look, and if
    /// there was none, the first of those under way.
    pub fn conflict(&mut self, copy: &str, looks: LookSpan) -> Option<&str> {
        let conflicts = self.copies.get_mut(copy)?.conflicts.iter_mut();
        let its = conflicts.filter(|conflict| {
            let is_in_span = looks.first < conflict.look && conflict.look <= looks.last;
            is_in_span && (conflict.look == looks.last || !conflict.is_settled)
        });
        let mut path = None;
        for conflict in its {
            conflict.is_settled = true;
            path = Some(conflict.path.as_str());
        }
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(content: &str) -> TreeEntry {
        TreeEntry::File { digest: Sha256Digest::of_bytes(content.as_bytes()), mode: 0o644 }
    }

    fn change<'a>(
        path: &str,
        before: impl Into<Option<&'a str>>,
        after: impl Into<Option<&'a str>>,
    ) -> TreeChange {
        let (before, after) = (before.into().map(file), after.into().map(file));
        TreeChange(BTreeMap::from([(path.to_owned(), PathChange { before, after })]))
    }

    /// A finding whose number is that of its look.
    fn finding(number: u64, change: TreeChange) -> Finding {
        Finding { number, look: number, change, ..Finding::default() }
    }

    fn counts(history: &mut FindingHistory, copy: &str, number: u64, next: TreeChange) {
        let accepted = history.accept(copy, finding(number, next.clone()));
        let expected = AcceptedFinding { change: next, reversal: TreeChange::default(), files: Vec::new() };
        assert_eq!(accepted, expected);
    }

    fn span(first: u64, last: u64) -> LookSpan {
        LookSpan { first, last }
    }

    #[test]
    fn changes_in_turn_are_accepted() {
        let mut history = FindingHistory::default();
        counts(&mut history, "one", 1, change("f", "a", "b"));
        counts(&mut history, "two", 1, change("f", "b", "c"));
        counts(&mut history, "one", 2, change("f", "c", None));
        assert_eq!(history.conflict("one", span(0, 2)), None);
    }

    #[test]
    fn the_same_change_of_two_hosts_is_one() {
        let mut history = FindingHistory::default();
        counts(&mut history, "one", 1, change("f", None, "a"));
        counts(&mut history, "two", 1, change("f", None, "a"));
    }

    #[test]
    fn of_two_hosts_at_the_same_time_the_later_one_changes_its_other_files_only() {
        let mut history = FindingHistory::default();
        counts(&mut history, "one", 1, change("f", "a", "b"));
        let mut later = change("f", "a", "c");
        later.0.extend(change("g", None, "new").0);
        let AcceptedFinding { change: accepted, reversal, .. } = history.accept("two", finding(7, later));
        assert_eq!((accepted, reversal), (change("g", None, "new"), change("f", "c", "b")));
        // What ended before or began later does not count.
        for looks in [span(0, 6), span(7, 9)] {
            assert_eq!(history.conflict("two", looks), None);
        }
        // What ended just before does, and what went on does not, since another one does.
        for looks in [span(0, 7), span(6, 7)] {
            assert_eq!(history.conflict("two", looks), Some("f"));
        }
        assert_eq!(history.conflict("two", span(6, 9)), None);
        assert_eq!(history.conflict("one", span(0, 9)), None);
        // The run goes on from what was accepted.
        counts(&mut history, "one", 2, change("f", "b", "d"));
    }

    #[test]
    fn of_steps_that_went_on_one_fails_if_none_had_ended() {
        let mut history = FindingHistory::default();
        counts(&mut history, "one", 1, change("f", "a", "b"));
        history.accept("two", finding(3, change("f", "a", "c")));
        assert_eq!(history.conflict("two", span(0, 5)), Some("f"));
        assert_eq!(history.conflict("two", span(0, 6)), None);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_report_brings_what_earlier_ones_have_not_brought_and_nothing_twice() {
        let folder = tempfile::tempdir().unwrap();
        let objects = Objects::open(&format!("file://{}", folder.path().display())).unwrap();
        let first = finding(1, change("f", None, "a"));
        let before = Some(objects.put_json(&first).await.unwrap());
        let second = Finding { before, ..finding(2, change("f", "a", "b")) };
        let last = Some(Parcel::pack(&second, &objects).await.unwrap());
        let mut history = FindingHistory::default();
        let lacking = |history: &FindingHistory, last| history.lacking("one", last, &objects).unwrap();
        assert_eq!(lacking(&history, last.clone()), [first.clone(), second.clone()]);
        for finding in [first.clone(), second] {
            history.accept("one", finding);
        }
        // Another host has changed the file further, and reports that were overtaken arrive after all.
        counts(&mut history, "two", 1, change("f", "b", "c"));
        assert_eq!(lacking(&history, last), []);
        let late = Some(Parcel::pack(&first, &objects).await.unwrap());
        assert_eq!(lacking(&history, late), []);
        assert_eq!(lacking(&history, None), []);
    }
}
