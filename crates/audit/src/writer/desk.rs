use std::{io, path::Path, sync::Arc, time::Duration};

use crate::{
    log::audit_log::{AuditLog, FOLDER, LOG, LockedAuditLog},
    records::{
        record::AuditEntry,
        summary,
        summary::only_unpublished,
        words::{
            AUDITOR_DIED, AUDITOR_STARTED, AUDITOR_STOPPED, AuditorLifecycleBody, AuditorSession,
            DATABASE_ROLLED_BACK, DatabaseRolledBackBody, EVENTS_CONFIRMED, EventsConfirmedBody, LOG_CREATED,
            LogCreatedBody, MESSAGES_DROPPED, MessagesDroppedBody, REPORT,
        },
    },
    stats::{ReportTrigger, ReportWindow},
    writer::{
        auditor::{AuditorConfig, AuditorOutcome},
        fill::AuditBackfill,
    },
};
use wf_base::{failpoint, time::Clock};
use wf_store::{
    ProcessIdentity, ProcessLiveness, StoreError, StoreReader,
    feed::{BusDelivery, BusMessage, LogAnchor},
};

/// The part of the log read before anything is written, in bytes, so a report need not read it. Beyond that,
/// reading waits until a report is due.
const NEAR: u64 = 16 * 1024;

/// The messages an auditor has heard and not yet written, and the state it needs to write them.
pub(crate) struct AuditWriter {
    clock: Arc<dyn Clock>,
    length: Duration,
    segment: u64,
    /// The session of this auditor: the number of the record by which it opened, and its process.
    session: AuditorSession,
    backfill: AuditBackfill,
    messages: Vec<BusMessage>,
    action_messages: Vec<BusMessage>,
    lost: u64,
    outcome: AuditorOutcome,
    /// True if dead auditors were looked for.
    has_settled: bool,
    /// True if the pending events have waited once for the events missing before them.
    has_waited: bool,
}

impl AuditWriter {
    /// Records the start of watching.
    pub(crate) fn open(config: &AuditorConfig, log: &mut AuditLog) -> io::Result<Self> {
        let process = ProcessIdentity::current();
        let mut me = AuditorSession { n: 0, process };
        let now = config.clock.now();
        let begun = (log.ledger().n == 0).then(|| initial_body(&config.state));
        log.add(|turn| {
            if turn.unread_bytes() <= NEAR {
                // If that fails, the report will fail too.
                let _ = turn.window();
            }
            if turn.ledger().n == 0 {
                turn.add(
                    AuditEntry::new(now, LOG_CREATED)
                        .with_summary(&begun.unwrap_or(LogCreatedBody { end: None })),
                );
            }
            me.n = turn.ledger().n + 1;
            let mut open = turn.ledger().open.clone();
            open.push(me.clone());
            turn.add(
                AuditEntry::new(now, AUDITOR_STARTED).with_summary(&lifecycle_body(turn, &me, me.n, open)),
            );
        })?;
        Ok(Self {
            clock: Arc::clone(&config.clock),
            length: config.window,
            segment: config.segment,
            backfill: AuditBackfill::new(config.state.clone(), me.n),
            session: me,
            messages: Vec::new(),
            action_messages: Vec::new(),
            lost: 0,
            outcome: AuditorOutcome::default(),
            has_settled: false,
            has_waited: false,
        })
    }

    /// Takes messages.
    pub(super) fn receive(&mut self, delivery: Vec<BusDelivery>) {
        for one in delivery {
            match one {
                BusDelivery::Message(message) if message.anchor().is_some() => self.messages.push(*message),
                BusDelivery::Message(message) => self.action_messages.push(*message),
                BusDelivery::Lost(count) => self.lost += count,
            }
        }
        self.messages.sort_by_key(BusMessage::anchor);
    }

    /// Opens the reader needed at the end: while the store is open, that is cheap, and no caller waits for
    /// it.
    pub(super) fn prepare_reader(&mut self) {
        self.backfill.open_reader();
    }

    /// True if events wait for others missing before them.
    pub(super) fn is_waiting_for_gap(&self) -> bool {
        self.has_waited
    }

    /// Writes the messages. Events behind a gap wait once: another process may fill it.
    pub(crate) fn write(&mut self, log: &mut AuditLog) {
        let force = std::mem::take(&mut self.has_waited);
        let written = self.try_write(log, |desk, turn| desk.add_messages(turn, force));
        self.record_write_error(written);
        if log.may_span(self.length) {
            let length = self.length;
            let written = log.add(|turn| {
                self.report(turn, ReportTrigger::Periodic, |window| window.is_over(length));
            });
            self.record_write_error(written);
        }
    }

