use std::{fmt::Write as _, time::Duration};

use super::folded::FoldedItems;
use crate::{
    certainty_counts, counts_text,
    lines::{INDENT, attempt_label, failed_check_text, goal_name, line, pairs, phase_label, verdict_remarks},
    moves,
    record::{
        calls::AgentCalls,
        lifecycle::RunLifecycle,
        record::{RunRecord, row_display_name, step_duration, task_of_row},
        spending::ModelSpending,
        unbegun::unbegun_line,
    },
    rounds::rounds_table,
    state_style, state_word, usage_line,
};
use wf_base::{
    name::{RunId, SessionName},
    time::Moment,
    units::{elapsed, first_line, moment, plural, size},
    untrusted::{DIM, GOOD, NAME, WARN, paint, shell_word, styled_line, untrusted},
};
use wf_core::{
    machine::{AnswerOptions, ApprovalRequest, ChildId, RunOutcome, StepState, TaskId},
    undo::UndoRefusal,
};
use wf_store::{AttemptRow, CheckRow, RunRow, RunState, StepRow, StoreDurability};

/// A run with its steps, their checks, and the runs nested in them. `now` is the current time.
pub fn show(record: &RunRecord, now: Moment) -> String {
    let mut text = head(record, now);
    if !record.steps.is_empty() {
        text.push('\n');
    }
    steps(record, 0, now, &mut text);
    let own: Vec<&CheckRow> = record.own_rulings().collect();
    if !own.is_empty() {
        let modes = certainty_counts(own.iter().map(|check| &check.verdict)).unwrap_or_default();
        let _ = writeln!(text, "\n{}", paint(DIM, format!("plan checks · {modes}").trim_end_matches(" · ")));
        for check in own {
            text.push_str(&ruling(check));
        }
    }
    if !record.decisions.rounds.is_empty() {
        let rounds_text = rounds_table(&record.decisions.rounds, false);
        let _ = write!(text, "\n{}\n{rounds_text}", paint(DIM, "rounds"));
        text.push_str(&options_text(record));
    }
    text.push_str(&record.decisions.lines(&|place| record.task_display_name(place)));
    text.push_str(&artifacts(record));
    text.push_str(&next(record));
    text
}

/// The options for a run for which nothing more was tried.
fn options_text(record: &RunRecord) -> String {
    let abandoned = RunState::Ended(wf_core::machine::RunOutcome::Abandoned);
    match record.decisions.rounds.last() {
        Some(round) if record.run.state == abandoned => {
            format!("\n{}", moves::moves_text(&moves::moves(round), record.run.id.short()))
        }
        _ => String::new(),
    }
}

fn head(record: &RunRecord, now: Moment) -> String {
    let run = &record.run;
    let life = record.life;
    let state = paint(life.style(), life.as_str());
    let counts = match run.state {
        RunState::Ended(_) => format!(" · {}", counts_text(&run.counts)),
        RunState::Running => String::new(),
    };
    let id = paint(NAME, run.id.short());
    let mut text = format!("{} · {state}{counts} · run {id}\n", run.plan);
    let mut field = |name: &str, value: &str| {
        if !value.is_empty() {
            let _ = writeln!(text, "  {} {}", paint(DIM, &format!("{name:<10}")), styled_line(value));
        }
    };
    let accepted = run.accepted.map(|met| format!("within δ: {met}"));
    field("accepted", &accepted.map(|text| paint(WARN, &text)).unwrap_or_default());
    field("reason", &untrusted(&run.reason).to_string());
    field("goal", &of_goal(run));
    field("session", run.session.as_ref().map_or("", SessionName::as_str));
    field("file", &untrusted(&run.path).to_string());
    let worktree =
        record.worktree.as_ref().map(|folder| untrusted(&folder.display().to_string()).to_string());
    field("worktree", &worktree.unwrap_or_default());
    field("params", &pairs(&run.params));
    let took = run.duration().map(elapsed);
    let took = took.map(|took| format!(" · took {took}")).unwrap_or_default();
    field("started", &format!("{}{took}", moment(run.created)));
    field("durability", run.durability.map_or("", durability_text));
    let used = record.ledger.as_ref();
    let used = used.and_then(|used| usage_line(used, now));
    field("used", &used.unwrap_or_default());
    if !record.agents.is_empty() {
        field("agents", &agents_line(record));
    }
    let mut models: Vec<String> = record.spending().iter().map(ModelSpending::line).collect();
    if record.sequential_calls > 0 {
        models.push(format!("{} in sequence", plural(record.sequential_calls, "call")));
    }
    field("models", &models.join(" · "));
    if let Some(earlier) = &run.retry_of {
        field("retry of", earlier.short());
    }
    let repeats: Vec<&str> = record.repeated_by.iter().map(RunId::short).collect();
    field("retried by", &repeats.join(", "));
    field("undo of", run.undo_of.as_ref().map_or("", RunId::short));
    field("undo", &undo_text(record, now));
    field("parent", &parent_text(run));
    field("approved", &record.decisions.approvers_line());
    field("outputs", &pairs(&run.outputs));
    text
}

