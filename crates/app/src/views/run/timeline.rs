//! A run over time, from its records: what each step waited for, its attempts, and the checks after them.
//!
//! Every bar has two recorded instants. A step is queued from the moment when the last step that it needs had ended, or
//! when it asked for a lock; the records have no other beginning of that.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{
    graph::{add_item_times, critical_steps, times_of},
    view::RunScope,
    waits::{WaitSpan, apart_from, idle_spans, waits_of},
};
use crate::CommandError;
use wf_base::{
    name::{Name, RunId},
    time::Moment,
    units::{elapsed, plural},
};
use wf_core::machine::{CheckRuling, StepState, TaskId, WorkExit};
use wf_model::{Plan, Step};
use wf_report::{
    draw::{
        BarKind, CheckMark, MAX_TIMELINE_ROWS, RunTimeline, TimelineBar, TimelineRange, TimelineRow,
        TimelineZoom, choose_rows, timeline_html,
    },
    record::RunLifecycle,
    state_word,
};
use wf_store::{AttemptRow, CheckRow, ItemGroup, StepRow, StepTimes};

/// The most items that have a row each.
const MAX_ITEMS: usize = 8;

/// The shortest time in a queue that is drawn, in milliseconds: every step is queued for an instant.
const MIN_QUEUED_MS: u128 = 100;

/// A run over time.
#[derive(Debug, Serialize)]
pub struct TimelineView {
    /// The picture, for a page; absent: no step has begun.
    pub picture: Option<String>,
    /// The rows that are not drawn, in words.
    pub others: Option<String>,
    /// The shown part of its time, in words; absent: all of it.
    pub range: Option<String>,
    /// The number of steps without a part of that time.
    pub outside: usize,
    /// The ends of the addresses of the parts next to it: closer, its halves, wider, earlier, later; absent: there is none. That
    /// of all of the time is empty.
    pub closer: Option<String>,
    pub first_half: Option<String>,
    pub last_half: Option<String>,
    pub wider: Option<String>,
    pub earlier: Option<String>,
    pub later: Option<String>,
}

/// The parts of a run that the rows are made of.
struct TimelineSources<'a> {
    scope: &'a RunScope<'a>,
    groups: BTreeMap<Name, Vec<ItemGroup>>,
    waits: BTreeMap<TaskId, Vec<WaitSpan>>,
    /// The end of the last step that each step needs.
    ready: BTreeMap<Name, Moment>,
    /// The items with a row each.
    items: BTreeMap<Name, Vec<StepRow>>,
    checks: BTreeMap<TaskId, Vec<CheckRow>>,
    /// The times in which no process had the run: what was interrupted by them was not worked on.
    idle: Vec<WaitSpan>,
}

/// Returns a run over time.
pub(super) fn timeline(
    scope: &RunScope<'_>,
    range: Option<TimelineRange>,
) -> Result<TimelineView, CommandError> {
    let mut times = scope.store().steps().times(scope.run)?;
    let items = scope.store().steps().item_groups(scope.run)?;
    add_item_times(&mut times, &items);
    let mut groups: BTreeMap<Name, Vec<ItemGroup>> = BTreeMap::new();
    for group in items {
        groups.entry(group.step.clone()).or_default().push(group);
    }
    let kinds = ["lock_requested", "approval_requested", "approval_resolved"];
    let events = scope.store().events().apart(scope.run, &kinds)?;
    let mut sources = TimelineSources {
        scope,
        groups,
        waits: waits_of(&events),
        ready: ready_times(scope, &times),
        items: BTreeMap::new(),
        checks: BTreeMap::new(),
        idle: idle_spans(scope)?,
    };
    let is_critical = critical_names(scope, &times);
    let count = times.len();
    times.retain(|row| range.is_none_or(|range| is_within(scope, row, range)));
    let outside = count - times.len();
    let heads = times.iter().map(|row| sources.head(row, is_critical.contains(&row.step)));
    let parts: usize = sources.groups.values().map(|groups| drawn_items(groups) + 1).sum();
    let parts = parts + scope.record.nested.len();
    let choice = choose_rows(heads.collect(), MAX_TIMELINE_ROWS - parts.min(MAX_TIMELINE_ROWS / 2));
    let mut budget = MAX_TIMELINE_ROWS - choice.rows.len();
    let steps: Vec<Name> = choice.rows.iter().filter_map(|row| row.name.parse().ok()).collect();
    sources.read_parts(&steps, &mut budget)?;
    let others = choice.others_text();
    let mut rows = Vec::new();
    for row in choice.rows {
        sources.add_step(row, &mut budget, &mut rows)?;
    }
    let run = &scope.record.run;
    let is_live = matches!(scope.record.life, RunLifecycle::Running | RunLifecycle::Waiting);
    // Without a process, its time ends with what is known of it; people who are asked have until now.
    let now = if is_live { scope.now } else { run.work_end.known(scope.now) };
    let (begun, ended) = (run.created, run.ended);
    let picture = timeline_html(&RunTimeline { begun, ended, now, is_live, range, rows });
    let whole = run.ended.unwrap_or(now).since(run.created);
    let words = |range: TimelineRange| {
        format!("{} to {} of {}", elapsed(range.from), elapsed(range.to), elapsed(whole))
    };
    let zoom = TimelineZoom::of(range, whole);
    Ok(TimelineView {
        picture,
        others,
        range: range.map(words),
        outside,
        closer: zoom.closer,
        first_half: zoom.first_half,
        last_half: zoom.last_half,
        wider: zoom.wider,
        earlier: zoom.earlier,
        later: zoom.later,
    })
}