    /// Tries to write. If that fails, on a full disk for example, the messages are lost: they are
    /// read from the database, and the log records the reason once it can be written again.
    fn try_write(
        &mut self,
        log: &mut AuditLog,
        write: impl FnOnce(&mut Self, &mut LockedAuditLog<'_>),
    ) -> io::Result<()> {
        let heard = |desk: &Self| (desk.messages.len() + desk.action_messages.len()) as u64;
        let (had, lost, told) = (heard(self), self.lost, self.outcome.lost);
        let written = log.add(|turn| write(self, turn));
        if written.is_err() {
            self.lost = lost + had.saturating_sub(heard(self));
            self.outcome.lost = told;
        }
        written
    }

    /// Writes the rest, a report on it, and the end. If not all messages could be written, the end is
    /// not recorded: the next auditor finds this one dead, and reads the missing events.
    pub(super) fn close(mut self, log: &mut AuditLog) -> AuditorOutcome {
        let written = self.try_write(log, |desk, turn| {
            desk.add_messages(turn, true);
            desk.settle_dead_auditors(turn, None);
        });
        let failed = written.is_err();
        self.record_write_error(written);
        if failed {
            return self.outcome;
        }
        failpoint::point("audit.before");
        let now = self.clock.now();
        let written = log.add(|turn| {
            self.report(turn, ReportTrigger::End, ReportWindow::is_reportable);
            let mut open = turn.ledger().open.clone();
            open.retain(|session| session.n != self.session.n);
            let mut shift = lifecycle_body(turn, &self.session, self.session.n, open);
            shift.lost = self.outcome.lost;
            turn.add(AuditEntry::new(now, AUDITOR_STOPPED).with_summary(&shift));
        });
        failpoint::point("audit.after");
        self.record_write_error(written);
        self.outcome
    }

    /// Adds a report, if the window is due for one.
    fn report(
        &mut self,
        log: &mut LockedAuditLog<'_>,
        trigger: ReportTrigger,
        due: impl Fn(&ReportWindow) -> bool,
    ) {
        match log.window() {
            Ok(window) if due(window) => {
                let (report, now) = (window.report(trigger, Some(self.session.n)), self.clock.now());
                // A report begins a segment, since the next one needs it. Where no segment can be started, on a file
                // system without links for example, the log goes on as it is.
                let _ = log.start_segment(self.segment, now);
                log.add(AuditEntry::new(now, REPORT).with_summary(&report));
            }
            Ok(_) => {}
            Err(error) => self.record_write_error(Err(error)),
        }
    }

    fn record_write_error(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            self.outcome.trouble = Some(error.to_string());
        }
    }

    fn add_messages(&mut self, log: &mut LockedAuditLog<'_>, force: bool) {
        if !self.has_settled {
            let first = self.messages.first().and_then(BusMessage::anchor);
            if let Some(first) = first {
                self.settle_dead_auditors(log, Some(first.seq));
            }
        }
        let mut confirmed = Vec::new();
        let mut events = std::mem::take(&mut self.messages).into_iter();
        while let Some(message) = events.next() {
            let Some(at) = message.anchor() else { continue };
            let reached = log.ledger().seq;
            if at.seq <= reached && log.ledger().unconfirmed.get(&at.seq) == Some(&at.hash) {
                confirmed.push(at.seq);
                continue;
            }
            if at.seq > reached + 1 && !force {
                self.has_waited = true;
                self.messages = std::iter::once(message).chain(events).collect();
                break;
            }
            self.extend_to(log, at);
            log.add(summary::of_message(&message));
        }
        self.add_other_records(log, confirmed);
    }

    /// Extends the log to just before an event: adds missing events, or records that the database
    /// went back.
    fn extend_to(&mut self, log: &mut LockedAuditLog<'_>, anchor: LogAnchor) {
        let from = log.ledger().seq;
        if anchor.seq > from {
            self.backfill.add_missing_events(log, Some(anchor.seq), false);
        } else {
            let to = anchor.seq.saturating_sub(1);
            let at = self.clock.now();
            log.add(
                AuditEntry::new(at, DATABASE_ROLLED_BACK).with_summary(&DatabaseRolledBackBody { from, to }),
            );
        }
    }