/// The attempt a run is nested in, and its name there if an agent dispatched it.
fn parent_text(run: &RunRow) -> String {
    let Some((above, attempt)) = &run.parent else {
        return String::new();
    };
    let place = format!("{attempt} of run {}", above.short());
    match &run.dispatched {
        Some(own) => format!("dispatched by {place} as `{}`", own.child),
        None => place,
    }
}

/// The calls of all agents, on one line.
fn agents_line(record: &RunRecord) -> String {
    let calls: usize = record.agents.iter().map(|agent| agent.calls.len()).sum();
    let tools: usize = record.agents.iter().map(AgentCalls::tool_count).sum();
    format!("{} · {}", plural(calls, "model call"), plural(tools, "tool call"))
}

/// The durability of a run's record, under its name in `wf.yaml`.
fn durability_text(durability: StoreDurability) -> &'static str {
    match durability {
        StoreDurability::Full => "full (survives power loss)",
        StoreDurability::Normal => "normal (power loss may drop the most recent events)",
    }
}

/// The part of a reconciliation a run is, and its scheduled time.
fn of_goal(run: &RunRow) -> String {
    let Some(part) = run.goal else {
        return String::new();
    };
    let slot = run.params.get("slot").and_then(serde_json::Value::as_str);
    match slot.filter(|slot| !slot.is_empty()) {
        Some(slot) => format!("{} · slot {slot}", part.as_str()),
        None => format!("{} · requested manually", part.as_str()),
    }
}

fn steps(record: &RunRecord, depth: usize, now: Moment, text: &mut String) {
    let folded = FoldedItems::from_record(record);
    for row in &record.steps {
        let place = task_of_row(row);
        if let Some(line) = folded.line(&place, depth) {
            text.push_str(&line);
            continue;
        }
        let rulings = record.rulings(&place);
        let is_explained = rulings.iter().any(|check| !check.verdict.passed());
        let mut notes = Vec::new();
        notes.extend(items_text(record, row));
        notes.extend(record.gap(&place));
        notes.extend(
            certainty_counts(rulings.iter().map(|check| &check.verdict))
                .filter(|_| row.standing.is_checked()),
        );
        notes.extend(record.loops_of_task(&place));
        notes.extend(doubts_text(record, row));
        notes.extend(left_text(record, &place));
        let time = step_duration(row).or_else(|| running_time(record, row, now));
        let line = StepLine { row, time, depth, is_explained };
        text.push_str(&line.text(&notes));
        for check in rulings {
            text.push_str(&ruling(check));
        }
        let depth = depth + 1 + usize::from(row.item.is_some());
        for nested in record.nested_in(&place) {
            steps(nested, depth, now, text);
        }
        for (id, child) in record.children_of(&place) {
            text.push_str(&child_line(&id, child, depth));
            steps(child, depth + 1, now, text);
        }
        for child in record.unbegun.iter().filter(|child| child.id.attempt.task_id == place) {
            text.push_str(&unbegun_line(child, depth));
        }
    }
}