/// True if a step was at work or waited in a part of the time of a run.
fn is_within(scope: &RunScope<'_>, row: &StepTimes, range: TimelineRange) -> bool {
    let begun = scope.record.run.created;
    let ended = row.ended.or(scope.record.run.ended).unwrap_or(scope.now);
    row.started.is_some_and(|started| started <= begun.after(range.to)) && ended >= begun.after(range.from)
}

/// Returns the steps of the chain that took longest.
fn critical_names(scope: &RunScope<'_>, times: &[StepTimes]) -> BTreeSet<Name> {
    let Some(plan) = scope.plan else {
        return BTreeSet::new();
    };
    let chain = critical_steps(plan, &times_of(plan, times));
    chain.into_iter().filter_map(|at| plan.steps().get(at)).map(|step| step.id.clone()).collect()
}

/// Returns the instant from which each step could begin, by the ends of those that it needs.
fn ready_times(scope: &RunScope<'_>, times: &[StepTimes]) -> BTreeMap<Name, Moment> {
    let ends: BTreeMap<&Name, Moment> =
        times.iter().filter_map(|row| Some((&row.step, row.ended?))).collect();
    let begun = scope.record.run.created;
    let steps = scope.plan.map(Plan::steps).unwrap_or_default();
    let ready = |step: &Step| {
        let needed = step.depends_on.iter().filter_map(|at| steps.get(at.index()));
        let ends: Option<Vec<Moment>> = needed.map(|needed| ends.get(&needed.id).copied()).collect();
        Some((step.id.clone(), ends?.into_iter().max().unwrap_or(begun)))
    };
    steps.iter().filter_map(ready).collect()
}

/// Returns the number of items of a step that have a row each: all of a few, and else those that failed.
fn drawn_items(groups: &[ItemGroup]) -> usize {
    let total: usize = groups.iter().map(|group| group.count).sum();
    let failed =
        groups.iter().filter(|group| group.state == StepState::Failed).map(|group| group.count).sum();
    if total <= MAX_ITEMS { total } else { failed }
}