    /// Adds everything besides events.
    fn add_other_records(&mut self, log: &mut LockedAuditLog<'_>, seqs: Vec<u64>) {
        let now = self.clock.now();
        if !seqs.is_empty() {
            log.add(AuditEntry::new(now, EVENTS_CONFIRMED).with_summary(&EventsConfirmedBody { seqs }));
        }
        for act in self.action_messages.drain(..) {
            log.add(summary::of_message(&act));
        }
        let messages = std::mem::take(&mut self.lost);
        if messages > 0 {
            self.outcome.lost += messages;
            let auditor = self.session.n;
            log.add(
                AuditEntry::new(now, MESSAGES_DROPPED)
                    .with_summary(&MessagesDroppedBody { auditor, messages }),
            );
        }
    }

    /// Adds the events that dead auditors left unwritten: up to an event this one heard of, or all, and then records their
    /// deaths. Live auditors write their own, or confirm them; at the end it is enough if one is alive and none dead: the
    /// last to end checks everything.
    fn settle_dead_auditors(&mut self, log: &mut LockedAuditLog<'_>, before: Option<u64>) {
        let others = log.ledger().open.clone().into_iter();
        let (mut dead, mut lives) = (Vec::new(), false);
        for session in others.filter(|session| session.n != self.session.n) {
            if is_dead(&session) {
                dead.push(session);
                continue;
            }
            lives = true;
            if before.is_none() {
                break;
            }
        }
        if before.is_some() || !lives || !dead.is_empty() {
            self.backfill.add_missing_events(log, before, !self.has_settled);
        }
        self.has_settled = true;
        // A death explains what is read before it is recorded: not before everything is, as the dead one may have recorded
        // events between those of this one.
        for session in dead.into_iter().filter(|_| before.is_none()) {
            let mut open = log.ledger().open.clone();
            open.retain(|other| other.n != session.n);
            let shift = lifecycle_body(log, &self.session, session.n, open);
            log.add(AuditEntry::new(self.clock.now(), AUDITOR_DIED).with_summary(&shift));
        }
        if let Some(trouble) = self.backfill.trouble() {
            self.outcome.trouble = Some(trouble);
        }
    }
}

fn is_dead(session: &AuditorSession) -> bool {
    matches!(session.process.liveness(), ProcessLiveness::Exited | ProcessLiveness::OtherBoot)
}

fn lifecycle_body(
    log: &LockedAuditLog<'_>,
    own_session: &AuditorSession,
    auditor: u64,
    session: Vec<AuditorSession>,
) -> AuditorLifecycleBody {
    AuditorLifecycleBody {
        auditor,
        open: session,
        seq: log.ledger().seq,
        boot: own_session.process.boot.clone(),
        lost: 0,
    }
}

/// Returns the state of the database when a log begins. Events no auditor can hear of, such as those of an
/// import into memory before the first run, do not count: the log begins before them, and they are added to it.
pub(super) fn initial_body(state: &Path) -> LogCreatedBody {
    let end = StoreReader::open(state).and_then(|reader| {
        let unheard = only_unpublished(&reader, 0)?;
        Ok(reader.log().end()?.filter(|_| !unheard))
    });
    LogCreatedBody { end: end.ok().flatten().map(|end| LogAnchor { seq: end.seq, hash: end.hash }) }
}

/// The reader of events that is no auditor.
const NOBODY: u64 = 0;

/// Records an act outside of any run, for a command that has no engine and so no bus. Nothing is
/// written if there is no state.
pub fn record(state: &Path, message: &BusMessage) -> Result<(), StoreError> {
    if !state.exists() {
        return Ok(());
    }
    let failed = |error| StoreError::io("write the audit log in", state, &error);
    let mut log = AuditLog::open(state).map_err(failed)?;
    let begun = (log.ledger().n == 0).then(|| initial_body(state));
    let mut backfill = AuditBackfill::new(state.to_owned(), NOBODY);
    let written = log.add(|turn| {
        if let Some(begun) = begun.filter(|_| turn.ledger().n == 0) {
            turn.add(AuditEntry::new(message.at, LOG_CREATED).with_summary(&begun));
        }
        if let Some(at) = message.anchor() {
            // Processes without an auditor may have recorded events about goals before it.
            backfill.add_missing_events(turn, Some(at.seq), false);
        }
        turn.add(summary::of_message(message));
    });
    written.map_err(failed)
}

/// Adds the events of a state its audit log does not have yet, as the next auditor would. Nothing is written if there is no
/// audit log.
pub(super) fn catch_up(state: &Path) -> Result<(), StoreError> {
    if !state.join(FOLDER).join(LOG).exists() {
        return Ok(());
    }
    let failed = |error| StoreError::io("write the audit log in", state, &error);
    let mut backfill = AuditBackfill::new(state.to_owned(), NOBODY);
    let mut log = AuditLog::open(state).map_err(failed)?;
    log.add(|turn| backfill.add_missing_events(turn, None, false)).map_err(failed)
}
