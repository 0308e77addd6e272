use std::collections::BTreeSet;

use crate::records::record::{AuditRecord, BEGINNING, LineFault};
use wf_base::digest::Sha256Digest;

/// The maximum number of faults reported; any more are mostly consequences.
const TOLD: usize = 20;

/// Follows the records of a log, line by line, and finds manipulations.
///
/// Any single line changed, dropped, inserted or moved is found. Lines missing from the very end are not,
/// because nothing follows them: the mark, the database and checkpoints reveal those.
#[derive(Debug)]
pub struct AuditChainVerifier {
    line: u64,
    expected: u64,
    /// The hash the next record is bound to; `None` after an unreadable line.
    prev: Option<Sha256Digest>,
    /// The numbers skipped.
    missing: BTreeSet<u64>,
    faults: Vec<LogFault>,
}

/// A fault of the audit log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogFault {
    /// A line differs from what was written.
    #[error("line {line} of the audit log {fault}")]
    Line { line: u64, fault: LineFault },
    /// Records are gone.
    #[error("{} missing: dropped", records(*from, *to))]
    Dropped {
        /// The first.
        from: u64,
        /// The last.
        to: u64,
    },
    /// A record was moved.
    #[error("record {n} of the audit log is in line {line}, after later ones: reordered")]
    Moved {
        /// The number of the record.
        n: u64,
        line: u64,
    },
    /// A record is there twice.
    #[error("record {n} of the audit log is duplicated in line {line}: inserted")]
    Inserted {
        /// Its number.
        n: u64,
        line: u64,
    },
    /// A record does not follow the one before it.
    #[error("record {n} of the audit log (line {line}) does not follow the previous one")]
    Unlinked {
        /// The number of the record.
        n: u64,
        line: u64,
    },
}

fn records(from: u64, to: u64) -> String {
    if from == to {
        format!("record {from} of the audit log is")
    } else {
        format!("records {from} to {to} of the audit log are")
    }
}

impl Default for AuditChainVerifier {
    fn default() -> Self {
        Self {
            line: 0,
            expected: 1,
            prev: Some(BEGINNING.into()),
            missing: BTreeSet::new(),
            faults: Vec::new(),
        }
    }
}

impl AuditChainVerifier {
    /// Starts behind a record, which is not read.
    pub(crate) fn after(n: u64, hash: Sha256Digest) -> Self {
        Self { expected: n + 1, prev: Some(hash), ..Self::default() }
    }

    /// True if there is no fault so far.
    pub(crate) fn is_whole(&self) -> bool {
        self.faults.is_empty() && self.missing.is_empty()
    }

    /// Takes the next line; returns its record, if it is one.
    pub fn line(&mut self, text: &str) -> Option<AuditRecord> {
        self.line += 1;
        let line = self.line;
        match AuditRecord::parse(text) {
            Ok(record) => {
                self.record(&record);
                Some(record)
            }
            Err(fault) => {
                self.fault(LogFault::Line { line, fault });
                self.expected += 1;
                self.prev = None;
                None
            }
        }
    }

    fn record(&mut self, record: &AuditRecord) {
        let (n, line) = (record.n, self.line);
        if n < self.expected {
            let fault = if self.missing.remove(&n) {
                LogFault::Moved { n, line }
            } else {
                LogFault::Inserted { n, line }
            };
            return self.fault(fault);
        }
        if n > self.expected {
            // A number that is far too large does not mean a gap that could be listed.
            let first = self.expected.max(n.saturating_sub(1 << 20));
            self.missing.extend(first..n);
        } else if self.prev.is_some_and(|prev| prev != record.prev) {
            self.fault(LogFault::Unlinked { n, line });
        }
        self.expected = n.saturating_add(1);
        self.prev = Some(record.hash);
    }

    fn fault(&mut self, fault: LogFault) {
        if self.faults.len() < TOLD {
            self.faults.push(fault);
        }
    }

