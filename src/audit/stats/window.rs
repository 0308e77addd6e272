use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::place::Place;
use super::runs::Lives;
use super::{PlanSums, Report, Streaks, Thrash, Trigger, Unseen};
use crate::audit::record::{Entry, Record, Source};
use crate::audit::words::{CONFIRMED, CUT, Confirmed, LOST, Lost, REPORT, REWOUND};
use crate::name::RunId;

/// A stretch of the log: since the last report, or as much as it is shown.
#[derive(Clone, Debug, Default)]
pub struct Window {
    sums: Report,
    lives: Lives,
    plans: BTreeMap<String, PlanSums>,
    drift: Vec<super::Drift>,
    unseen: Unseen,
    rounds: Streaks,
    thrashing: Vec<Thrash>,
    /// Events that were read in the database and that nobody said to have heard of.
    unheard: BTreeSet<u64>,
    keeps: bool,
}

impl Window {
    /// A window that goes on behind reports, for who asks about more than one.
    pub fn whole() -> Self {
        Self {
            keeps: true,
            ..Self::default()
        }
    }

    /// A window that begins with a report, before which events were left to be judged.
    pub fn behind(unseen: Unseen) -> Self {
        Self {
            unseen,
            ..Self::default()
        }
    }

    /// What is left to be judged of events.
    pub fn unseen(&self) -> &Unseen {
        &self.unseen
    }

    /// Takes a record into account. A report begins a new window.
    pub fn add(&mut self, record: &Record) {
        let entry = &record.entry;
        self.unseen.add(record);
        if entry.kind == REPORT {
            return self.begin_anew(entry);
        }
        if self.sums.from == 0 {
            self.sums.from = record.n;
        }
        self.sums.to = record.n;
        let at = Some(entry.at);
        // A batch that several processes wrote may not be in the order of time.
        self.sums.window_start = self
            .sums
            .window_start
            .map_or(at, |start| Some(start.min(entry.at)));
        self.sums.window_end = self.sums.window_end.max(at);
        self.count(entry);
        if let Some(run) = &entry.run {
            self.in_run(run, entry);
        }
    }

    /// Takes a record before the window into account: only what is needed to judge the window.
    pub fn pass(&mut self, record: &Record) {
        self.unseen.add(record);
        if record.entry.kind == REPORT
            && let Some(report) = record.entry.read::<Report>()
        {
            self.sums.history = report.history;
        }
        if let Some(run) = &record.entry.run {
            self.rounds.see(run, &record.entry);
        }
    }

    fn begin_anew(&mut self, entry: &Entry) {
        let report: Option<Report> = entry.read();
        if self.keeps {
            self.fold();
        } else {
            let unseen = std::mem::take(&mut self.unseen);
            *self = Self::default();
            self.unseen = unseen.going_on();
        }
        if let Some(report) = report {
            self.sums.history = report.history;
            if !self.keeps {
                self.rounds = report.rounds;
            }
        }
    }

    /// Compares what the plans did with what they did before.
    fn drifted(&self) -> Vec<super::Drift> {
        let past = PlanSums::default();
        let of = |(plan, sums): (&String, &PlanSums)| {
            sums.drift(plan, self.sums.history.get(plan).unwrap_or(&past))
        };
        let now = self.plans.iter().flat_map(of);
        self.drift.iter().cloned().chain(now).collect()
    }

    fn fold(&mut self) {
        self.drift = self.drifted();
        for (plan, sums) in std::mem::take(&mut self.plans) {
            self.sums.history.entry(plan).or_default().add(&sums);
        }
    }

    fn count(&mut self, entry: &Entry) {
        if let (Some(db), Source::Database) = (entry.db, entry.source) {
            self.unheard.insert(db.seq);
        }
        let sums = &mut self.sums;
        match entry.kind.as_str() {
            "run_started" => sums.runs.started += 1,
            "run_refused" => sums.runs.refused += 1,
            "run_ended" => match entry.word("outcome") {
                Some("succeeded") => sums.runs.succeeded += 1,
                Some("failed") => sums.runs.failed += 1,
                Some("abandoned") => sums.runs.abandoned += 1,
                _ => sums.runs.cancelled += 1,
            },
            CONFIRMED => {
                let confirmed: Option<Confirmed> = entry.read();
                for seq in confirmed.iter().flat_map(|confirmed| &confirmed.seqs) {
                    self.unheard.remove(seq);
                }
            }
            LOST => sums.lost += entry.read::<Lost>().map_or(0, |lost| lost.messages),
            CUT => self.wrong("the end of the audit log was gone".into()),
            REWOUND => self.wrong("the database went back to an earlier state".into()),
            _ => self.count_asked(entry),
        }
    }

