//! The recorded texts of runs, and the plans in them.

use std::sync::Arc;

use super::{LoadedPlan, collect_plan};
use crate::{CONFIG, CommandError, RunOptions};
use wf_base::{digest::Sha256Digest, name::RunId};
use wf_lang::InMemoryFiles;
use wf_model::Plan;
use wf_store::{StoreError, StoreReader};

/// The recorded texts of a run.
pub(super) struct RecordedFiles {
    pub(super) files: InMemoryFiles,
    /// The outermost run that it is part of.
    pub(super) top: RunId,
}

impl RecordedFiles {
    /// Reads them. A nested run has its text from the run that it is part of, unless that made it.
    pub(super) fn of(reader: &StoreReader, run: &RunId) -> Result<Self, StoreError> {
        let (mut files, mut top) = (memory_files(reader.sources().of_run(run)?), run.clone());
        while let Some((above, _)) = reader.runs().get(&top)?.parent {
            top = above;
            for (path, text) in memory_files(reader.sources().of_run(&top)?).0 {
                files.0.entry(path).or_insert(text);
            }
        }
        Ok(Self { files, top })
    }
}

pub(super) fn memory_files(texts: Vec<(String, String)>) -> InMemoryFiles {
    let files = texts.into_iter();
    InMemoryFiles(files.map(|(path, text)| (path, text.into_bytes())).collect())
}

/// The deciding inputs of the recorded plan of a run.
pub(super) struct RecordedPlanSource {
    files: InMemoryFiles,
    path: String,
    options: RunOptions,
}

impl RecordedPlanSource {
    /// Reads it; `None` if the run was deleted.
    pub(super) fn read(reader: &StoreReader, run: &RunId) -> Result<Option<Self>, CommandError> {
        let path = match reader.runs().get(run) {
            Ok(row) => row.path,
            Err(StoreError::UnknownRun(_)) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let RecordedFiles { files, top } = RecordedFiles::of(reader, run)?;
        Ok(Some(Self { files, path, options: RunOptions::recorded(&reader.runs().config(&top)?) }))
    }

    /// Returns a digest that is another one where anything of it is.
    pub(super) fn digest(&self) -> Sha256Digest {
        let RunOptions { jobs, strict, part, .. } = self.options;
        let options = format!("{jobs:?} {strict} {part:?}");
        let files = self.files.0.iter().flat_map(|(path, text)| [path.as_bytes(), text]);
        Sha256Digest::of_parts([self.path.as_bytes(), options.as_bytes()].into_iter().chain(files))
    }

    /// Returns the size of its texts, in bytes.
    pub(super) fn size(&self) -> usize {
        self.files.0.values().map(Vec::len).sum()
    }

    /// Makes the plan; `None` if it is not a valid one.
    pub(super) fn plan(&self) -> Option<Arc<Plan>> {
        collect_plan(&self.files, &self.path, self.options)
    }
}

/// The recorded plan of a run, or nothing if it is not a valid plan any more: it was
/// recorded by another version, or deleted. Prints no diagnostics.
pub fn recorded_plan_if_valid(reader: &StoreReader, run: &RunId) -> Result<Option<Arc<Plan>>, CommandError> {
    Ok(RecordedPlanSource::read(reader, run)?.and_then(|source| source.plan()))
}

/// The same, for a comparison with the plan as it is now: if that is made of the same texts in the
/// same way, it is the very same plan, and nothing is read and checked twice.
pub fn recorded_plan_or_current(
    reader: &StoreReader,
    run: &RunId,
    current_plan: &LoadedPlan,
) -> Result<Option<Arc<Plan>>, CommandError> {
    let path = match reader.runs().get(run) {
        Ok(row) => row.path,
        Err(StoreError::UnknownRun(_)) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let options = RunOptions::recorded(&reader.runs().config(run)?);
    let is_same = path == current_plan.path
        && options.makes_same_plan(&current_plan.options)
        && is_made_of(&current_plan.sources, &reader.sources().of_run(run)?);
    if is_same { Ok(Some(Arc::clone(&current_plan.plan))) } else { recorded_plan_if_valid(reader, run) }
}

/// True if the recorded texts of a run are those of a plan. The approval is also
/// recorded, which makes no difference to it; a configuration would.
fn is_made_of(sources: &[(String, String)], texts: &[(String, String)]) -> bool {
    let rest = texts.strip_prefix(sources);
    rest.is_some_and(|rest| rest.iter().all(|(path, _)| path != CONFIG))
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::{RecordedPlanSource, is_made_of};
    use crate::{CONFIG, RunOptions};
    use wf_core::goal::ReconciliationPart;
    use wf_lang::InMemoryFiles;

    #[test]
    fn whatever_decides_a_plan_decides_its_digest() {
        let source = |files: &[(&str, &str)], path: &str, options| RecordedPlanSource {
            files: InMemoryFiles(
                files
                    .iter()
                    .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()))
                    .collect::<BTreeMap<_, _>>(),
            ),
            path: path.to_owned(),
            options,
        };
        let plain = RunOptions::default();
        let sources = [
            source(&[("plan.md", "a"), ("b.md", "c")], "plan.md", plain),
            source(&[("plan.md", "b"), ("b.md", "c")], "plan.md", plain),
            source(&[("plan.md", "a"), ("b.md", "")], "plan.md", plain),
            source(&[("plan.md", "a"), ("b.m", "dc")], "plan.md", plain),
            source(&[("plan.md", "a")], "plan.md", plain),
            source(&[("plan.md", "a"), ("b.md", "c")], "b.md", plain),
            source(&[("plan.md", "a"), ("b.md", "c")], "plan.md", RunOptions { strict: true, ..plain }),
            source(&[("plan.md", "a"), ("b.md", "c")], "plan.md", RunOptions { jobs: Some(1), ..plain }),
            source(&[("plan.md", "a"), ("b.md", "c")], "plan.md", plain.of_goal(ReconciliationPart::Look)),
            source(&[("plan.md", "a"), ("b.md", "c")], "plan.md", plain.of_goal(ReconciliationPart::Repair)),
        ];
        let digests: BTreeSet<_> = sources.iter().map(RecordedPlanSource::digest).collect();
        assert_eq!(digests.len(), sources.len());
        let same = source(&[("b.md", "c"), ("plan.md", "a")], "plan.md", plain);
        assert_eq!(same.digest(), sources[0].digest());
        assert_eq!((same.size(), sources[1].size(), sources[2].size()), (2, 2, 1));
    }

    #[test]
    fn what_is_made_of_the_same_texts_is_the_same() {
        let text = |path: &str, text: &str| (path.to_owned(), text.to_owned());
        let plan = || text("plan.md", "a");
        let sources = [plan(), text("gates/g.md", "g")];
        let with = |more: &[(String, String)]| [&sources[..], more].concat();
        assert!(is_made_of(&sources, &sources));
        assert!(is_made_of(&sources, &with(&[text("plan.approval.json", "t")])));
        // A configuration that was removed, or added since.
        assert!(!is_made_of(&sources, &with(&[text(CONFIG, "")])));
        assert!(!is_made_of(&with(&[text(CONFIG, "")]), &sources));
        assert!(!is_made_of(&sources, &[plan()]));
        assert!(!is_made_of(&[plan()], &[text("plan.md", "b")]));
    }
}
