//! The trends of a plan: how long its last runs took, how many succeeded, what they cost, and which of their steps are slow
//! or need several attempts.
//!
//! **Invariant:** what is read does not grow with the number of runs beyond [`TREND_RUNS`].

use std::{collections::BTreeMap, time::Duration};

use serde::Serialize;

use super::super::{
    StateReader,
    calendar::{date_text, monday_of},
    run::{critical_steps, times_of},
    run_listings,
    runs::{median, median_of_runs},
};
use crate::CommandError;
use wf_base::{
    name::{PlanId, RunId},
    time::Moment,
    units::{elapsed, moment},
};
use wf_core::machine::RunOutcome;
use wf_model::{Money, Plan};
use wf_report::{
    draw::{TrendDot, TrendWeek, rate_svg, trend_svg},
    record::ModelSpending,
};
use wf_store::{RunFilter, RunRow, RunState, StepTimes, StoreReader};

/// The runs of a trend.
const TREND_RUNS: usize = 100;

/// The most weeks of a trend, and the most steps of a list.
const MAX_WEEKS: i64 = 26;
const MAX_STEPS: usize = 10;

/// The depth to which the cost of nested runs is counted.
const MAX_DEPTH: usize = 4;

/// The trends of a plan over its last runs.
#[derive(Debug, Default, Serialize)]
pub struct PlanTrend {
    /// The durations as a picture, and the shares that succeeded.
    pub durations_svg: Option<String>,
    pub rates_svg: Option<String>,
    pub median_ms: Option<u64>,
    /// The same as numbers: the runs, newest first, and the weeks, oldest first.
    pub runs: Vec<TrendRun>,
    pub weeks: Vec<WeekTotal>,
    /// True if the plan has more runs than these.
    pub is_cut: bool,
    /// The steps whose median is longest, and those that needed several attempts most often.
    pub slowest: Vec<StepTrend>,
    pub flakiest: Vec<StepTrend>,
}

/// A run of a trend.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TrendRun {
    pub id: RunId,
    pub created: Moment,
    /// The word for its state.
    pub life: &'static str,
    /// The time worked on it; absent: nobody knows it.
    pub duration_ms: Option<u64>,
    /// The cost of its model calls, in millionths of a US dollar; absent: it made none that cost.
    pub cost_micro_usd: Option<u64>,
}

/// The runs of a week.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WeekTotal {
    /// Its Monday.
    pub week: String,
    pub succeeded: u64,
    /// The number of those that ended, without the cancelled ones.
    pub ended: u64,
    pub cost_micro_usd: Option<u64>,
}

/// A step in the last runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StepTrend {
    pub step: String,
    /// The number of runs in which it ended.
    pub runs: u64,
    pub median_ms: u64,
    /// Its share of the time of the chains that took longest, in percent; absent: there is no plan to find them by.
    pub critical_percent: Option<u64>,
    /// The number of runs in which it needed several attempts.
    pub repeated: u64,
}

/// Returns the trends of a plan. The chain that took longest is found by the plan as it is now.
pub(super) fn plan_trend(
    reader: &StateReader,
    id: &PlanId,
    plan: Option<&Plan>,
    now: Moment,
) -> Result<PlanTrend, CommandError> {
    let store = reader.store();
    let filter = RunFilter { plan: Some(id.clone()), ..RunFilter::default() };
    let mut rows = store.runs().list(TREND_RUNS + 1, &filter)?;
    let is_cut = rows.len() > TREND_RUNS;
    rows.truncate(TREND_RUNS);
    let median = median_of_runs(&rows);
    let (mut steps, mut runs) = (StepSamples::default(), Vec::new());
    let mut week_totals = WeekTotals::default();
    for listing in run_listings(reader, rows)? {
        let life = listing.life().as_str();
        let row = listing.row;
        let cost = Some(run_cost(store, &row.id)?).filter(|cost| !cost.is_zero());
        week_totals.add(&row, cost);
        steps.add(&store.steps().times(&row.id)?, plan);
        let duration = row.worked(now);
        let cost_micro_usd = cost.map(Money::micros);
        runs.push(TrendRun {
            id: row.id,
            created: row.created,
            life,
            duration_ms: duration.map(millis),
            cost_micro_usd,
        });
    }
    let dots: Vec<TrendDot> = runs.iter().rev().map(dot).collect();
    let weeks = week_totals.weeks();
    let bars: Vec<TrendWeek> = weeks.iter().map(bar).collect();
    Ok(PlanTrend {
        durations_svg: trend_svg(&dots, median),
        rates_svg: rate_svg(&bars),
        median_ms: median.map(millis),
        runs,
        weeks,
        is_cut,
        slowest: steps.slowest(),
        flakiest: steps.flakiest(),
    })
}

