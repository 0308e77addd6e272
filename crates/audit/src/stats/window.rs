use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use super::{
    AuditReport, PlanSums, ReportTrigger, RoundStreaks, ThrashPattern, UnconfirmedEvents, place::TaskHistory,
    runs::RunHistories,
};
use crate::records::{
    record::{AuditEntry, AuditRecord, AuditSource},
    words::{
        DATABASE_ROLLED_BACK, EVENTS_CONFIRMED, EventsConfirmedBody, LOG_TRUNCATED, MESSAGES_DROPPED,
        MessagesDroppedBody, REPORT,
    },
};
use wf_base::name::RunId;

/// A stretch of the log: since the last report, or the part added to it.
#[derive(Clone, Debug, Default)]
pub struct ReportWindow {
    report: AuditReport,
    run_histories: RunHistories,
    plans: BTreeMap<String, PlanSums>,
    drift: Vec<super::PlanDrift>,
    unconfirmed: UnconfirmedEvents,
    rounds: RoundStreaks,
    thrashing: Vec<ThrashPattern>,
    /// The events read from the database no auditor has confirmed.
    unconfirmed_reads: BTreeSet<u64>,
    spans_reports: bool,
}

impl ReportWindow {
    /// Makes a window that spans reports.
    pub fn spanning_reports() -> Self {
        Self { spans_reports: true, ..Self::default() }
    }

    /// Makes a window beginning with a report, with the events left to be judged.
    pub fn after_report(unconfirmed: UnconfirmedEvents) -> Self {
        Self { unconfirmed, ..Self::default() }
    }

    /// Returns the events left to be judged.
    pub fn unseen(&self) -> &UnconfirmedEvents {
        &self.unconfirmed
    }

    /// Adds a record. A report begins a new window.
    pub fn add(&mut self, record: &AuditRecord) {
        let entry = &record.entry;
        self.unconfirmed.add(record);
        if entry.kind == REPORT {
            return self.start_window(entry);
        }
        if self.report.from == 0 {
            self.report.from = record.n;
        }
        self.report.to = record.n;
        let at = Some(entry.at);
        // A batch written by several processes may not be in order of time.
        self.report.window_start = self.report.window_start.map_or(at, |start| Some(start.min(entry.at)));
        self.report.window_end = self.report.window_end.max(at);
        self.count(entry);
        if let Some(run) = &entry.run {
            self.in_run(run, entry);
        }
    }

    /// Passes a record before the window: it only affects the judgement of the window.
    pub fn skip_record(&mut self, record: &AuditRecord) {
        self.unconfirmed.add(record);
        if record.entry.kind == REPORT
            && let Some(report) = record.entry.read::<AuditReport>()
        {
            self.report.history = report.history;
        }
        if let Some(run) = &record.entry.run {
            self.rounds.add_event(run, &record.entry);
        }
    }

    fn start_window(&mut self, entry: &AuditEntry) {
        let report: Option<AuditReport> = entry.read();
        if self.spans_reports {
            self.fold();
        } else {
            let unseen = std::mem::take(&mut self.unconfirmed);
            *self = Self::default();
            self.unconfirmed = unseen.without_reported();
        }
        if let Some(report) = report {
            self.report.history = report.history;
            if !self.spans_reports {
                self.rounds = report.rounds;
            }
        }
    }

    /// Compares the sums of the plans with the earlier ones.
    fn find_drift(&self) -> Vec<super::PlanDrift> {
        let past = PlanSums::default();
        let of = |(plan, sums): (&String, &PlanSums)| {
            sums.drift(plan, self.report.history.get(plan).unwrap_or(&past))
        };
        let now = self.plans.iter().flat_map(of);
        self.drift.iter().cloned().chain(now).collect()
    }

    fn fold(&mut self) {
        self.drift = self.find_drift();
        for (plan, sums) in std::mem::take(&mut self.plans) {
            self.report.history.entry(plan).or_default().add(&sums);
        }
    }

    fn count(&mut self, entry: &AuditEntry) {
        if let (Some(db), AuditSource::Database) = (entry.db, entry.source) {
            self.unconfirmed_reads.insert(db.seq);
        }
        let sums = &mut self.report;
        match entry.kind.as_str() {
            "run_started" => sums.runs.started += 1,
            "run_refused" => sums.runs.refused += 1,
            "run_ended" => match entry.summary_text("outcome") {
                Some("succeeded") => sums.runs.succeeded += 1,
                Some("failed") => sums.runs.failed += 1,
                Some("abandoned") => sums.runs.abandoned += 1,
                _ => sums.runs.cancelled += 1,
            },
            EVENTS_CONFIRMED => {
                let confirmed: Option<EventsConfirmedBody> = entry.read();
                for seq in confirmed.iter().flat_map(|confirmed| &confirmed.seqs) {
                    self.unconfirmed_reads.remove(seq);
                }
            }
            MESSAGES_DROPPED => {
                sums.lost += entry.read::<MessagesDroppedBody>().map_or(0, |lost| lost.messages);
            }
            LOG_TRUNCATED => self.add_violation("the end of the audit log was missing".into()),
            DATABASE_ROLLED_BACK => self.add_violation("the database went back to an earlier state".into()),
            _ => self.count_asked(entry),
        }
    }

