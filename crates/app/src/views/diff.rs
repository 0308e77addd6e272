use std::sync::Arc;

use crate::{
    CommandError,
    specs::load,
    state::{reader::StateReader, record::load_record},
};
use wf_base::name::RunId;
use wf_model::Plan;
use wf_report::{
    record::RunRecord,
    run_diff::{RunDiff, RunSubject, run_diff},
};
use wf_store::StoreReader;

/// A run as it is read for a comparison.
struct RecordedSubject {
    record: RunRecord,
    plan: Option<Arc<Plan>>,
    texts: Vec<(String, String)>,
}

impl RecordedSubject {
    fn read(reader: &StoreReader, run: &RunId) -> Result<Self, CommandError> {
        let mut texts = reader.sources().of_run(run)?;
        // A signature is another one each time; who signed, and what, is a part of the record.
        texts.retain(|(path, _)| !path.ends_with(".approval.json"));
        let plan = load::recorded_plan_if_valid(reader, run)?;
        Ok(Self { record: load_record(reader, run)?, plan, texts })
    }

    fn subject(&self) -> RunSubject<'_> {
        RunSubject { record: &self.record, plan: self.plan.as_deref(), texts: &self.texts }
    }
}

/// Returns the run of the same plan recorded before a run; `None` if it is the first.
pub fn run_before(reader: &StateReader, run: &RunId) -> Result<Option<RunId>, CommandError> {
    Ok(reader.store().runs().before(run)?)
}

/// Returns the differences between two recorded runs.
pub fn run_diff_of(reader: &StateReader, before: &RunId, after: &RunId) -> Result<RunDiff, CommandError> {
    let before = RecordedSubject::read(reader.store(), before)?;
    let after = RecordedSubject::read(reader.store(), after)?;
    Ok(run_diff(before.subject(), after.subject()))
}
