//! The log of a run and of those nested in it: one order of events, stored in pages, each with the one before.

use wf_base::{digest::Sha256Digest, name::RunId};
use wf_core::machine::{Event, EventKind};
use wf_engine::{NestedRun, StateAddition};

use crate::{
    files::{
        objects::{ObjectError, Objects},
        parcel::{Parcel, RunFile},
    },
    messages::order::{LogEntry, LogPage, LogRef, RunNews, UnstoredLog},
};

/// The number of events stored together, at most.
const PAGE_EVENTS: usize = 256;

/// A growing log.
pub(crate) struct FamilyLog {
    stored_log: LogRef,
    /// The log as far as all work relies on it. What only some work needs is not copied to every host.
    basis_log: LogRef,
    unstored_log: UnstoredLog,
    objects: Objects,
}

impl FamilyLog {
    /// Goes on after the stored part.
    pub(crate) fn new(stored_log: LogRef, objects: Objects) -> Self {
        Self { stored_log, basis_log: stored_log, unstored_log: UnstoredLog::default(), objects }
    }

    /// Adds events.
    pub(crate) fn add(&mut self, entries: impl IntoIterator<Item = LogEntry>) -> Result<(), ObjectError> {
        self.unstored_log.entries.extend(entries);
        if self.unstored_log.entries.len() >= PAGE_EVENTS { self.seal().map(drop) } else { Ok(()) }
    }

    /// Adds files of runs, in the place of earlier ones.
    pub(crate) fn note_files(&mut self, files: Vec<RunFile>) {
        for file in files {
            self.unstored_log.files.retain(|noted_file| noted_file.path != file.path);
            self.unstored_log.files.push(file);
        }
    }

    /// Adds additions to the state, which come before the events following from them.
    pub(crate) fn note_additions(&mut self, additions: Vec<StateAddition>) {
        self.unstored_log.additions.extend(additions);
    }

    /// Stores the rest as a page, and returns all of it.
    pub(crate) fn seal(&mut self) -> Result<LogRef, ObjectError> {
        let UnstoredLog { entries, files, additions } = std::mem::take(&mut self.unstored_log);
        if !entries.is_empty() || !files.is_empty() || !additions.is_empty() {
            let count = self.stored_log.count + entries.len() as u64;
            let page = LogPage { before: self.stored_log, entries, files, additions };
            self.stored_log = LogRef { last: Some(self.objects.put_json_now(&page)?), count };
        }
        Ok(self.stored_log)
    }

    /// Stores the rest, and lets all work rely on it.
    pub(crate) fn make_basis(&mut self) -> Result<(), ObjectError> {
        self.basis_log = self.seal()?;
        Ok(())
    }

    /// Returns the log as far as all work relies on it.
    pub(crate) fn basis(&self) -> LogRef {
        self.basis_log
    }

    /// Returns the log as far as it is stored.
    pub(crate) fn stored(&self) -> LogRef {
        self.stored_log
    }

    pub(crate) fn rest(&self) -> Result<Parcel, ObjectError> {
        Parcel::pack_now(&self.unstored_log, &self.objects)
    }
}

/// Returns the events of a log after a number of them, and the files that came with them.
pub(crate) async fn log_since(
    objects: &Objects,
    log: LogRef,
    count: u64,
) -> Result<UnstoredLog, ObjectError> {
    let mut pages = Vec::new();
    let mut next = log;
    while let Some(digest) = next.last
        && next.count > count
    {
        let page: LogPage = objects.get_json(&digest).await?;
        next = page.before;
        pages.push(page);
    }
    let skip = usize::try_from(count.saturating_sub(next.count)).unwrap_or(usize::MAX);
    let mut since = UnstoredLog::default();
    for page in pages.into_iter().rev() {
        since.entries.extend(page.entries);
        since.files.extend(page.files);
    }
    since.entries.drain(..skip.min(since.entries.len()));
    Ok(since)
}

/// Returns the pages of a log after what is known of it, in order. A log ending before that has none; what is known may
/// end with some of them if they have no event.
pub(crate) async fn pages_since(
    objects: &Objects,
    log: LogRef,
    known_log: LogRef,
) -> Result<Vec<LogPage>, ObjectError> {
    let (mut pages, mut next) = (Vec::new(), log);
    while let Some(digest) = next.last
        && next.last != known_log.last
        && next.count >= known_log.count
    {
        let page: LogPage = objects.get_json(&digest).await?;
        next = page.before;
        pages.push(page);
    }
    pages.reverse();
    Ok(pages)
}

/// Returns the log of some news after a number of events.
pub(crate) async fn news_since(
    objects: &Objects,
    news: &RunNews,
    count: u64,
) -> Result<UnstoredLog, ObjectError> {
    let mut since = log_since(objects, news.log, count).await?;
    let unstored_log: UnstoredLog = news.rest.clone().open(objects).await?;
    let skip = usize::try_from(count.saturating_sub(news.log.count)).unwrap_or(usize::MAX);
    since.entries.extend(unstored_log.entries.into_iter().skip(skip));
    since.files.extend(unstored_log.files);
    Ok(since)
}

