//! The removal of the oldest files of the log, together with the history they are about.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{
    log::{
        audit_log::{AuditLog, FOLDER, LOG},
        read,
        read::list_closed_segments,
        segments::first_record,
    },
    records::{
        ledger::{SegmentHead, SegmentsPrunedBody},
        record::AuditEntry,
        words::SEGMENTS_PRUNED,
    },
    writer::desk,
};
use wf_base::{digest::Sha256Digest, failpoint, time::Moment};
use wf_store as store;
use wf_store::{
    BackupManifest, CarriedUses, RunRetention, StateFolder, StoreError, StoreReader,
    feed::{BusMessage, LogAnchor, WorkspaceAction},
    own_file,
};

/// The end of a closed segment, as the head of the next one has it.
#[derive(Clone, Debug)]
struct SegmentEnd {
    path: PathBuf,
    /// The number of its first record.
    first: u64,
    /// The number of its last record.
    last: u64,
    /// The hash of its last record.
    hash: Sha256Digest,
    at: Moment,
    /// The last event of the database in it.
    seq: u64,
}

/// Prunes the segments of the log older than the history kept, and records which. Nothing is pruned while a backup is made.
pub fn prune(state: &Path, retention: RunRetention, now: Moment) -> Result<(), StoreError> {
    let failed = |error| StoreError::io("prune the audit log in", &state.join(FOLDER), &error);
    let Some(_turn) = StateFolder::new(state).try_lock_pruning() else { return Ok(()) };
    let mut ends = list_ends(state).map_err(failed)?;
    if ends.is_empty() {
        return Ok(());
    }
    let oldest = StoreReader::open(state)?.log().first_kept_run()?;
    ends.truncate(count_prunable(&ends, oldest, retention.max_age.map(|age| subtract(now, age))));
    let (Some(first), Some(last)) = (ends.first(), ends.last()) else { return Ok(()) };
    let body = SegmentsPrunedBody { from: first.first, to: last.last, hash: last.hash };
    let mut log = AuditLog::open(state).map_err(failed)?;
    // Recorded first: what is gone without a record is missing.
    failpoint::point("audit.before");
    log.add(|turn| turn.add(AuditEntry::new(now, SEGMENTS_PRUNED).with_summary(&body))).map_err(failed)?;
    failpoint::point("audit.after");
    for end in &ends {
        failpoint::point("unlink.before");
        match fs::remove_file(&end.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => failpoint::point("unlink.after"),
        }
    }
    Ok(())
}

fn subtract(now: Moment, age: Duration) -> Moment {
    let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
    Moment::from_millis(now.millis().saturating_sub(age))
}

/// Returns the number of segments, from the oldest, that end before the first run that is kept began, and before a time.
fn count_prunable(segment_ends: &[SegmentEnd], oldest_run: Option<u64>, before: Option<Moment>) -> usize {
    let goes = |end: &&SegmentEnd| {
        oldest_run.is_none_or(|run| end.seq < run) && before.is_none_or(|before| end.at < before)
    };
    segment_ends.iter().take_while(goes).count()
}

/// Lists the ends of the closed segments, up to one the next one does not continue.
fn list_ends(state: &Path) -> io::Result<Vec<SegmentEnd>> {
    let path = read::path(state);
    let closed = list_closed_segments(&path)?;
    let next = closed.iter().skip(1).map(|segment| segment.path.as_path()).chain([path.as_path()]);
    let mut ends = Vec::new();
    for (segment, next) in closed.iter().zip(next) {
        let Some(record) = first_record(next)? else { break };
        let Some(head) = SegmentHead::of(&record.entry) else { break };
        ends.push(SegmentEnd {
            path: segment.path.clone(),
            first: segment.first,
            last: head.ledger.n,
            hash: record.prev,
            at: record.entry.at,
            seq: head.ledger.seq,
        });
    }
    Ok(ends)
}

/// Replaces the state with a backup, and records it. The audit log does not go back: the present
/// one continues; only if there is none, that of the backup does.
pub fn restore(from: &Path, state: &Path, replace: bool, now: Moment) -> Result<BackupManifest, StoreError> {
    store::restore(from, state, replace, now, &|fresh, manifest, carried| {
        let failed = |error| StoreError::io("keep the audit log of", state, &error);
        let (own, theirs) = (state.join(FOLDER), fresh.join(FOLDER));
        // The audit log may be behind the database: what a command without an auditor wrote is added by the next.
        if own.join(LOG).exists() {
            desk::catch_up(state)?;
            carry(&own, &theirs).map_err(failed)?;
        } else {
            desk::catch_up(fresh)?;
        }
        let end = LogAnchor { seq: manifest.events, hash: manifest.head };
        let made = manifest.created;
        desk::record(fresh, &BusMessage::act(now, WorkspaceAction::Restored { made, end }))?;
        let Some(CarriedUses { uses, position }) = carried else {
            return Ok(());
        };
        let db = LogAnchor { seq: position.seq, hash: position.hash };
        let uses = uses as u64;
        desk::record(fresh, &BusMessage::act(now, WorkspaceAction::UsesCarried { uses, db }))
    })
}

/// Copies the log and the files beside it, as of one instant.
fn carry(from: &Path, to: &Path) -> io::Result<()> {
    own_file(&from.join(LOG))?;
    let log = fs::File::open(from.join(LOG))?;
    log.lock_shared()?;
    match fs::remove_dir_all(to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => fs::create_dir_all(to)?,
    }
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{SegmentEnd, count_prunable};
    use wf_base::time::Moment;

    #[test]
    fn a_segment_goes_with_all_runs_that_it_is_about() {
        let end = |seq: u64, at: i64| SegmentEnd {
            path: "log".into(),
            first: 1,
            last: seq,
            hash: [0; 32].into(),
            at: Moment::from_millis(at),
            seq,
        };
        let ends = [end(10, 100), end(20, 200), end(30, 300)];
        let time = |at: i64| Some(Moment::from_millis(at));
        for (run, before, count) in [
            (Some(11), None, 1),
            (Some(10), None, 0),
            (Some(31), None, 3),
            (None, None, 3),
            (Some(31), time(250), 2),
            (Some(11), time(250), 1),
            (None, time(100), 0),
        ] {
            assert_eq!(count_prunable(&ends, run, before), count, "{run:?} {before:?}");
        }
    }
}