/// The line of a child run of an agent.
fn child_line(id: &ChildId, record: &RunRecord, depth: usize) -> String {
    let run = &record.run;
    let state = match run.state {
        RunState::Running if record.life == RunLifecycle::Waiting => StepState::Waiting,
        RunState::Running if record.life == RunLifecycle::Interrupted => StepState::Interrupted,
        RunState::Running => StepState::Running,
        RunState::Ended(RunOutcome::Succeeded) => StepState::Succeeded,
        RunState::Ended(RunOutcome::Cancelled) => StepState::Cancelled,
        RunState::Ended(RunOutcome::Failed | RunOutcome::Abandoned) => StepState::Failed,
    };
    let margin = "  ".repeat(depth);
    let attempt = attempt_label(id.attempt.attempt);
    let about = format!("{margin}{}{attempt} · plan {} · run {}", id.child, run.plan, run.id.short());
    line(state_style(state), state_word(state, run.standing), run.duration(), &about)
}

/// The doubts about a result that was verified or reported.
pub(super) fn doubts_text(record: &RunRecord, row: &StepRow) -> Vec<String> {
    let own = row.stale.as_ref();
    let own = own.map(|path| format!("evidence is stale: {} changed after it was checked", untrusted(path)));
    let other = record.stale_dependency(&row.step).filter(|_| row.item.is_none());
    let other = other.map(|on| format!("depends on `{on}`, whose evidence is stale"));
    own.into_iter().chain(other).collect()
}

/// Returns the time for which a task has been at work, from its first attempt on, or that of its first item.
fn running_time(record: &RunRecord, row: &StepRow, now: Moment) -> Option<Duration> {
    let is_at_work = matches!(row.state, StepState::Running | StepState::Verifying);
    let items = record.steps.iter().filter(|item| row.item.is_none() && item.step == row.step);
    let started = row.started.or_else(|| items.filter_map(|item| item.started).min())?;
    is_at_work.then(|| now.since(started))
}

/// Returns the number of items that have ended, of a repeated step that has not.
fn items_text(record: &RunRecord, row: &StepRow) -> Option<String> {
    let is_item = |item: &&StepRow| row.item.is_none() && item.step == row.step && item.item.is_some();
    let items = record.steps.iter().filter(is_item);
    let (done, total) =
        items.fold((0, 0), |(done, total), item| (done + usize::from(item.state.is_final()), total + 1));
    (total > 0 && !row.state.is_final()).then(|| format!("{done} of {total}"))
}

/// The line of a step.
struct StepLine<'a> {
    row: &'a StepRow,
    time: Option<Duration>,
    depth: usize,
    /// True if its checks show the reason for its failure.
    is_explained: bool,
}

impl StepLine<'_> {
    fn text(&self, notes: &[String]) -> String {
        let Self { row, time, depth, is_explained } = *self;
        let margin = "  ".repeat(depth + usize::from(row.item.is_some()));
        let mut about = format!("{margin}{}", row_display_name(row));
        about.push_str(&attempt_label(row.attempts));
        if row.allowed_to_fail {
            about.push_str(" · ignored (on_error: continue)");
        }
        if row.cache_key.is_some() {
            about.push_str(" · cached");
        }
        if let Some(from) = &row.reused_from {
            let _ = write!(about, " · reused from run {}", from.short());
        }
        if !row.reason.is_empty() && !is_explained && row.reused_from.is_none() {
            let _ = write!(about, " · {}", untrusted(first_line(&row.reason)));
        }
        for note in notes {
            let _ = write!(about, " · {note}");
        }
        let verb = state_word(row.state, row.standing);
        line(state_style(row.state), verb, time, &about)
    }
}

fn ruling(check: &CheckRow) -> String {
    if check.verdict.passed() {
        let name = paint(GOOD, check.verdict.name.as_str());
        let judged = check.verdict.judgement.as_ref().map(|judged| judged.lines()).unwrap_or_default();
        let shown = check.verdict.judgement.as_ref().and_then(|judged| judged.shown.as_ref());
        let shown = shown
            .map(|text| format!("judged {} of output · sha256 {}", size(text.size), text.digest.short()));
        let judged: String =
            judged.iter().chain(&shown).map(|line| format!("{INDENT}    {}\n", styled_line(line))).collect();
        let remarks = verdict_remarks(&check.verdict);
        let remarks: String =
            remarks.iter().map(|text| format!("{INDENT}    {}\n", untrusted(text))).collect();
        format!("{INDENT}  check {name} passed{}\n{judged}{remarks}", phase_label(&check.verdict))
    } else {
        failed_check_text(&check.verdict)
    }
}

