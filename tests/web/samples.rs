//! The samples from which the shapes of pages are made, compared with real documents and with the types of views: a key that
//! was renamed, or may be null, is one there, too.

pub(super) mod compare;
mod plans;

use serde_json::{Value, json};

use compare::{fits, fits_without, sample};

use super::{ASKS, GOAL, REFUTED, ROUNDS};
use crate::support::Sandbox;
use wf_app::{
    connections::ConnectionRecord,
    views::{
        ActivityLine, ActivityPage, AuditPage, AuditRecordView, AuditVerification, AutonomyUse, CalendarDay,
        CalendarMonth, CalendarSlot, ConnectionView, DayHours, DayStrip, DecidedRequest, ExchangeFilter,
        FailureGroup, FailureTask, FileRow, FileTable, FileText, FoundLines, GoalSummary, GoalTimes,
        GoalView, GoalsView, HomeView, HourCell, HourSlots, InboxView, LineHit, LinePart, LogHits, LogLine,
        LogLines, LogTailView, MemoryItemView, MemoryView, Notice, OutputView, RecentDay, RecentDays,
        RequestView, RunAbout, RunFailures, RunFileList, RunGraph, RunLogLine, RunLogLines, RunOutputView,
        RunProgress, RunSource, RunSteps, RunView, SearchGroup, SearchHit, SearchView, ShownValue,
        SkillListing, SkillLockView, SkillView, TaskItem, TaskView, TimelineView, ToolCallState,
        TurnNoteKind, TurnState, UnbegunStep, UpcomingGoal, UpcomingSlot, WeekOfGoal, WeekView,
    },
};
use wf_base::{
    digest::Sha256Digest,
    keyword::Keyword,
    name::{PlanId, RunId},
    time::Moment,
};
use wf_core::{
    connection::ConnectionState,
    goal::ReconciliationPart,
    machine::{ApprovalRequest, CheckRuling, RunOutcome, Standing, StepState},
    memory::{MemoryNote, NoteDraft, NoteRank, RankedNote},
    risk::RiskLevel,
};
use wf_model::{AuthMethod, FailureClass};
use wf_report::{
    card::{CardKind, RequestCard},
    record::ModelCaller,
};

#[test]
fn the_samples_of_pages_are_like_what_runs_and_goals_leave() {
    let sandbox = Sandbox::new();
    sandbox.file("goals/mirror.md", GOAL).file("goals/broken.md", "---\nkind: goal\n---\n");
    sandbox.file("prices.md", REFUTED).file("release.md", ASKS).file("fetch.md", ROUNDS);
    sandbox.file("inner.md", "---\nkind: plan\nid: inner\nsteps:\n  - {id: one, run: 'true'}\n---\n");
    sandbox.file("outer.md", "---\nkind: plan\nid: outer\nsteps:\n  - {id: all, uses: inner.md}\n---\n");
    let json = |args: &[&str]| serde_json::from_str::<Value>(&sandbox.wf(args).out).unwrap();
    for (plan, code) in [("prices.md", 1), ("fetch.md", 0), ("outer.md", 0), ("release.md", 5)] {
        sandbox.wf(&["run", plan]).exits(code);
        let record = json(&["show", "--last", "--json"]);
        fits("run", "/record", &record);
        fits("step", "/record", &record);
    }
    sandbox.wf(&["approve", "--last", "--yes"]).exits(0);
    sandbox.wf(&["resume", "--last"]).exits(0);
    fits("run", "/record", &json(&["show", "--last", "--json"]));
    for (list, name, least) in [("runs", "parts/a_run", 5), ("goals", "parts/a_goal", 2)] {
        let command: &[&str] = if list == "runs" { &["runs", "--all"] } else { &["goal", "list"] };
        let listed = json(&[command, &["--json"]].concat());
        let rows = listed[list].as_array().unwrap();
        assert!(rows.len() >= least, "{rows:?}");
        for row in rows {
            fits(name, "", row);
        }
    }
    sandbox.wf(&["run", "prices.md"]).exits(1);
    fits("diff", "/diff?", &json(&["diff", "--last", "--json"]));
}

fn at() -> Moment {
    Moment::from_millis(1_800_000_000_000)
}

fn text() -> String {
    "text".into()
}