    /// Counts the questions to gates and approvers.
    fn count_asked(&mut self, entry: &AuditEntry) {
        let sums = &mut self.report;
        let action = entry.summary_text("action").or_else(|| {
            let result = entry.about.get("result")?;
            result.get("action")?.as_str()
        });
        match entry.kind.as_str() {
            "gate_evaluated" => {
                sums.gates.judged += 1;
                sums.gates.blocked += u64::from(action == Some("block"));
            }
            "approval_requested" => sums.approvals.asked += 1,
            "approval_resolved" => match entry.summary_text("decision") {
                Some("approved") => sums.approvals.given += 1,
                Some("denied") => sums.approvals.denied += 1,
                Some("expired") => sums.approvals.expired += 1,
                _ => {}
            },
            _ => {}
        }
    }

    fn in_run(&mut self, run: &RunId, entry: &AuditEntry) {
        let life = self.run_histories.entry(run.clone()).or_default();
        let place = entry.place.as_ref().and_then(|place| life.place(place));
        let tools = &mut self.report.tool_health;
        match entry.kind.as_str() {
            "attempt_ended" if entry.summary_text("failure_class").is_some() => tools.execution_failures += 1,
            // Regardless of the reason: `retry`, a loop or another round.
            "attempt_started" if entry.summary_number("attempt").is_some_and(|n| n > 1) => {
                match place.and_then(TaskHistory::failure_class) {
                    Some("logical") => tools.logical_retries += 1,
                    Some(_) => tools.environmental_retries += 1,
                    None => {}
                }
                self.report.total_corrections += u64::from(!place.is_some_and(TaskHistory::last_succeeded));
            }
            "step_ended" if !place.is_some_and(TaskHistory::has_ended) => {
                self.report.tasks_observed += 1;
            }
            _ => {}
        }
        let began = life.started_at;
        if let Some(wrong) = life.add_event(run, entry) {
            self.add_violation(wrong);
        }
        if let Some(thrash) = self.rounds.add_event(run, entry) {
            // A longer streak replaces the shorter ones that it began as.
            self.thrashing.retain(|known| !known.is_extended_by(&thrash));
            self.thrashing.push(thrash);
        }
        self.of_plan(entry, began);
    }

    fn of_plan(&mut self, entry: &AuditEntry, began: Option<wf_base::time::Moment>) {
        let Some(plan) = &entry.plan else { return };
        let sums = self.plans.entry(plan.to_string()).or_default();
        match (entry.kind.as_str(), began) {
            ("run_ended", Some(began)) => {
                sums.runs += 1;
                let took = entry.at.since(began).as_millis();
                sums.millis += u64::try_from(took).unwrap_or(u64::MAX);
            }
            ("check_completed", _) => {
                let ruling = entry.about.get("verdict").and_then(|verdict| verdict.get("ruling"));
                sums.judged += 1;
                sums.passed += u64::from(ruling.and_then(serde_json::Value::as_str) == Some("pass"));
            }
            _ => {}
        }
    }

    fn add_violation(&mut self, what: String) {
        if !self.report.boundary_violations.contains(&what) {
            self.report.boundary_violations.push(what);
        }
    }

    /// True if the window spans the maximum of activity.
    pub fn is_over(&self, length: Duration) -> bool {
        let span = self.report.window_start.zip(self.report.window_end);
        span.is_some_and(|(start, end)| end.since(start) >= length) && self.is_reportable()
    }

    /// True if the window has more than starts and ends of auditors.
    pub fn is_reportable(&self) -> bool {
        !self.run_histories.is_empty() || !self.report.boundary_violations.is_empty()
    }

    /// Returns the report. `ending` is an auditor that has heard everything it will of the window.
    pub fn report(&self, trigger: ReportTrigger, ending: Option<u64>) -> AuditReport {
        let mut report = self.report.clone();
        report.trigger = trigger;
        report.read_later = self.unconfirmed_reads.len() as u64;
        report.drift = self.find_drift();
        let lives = self.run_histories.iter();
        report.gap_trends = lives.clone().flat_map(|(run, life)| life.trends(run)).collect();
        report.thrashing = lives.flat_map(|(run, life)| life.thrashing(run)).collect();
        report.thrashing.extend(self.thrashing.iter().cloned());
        report.rounds = self.rounds.clone();
        let behind = self.unconfirmed.unexplained_events(ending);
        if let (Some(first), Some(last)) = (behind.first(), behind.last()) {
            let wrong =
                format!("{} in the database unseen by the auditor ({first} to {last})", events(behind.len()));
            report.boundary_violations.push(wrong);
        }
        for (plan, sums) in &self.plans {
            report.history.entry(plan.clone()).or_default().add(sums);
        }
        report
    }
}

fn events(count: usize) -> String {
    if count == 1 { "1 event".into() } else { format!("{count} events") }
}
