//! The documents of the interface for programs: small types of its own, made from views and records, which stay as they are
//! while those of pages change.
//!
//! ```text
//! runs ──▶ steps: a run in a list, and one with its steps · output: its lines and its artifacts
//! plans, requests, goals: what can be started, what waits for people, what is kept
//! events: the log from any place on, for whoever follows it
//! ```
//!
//! The types are the only place in which their keys are declared: the text of an answer and its description in
//! `schemas/openapi.json` follow from them. They are versioned by the path of the interface alone.
//!
//! **Invariant:** within a version, keys and values are only added. A word of a state is text, so a reader can meet a new one.
//!
//! Start at `runs`.

mod events;
mod goals;
mod output;
mod plans;
mod requests;
mod runs;
mod steps;

pub use events::{ApiEvent, ApiEventBatch, EventCursor, EventFeed, event_feed};
pub use goals::{ApiGoal, ApiGoalList, ApiGoalPause, api_goals};
pub use output::{
    ApiArtifact, ApiArtifactList, ApiLine, ApiLineQuery, ApiLines, ApiOutputQuery, api_artifacts, api_feed,
    api_lines,
};
pub use plans::{
    ApiPlan, ApiPlanDetail, ApiPlanList, ApiRisk, ApiStart, ApiStartDraft, api_plan, api_plans,
    api_start_draft, canonical_token, start_plan,
};
pub use requests::{
    ApiAnswerOptions, ApiDraftText, ApiRequest, ApiRequestList, ApiShownValue, api_request, api_requests,
};
pub use runs::{
    ApiCheck, ApiFailure, ApiParent, ApiProgress, ApiRun, ApiRunDetail, ApiRunId, ApiRunPage, ApiRunQuery,
    api_run, api_runs, run_text, runs_text,
};
pub use steps::{ApiAttempt, ApiStep, ApiStepPage, ApiStepQuery, api_steps};