#[test]
fn the_samples_of_logs_are_like_the_types_of_views() {
    let line = ActivityLine {
        event: 1,
        at: at(),
        kind: "run",
        text: text(),
        people: vec![],
        plan: None,
        run: None,
        goal: None,
        undo_until: None,
    };
    fits("activity", "/page", &ActivityPage { lines: vec![line], older: None });
    let record = AuditRecordView {
        n: 1,
        at: None,
        kind: text(),
        run: None,
        plan: None,
        place: text(),
        details: text(),
        line: text(),
        fault: None,
    };
    fits("audit", "/page", &AuditPage { records: vec![record], older: None });
    let verification =
        AuditVerification { holds: true, events: 1, records: 1, faults: vec![text()], notes: vec![text()] };
    fits("audit_verify", "/verification?", &verification);
}

#[test]
fn the_samples_of_skills_and_connections_are_like_the_types_of_views() {
    let listing = SkillListing {
        name: text(),
        path: text(),
        description: None,
        shadowed_by: None,
        findings: vec![text()],
        is_usable: true,
        trust: text(),
        remedy: text(),
    };
    let lock =
        SkillLockView { source: text(), commit: None, digest: text(), granted: vec![], exceptions: vec![] };
    let skill = SkillView { listing, properties: [].into(), lock: Some(lock), files: vec![], text: text() };
    fits("skill", "", &skill);
    let connection = ConnectionView {
        connection: ConnectionRecord {
            name: "box".parse().unwrap(),
            state: ConnectionState::Active,
            skill: text(),
            folder: text(),
            digest: Sha256Digest::of_bytes(b""),
            auth: AuthMethod::DeviceCode,
            account: None,
            permissions: vec![],
            created: at(),
            checked: None,
            token_expires_at: None,
            refresh_expires_at: None,
            last_refresh: None,
            last_used: None,
            failure: None,
        },
        breaker_until: None,
        succeeded_at: None,
        failed_at: None,
        error: text(),
    };
    fits("connections", "/connections", &[connection]);
}

#[test]
fn the_sample_of_a_goal_is_like_the_type_of_its_view() {
    let slot = || CalendarSlot {
        at: at(),
        local: text(),
        utc: text(),
        state: "failed",
        count: 1,
        run: Some(RunId::from_bytes([1; 16])),
    };
    let day = CalendarDay { day: 1, clock_change: None, slots: vec![slot()], more: text() };
    let weeks = vec![vec![Some(day), None]];
    let cells = vec![HourCell { state: text(), words: text(), page: None }];
    let month = CalendarMonth {
        month: text(),
        earlier: None,
        later: None,
        zone: text(),
        weeks,
        hours: vec![DayHours { day: 1, cells }],
        recorded_since: None,
    };
    let days = vec![RecentDay { date: text(), state: text(), words: text() }];
    let recent = RecentDays { svg: None, days, first: text(), last: text() };
    let hour = HourSlots { hour: text(), slots: vec![slot()], more: text() };
    let times = GoalTimes { recent: Some(recent), month, hour: Some(hour) };
    let upcoming = vec![UpcomingSlot { at: at(), local: text(), zone: text(), note: None }];
    let document = json!({"id": null, "path": "goals/x.md", "broken": "2 problems"});
    let goal = GoalView {
        goal: document.clone(),
        history: vec![],
        upcoming,
        times: Some(times),
        failed_run: None,
        autonomy: None,
    };
    let mut goal = serde_json::to_value(&goal).unwrap();
    goal["may_operate"] = true.into();
    fits("goal", "", &goal);
    let autonomy = Some(AutonomyUse { used: 1, limit: 2, state: "holds" });
    let summary = GoalSummary { goal: document, strip: None, autonomy, failed_run: None };
    let days = vec![HourCell { state: text(), words: text(), page: None }];
    let week = WeekOfGoal { id: text(), title: None, zone: text(), is_paused: true, days };
    let week = WeekView {
        week: text(),
        earlier: None,
        later: None,
        days: vec![text()],
        svg: None,
        goals: vec![week],
        more: 0,
        broken: 0,
    };
    fits("schedule", "", &week);
    fits("goals", "", &GoalsView { goals: vec![summary], idle: None });
}

fn output_view(line: LogLine) -> OutputView {
    let hit = LineHit { n: 1, at: None, length: 1, excerpt: text() };
    OutputView {
        run: RunId::from_bytes([1; 16]),
        address: text(),
        attempt: 1,
        shown: LogLines { first: 1, total: 1, size: 1, is_whole: true, started: None, lines: vec![line] },
        earlier: None,
        later: None,
        text: text(),
        is_regex: false,
        times: "hidden",
        found: Some(FoundLines::new(LogHits { hits: vec![hit], more: true, is_given_up: false })),
        problem: text(),
    }
}