    /// Counts what gates and people were asked.
    fn count_asked(&mut self, entry: &Entry) {
        let sums = &mut self.sums;
        let action = entry.word("action").or_else(|| {
            let result = entry.about.get("result")?;
            result.get("action")?.as_str()
        });
        match entry.kind.as_str() {
            "gate_judged" => {
                sums.gates.judged += 1;
                sums.gates.blocked += u64::from(action == Some("block"));
            }
            "approval_asked" => sums.approvals.asked += 1,
            "approval_answered" => match entry.word("decision") {
                Some("approved") => sums.approvals.given += 1,
                Some("denied") => sums.approvals.denied += 1,
                Some("expired") => sums.approvals.expired += 1,
                _ => {}
            },
            _ => {}
        }
    }

    fn in_run(&mut self, run: &RunId, entry: &Entry) {
        let life = self.lives.entry(run.clone()).or_default();
        let place = entry.place.as_ref().and_then(|place| life.place(place));
        let tools = &mut self.sums.tool_health;
        match entry.kind.as_str() {
            "attempt_ended" if entry.word("class").is_some() => tools.execution_failures += 1,
            // Whether `retry`, a loop or another round led to it.
            "attempt_started" if entry.number("attempt").is_some_and(|n| n > 1) => {
                match place.and_then(Place::class) {
                    Some("logical") => tools.logical_retries += 1,
                    Some(_) => tools.environmental_retries += 1,
                    None => {}
                }
                self.sums.total_corrections += u64::from(!place.is_some_and(Place::was_well));
            }
            "step_ended" if !place.is_some_and(Place::has_ended) => {
                self.sums.tasks_observed += 1;
            }
            _ => {}
        }
        let began = life.began;
        if let Some(wrong) = life.see(run, entry) {
            self.wrong(wrong);
        }
        if let Some(thrash) = self.rounds.see(run, entry) {
            // A longer streak stands for the shorter ones that it began as.
            self.thrashing.retain(|known| !known.begins(&thrash));
            self.thrashing.push(thrash);
        }
        self.of_plan(entry, began);
    }

    fn of_plan(&mut self, entry: &Entry, began: Option<crate::time::Moment>) {
        let Some(plan) = &entry.plan else { return };
        let sums = self.plans.entry(plan.to_string()).or_default();
        match (entry.kind.as_str(), began) {
            ("run_ended", Some(began)) => {
                sums.runs += 1;
                let took = entry.at.since(began).as_millis();
                sums.millis += u64::try_from(took).unwrap_or(u64::MAX);
            }
            ("criterion_judged", _) => {
                let ruling = entry
                    .about
                    .get("verdict")
                    .and_then(|verdict| verdict.get("ruling"));
                sums.judged += 1;
                sums.passed +=
                    u64::from(ruling.and_then(serde_json::Value::as_str) == Some("pass"));
            }
            _ => {}
        }
    }

    fn wrong(&mut self, what: String) {
        if !self.sums.boundary_violations.contains(&what) {
            self.sums.boundary_violations.push(what);
        }
    }

    /// Whether the window spans as much activity as one may.
    pub fn is_over(&self, length: Duration) -> bool {
        let span = self.sums.window_start.zip(self.sums.window_end);
        span.is_some_and(|(start, end)| end.since(start) >= length) && self.is_worth_telling()
    }

    /// Whether anything happened but the coming and going of auditors.
    pub fn is_worth_telling(&self) -> bool {
        !self.lives.is_empty() || !self.sums.boundary_violations.is_empty()
    }

    /// What was seen. `ending` is an auditor that has heard all that it will of what is in the
    /// window.
    pub fn report(&self, trigger: Trigger, ending: Option<u64>) -> Report {
        let mut report = self.sums.clone();
        report.trigger = trigger;
        report.read_later = self.unheard.len() as u64;
        report.drift = self.drifted();
        let lives = self.lives.iter();
        report.gap_trends = lives
            .clone()
            .flat_map(|(run, life)| life.trends(run))
            .collect();
        report.thrashing = lives.flat_map(|(run, life)| life.thrashing(run)).collect();
        report.thrashing.extend(self.thrashing.iter().cloned());
        report.rounds = self.rounds.clone();
        let behind = self.unseen.behind(ending);
        if let (Some(first), Some(last)) = (behind.first(), behind.last()) {
            let wrong = format!(
                "{} in the database came behind the back of the auditor ({first} to {last})",
                events(behind.len())
            );
            report.boundary_violations.push(wrong);
        }
        for (plan, sums) in &self.plans {
            report.history.entry(plan.clone()).or_default().add(sums);
        }
        report
    }
}

fn events(count: usize) -> String {
    if count == 1 {
        "1 event".into()
    } else {
        format!("{count} events")
    }
}
