//! Runs: a page of the list, and one with its steps, its failures and the requests that wait.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    requests::ApiRequest,
    steps::{ApiStepPage, ApiStepQuery, step_page},
};
use crate::{
    Caller, CommandError, names,
    records::{load_record, name_parent_of},
    usage_error,
    views::{
        FailureGroup, RunSelection, RunTab, add_progress, find_run, run_listing, run_listings, run_reader,
        run_view, state_reader,
    },
};
use wf_base::{
    name::{PlanId, RunId},
    time::Moment,
    untrusted::plain,
};
use wf_core::machine::StepCounts;
use wf_model::JsonObject;
use wf_report::record::{RunLifecycle, RunListing, StepProgress, runs, show};
use wf_store::{RunFilter, RunState};

/// The runs of a page if nothing is said, and the most.
const DEFAULT_RUNS: usize = 50;
const MAX_RUNS: usize = 500;

/// A run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Run")]
pub struct ApiRun {
    pub id: RunId,
    /// The id of its plan.
    pub plan: String,
    /// The path of its plan, relative to the workspace.
    pub path: String,
    /// `running`: a process works on it; `waiting`: for people alone; `interrupted`: its process died at work; or how it ended:
    /// `succeeded`, `failed`, `cancelled`, `abandoned`.
    pub state: String,
    /// The standing of its result, how far it was confirmed: `verified`, `plausible`, `reported`, `refuted` and others.
    pub standing: String,
    /// Its resolved parameters. In a list, long ones are cut, and say so.
    pub params: JsonObject,
    /// The values that its plan declares as outputs; in a list as its parameters.
    pub outputs: JsonObject,
    /// The time at which it was recorded.
    pub created: Moment,
    pub ended: Option<Moment>,
    /// The time in which a process had it, so far; absent: its process died at work, and nobody knows when.
    pub duration_ms: Option<u64>,
    /// The reason for its outcome; empty for success.
    pub reason: String,
    /// The first step that failed.
    pub failed_step: Option<String>,
    /// The number of its steps that have ended, by outcome.
    pub counts: StepCounts,
    /// The steps that have ended, of a run that has not.
    pub progress: Option<ApiProgress>,
    /// The number of requests that wait for people.
    pub pending_approvals: u32,
    /// The run that it repeats.
    pub retry_of: Option<RunId>,
    /// The run that it is nested in.
    pub parent: Option<ApiParent>,
    pub session: Option<String>,
    /// The part of the reconciliation of a goal that it is: `look`, `repair`, `job`.
    pub goal: Option<String>,
}

/// The steps of a run that has not ended.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Progress")]
pub struct ApiProgress {
    /// The steps that have ended.
    pub done: u32,
    /// The steps of its plan; absent: the plan is very large.
    pub total: Option<u32>,
}

/// The place of a nested run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Parent")]
pub struct ApiParent {
    pub run: RunId,
    /// The attempt that it is nested in: `step[item]#number`.
    pub attempt: String,
}

/// A choice of runs.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ApiRunQuery {
    /// Only runs of the plan with this id.
    pub plan: Option<String>,
    /// Only runs in this state: `running`, `waiting`, `interrupted`, or how they ended.
    pub state: Option<String>,
    /// Only runs that were recorded before this one: the `next` of the page before.
    pub before: Option<String>,
    /// The most runs: 50, and at most 500.
    pub limit: Option<usize>,
    /// Nested runs, too.
    pub nested: bool,
    /// The checks of goals, too.
    pub checks: bool,
}

/// Some runs, newest first.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "RunPage")]
pub struct ApiRunPage {
    pub runs: Vec<ApiRun>,
    /// The run that leads to the older ones, as `before`; absent: there are none.
    pub next: Option<RunId>,
}