/// Returns the cost of the model calls of a run and of those nested in it.
pub(in crate::views) fn run_cost(store: &StoreReader, run: &RunId) -> Result<Money, CommandError> {
    cost_of(store, run, MAX_DEPTH)
}

/// Returns the cost of a run and of those nested in it to a depth.
fn cost_of(store: &StoreReader, run: &RunId, depth: usize) -> Result<Money, CommandError> {
    let events = store.events().apart(run, &ModelSpending::EVENTS)?;
    let mut cost = Money::default();
    for spending in ModelSpending::from_events(&events) {
        cost = cost.plus(spending.cost);
    }
    if depth > 0 {
        for (child, _) in store.runs().children(run)? {
            cost = cost.plus(cost_of(store, &child, depth - 1)?);
        }
    }
    Ok(cost)
}

fn dot(run: &TrendRun) -> TrendDot {
    let duration = Duration::from_millis(run.duration_ms.unwrap_or_default());
    TrendDot {
        state: run.life.to_owned(),
        duration,
        words: format!("{} UTC: {} in {}", moment(run.created), run.life, elapsed(duration)),
        link: format!("/runs/{}", run.id),
    }
}

fn bar(week: &WeekTotal) -> TrendWeek {
    let name = week.week.get(5..).unwrap_or_default().to_owned();
    TrendWeek { name, succeeded: week.succeeded, ended: week.ended }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The runs by the number of their Monday.
#[derive(Debug, Default)]
struct WeekTotals(BTreeMap<i64, WeekTotal>);

impl WeekTotals {
    fn add(&mut self, row: &RunRow, cost: Option<Money>) {
        let monday = monday_of(row.created);
        let total = self.0.entry(monday).or_insert_with(|| WeekTotals::empty(monday));
        if let Some(cost) = cost {
            let before = total.cost_micro_usd.unwrap_or_default();
            total.cost_micro_usd = Some(before.saturating_add(cost.micros()));
        }
        match row.state {
            // Whoever cancels a run says nothing about its plan.
            RunState::Running | RunState::Ended(RunOutcome::Cancelled) => {}
            RunState::Ended(outcome) => {
                total.ended += 1;
                total.succeeded += u64::from(outcome == RunOutcome::Succeeded);
            }
        }
    }

    fn empty(monday: i64) -> WeekTotal {
        WeekTotal { week: date_text(monday), succeeded: 0, ended: 0, cost_micro_usd: None }
    }

    /// Returns the weeks from the first to the last, also those without runs: the latest ones, if there are many.
    fn weeks(self) -> Vec<WeekTotal> {
        let ends = self.0.keys().next().copied().zip(self.0.keys().next_back().copied());
        let Some((first, last)) = ends else {
            return Vec::new();
        };
        let first = first.max(last - (MAX_WEEKS - 1) * 7);
        let weeks = (0..=(last - first) / 7).map(|at| first + at * 7);
        weeks.map(|monday| self.0.get(&monday).cloned().unwrap_or_else(|| Self::empty(monday))).collect()
    }
}

/// The times and the attempts of a step in some runs.
#[derive(Debug, Default)]
struct StepSample {
    durations: Vec<Duration>,
    repeated: u64,
    /// The time in which it was on the chain that took longest.
    critical: Duration,
}

/// The steps of some runs.
#[derive(Debug, Default)]
struct StepSamples {
    steps: BTreeMap<String, StepSample>,
    /// The time of all chains that took longest.
    critical: Duration,
}

impl StepSamples {
    /// Adds the steps of a run.
    fn add(&mut self, times: &[StepTimes], plan: Option<&Plan>) {
        for row in times {
            let Some(duration) = row.started.zip(row.ended).map(|(started, ended)| ended.since(started))
            else {
                continue;
            };
            let sample = self.steps.entry(row.step.to_string()).or_default();
            sample.durations.push(duration);
            sample.repeated += u64::from(row.attempts > 1);
        }
        let Some(plan) = plan else {
            return;
        };
        let took = times_of(plan, times);
        for at in critical_steps(plan, &took) {
            let step = plan.steps().get(at).map(|step| step.id.as_str());
            let time = took.get(at).copied().unwrap_or_default();
            self.critical += time;
            if let Some(sample) = step.and_then(|step| self.steps.get_mut(step)) {
                sample.critical += time;
            }
        }
    }

    fn trends(&self) -> Vec<StepTrend> {
        let trend = |(step, sample): (&String, &StepSample)| {
            let share =
                sample.critical.as_millis().saturating_mul(100).checked_div(self.critical.as_millis());
            Some(StepTrend {
                step: step.clone(),
                runs: sample.durations.len() as u64,
                median_ms: millis(median(sample.durations.iter().copied())?),
                critical_percent: share.and_then(|share| u64::try_from(share).ok()),
                repeated: sample.repeated,
            })
        };
        self.steps.iter().filter_map(trend).collect()
    }

    fn slowest(&self) -> Vec<StepTrend> {
        let mut trends = self.trends();
        trends.sort_by_key(|trend| std::cmp::Reverse(trend.median_ms));
        trends.truncate(MAX_STEPS);
        trends
    }

    fn flakiest(&self) -> Vec<StepTrend> {
        let mut trends = self.trends();
        trends.retain(|trend| trend.repeated > 0);
        // By the share of runs, without fractions.
        trends.sort_by_key(|trend| std::cmp::Reverse(trend.repeated * 10_000 / trend.runs.max(1)));
        trends.truncate(MAX_STEPS);
        trends
    }
}

#[cfg(test)]
mod tests {
    use super::{StepSamples, WeekTotal, WeekTotals, date_text};
    use wf_base::time::Moment;
    use wf_core::machine::{Standing, StepState};
    use wf_store::StepTimes;

    fn times(step: &str, seconds: i64, attempts: u32) -> StepTimes {
        let (started, ended) = (Moment::from_millis(0), Moment::from_millis(seconds * 1_000));
        StepTimes {
            step: step.parse().unwrap(),
            state: StepState::Succeeded,
            standing: Standing::default(),
            started: Some(started),
            ended: Some(ended),
            attempts,
        }
    }

    #[test]
    fn a_step_is_slow_by_its_median_and_flaky_by_the_share_of_its_runs() {
        let mut samples = StepSamples::default();
        samples.add(&[times("build", 9, 1), times("fetch", 1, 2), times("test", 60, 1)], None);
        samples.add(&[times("build", 9, 2), times("fetch", 1, 3), times("test", 2, 1)], None);
        samples.add(&[times("build", 9, 1), times("test", 2, 1)], None);
        let slowest: Vec<_> =
            samples.slowest().into_iter().map(|trend| (trend.step, trend.median_ms)).collect();
        assert_eq!(slowest, [("build".into(), 9_000), ("test".into(), 2_000), ("fetch".into(), 1_000)]);
        let flaky = samples.flakiest();
        let flaky: Vec<_> =
            flaky.iter().map(|trend| (trend.step.as_str(), trend.repeated, trend.runs)).collect();
        assert_eq!(flaky, [("fetch", 2, 2), ("build", 1, 3)]);
    }

    #[test]
    fn a_week_without_runs_is_there_and_too_many_weeks_are_cut() {
        let weeks = |mondays: &[i64]| {
            let totals = mondays.iter().map(|monday| (*monday, WeekTotals::empty(*monday))).collect();
            WeekTotals(totals).weeks().into_iter().map(|week: WeekTotal| week.week).collect::<Vec<_>>()
        };
        assert_eq!(weeks(&[20_766, 20_780]), ["2026-11-09", "2026-11-16", "2026-11-23"]);
        assert_eq!(weeks(&[]), [""; 0]);
        let long = weeks(&[4, 20_780]);
        assert_eq!((long.len(), long.last()), (26, Some(&date_text(20_780))));
    }
}