fn artifacts(record: &RunRecord) -> String {
    let mut text = String::new();
    for row in &record.artifacts {
        let file = &row.artifact;
        let (bytes, digest) = (size(file.size), file.digest.short());
        let gone =
            if record.pruned_artifacts.contains(&file.digest) { " · removed by `retention`" } else { "" };
        let _ = writeln!(text, "  {} · {bytes} · {digest} · from {}{gone}", untrusted(&file.path), row.step);
    }
    if text.is_empty() { text } else { format!("\n{}\n{text}", paint(DIM, "artifacts")) }
}

/// The commands that finish a run, or start another one.
fn next_commands(record: &RunRecord) -> Vec<String> {
    let id = record.run.id.short();
    if let Some(top) = &record.top {
        // A nested run is resumed with the outermost one.
        return vec![format!("wf show {}", top.short())];
    }
    match record.life {
        RunLifecycle::Waiting => {
            let step = match record.open_questions().as_slice() {
                [] | [_] => String::new(),
                [first, ..] => format!(" {}", shell_word(first)),
            };
            let mut open = record.decisions.questions.iter().filter(|question| question.given.is_none());
            let yes = match open.next().map(|question| &question.ask) {
                Some(ask) if ask.is_question() => format!("wf answer {id}{step} --text TEXT"),
                Some(ApprovalRequest { answer: Some(AnswerOptions::Choose(_)), .. }) => {
                    format!("wf approve {id}{step} --choose WORD")
                }
                _ => format!("wf approve {id}{step}"),
            };
            vec![yes, format!("wf deny {id}{step}"), format!("wf resume {id}")]
        }
        RunLifecycle::Interrupted => vec![format!("wf resume {id}")],
        RunLifecycle::Ended(outcome) if outcome != wf_core::machine::RunOutcome::Succeeded => {
            vec![match record.run.goal {
                // A reconciliation begins with its checks, and is not repeated in part.
                Some(_) => format!("wf goal run {}", goal_name(&record.run.plan, &record.run.path)),
                None => format!("wf retry {id}"),
            }]
        }
        _ => Vec::new(),
    }
}

/// The commands that can follow.
fn next(record: &RunRecord) -> String {
    let id = record.run.id.short();
    let mut commands = Vec::new();
    let failed = |row: &&StepRow| row.state == StepState::Failed && row.started.is_some();
    if let Some(row) = record.steps.iter().find(failed) {
        let place = shell_word(&row_display_name(row));
        commands.push(format!("wf logs {id} {place}"));
        commands.push(format!("wf why {id} {place}"));
    }
    commands.extend(next_commands(record));
    if commands.is_empty() {
        return String::new();
    }
    let commands: Vec<String> = commands.iter().map(|c| paint(NAME, c)).collect();
    format!("\n{} {}\n", paint(DIM, "next:"), commands.join(" · "))
}

/// Returns the processes a task left running, as a part of its line.
fn left_text(record: &RunRecord, task_id: &TaskId) -> Option<String> {
    let own = |row: &&AttemptRow| row.step == task_id.step && row.item == task_id.item;
    let left = &record.attempts.iter().rev().find(own)?.left;
    let end = if left.detached { "they outlive the run" } else { "ended with the run" };
    let count = plural(left.left.len(), "process");
    (!left.left.is_empty()).then(|| format!("left {count} running: {}, {end}", untrusted(&left.commands())))
}