/// A run with its steps.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "RunDetail")]
pub struct ApiRunDetail {
    #[serde(flatten)]
    pub run: ApiRun,
    /// The title of its plan.
    pub title: Option<String>,
    /// The first 200 of its steps. `GET /runs/{run}/steps` has all of them.
    #[serde(flatten)]
    pub steps: ApiStepPage,
    /// The failures that fail it, by what they say.
    pub failures: Vec<ApiFailure>,
    /// The requests that wait for people, also those of nested runs.
    pub requests: Vec<ApiRequest>,
    /// The runs that repeat it.
    pub repeated_by: Vec<RunId>,
    /// The runs that are nested in it.
    pub nested: Vec<ApiParent>,
}

/// Steps that failed for one reason.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Failure")]
pub struct ApiFailure {
    pub reason: String,
    pub failure_class: Option<String>,
    /// The number of these steps.
    pub count: usize,
    /// The first of them.
    pub steps: Vec<String>,
    /// The checks of the first one that did not pass.
    pub checks: Vec<ApiCheck>,
    /// The end of the output of the first one.
    pub log: Option<String>,
}

/// The verdict of a check.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Check")]
pub struct ApiCheck {
    pub name: String,
    /// `pass`, `fail`, or `error`: it could not run.
    pub ruling: String,
    pub expected: String,
    pub found: String,
}

/// The run that an act is about, or has started.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "RunId")]
pub struct ApiRunId {
    pub run: RunId,
}

impl ApiRun {
    /// Describes a run.
    pub(super) fn of(listing: RunListing) -> Self {
        let (state, duration) = (listing.life(), listing.took());
        let RunListing { row, progress, .. } = listing;
        Self {
            state: state.as_str().to_owned(),
            standing: row.standing.as_str().to_owned(),
            duration_ms: duration.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
            failed_step: row.failed_step.map(|step| step.to_string()),
            parent: row.parent.map(|(run, attempt)| ApiParent { run, attempt }),
            session: row.session.map(|session| session.to_string()),
            goal: row.goal.map(|part| part.as_str().to_owned()),
            id: row.id,
            plan: row.plan,
            path: row.path,
            params: row.params,
            outputs: row.outputs,
            created: row.created,
            ended: row.ended,
            reason: row.reason,
            counts: row.counts,
            progress: progress.map(|StepProgress { done, total }| ApiProgress { done, total }),
            pending_approvals: row.pending_approvals,
            retry_of: row.retry_of,
        }
    }
}

/// Runs as they are stored, newest first, with the processes that work on them.
#[derive(Debug, Default)]
struct ReadRuns {
    runs: Vec<RunListing>,
    /// True if there are older ones.
    has_more: bool,
}

/// Returns a page of runs. A query that means nothing is refused.
pub fn api_runs(caller: &dyn Caller, query: &ApiRunQuery) -> Result<ApiRunPage, CommandError> {
    let ReadRuns { runs, has_more } = ReadRuns::read(caller, query)?;
    let runs: Vec<ApiRun> = runs.into_iter().map(ApiRun::of).collect();
    Ok(ApiRunPage { next: runs.last().filter(|_| has_more).map(|run| run.id.clone()), runs })
}

/// Returns the same runs as the table for people; empty if there are none.
pub fn runs_text(caller: &dyn Caller, query: &ApiRunQuery) -> Result<String, CommandError> {
    let ReadRuns { runs: read, .. } = ReadRuns::read(caller, query)?;
    Ok(if read.is_empty() { String::new() } else { plain(&runs(&read)) })
}

