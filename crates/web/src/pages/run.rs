use crate::{
    caller::PageCaller,
    query::PageQuery,
    respond,
    visit::{LoginSite, Visit},
};
use axum::{extract::Path, response::Response};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use wf_app::{
    CommandError,
    plan_start::signature_reason_at,
    run_acts::{request_cancel, request_resume, request_retry},
    undo::request_undo,
    views::{
        LineTimes, RunOutputQuery, RunSelection, RunTab, RunView, find_run, plan_page_of_run, run_before,
        run_diff_of, run_reader, run_view, state_reader, task_view,
    },
};
use wf_base::{keyword::Keyword as _, name::RunId};

/// The tab of a run and what it shows, as the address has it.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct TabQuery {
    /// The word for the tab; empty: the one that the others are about.
    #[serde(default)]
    tab: String,
    /// The word for a state of the steps; empty: every state.
    #[serde(default)]
    state: String,
    /// The word for their order.
    #[serde(default)]
    sort: String,
    /// The number of the page, from 0.
    #[serde(default)]
    page: usize,
    /// The unfolded group of steps in the picture of a large plan.
    open: Option<usize>,
    /// The part of the time in the timeline, in seconds of the run; empty: all of it. Of the output, the first line.
    #[serde(default)]
    from: String,
    #[serde(default)]
    to: String,
    /// The only step with shown output; empty: all.
    #[serde(default)]
    step: String,
    /// The word for the times before its lines.
    #[serde(default)]
    times: String,
}

/// A run, for a browser with some access.
#[derive(Serialize)]
struct OperatedRun {
    #[serde(flatten)]
    shown: RunView,
    may_operate: bool,
    may_start: bool,
    /// The address of the page of its plan; `None`: the file is gone, or it is part of a goal or of another run.
    plan_page: Option<String>,
    /// The reason why an approver signs for another run of its plan; `None`: a login is enough, or the run is not retried.
    signature_reason: Option<String>,
}

pub(crate) async fn run(
    visit: Visit,
    Path(run): Path<String>,
    PageQuery(query): PageQuery<TabQuery>,
) -> Response {
    let now = visit.site.host().now();
    let (may_operate, may_start) = (visit.may_operate(), visit.may_start());
    // A program wants the steps, and no picture of them.
    let is_unchosen = query.tab.is_empty() && query.open.is_none();
    let tab =
        if visit.wants_json && is_unchosen { RunTab::Steps.as_str().to_owned() } else { query.tab.clone() };
    visit
        .show("run.html", move |caller| {
            let Some((reader, run)) = run_reader(caller, &run)? else {
                return Ok(None);
            };
            let TabQuery { state, sort, page, open, from, to, step, times, .. } = query;
            let mut selection = RunSelection::of(&tab, &state, &sort, page, open);
            selection.show_times(&from, &to);
            let times = LineTimes::from_word(&times).unwrap_or_default();
            selection.output = RunOutputQuery { step, from: from.parse().ok(), times };
            let shown = run_view(&reader, &run, &selection, now)?;
            let plan_page = plan_page(caller, &shown.record["run"]);
            let signature_reason = if may_start { retry_signature(caller, &shown)? } else { None };
            Ok(Some(OperatedRun { shown, may_operate, may_start, plan_page, signature_reason }))
        })
        .await
}

/// Returns the address of the page of a run's plan, if people start it.
fn plan_page(caller: &PageCaller, run: &Value) -> Option<String> {
    let (path, plan) = (run["path"].as_str()?, run["plan"].as_str()?);
    let is_part = !run["goal"].is_null() || !run["parent"].is_null();
    if is_part { None } else { plan_page_of_run(caller, path, plan) }
}

/// Returns the reason why a login alone does not retry a run that ended without success. That of a plan which is too large to be
/// drawn is said by the act.
fn retry_signature(caller: &PageCaller, shown: &RunView) -> Result<Option<String>, CommandError> {
    let run = &shown.record["run"];
    let is_retried = matches!(shown.record["life"].as_str(), Some("failed" | "cancelled" | "abandoned"))
        && run["goal"].is_null()
        && run["parent"].is_null()
        && shown.is_drawn;
    let path = run["path"].as_str().filter(|_| is_retried);
    path.map_or(Ok(None), |path| signature_reason_at(caller, path))
}

/// Undoes a run, and leads to the run that does it.
pub(crate) async fn undo(site: LoginSite, Path(run): Path<String>) -> Response {
    act(&site, run, |caller, run| request_undo(caller, run)).await
}

/// Cancels a run.
pub(crate) async fn cancel(site: LoginSite, Path(run): Path<String>) -> Response {
    act(&site, run, |caller, run| request_cancel(caller, run).map(|()| run.clone())).await
}

/// Resumes a run.
pub(crate) async fn resume(site: LoginSite, Path(run): Path<String>) -> Response {
    act(&site, run, |caller, run| request_resume(caller, run).map(|()| run.clone())).await
}

/// Starts a run repeating what did not succeed, and leads to it.
pub(crate) async fn retry(site: LoginSite, Path(run): Path<String>) -> Response {
    act(&site, run, |caller, run| request_retry(caller, run)).await
}

/// Does something with a run, and leads to the run with the effect.
async fn act(
    site: &LoginSite,
    run: String,
    act: impl FnOnce(&PageCaller, &RunId) -> Result<RunId, CommandError> + Send + 'static,
) -> Response {
    let done = site.execute(move |caller| {
        let Some(reader) = state_reader(caller)? else {
            return Ok(None);
        };
        find_run(&reader, &run)?.map(|run| act(caller, &run)).transpose()
    });
    match done.await.transpose() {
        None => respond::missing(site),
        Some(done) => respond::done(site, done.map(|run| format!("/runs/{run}"))),
    }
}

/// The run another one is compared with, as the address has it.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct DiffQuery {
    /// The beginning of its id; empty: the run of the same plan before it.
    #[serde(default)]
    with: String,
}

#[derive(Serialize)]
struct DiffView {
    run: String,
    /// The beginning of the id asked for.
    with: String,
    /// The differences, as `wf diff --json` has them; nothing if there is no run to compare with.
    diff: Option<Value>,
}

/// The differences between a run and another one.
pub(crate) async fn diff(
    visit: Visit,
    Path(run): Path<String>,
    PageQuery(DiffQuery { with }): PageQuery<DiffQuery>,
) -> Response {
    visit
        .show("diff.html", move |caller| {
            let Some((reader, run)) = run_reader(caller, &run)? else {
                return Ok(None);
            };
            let other = if with.is_empty() { run_before(&reader, &run)? } else { find_run(&reader, &with)? };
            let diff = other.map(|other| run_diff_of(&reader, &other, &run)).transpose()?;
            let diff = diff.map(|diff| diff.document());
            Ok(Some(DiffView { run: run.to_string(), with, diff }))
        })
        .await
}

/// A task of a run: its attempts, checks and output.
pub(crate) async fn step(visit: Visit, Path((run, task)): Path<(String, String)>) -> Response {
    visit
        .show("step.html", move |caller| {
            let Some((reader, run)) = run_reader(caller, &run)? else {
                return Ok(None);
            };
            task_view(&reader, &run, &task)
        })
        .await
}