/// Returns the runs that undo a run, and until when it can be undone.
fn undo_text(record: &RunRecord, now: Moment) -> String {
    let Some(offer) = &record.run.undo else {
        return String::new();
    };
    let undone_by = record.undone_by.iter().map(|undo| {
        let state = undo.outcome.map_or("not finished", RunOutcome::as_str);
        format!("run {} ({state})", undo.run.short())
    });
    let until = format!("until {}", moment(offer.until));
    let offered = match offer.decide(&record.undone_by, now) {
        Ok(()) => Some(format!("{until}: wf undo {}", record.run.id.short())),
        Err(UndoRefusal::Late(_)) => Some(format!("was possible {until}")),
        Err(_) => None,
    };
    undone_by.chain(offered).collect::<Vec<_>>().join(" · ")
}

#[cfg(test)]
mod tests {
    use super::show;
    use crate::record::tests::sample;
    use wf_base::{time::Moment, untrusted::plain};
    use wf_core::machine::{BudgetLedger, Standing, StepState};
    use wf_model::RunBudget;

    fn at() -> Moment {
        Moment::from_millis(1_700_000_000_000 + 90_000)
    }

    #[test]
    fn a_record_tells_states_checks_and_what_to_do() {
        let expected = "\
nightly-report · failed · 1 failed, 1 verified, 1 skipped · run 1a2b3c4d
  reason     step `build` failed
  file       workflows/nightly.md
  params     day=mon n=3
  started    2023-11-14 22:13:20 · took 3.2s
  durability full (survives power loss)

   verified      1.2s  fetch
                         check is_json passed
     failed      1.2s  build · attempt 2
                       check is_json failed
                         expected exit code 0
                         found    exit code 1
                         │ line 3: no comma
    skipped            publish · `build` failed

artifacts
  data.json · 3.4 KiB · e3b0c44298fc · from fetch

next: wf logs 1a2b3c4d build · wf why 1a2b3c4d build · wf retry 1a2b3c4d
";
        assert_eq!(plain(&show(&sample::record(), at())), expected);
    }

    #[test]
    fn stale_evidence_shows_and_so_do_those_who_depend_on_it() {
        let mut record = sample::record();
        let fetch = &mut record.steps[0];
        fetch.standing = Standing::Reported;
        fetch.stale = Some("data.json".into());
        record.mark_stale_dependants(&sample::plan());
        let text = plain(&show(&record, at()));
        for line in [
            "   reported      1.2s  fetch · evidence is stale: data.json changed after it was checked\n",
            "     failed      1.2s  build · attempt 2 · depends on `fetch`, whose evidence is stale\n",
            "    skipped            publish · `build` failed\n",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }

    #[test]
    fn a_step_at_work_has_its_time_and_a_repeated_one_its_items() {
        let mut record = sample::record();
        let mut whole = sample::step("fetch", StepState::Running, Standing::Unchecked);
        (whole.started, whole.ended) = (None, None);
        let items = (0..20).map(|number| {
            let state = if number < 8 { StepState::Succeeded } else { StepState::Running };
            let mut item = sample::step("fetch", state, Standing::Reported);
            (item.item, item.item_key) = (Some(number), Some(format!("i{number}")));
            item.started = Some(Moment::from_millis(1_700_000_000_000 + 30_000));
            item.ended = item.ended.filter(|_| number < 8);
            item
        });
        record.steps = [whole].into_iter().chain(items).collect();
        let text = plain(&show(&record, at()));
        for line in ["running    1m 00s  fetch · 8 of 20\n", "running    1m 00s    fetch[i8]\n"] {
            assert!(text.contains(line), "{line} in {text}");
        }
        for row in &mut record.steps {
            row.state = if row.state == StepState::Running { StepState::Interrupted } else { row.state };
        }
        let text = plain(&show(&record, at()));
        assert!(text.contains("interrupted            fetch · 8 of 20\n"), "{text}");
    }

    #[test]
    fn what_was_used_up_is_one_line() {
        let mut record = sample::record();
        let budget =
            RunBudget { max_attempts: Some(4), max_wall_time_ms: Some(600_000), ..RunBudget::default() };
        let since = Some(Moment::from_millis(1_700_000_000_000));
        let budget = Some(budget);
        record.ledger = Some(BudgetLedger { attempts: 3, since, budget, ..BudgetLedger::default() });
        let text = plain(&show(&record, at()));
        let line = "\n  used       attempts 3/4 · 1m30s/10m\n";
        assert!(text.contains(line), "{text}");
    }
}