/// Returns the stored files an event names.
pub(crate) fn event_files(kind: &EventKind) -> Vec<Sha256Digest> {
    let files = match kind {
        EventKind::AttemptEnded { artifacts, .. } => artifacts,
        EventKind::EvidenceTaken { files, .. } => files,
        EventKind::CacheHit { found, .. } => &found.artifacts,
        _ => return Vec::new(),
    };
    files.iter().filter(|file| !file.is_product()).map(|file| file.digest).collect()
}

/// Events of one run following each other in a log.
pub(crate) struct RunStory {
    pub(crate) run: RunId,
    /// The nested run, with its first event.
    pub(crate) nested: Option<Box<NestedRun>>,
    pub(crate) events: Vec<Event>,
}

/// Returns the events of a log, those of one run together as far as they follow each other.
pub(crate) fn stories(entries: Vec<LogEntry>, outermost: &RunId) -> Vec<RunStory> {
    let mut stories: Vec<RunStory> = Vec::new();
    for LogEntry { run, nested, event } in entries {
        let run = run.unwrap_or_else(|| outermost.clone());
        match stories.last_mut() {
            Some(last) if last.run == run => last.events.push(event),
            _ => stories.push(RunStory { run, nested, events: vec![event] }),
        }
    }
    stories
}

#[cfg(test)]
mod tests {
    use super::*;
    use wf_base::time::Moment;
    use wf_core::machine::RunOutcome;

    /// Entries with numbers as their times, of the outermost run or of another one.
    fn entries(numbers: std::ops::Range<i64>, run: Option<&RunId>) -> Vec<LogEntry> {
        let fact = |number| EventKind::CancelRequested { reason: format!("{number}"), force: false };
        let event = |number| Event { at: Moment::from_millis(number), fact: fact(number) };
        numbers.map(|number| LogEntry { run: run.cloned(), nested: None, event: event(number) }).collect()
    }

    fn numbers(entries: &[LogEntry]) -> Vec<i64> {
        entries.iter().map(|entry| entry.event.at.millis()).collect()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_log_is_read_on_from_any_event() {
        let folder = tempfile::tempdir().unwrap();
        let objects = Objects::open(&format!("file://{}", folder.path().display())).unwrap();
        let mut log = FamilyLog::new(LogRef::default(), objects.clone());
        log.add(entries(0..300, None)).unwrap();
        log.add(entries(300..310, None)).unwrap();
        log.seal().unwrap();
        log.add(entries(310..315, None)).unwrap();
        let tree = crate::files::tree::TreeRef { base: Sha256Digest::of_bytes(b""), last: None };
        let (stored, rest) = (log.stored(), log.rest().unwrap());
        assert_eq!(stored.count, 310);
        let news = RunNews {
            log: stored,
            rest,
            tree,
            outcome: None::<RunOutcome>,
            is_keeping: false,
            only_waits_for_people: false,
            waits: Vec::new(),
        };
        for count in [0, 1, 299, 300, 301, 309, 310, 311, 315] {
            let since = news_since(&objects, &news, count).await.unwrap();
            let expected: Vec<i64> = (i64::try_from(count).unwrap()..315).collect();
            assert_eq!(numbers(&since.entries), expected, "after {count}");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_pages_after_what_is_known_come_once_whatever_they_have() {
        let folder = tempfile::tempdir().unwrap();
        let objects = Objects::open(&format!("file://{}", folder.path().display())).unwrap();
        let mut log = FamilyLog::new(LogRef::default(), objects.clone());
        let addition = || StateAddition::Recall { megrams: Vec::new(), at: Moment::default() };
        log.add(entries(0..3, None)).unwrap();
        let first = log.seal().unwrap();
        log.note_additions(vec![addition()]);
        let second = log.seal().unwrap();
        assert_eq!((first.count, second.count), (3, 3), "it has no event");
        log.note_additions(vec![addition(), addition()]);
        log.add(entries(3..5, None)).unwrap();
        let third = log.seal().unwrap();
        let shape = async |log, known| {
            let pages = pages_since(&objects, log, known).await.unwrap();
            pages.iter().map(|page| (page.entries.len(), page.additions.len())).collect::<Vec<_>>()
        };
        assert_eq!(shape(third, LogRef::default()).await, [(3, 0), (0, 1), (2, 2)]);
        assert_eq!(shape(third, first).await, [(0, 1), (2, 2)]);
        assert_eq!(shape(third, second).await, [(2, 2)]);
        assert_eq!(shape(third, third).await, []);
        assert_eq!(shape(first, third).await, [], "it is known");
    }

    #[test]
    fn the_events_of_one_run_that_follow_each_other_are_one_story() {
        let [outermost, nested] = [1, 2].map(|number| RunId::from_bytes([number; 16]));
        let log = [entries(0..2, None), entries(2..5, Some(&nested)), entries(5..6, None)].concat();
        let told = stories(log, &outermost);
        let told: Vec<_> = told.iter().map(|story| (story.run.clone(), story.events.len())).collect();
        assert_eq!(told, [(outermost.clone(), 2), (nested, 3), (outermost, 1)]);
    }
}
