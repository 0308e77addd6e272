use std::collections::BTreeMap;

use super::Exposition;
use wf_base::{name::RunId, time::Moment};
use wf_core::machine::{ApprovalRequest, Event, EventKind, ModelCallOutcome, RequestDecision};
use wf_store::LogRow;

/// The upper bounds of the times that decisions take, in seconds.
const DECISION_BOUNDS: [u64; 8] = [1, 5, 15, 30, 60, 600, 3_600, 86_400];

/// The risk of a request that approves nothing.
const NO_RISK: &str = "none";

/// The counts of a workspace.
#[derive(Debug, Default)]
pub struct WorkspaceMetrics {
    /// The number of the last row that is counted.
    last: u64,
    runs_started: BTreeMap<String, u64>,
    runs_ended: BTreeMap<(String, &'static str), u64>,
    steps_ended: BTreeMap<(&'static str, &'static str), u64>,
    attempts: u64,
    checks: BTreeMap<&'static str, u64>,
    rounds: u64,
    model_calls: BTreeMap<(String, &'static str), u64>,
    tokens: BTreeMap<&'static str, u64>,
    cost_micro_usd: u64,
    open: BTreeMap<(RunId, u32), UndecidedRequest>,
    decisions: BTreeMap<(&'static str, &'static str), u64>,
    decision_times: BTreeMap<&'static str, DecisionTimes>,
}

/// A request nobody has decided yet.
#[derive(Debug)]
struct UndecidedRequest {
    since: Moment,
    risk: &'static str,
}

/// The times that decisions took, in the buckets of [`DECISION_BOUNDS`].
#[derive(Debug, Default)]
struct DecisionTimes {
    buckets: [u64; DECISION_BOUNDS.len()],
    count: u64,
    sum_ms: u128,
}

impl WorkspaceMetrics {
    /// Returns the number of the last row that is counted.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Counts a row.
    pub fn add(&mut self, row: &LogRow) {
        self.last = row.position.seq;
        if let (Some(event), Some(run)) = (&row.event, &row.run) {
            let plan = row.plan.as_ref().map(ToString::to_string).unwrap_or_default();
            self.add_event(run, plan, event);
        }
    }

    fn add_event(&mut self, run: &RunId, plan: String, event: &Event) {
        match &event.fact {
            EventKind::RunStarted { .. } => *self.runs_started.entry(plan).or_default() += 1,
            EventKind::RunEnded { outcome, .. } => {
                *self.runs_ended.entry((plan, outcome.as_str())).or_default() += 1;
                self.open.retain(|(of, _), _| of != run);
            }
            EventKind::StepEnded { state, standing, .. } => {
                *self.steps_ended.entry((state.as_str(), standing.as_str())).or_default() += 1;
            }
            EventKind::AttemptStarted(_) => self.attempts += 1,
            EventKind::CheckCompleted { verdict, .. } => {
                *self.checks.entry(verdict.ruling.as_str()).or_default() += 1;
            }
            EventKind::RoundCompleted(_) => self.rounds += 1,
            EventKind::ModelCallEnded(end) => {
                let (model, outcome) = match &end.outcome {
                    ModelCallOutcome::Replied { model, .. } => (model.to_string(), "replied"),
                    _ => (String::new(), "failed"),
                };
                *self.model_calls.entry((model, outcome)).or_default() += 1;
                *self.tokens.entry("input").or_default() += end.effort.usage.input;
                *self.tokens.entry("output").or_default() += end.effort.usage.output;
                self.cost_micro_usd += end.effort.cost.micros();
            }
            EventKind::ApprovalRequested(ask) => {
                let request = UndecidedRequest { since: event.at, risk: risk(ask) };
                self.open.insert((run.clone(), ask.request), request);
            }
            EventKind::ApprovalResolved { request, given, .. } => {
                self.decide(run, *request, given.decision, event.at);
            }
            _ => {}
        }
    }

    /// Counts a decision; the time of one no person made says nothing about people.
    fn decide(&mut self, run: &RunId, number: u32, decision: RequestDecision, at: Moment) {
        let Some(request) = self.open.remove(&(run.clone(), number)) else {
            return;
        };
        *self.decisions.entry((decision.as_str(), request.risk)).or_default() += 1;
        if matches!(decision, RequestDecision::Approved | RequestDecision::Answered | RequestDecision::Denied)
        {
            let times = self.decision_times.entry(request.risk).or_default();
            let took = at.since(request.since);
            for (bucket, bound) in times.buckets.iter_mut().zip(DECISION_BOUNDS) {
                *bucket += u64::from(took.as_millis() <= u128::from(bound) * 1_000);
            }
            times.count += 1;
            times.sum_ms += took.as_millis();
        }
    }

    /// Writes all counts.
    pub fn write(&self, exposition: &mut Exposition) {
        exposition.counter("wf_runs_started", "Runs that began, nested ones too.");
        for (plan, count) in &self.runs_started {
            exposition.sample("wf_runs_started_total", &[("plan", plan)], count);
        }
        exposition.counter("wf_runs_ended", "Runs that ended.");
        for ((plan, outcome), count) in &self.runs_ended {
            exposition.sample("wf_runs_ended_total", &[("plan", plan), ("outcome", outcome)], count);
        }
        exposition.counter("wf_steps_ended", "Steps and items that ended.");
        for ((state, standing), count) in &self.steps_ended {
            exposition.sample("wf_steps_ended_total", &[("state", state), ("standing", standing)], count);
        }
        exposition.counter("wf_attempts_started", "Attempts of steps that began.");
        exposition.sample("wf_attempts_started_total", &[], self.attempts);
        exposition.counter("wf_checks_completed", "Checks that gave a verdict.");
        for (verdict, count) in &self.checks {
            exposition.sample("wf_checks_completed_total", &[("verdict", verdict)], count);
        }
        exposition.counter("wf_rounds_completed", "Rounds of the controller.");
        exposition.sample("wf_rounds_completed_total", &[], self.rounds);
        self.write_models(exposition);
        self.write_decisions(exposition);
    }

    fn write_models(&self, exposition: &mut Exposition) {
        exposition.counter("wf_model_calls", "Calls of models that ended. A failed one names no model.");
        for ((model, outcome), count) in &self.model_calls {
            exposition.sample("wf_model_calls_total", &[("model", model), ("outcome", outcome)], count);
        }
        exposition.counter("wf_model_tokens", "Tokens of calls of models.");
        for (direction, count) in &self.tokens {
            exposition.sample("wf_model_tokens_total", &[("direction", direction)], count);
        }
        exposition
            .counter("wf_model_cost_micro_usd", "Cost of calls of models, in millionths of a US dollar.");
        exposition.sample("wf_model_cost_micro_usd_total", &[], self.cost_micro_usd);
    }

    fn write_decisions(&self, exposition: &mut Exposition) {
        exposition.gauge("wf_requests_open", "Requests that wait for people.");
        let mut open: BTreeMap<&str, u64> = BTreeMap::new();
        self.open.values().for_each(|request| *open.entry(request.risk).or_default() += 1);
        for (risk, count) in open {
            exposition.sample("wf_requests_open", &[("risk", risk)], count);
        }
        exposition.counter("wf_decisions", "Requests that were resolved.");
        for ((decision, risk), count) in &self.decisions {
            exposition.sample("wf_decisions_total", &[("decision", decision), ("risk", risk)], count);
        }
        exposition.histogram("wf_decision_seconds", "Time from a request to the decision of people.");
        for (risk, times) in &self.decision_times {
            let name = "wf_decision_seconds_bucket";
            for (bound, count) in DECISION_BOUNDS.iter().zip(times.buckets) {
                exposition.sample(name, &[("risk", risk), ("le", &format!("{bound}.0"))], count);
            }
            exposition.sample(name, &[("risk", risk), ("le", "+Inf")], times.count);
            exposition.sample("wf_decision_seconds_count", &[("risk", risk)], times.count);
            let sum = format!("{}.{:03}", times.sum_ms / 1_000, times.sum_ms % 1_000);
            exposition.sample("wf_decision_seconds_sum", &[("risk", risk)], sum);
        }
    }
}

/// Returns the word for the risk of a request.
fn risk(request: &ApprovalRequest) -> &'static str {
    request.risk_of_approval().map_or(NO_RISK, |risk| risk.level.as_str())
}
