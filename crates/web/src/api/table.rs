//! The table of all operations: what is not in it is not mounted, and what is in it is in the document.

use axum::Router;
use wf_app::{
    api::{
        ApiArtifactList, ApiGoalList, ApiLineQuery, ApiLines, ApiOutputQuery, ApiPlanDetail, ApiPlanList,
        ApiRequest, ApiRequestList, ApiRunDetail, ApiRunId, ApiRunPage, ApiRunQuery, ApiStart, ApiStartDraft,
        ApiStepPage, ApiStepQuery,
    },
    approve::{AnswerDraft, RemoteAnswer},
    resumption::AnswerRecord,
};

use super::{
    plans, requests,
    requests::SignedAnswer,
    route::{ApiRoute, RouteAnswer},
    runs, streams,
    streams::EventQuery,
    workspaces,
    workspaces::ApiWorkspaceList,
};
use crate::{login_table::LoginAccess, site::Site, workspaces::path_within};

/// The beginning of every address.
pub(crate) const PREFIX: &str = "/api/v1";

/// True if a path is below the interface of any workspace.
pub(crate) fn is_address(path: &str) -> bool {
    path_within(path).starts_with("/api/")
}

/// Returns all operations.
pub(super) fn routes() -> Vec<ApiRoute> {
    let mut routes = server_routes();
    routes.extend(run_routes());
    routes.extend(output_routes());
    routes.extend(plan_routes());
    routes.extend(request_routes());
    routes
}

/// The operations about the server, beside those of its workspaces.
fn server_routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::view(
            "/workspaces",
            "list_workspaces",
            "Lists the workspaces of the server.",
            workspaces::list,
        )
        .answer(RouteAnswer::json::<ApiWorkspaceList>()),
    ]
}

fn run_routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::view("/runs", "list_runs", "Lists runs, newest first, a page at a time.", runs::list)
            .query::<ApiRunQuery>()
            .answer(RouteAnswer::json_or_text::<ApiRunPage>()),
        ApiRoute::view("/runs/{run}", "show_run", "Shows a run with its steps and failures.", runs::show)
            .answer(RouteAnswer::json_or_text::<ApiRunDetail>()),
        ApiRoute::view("/runs/{run}/steps", "list_steps", "Lists the steps of a run.", runs::steps)
            .query::<ApiStepQuery>()
            .answer(RouteAnswer::json::<ApiStepPage>()),
        ApiRoute::act(
            LoginAccess::Operate,
            "/runs/{run}/cancel",
            "cancel_run",
            "Cancels a run: its steps are ended, and its `finally` steps run.",
            runs::cancel,
        )
        .answer(RouteAnswer::json::<ApiRunId>()),
        ApiRoute::act(
            LoginAccess::Operate,
            "/runs/{run}/resume",
            "resume_run",
            "Resumes a run that no process works on.",
            runs::resume,
        )
        .answer(RouteAnswer::json::<ApiRunId>()),
        ApiRoute::act(
            LoginAccess::Start,
            "/runs/{run}/retry",
            "retry_run",
            "Starts a run that repeats what did not succeed in another one.",
            runs::retry,
        )
        .answer(RouteAnswer::created::<ApiRunId>()),
        ApiRoute::view(
            "/events",
            "stream_events",
            "Streams the events of runs as they become durable.",
            streams::events,
        )
        .query::<EventQuery>()
        .header("Last-Event-ID")
        .answer(RouteAnswer::Events)
        .streamed(),
    ]
}

fn output_routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::view(
            "/runs/{run}/steps/{step}/log",
            "read_log",
            "Reads lines of the output of an attempt.",
            runs::lines,
        )
        .query::<ApiLineQuery>()
        .answer(RouteAnswer::json::<ApiLines>()),
        ApiRoute::view(
            "/runs/{run}/steps/{step}/log.txt",
            "stream_log",
            "Sends the output of an attempt as text, all of it or as it comes.",
            streams::log,
        )
        .query::<ApiOutputQuery>()
        .streamed(),
        ApiRoute::view(
            "/runs/{run}/artifacts",
            "list_artifacts",
            "Lists the files that the steps of a run left.",
            runs::artifacts,
        )
        .answer(RouteAnswer::json::<ApiArtifactList>()),
        ApiRoute::view(
            "/runs/{run}/artifacts/{digest}/{name}",
            "read_artifact",
            "Sends an artifact of a run by its digest. The name is the one under which it is saved.",
            runs::artifact,
        )
        .answer(RouteAnswer::Bytes),
    ]
}

fn plan_routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::view("/plans", "list_plans", "Lists the plans of the workspace.", plans::list)
            .answer(RouteAnswer::json::<ApiPlanList>()),
        ApiRoute::view("/plans/{plan}", "show_plan", "Shows a plan: its parameters, its risk.", plans::show)
            .answer(RouteAnswer::json::<ApiPlanDetail>()),
        ApiRoute::act(
            LoginAccess::Start,
            "/plans/{plan}/runs",
            "start_run",
            "Starts a run of a plan; sent again with the same key, it starts no other run.",
            plans::start,
        )
        .header("Idempotency-Key")
        .body::<ApiStart>()
        .answer(RouteAnswer::created::<ApiRunId>()),
        ApiRoute::act(
            LoginAccess::Look,
            "/plans/{plan}/statement",
            "draft_start",
            "Drafts the statement that an approver signs to start a plan.",
            plans::draft,
        )
        .header("Idempotency-Key")
        .body::<ApiStart>()
        .answer(RouteAnswer::json::<ApiStartDraft>()),
        ApiRoute::view("/goals", "list_goals", "Lists the goals of the workspace.", plans::goals)
            .answer(RouteAnswer::json::<ApiGoalList>()),
    ]
}

fn request_routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::view("/requests", "list_requests", "Lists what waits for people.", requests::list)
            .answer(RouteAnswer::json::<ApiRequestList>()),
        ApiRoute::view("/requests/{run}/{number}", "show_request", "Shows a request.", requests::show)
            .answer(RouteAnswer::json_or_text::<ApiRequest>()),
        ApiRoute::act(
            LoginAccess::Look,
            "/requests/{run}/{number}/statement",
            "draft_answer",
            "Drafts the statement that the author of an answer signs.",
            requests::draft,
        )
        .body::<RemoteAnswer>()
        .answer(RouteAnswer::json::<AnswerDraft>()),
        ApiRoute::act(
            LoginAccess::Look,
            "/requests/{run}/{number}/answer",
            "answer_request",
            "Records a signed answer, if the signature counts.",
            requests::answer,
        )
        .body::<SignedAnswer>()
        .answer(RouteAnswer::json::<AnswerRecord>()),
    ]
}

/// Returns the operations, for whoever has a key.
pub(crate) fn router(site: &Site) -> Router<Site> {
    mounted(routes(), site)
}

/// Returns those about the server alone.
pub(crate) fn server_router(site: &Site) -> Router<Site> {
    mounted(server_routes(), site)
}

fn mounted(routes: Vec<ApiRoute>, site: &Site) -> Router<Site> {
    routes.into_iter().fold(Router::new(), |router, route| route.mount(router, PREFIX, site))
}