impl ReadRuns {
    fn read(caller: &dyn Caller, query: &ApiRunQuery) -> Result<Self, CommandError> {
        let life = query.state.as_deref().map(read_state).transpose()?;
        let limit = query.limit.unwrap_or(DEFAULT_RUNS);
        if limit == 0 || limit > MAX_RUNS {
            return Err(usage_error(format!("`limit` is 1 to {MAX_RUNS}")));
        }
        let plan = query.plan.as_deref().map(PlanId::parse).transpose();
        let plan = plan.map_err(|error| usage_error(format!("`plan`: {error}")))?;
        let unknown = |run: &str| usage_error(format!("`before`: there is no run `{run}`"));
        let Some(reader) = state_reader(caller)? else {
            return query.before.as_deref().map_or_else(|| Ok(Self::default()), |run| Err(unknown(run)));
        };
        let before = query.before.as_deref().map(|run| find_run(&reader, run)?.ok_or_else(|| unknown(run)));
        let state = life.map(RunLifecycle::recorded);
        let filter = RunFilter {
            plan,
            state,
            nested: query.nested,
            no_checks: !query.checks,
            before: before.transpose()?,
            ..RunFilter::default()
        };
        // Only the processes of those that have not ended tell which state they are in.
        let most = if state == Some(RunState::Running) { usize::MAX } else { limit + 1 };
        let mut runs = run_listings(&reader, reader.store().runs().list(most, &filter)?)?;
        runs.retain(|listing| life.is_none_or(|life| life == listing.life()));
        let has_more = runs.len() > limit;
        runs.truncate(limit);
        add_progress(&reader, &mut runs, caller.host().now())?;
        for listing in &mut runs {
            names::name_parent(reader.store(), &mut listing.row)?;
            listing.cut();
        }
        Ok(Self { runs, has_more })
    }
}

/// Reads the word for the state of a run.
fn read_state(word: &str) -> Result<RunLifecycle, CommandError> {
    RunLifecycle::from_word(word).ok_or_else(|| {
        let words: Vec<&str> = RunLifecycle::all().map(RunLifecycle::as_str).collect();
        let error = usage_error(format!("`state`: there is no state `{word}`"));
        error.hint(format!("the states are {}", words.join(", ")))
    })
}

/// Returns the run whose id begins with a text; `None`: there is none, or several.
pub fn api_run(caller: &dyn Caller, run: &str) -> Result<Option<ApiRunDetail>, CommandError> {
    let Some((reader, run)) = run_reader(caller, run)? else {
        return Ok(None);
    };
    let (store, now) = (reader.store(), caller.host().now());
    let mut row = store.runs().get(&run)?;
    names::name_parent(store, &mut row)?;
    let mut listing = run_listing(&reader, row)?;
    add_progress(&reader, [&mut listing], now)?;
    let selection = RunSelection { tab: RunTab::Steps, ..RunSelection::default() };
    let view = run_view(&reader, &run, &selection, now)?;
    let children = store.runs().children(&run)?.into_iter();
    Ok(Some(ApiRunDetail {
        title: view.title,
        steps: step_page(&reader, &run, listing.life(), &ApiStepQuery::default())?,
        failures: view
            .failures
            .into_iter()
            .flat_map(|failures| failures.groups)
            .map(ApiFailure::of)
            .collect(),
        requests: view.requests.into_iter().map(ApiRequest::of_open).collect(),
        repeated_by: store.runs().repeats(&run)?,
        nested: children.map(|(run, attempt)| ApiParent { run, attempt }).collect(),
        run: ApiRun::of(listing),
    }))
}

impl ApiFailure {
    fn of(group: FailureGroup) -> Self {
        let check = |row: wf_store::CheckRow| ApiCheck {
            name: row.verdict.name.to_string(),
            ruling: row.verdict.ruling.as_str().to_owned(),
            expected: row.verdict.expected,
            found: row.verdict.found,
        };
        Self {
            reason: group.reason,
            failure_class: group.failure_class,
            count: group.count,
            steps: group.tasks.into_iter().map(|task| task.name).collect(),
            checks: group.checks.into_iter().map(check).collect(),
            log: group.log.map(|log| log.text),
        }
    }
}

/// Returns a run as the report for people.
pub fn run_text(caller: &dyn Caller, run: &str) -> Result<Option<String>, CommandError> {
    let Some((reader, run)) = run_reader(caller, run)? else {
        return Ok(None);
    };
    let mut record = load_record(&reader, &run)?;
    name_parent_of(&reader, &mut record)?;
    Ok(Some(plain(&show(&record, caller.host().now()))))
}