#[test]
fn the_samples_of_runs_and_memory_are_like_the_types_of_views() {
    let run = RunId::from_bytes([1; 16]);
    let part = LinePart { text: text(), style: text() };
    let line = LogLine { n: 1, parts: vec![part], omitted: 0, at: None };
    let log = LogTailView { attempt: 1, text: text(), lines: vec![line.clone()], total: 1 };
    fits("output", "", &output_view(line));
    let record = json!({"v": 1, "run": null});
    let item = TaskItem {
        name: text(),
        address: text(),
        state: "failed",
        standing: Standing::Verified,
        reason: text(),
    };
    let (name, address, items) = (text(), text(), vec![item]);
    let task =
        TaskView { record, name, address, logs: vec![log], nested: vec![], items, has_more_items: true };
    let mut task = serde_json::to_value(&task).unwrap();
    assert!(task.as_object_mut().unwrap().remove("record").is_some());
    fits_without("step", &["record"], &task);
    let note =
        MemoryNote::new(NoteDraft { text: text(), ..NoteDraft::default() }, "user", false, at()).unwrap();
    let rank = NoteRank { similarity: 0.0, trust: 0.0, freshness: 0.0, verified: 0.0, quality: 0.0 };
    let note = RankedNote { note, rank };
    fits("memory_item", "", &MemoryItemView { note: Some(note.clone()), cluster: None });
    fits("memory", "/memory", &MemoryView { notes: vec![note], found: 1, clusters: vec![] });
    let notice = Notice { subject: "goal", text: text(), command: text(), page: None };
    let requests = vec![request(&run)];
    fits(
        "home",
        "",
        &HomeView {
            inbox: InboxView { requests, suggestions: vec![], secrets: vec![], notices: vec![notice] },
            failures: vec![],
            more_failures: 0,
            troubled: vec![],
            running: vec![],
            latest: vec![],
            day: vec![DayStrip { label: "runs", svg: text(), total: 1, failed: 0, is_cut: false }],
            upcoming: vec![UpcomingGoal { id: PlanId::parse("mirror").unwrap(), title: text(), at: at() }],
            goal_count: 1,
        },
    );
    let progress = RunProgress { run: Value::Null, done: 1, total: 2, steps: vec![] };
    let mut progress = serde_json::to_value(&progress).unwrap();
    assert!(progress.as_object_mut().unwrap().remove("run").is_some());
    fits_without("parts/a_progress", &["run"], &progress);
    let hit = SearchHit { title: text(), page: text(), detail: text(), state: None, mark: None };
    let group = SearchGroup { name: "Runs", hits: vec![hit], is_cut: false };
    fits("search", "", &SearchView { text: text(), groups: vec![group] });
    fits_without(
        "run",
        &["record", "may_operate", "may_start", "plan_page?", "signature_reason?"],
        &run_view(&run),
    );
    let digest = Sha256Digest::of_bytes(b"");
    let table = FileTable { head: vec![text()], rows: vec![vec![text()]], more_rows: 0, more_columns: 0 };
    let (path, size, table) = (text(), text(), Some(table));
    fits("file", "", &FileText { run, digest, path, size, is_image: false, text: None, html: None, table });
}

#[test]
fn the_sample_of_a_decided_request_is_like_the_type_of_its_view() {
    let decided = DecidedRequest {
        top: RunId::from_bytes([1; 16]),
        name: text(),
        plan: text(),
        message: text(),
        decision: "approved",
        people: vec![text()],
        life: "running",
    };
    fits("request", "/decided?", &decided);
}

/// Asserts that a part of a sample has every word of a type.
#[track_caller]
fn has_all_words<T: Keyword>(name: &str, part: &str) {
    let words = sample(name, &format!("{part}/one of"));
    let missing = T::ALL
        .iter()
        .map(|value| value.word())
        .filter(|word| !words.as_array().unwrap().contains(&json!(word)));
    assert_eq!(missing.collect::<Vec<_>>(), [""; 0], "{name}{part}");
}

