//! The records of a deployed goal: numbered from 0, stored in pages, each with the one before. None is ever changed or removed.

use wf_app::goals::{DeployedRecord, StartedRun};
use wf_base::name::RunId;
use wf_core::goal::GoalFact;

use crate::{
    files::objects::{ObjectError, Objects},
    messages::{
        goal_order::{GoalNews, RecordChain, RecordPage, StoredRecord},
        order::RunSpec,
    },
};

/// The number of records stored together.
const PAGE_RECORDS: usize = 128;

/// A growing chain of records.
pub(crate) struct GoalLog {
    stored_chain: RecordChain,
    unstored_records: Vec<StoredRecord>,
    objects: Objects,
}

impl GoalLog {
    /// Goes on after the stored part.
    pub(crate) fn new(stored_chain: RecordChain, objects: Objects) -> Self {
        Self { stored_chain, unstored_records: Vec::new(), objects }
    }

    pub(crate) fn add(&mut self, records: Vec<StoredRecord>) -> Result<(), ObjectError> {
        self.unstored_records.extend(records);
        if self.unstored_records.len() >= PAGE_RECORDS { self.seal().map(drop) } else { Ok(()) }
    }

    /// Stores the rest as a page, and returns all of it.
    pub(crate) fn seal(&mut self) -> Result<RecordChain, ObjectError> {
        if !self.unstored_records.is_empty() {
            let records = std::mem::take(&mut self.unstored_records);
            let count = self.stored_chain.count + records.len() as u64;
            let page = RecordPage { before: self.stored_chain, records };
            self.stored_chain = RecordChain { last: Some(self.objects.put_json_now(&page)?), count };
        }
        Ok(self.stored_chain)
    }

    /// Returns the records as far as they are stored, and the others.
    pub(crate) fn news(&self) -> GoalNews {
        GoalNews { stored: self.stored_chain, rest: self.unstored_records.clone() }
    }
}

/// Returns the records after a number of them, at most as many as asked for.
pub(crate) async fn records_since(
    objects: &Objects,
    news: GoalNews,
    after: u64,
    most: usize,
) -> Result<Vec<StoredRecord>, ObjectError> {
    let end = after.saturating_add(most as u64);
    let (mut next, mut pages) = (news.stored, vec![news.rest]);
    while let Some(digest) = next.last
        && next.count > after
    {
        let page: RecordPage = objects.get_json(&digest).await?;
        next = page.before;
        if next.count < end {
            pages.push(page.records);
        } else {
            // What follows it is not asked for either.
            pages.clear();
        }
    }
    let count = usize::try_from(after.saturating_sub(next.count)).unwrap_or(usize::MAX);
    Ok(pages.into_iter().rev().flatten().skip(count).take(most).collect())
}

/// Adds to a record the run it says was started.
pub(crate) async fn with_run(objects: &Objects, stored: StoredRecord) -> Result<DeployedRecord, ObjectError> {
    let StoredRecord { record, spec } = stored;
    let started = match (run_of(&record.fact), spec) {
        (Some(run), Some(digest)) => {
            let RunSpec { path, sources, params, approved, config, opening, .. } =
                objects.get_json(&digest).await?;
            let at = opening.first().map_or(record.at, |event| event.at);
            let run = run.clone();
            approved.map(|approved| Box::new(StartedRun { run, path, sources, params, approved, config, at }))
        }
        _ => None,
    };
    Ok(DeployedRecord { record, started })
}

/// Returns the run a fact reports as started.
pub(crate) fn run_of(fact: &GoalFact) -> Option<&RunId> {
    match fact {
        GoalFact::Started { run, .. } | GoalFact::RepairStarted { run, .. } => Some(run),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wf_base::time::Moment;
    use wf_core::goal::GoalRecord;

    fn record(number: i64) -> StoredRecord {
        let record = GoalRecord { at: Moment::from_millis(number), fact: GoalFact::Resumed };
        StoredRecord { record, spec: None }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn records_are_read_on_from_any_number_and_stay_when_the_log_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let objects = Objects::open(&format!("file://{}", folder.path().display())).unwrap();
        let mut log = GoalLog::new(RecordChain::default(), objects.clone());
        log.add((0..130).map(record).collect()).unwrap();
        log.add((130..300).map(record).collect()).unwrap();
        let mut log = GoalLog::new(log.seal().unwrap(), objects.clone());
        log.add((300..310).map(record).collect()).unwrap();
        assert_eq!(log.news().rest.len(), 10);
        for after in [0, 1, 129, 130, 131, 299, 300, 301, 309, 310, 311] {
            for most in [1, 20, 200, 1000] {
                let read = records_since(&objects, log.news(), after, most).await.unwrap();
                let read: Vec<i64> = read.iter().map(|stored| stored.record.at.millis()).collect();
                let first = i64::try_from(after).unwrap();
                let expected: Vec<i64> = (first..310).take(most).collect();
                assert_eq!(read, expected, "{most} after {after}");
            }
        }
    }
}
