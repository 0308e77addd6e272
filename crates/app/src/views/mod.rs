//! The views of a workspace that pages show: documents, each a projection of its state at one moment.
//!
//! Their shapes are those of `wf runs --json`, `wf show --json` and `wf goal list --json`, as far as these have
//! them. A workspace without a state has empty views.
//!
//! **Invariant:** nothing here changes the state.
//!
//! Start at `run`, which has the tabs of a run, `exchange`, `log` and `requests`, and at `inbox`; a page has the view of its name. `sentence` words
//! what `activity` lists, and `calendar` draws the months of a goal's `history`; `results` has the goals side by
//! side.

mod activity;
mod audit;
mod calendar;
mod connections;
mod diff;
mod exchange;
mod goals;
mod history;
mod home;
mod inbox;
mod log;
mod memory;
mod metrics;
mod plans;
mod requests;
mod results;
mod run;
mod run_line;
mod runs;
mod sentence;
mod skills;
mod suggestions;

pub use crate::state::reader::{
    StateReader, ViewResources, find_run, run_reader, state_reader, view_version,
};
pub use activity::{ActivityLine, ActivityPage, ActivityQuery, activity_page};
pub use audit::{
    AuditPage, AuditQuery, AuditRecordView, AuditVerification, audit_page, audit_record, audit_verification,
};
pub use calendar::{
    CalendarDay, CalendarMonth, CalendarQuery, CalendarSlot, DayHours, GoalTimes, HourCell, HourSlots,
    RecentDay, RecentDays, WeekOfGoal, WeekView, is_week, week_view,
};
pub use connections::{ConnectionView, connection_views};
pub use diff::{run_before, run_diff_of};
pub use exchange::{
    BriefedTool, BudgetShare, ContextUse, ExchangeApproval, ExchangeBriefing, ExchangeFilter, ExchangeGate,
    ExchangeQuery, ExchangeText, ExchangeTool, ExchangeTotals, ExchangeTurn, ExchangeView, ToolCallState,
    TurnNote, TurnNoteKind, TurnState, WrittenFile, WrittenFiles, exchange_view,
};
pub use goals::{AutonomyUse, GoalListing, goal_listings};
pub use history::{GoalHistoryEntry, GoalView, UpcomingSlot, goal_history, goal_view};
pub use home::{
    DayStrip, HomeView, RunProgress, SearchGroup, SearchHit, SearchView, UpcomingGoal, WorkspaceTotals,
    home_view, require_folder, require_workspace, search_view, workspace_totals,
};
pub use inbox::{InboxView, Notice, inbox_view, notices};
pub(crate) use log::LogIndexCache;
pub use log::{
    FoundLines, LineHit, LinePart, LineTimes, LogFeed, LogHits, LogLine, LogLines, LogOutput, LogPart,
    LogPattern, LogStart, LogTailView, OutputQuery, OutputView, RunLogLine, RunLogLines, RunOutputQuery,
    RunOutputView, log_feed, log_output, output_view, run_output_lines, search_run_output,
};
pub use memory::{MemoryCluster, MemoryItemView, MemoryView, memory_item_view, memory_view};
pub use metrics::metrics_text;
pub(crate) use plans::find_plan;
pub use plans::{
    FieldKind, FieldOption, ParamField, PlanForm, PlanListing, PlanProblem, PlanSource, PlanTrend, PlanUse,
    PlanView, RunOutlook, SentForm, StepTrend, TrendRun, WeekTotal, plan_form, plan_listings,
    plan_page_of_run, plan_source, plan_view, refilled_form, sent_request,
};
pub use requests::{DecidedRequest, RequestView, ShownValue, decided_request, open_requests};
pub use results::{GoalSummary, GoalsView, goals_view};
pub use run::{
    ArtifactImage, FailureGroup, FailureTask, FileRow, FileTable, FileText, RunAbout, RunFailures,
    RunFileList, RunGraph, RunSelection, RunSource, RunSteps, RunTab, RunView, RunWatcher, TaskItem,
    TaskView, TimelineView, UnbegunStep, WatchQuery, WatchedRequest, WatchedRun, WatchedStep, artifact_image,
    file_text, run_view, task_view,
};
pub use run_line::RunLine;
pub use runs::{RunPage, RunQuery, recorded_plans, run_documents, run_page, usual_duration};
pub(crate) use runs::{add_progress, run_listing, run_listings};
pub use skills::{SkillListing, SkillLockView, SkillView, skill_listings, skill_view};
pub use suggestions::{SuggestionCard, open_suggestions, suggestion_cards};
pub use wf_core::suggestion::SuggestionRecord;
pub use wf_report::metrics::{MetricsFormat, WorkspaceMetrics};