#[test]
fn the_samples_of_pages_have_every_word() {
    has_all_words::<CardKind>("parts/a_request", "/card/kind");
    has_all_words::<RiskLevel>("parts/a_request", "/risk?/level");
    has_all_words::<StepState>("parts/a_step", "/state");
    has_all_words::<Standing>("parts/a_step", "/standing");
    has_all_words::<CheckRuling>("step", "/record/checks/0/verdict/ruling");
    has_all_words::<FailureClass>("step", "/record/attempts/0/failure_class?");
    has_all_words::<ReconciliationPart>("parts/a_run", "/goal~");
    has_all_words::<RunOutcome>("run", "/record/life");
    has_all_words::<ModelCaller>("run", "/spending/0/caller");
    has_all_words::<ExchangeFilter>("exchange", "/filter");
    has_all_words::<TurnState>("exchange", "/turns/0/state");
    has_all_words::<TurnNoteKind>("exchange", "/turns/0/notes/0/kind");
    has_all_words::<ToolCallState>("exchange", "/turns/0/tools/0/state");
}

fn request(run: &RunId) -> RequestView {
    let ask = json!({"request": 1, "since": at(), "step": "build", "message": "Publish?", "expires": at()});
    let ask: ApprovalRequest = serde_json::from_value(ask).unwrap();
    RequestView {
        run: run.clone(),
        number: 1,
        top: run.clone(),
        name: "build".into(),
        plan: "release".into(),
        is_question: false,
        risk: None,
        values: vec![ShownValue { name: "version".into(), text: "1.2".into() }],
        options: None,
        card: RequestCard::from_request(&ask, None, &[]),
        answers: 0,
        text: "everything".into(),
        ask,
    }
}

fn run_view(run: &RunId) -> RunView {
    let graph = RunGraph {
        svg: "<svg></svg>".into(),
        is_folded: false,
        open: None,
        critical: vec!["build".into()],
        more_critical: 0,
        critical_ms: 1,
    };
    let (task, log) = (
        FailureTask { name: text(), address: text() },
        LogTailView { attempt: 1, text: text(), lines: vec![], total: 1 },
    );
    let group = FailureGroup {
        reason: text(),
        failure_class: None,
        state: "failed",
        standing: Standing::Refuted,
        count: 1,
        tasks: vec![task],
        checks: vec![],
        log: Some(log),
    };
    RunView {
        record: Value::Null,
        title: None,
        now: at(),
        has_process: true,
        worked_ms: None,
        tab: "graph",
        tabs: vec!["graph"],
        requests: vec![request(run)],
        failures: Some(RunFailures { groups: vec![group], more: 0 }),
        undo: None,
        has_earlier: false,
        is_drawn: true,
        timeline: Some(timeline()),
        graph: Some(graph),
        steps: Some(run_steps()),
        output: Some(run_output()),
        plot: None,
        spending: vec![],
        files: Some(RunFileList { rows: vec![file_row()], more: 0 }),
        about: Some(RunAbout {
            prose: text(),
            sources: vec![RunSource { path: text(), text: text(), cut: None }],
            more_sources: 0,
            nested: vec![],
            more_nested: 0,
        }),
    }
}

fn timeline() -> TimelineView {
    TimelineView {
        picture: None,
        others: None,
        range: None,
        outside: 0,
        closer: None,
        first_half: None,
        last_half: None,
        wider: None,
        earlier: None,
        later: None,
    }
}

fn run_output() -> RunOutputView {
    let line = LogLine { n: 1, parts: vec![LinePart { text: text(), style: text() }], omitted: 0, at: None };
    let run = RunId::from_stored(text());
    let line = RunLogLine { line, task: text(), run, address: text(), attempt: 1, own: 1, hue: 0 };
    RunOutputView {
        step: text(),
        steps: vec![text()],
        shown: RunLogLines { first: 1, total: 1, is_whole: true, started: at(), lines: vec![line] },
        times: "hidden",
        earlier: None,
        later: None,
        left_out: 0,
    }
}

fn run_steps() -> RunSteps {
    RunSteps {
        state: None,
        order: "start",
        states: [("failed", 1)].into(),
        page: 0,
        last_page: 0,
        unbegun: vec![UnbegunStep { step: text(), needs: vec![text()] }],
        more_unbegun: 0,
    }
}

fn file_row() -> FileRow {
    FileRow {
        path: text(),
        digest: Sha256Digest::of_bytes(b""),
        size: text(),
        task: text(),
        address: text(),
        evidence: None,
        is_shown: true,
        is_removed: false,
    }
}