impl TimelineSources<'_> {
    fn run(&self) -> &RunId {
        self.scope.run
    }

    /// Returns the row of a step, without bars.
    fn head(&self, times: &StepTimes, is_critical: bool) -> TimelineRow {
        let state = self.scope.record.life.shown_state(times.state);
        let items = self.groups.get(&times.step).into_iter().flatten().filter_map(|group| group.started);
        TimelineRow {
            name: times.step.to_string(),
            link: format!("/runs/{}/steps/{}", self.run(), times.step),
            state: state_word(state, times.standing).to_owned(),
            is_critical,
            started: times.started.or_else(|| items.min()),
            ..TimelineRow::default()
        }
    }

    /// Adds the rows of a step: its own, and those of its items and nested runs.
    fn add_step(
        &self,
        mut row: TimelineRow,
        budget: &mut usize,
        rows: &mut Vec<TimelineRow>,
    ) -> Result<(), CommandError> {
        let Ok(step) = row.name.parse::<Name>() else {
            return Ok(());
        };
        let task_id = TaskId::of_step(&step);
        let groups = self.groups.get(&step).map(Vec::as_slice).unwrap_or_default();
        if groups.is_empty() {
            let found = self.scope.store().steps().find(self.run(), &task_id)?;
            if let Some(found) = found {
                self.fill(&mut row, &found)?;
            }
        } else {
            row.bars.extend(self.parts_bar(groups));
        }
        rows.push(row);
        if !groups.is_empty() {
            self.add_items(&step, groups, rows)?;
        }
        self.add_nested(&task_id, budget, rows);
        Ok(())
    }

    /// Returns the bar over all items of a step.
    fn parts_bar(&self, groups: &[ItemGroup]) -> Option<TimelineBar> {
        let from = groups.iter().filter_map(|group| group.started).min()?;
        let is_open = groups.iter().any(|group| {
            matches!(
                group.state,
                StepState::Running | StepState::Verifying | StepState::Queued | StepState::Waiting
            )
        });
        let over = self.scope.record.run.ended.or(self.interrupted());
        let goes_on = is_open && over.is_none();
        let until = if is_open { over } else { groups.iter().filter_map(|group| group.ended).max() };
        Some(TimelineBar {
            kind: BarKind::Parts,
            from,
            until: if goes_on { None } else { until.or(over) },
            state: String::new(),
            text: self.groups_text(groups),
        })
    }

    /// Reads the items that have a row each, and the checks of all tasks with a row.
    fn read_parts(&mut self, steps: &[Name], budget: &mut usize) -> Result<(), CommandError> {
        let store = self.scope.store();
        let mut tasks = BTreeSet::new();
        for step in steps {
            let Some(groups) = self.groups.get(step) else {
                tasks.insert(TaskId::of_step(step));
                continue;
            };
            if *budget == 0 {
                continue;
            }
            let total: usize = groups.iter().map(|group| group.count).sum();
            let is_summed = total > MAX_ITEMS;
            *budget = budget.saturating_sub(usize::from(is_summed));
            let state = is_summed.then_some(StepState::Failed);
            let items = store.steps().items(self.scope.run, step, state, *budget)?;
            *budget -= items.len();
            tasks.extend(items.iter().map(|item| TaskId { step: item.step.clone(), item: item.item }));
            self.items.insert(step.clone(), items);
        }
        for check in store.checks().of_tasks(self.scope.run, &tasks)? {
            if let Some(step) = &check.step {
                let task_id = TaskId { step: step.clone(), item: check.item };
                self.checks.entry(task_id).or_default().push(check);
            }
        }
        Ok(())
    }

    fn add_items(
        &self,
        step: &Name,
        groups: &[ItemGroup],
        rows: &mut Vec<TimelineRow>,
    ) -> Result<(), CommandError> {
        let Some(items) = self.items.get(step) else {
            return Ok(());
        };
        let total: usize = groups.iter().map(|group| group.count).sum();
        if total > MAX_ITEMS {
            let mut row = TimelineRow {
                name: self.groups_text(groups),
                link: format!("/runs/{}?tab=steps", self.run()),
                is_part: true,
                ..TimelineRow::default()
            };
            row.bars.extend(self.parts_bar(groups));
            rows.push(row);
        }
        for item in items {
            let task_id = TaskId { step: item.step.clone(), item: item.item };
            let state = self.scope.record.life.shown_state(item.state);
            let mut row = TimelineRow {
                name: task_id.display_name(item.item_key.as_deref()),
                link: format!("/runs/{}/steps/{task_id}", self.run()),
                state: state_word(state, item.standing).to_owned(),
                is_part: true,
                started: item.started,
                ..TimelineRow::default()
            };
            self.fill(&mut row, item)?;
            rows.push(row);
        }
        Ok(())
    }

    fn add_nested(&self, task_id: &TaskId, budget: &mut usize, rows: &mut Vec<TimelineRow>) {
        for child in self.scope.record.nested_in(task_id).take(*budget) {
            *budget -= 1;
            let run = &child.run;
            let ended = run.ended.or(self.scope.record.run.ended).or(self.interrupted());
            rows.push(TimelineRow {
                name: format!("{} {}", run.plan, run.id.short()),
                link: format!("/runs/{}", run.id),
                state: child.life.as_str().to_owned(),
                is_part: true,
                started: Some(run.created),
                bars: vec![TimelineBar {
                    kind: BarKind::Running,
                    from: run.created,
                    until: ended,
                    state: child.life.as_str().to_owned(),
                    text: "nested run".to_owned(),
                }],
                ..TimelineRow::default()
            });
        }
    }

    /// Adds the bars of a task: its waits, its attempts and the checks of each.
    fn fill(&self, row: &mut TimelineRow, step: &StepRow) -> Result<(), CommandError> {
        let task_id = TaskId { step: step.step.clone(), item: step.item };
        let attempts = self.scope.store().attempts().of_task(self.run(), &task_id)?;
        let checks = self.checks.get(&task_id).map(Vec::as_slice).unwrap_or_default();
        self.add_waits(row, &task_id, &attempts);
        for attempt in &attempts {
            self.add_attempt(row, attempt, step, checks);
        }
        row.marks = checks.iter().map(mark_of).collect();
        Ok(())
    }

    fn add_waits(&self, row: &mut TimelineRow, task_id: &TaskId, attempts: &[AttemptRow]) {
        let spans = self.waits.get(task_id).map(Vec::as_slice).unwrap_or_default();
        let begun = attempts.iter().map(|attempt| attempt.started).min();
        let asked = spans.iter().map(|span| span.from).min();
        let ready = self.ready.get(&task_id.step).copied();
        if let (Some(from), Some(until)) = (ready, [begun, asked].into_iter().flatten().min())
            && until.since(from).as_millis() >= MIN_QUEUED_MS
        {
            let text = "what it needs had ended".to_owned();
            row.bars.push(TimelineBar {
                kind: BarKind::Queued,
                from,
                until: Some(until),
                state: String::new(),
                text,
            });
        }
        for span in spans {
            let next = attempts.iter().map(|attempt| attempt.started).find(|started| *started >= span.from);
            // An attempt may begin before people answer, but not before it has its locks.
            let next = next.filter(|_| span.kind == BarKind::Queued);
            let until = span.until.or(next).or(self.scope.record.run.ended);
            // A lock is not waited for without a process; people are.
            let until = until.or(self.interrupted().filter(|_| span.kind == BarKind::Queued));
            let (state, text) = (String::new(), span.text.clone());
            row.bars.push(TimelineBar { kind: span.kind, from: span.from, until, state, text });
        }
    }

    fn add_attempt(&self, row: &mut TimelineRow, attempt: &AttemptRow, step: &StepRow, checks: &[CheckRow]) {
        let is_last = attempt.attempt == step.attempts;
        let over = step.ended.or(self.scope.record.run.ended).or(self.interrupted());
        let own: Vec<&CheckRow> =
            checks.iter().filter(|check| check.attempt == Some(attempt.attempt)).collect();
        let has_passed = own.iter().all(|check| check.verdict.ruling == CheckRuling::Pass);
        let state = match (attempt.failure_class, attempt.ended.or(over)) {
            (Some(_), _) => "failed",
            (None, None) => "running",
            (None, Some(_)) if attempt.ended.is_none() => "interrupted",
            (None, Some(_)) if !has_passed => "failed",
            (None, Some(_)) => "succeeded",
        };
        let waits = self.waits.get(&TaskId { step: step.step.clone(), item: step.item });
        let waits = waits.into_iter().flatten().filter(|span| span.kind == BarKind::Waiting);
        let is_lost = attempt.exit == Some(WorkExit::Interrupted);
        let idle = self.idle.iter().filter(|_| is_lost);
        for (from, until) in apart_from(attempt.started, attempt.ended.or(over), waits.chain(idle)) {
            row.bars.push(TimelineBar {
                kind: BarKind::Running,
                from,
                until,
                state: state.to_owned(),
                text: format!("attempt {}", attempt.attempt),
            });
        }
        let Some(ended) = attempt.ended else {
            return;
        };
        let last = own.iter().map(|check| check.at).max().filter(|last| *last > ended);
        let is_open = is_last && step.state == StepState::Verifying && over.is_none();
        if last.is_some() || is_open {
            row.bars.push(TimelineBar {
                kind: BarKind::Verifying,
                from: ended,
                until: if is_open { None } else { last },
                state: if has_passed { String::new() } else { "failed".to_owned() },
                text: format!("checks of attempt {}", attempt.attempt),
            });
        }
    }

    /// Returns the items of a step in words: `20 items: 2 failed, 18 succeeded`.
    fn groups_text(&self, groups: &[ItemGroup]) -> String {
        let total: usize = groups.iter().map(|group| group.count).sum();
        let mut sorted: Vec<&ItemGroup> = groups.iter().collect();
        sorted.sort_by_key(|group| group.state != StepState::Failed);
        let shown = |group: &ItemGroup| self.scope.record.life.shown_state(group.state);
        let parts: Vec<String> =
            sorted.iter().map(|group| format!("{} {}", group.count, shown(group).as_str())).collect();
        format!("{}: {}", plural(total, "item"), parts.join(", "))
    }

    /// Returns the last known time of the work, if no process goes on with the run.
    fn interrupted(&self) -> Option<Moment> {
        let record = self.scope.record;
        (record.life == RunLifecycle::Interrupted).then(|| record.run.work_end.known(self.scope.now))
    }
}

fn mark_of(check: &CheckRow) -> CheckMark {
    CheckMark {
        at: check.at,
        ruling: check.verdict.ruling.as_str().to_owned(),
        name: check.verdict.name.to_string(),
    }
}