    /// Returns the faults, after the last line.
    pub fn end(mut self) -> Vec<LogFault> {
        let missing: Vec<u64> = self.missing.iter().copied().collect();
        for range in missing.chunk_by(|one, next| one + 1 == *next) {
            if let (Some(from), Some(to)) = (range.first(), range.last()) {
                let (from, to) = (*from, *to);
                self.fault(LogFault::Dropped { from, to });
            }
        }
        self.faults
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::record::{AuditEntry, AuditRecord, BEGINNING},
        AuditChainVerifier, LogFault,
    };
    use proptest::prelude::*;
    use wf_base::time::Moment;

    fn log(count: u64) -> Vec<String> {
        let mut prev = BEGINNING.into();
        (1..=count)
            .map(|n| {
                let about = serde_json::json!({ "attempt": n });
                let at = Moment::from_millis(i64::try_from(n).unwrap());
                let record: AuditRecord =
                    AuditEntry::new(at, "attempt_started").with_summary(&about).bind(n, prev);
                prev = record.hash;
                record.line()
            })
            .collect()
    }

    fn check<'a>(lines: impl IntoIterator<Item = &'a String>) -> Vec<LogFault> {
        let mut chain = AuditChainVerifier::default();
        for line in lines {
            chain.line(line);
        }
        chain.end()
    }

    #[test]
    fn what_was_done_is_named() {
        let whole = log(6);
        assert_eq!(check(&whole), []);
        let mut lines = whole.clone();
        lines.drain(2..4);
        assert_eq!(check(&lines), [LogFault::Dropped { from: 3, to: 4 }]);
        lines = whole.clone();
        lines.swap(1, 2);
        assert_eq!(check(&lines), [LogFault::Moved { n: 2, line: 3 }]);
        lines = whole.clone();
        lines.insert(4, whole[1].clone());
        assert_eq!(check(&lines), [LogFault::Inserted { n: 2, line: 5 }]);
        // Forged with a correct hash of its own.
        let third = AuditRecord::parse(&whole[2]).unwrap();
        let made = AuditEntry::new(Moment::default(), "run_ended").bind(3, third.prev);
        lines = whole.clone();
        lines[2] = made.line();
        assert_eq!(check(&lines), [LogFault::Unlinked { n: 4, line: 4 }]);
    }

    proptest! {
        #[test]
        fn any_changed_byte_is_found(at in 0usize..5, byte in 0usize..1000, to in 0u8..128) {
            let mut lines = log(5);
            let mut bytes = lines[at].clone().into_bytes();
            let byte = byte % bytes.len();
            prop_assume!(bytes[byte] != to && to != b'\n');
            bytes[byte] = to;
            lines[at] = String::from_utf8(bytes).unwrap();
            prop_assert_ne!(check(&lines), []);
        }

        #[test]
        fn any_line_that_is_dropped_doubled_or_moved_is_found(from in 0usize..6, to in 0usize..6) {
            let whole = log(6);
            let mut doubled = whole.clone();
            doubled.insert(to, whole[from].clone());
            prop_assert_ne!(check(&doubled), []);
            let mut moved = whole.clone();
            let line = moved.remove(from);
            if from < 5 {
                prop_assert_ne!(check(&moved), []);
            }
            moved.insert(to, line);
            prop_assert_eq!(check(&moved).is_empty(), from == to);
        }

        #[test]
        fn any_record_made_anew_is_found_by_the_next(at in 0usize..5, attempt in 10u64..20) {
            let mut lines = log(6);
            let record = AuditRecord::parse(&lines[at]).unwrap();
            let about = serde_json::json!({ "attempt": attempt });
            let made = AuditEntry::new(record.entry.at, "attempt_started").with_summary(&about);
            lines[at] = made.bind(record.n, record.prev).line();
            prop_assert_ne!(check(&lines), []);
        }

        #[test]
        fn any_text_can_be_looked_at(lines in prop::collection::vec(".*", 0..6)) {
            check(&lines);
        }
    }
}
