use std::{fmt::Write as _, time::Duration};

use super::{RunEnding, RunNotification, TaskEnding};
use crate::{
    lines::{INDENT, attempt_label, failed_check_text, line, pairs},
    moves,
    rounds::rounds_table,
    words::{counts_text, outcome_style, state_style, state_word},
};
use wf_base::{
    units::{elapsed, first_line, fit, plural},
    untrusted::{BAD, BOLD, DIM, GOOD, NAME, WARN, paint, shell_word, styled_line, untrusted},
};
use wf_core::{
    ggs::{Directive, SolverOutcome},
    machine::{CheckVerdict, Round, RunOutcome, StepState},
};

/// The most characters of a run's outputs at its end; `wf show` has all of them.
const OUTPUTS_WIDTH: usize = 200;

/// The amount of text that is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// Failures and the end of the run.
    Quiet,
    /// Ended steps.
    #[default]
    Normal,
    /// Started steps, too, and the output of the steps.
    Verbose,
}

/// Notifications as lines of text; empty if the volume is too low for them.
pub fn notification_text(notification: &RunNotification, verbosity: Verbosity) -> String {
    let loud = verbosity >= Verbosity::Normal;
    match notification {
        RunNotification::Ended(ending) => step_ended_text(ending, verbosity),
        RunNotification::Judged { subject, verdict, .. } => verdict_line(subject, verdict, verbosity),
        RunNotification::Began { plan, run, is_unsandboxed: is_open } if loud => {
            let mut text = format!("{plan} · run {}", paint(NAME, run.short()));
            if *is_open {
                text += &paint(WARN, " · without any sandbox");
            }
            line(BOLD, "running", None, &text)
        }
        RunNotification::Started { subject, attempt } if verbosity == Verbosity::Verbose => {
            line(DIM, "started", None, &format!("{subject}{}", attempt_label(*attempt)))
        }
        RunNotification::Awaits { subject, reason } if loud => {
            line(DIM, "waiting", None, &format!("{subject} · {reason}"))
        }
        RunNotification::Retries { subject, attempt, wait, reason, gap, looped } if loud => {
            let wait = elapsed(*wait);
            let reason = untrusted(first_line(reason));
            // A single criterion needs no count.
            let gap = gap.filter(|gap| gap.of > 1);
            let gap = gap.map(|gap| format!(" · failing checks {gap}")).unwrap_or_default();
            let when = match looped {
                Some(looped) => format!(" · {looped}"),
                None => format!(" in {wait}"),
            };
            let text = format!("{subject} · attempt {attempt}{when}{gap} · {reason}");
            line(WARN, "retrying", None, &text)
        }
        RunNotification::Noted { verb, text } if loud => line(WARN, verb, None, text),
        _ => String::new(),
    }
}

/// The outcome of a run: `succeeded · 5 verified, 2 reported · 3.2s · run 1a2b3c4d`; without
/// success, also the reason and the commands to resume.
///
/// Before it, the rounds, if there was more than one or one that failed verification.
pub fn final_line(ending: &RunEnding) -> String {
    let mut text = rounds_text(&ending.rounds);
    text.push_str(&paint(outcome_style(ending.outcome), ending.outcome.as_str()));
    let took = elapsed(ending.duration);
    let run = paint(NAME, ending.run.short());
    let _ = writeln!(
        text,
        " · {}{} · {took} · run {run}",
        counts_text(&ending.counts),
        stale_note(&ending.stale)
    );
    if let Some(met) = ending.accepted {
        let note = paint(WARN, &format!("accepted within δ: {met}"));
        let _ = writeln!(text, "{note}; the others fail");
    }
    if !ending.outputs.is_empty() {
        let outputs = pairs(&ending.outputs);
        let _ = writeln!(text, "{} {}", paint(DIM, "outputs"), styled_line(&fit(&outputs, OUTPUTS_WIDTH)));
    }
    if !ending.reason.is_empty() {
        let _ = writeln!(text, "{}", untrusted(first_line(&ending.reason)));
    }
    if ending.outcome == RunOutcome::Abandoned {
        let _ = writeln!(text, "rounds: {}", paint(NAME, &styled_line(&ending.rounds_command)));
        text.push_str(&moves::moves_text(&ending.moves, ending.run.short()));
    }
    // A check of a goal, which has no steps, cannot be repeated.
    if ending.outcome != RunOutcome::Succeeded && ending.counts != wf_core::machine::StepCounts::default() {
        let _ = writeln!(text, "retry with: {}", paint(NAME, &styled_line(&ending.next_commands)));
    }
    text
}

/// The rounds of a run, one after another. Empty for a single round where everything passed.
fn rounds_text(rounds: &[Round]) -> String {
    if matches!(rounds, [] | [Round { solved: SolverOutcome { directive: Directive::Accept, .. }, .. }]) {
        return String::new();
    }
    format!("{}\n{}\n", paint(DIM, "rounds"), rounds_table(rounds, false))
}

/// The stale evidence: ` (evidence of `build` is stale: …)`.
fn stale_note(stale: &[String]) -> String {
    match stale {
        [] => String::new(),
        [one] => format!(" ({})", untrusted(one)),
        [one, more @ ..] => format!(" ({}; and of {})", untrusted(one), plural(more.len(), "more place")),
    }
}

fn step_ended_text(ending: &TaskEnding, verbosity: Verbosity) -> String {
    let bad = ending.state == StepState::Failed;
    // The line about the cancellation has said it of all that had not begun.
    let unstarted = ending.state == StepState::Cancelled && ending.duration.is_none();
    if !bad && verbosity == Verbosity::Quiet || unstarted && verbosity <= Verbosity::Normal {
        return String::new();
    }
    let (verb, style) = match ending.state {
        StepState::Succeeded if ending.cached => ("cached", GOOD),
        StepState::Failed if ending.allowed_to_fail => ("failed", WARN),
        state => (state_word(state, ending.standing), state_style(state)),
    };
    let mut text = ending.subject();
    if ending.attempts > 1 {
        text.push_str(&attempt_label(ending.attempts));
    }
    if ending.allowed_to_fail && bad {
        text.push_str(" · ignored (on_error: continue)");
    }
    if !ending.reason.is_empty() && ending.failed_checks.is_empty() {
        let _ = write!(text, " · {}", untrusted(first_line(&ending.reason)));
    }
    let mut told_line = line(style, verb, ending.duration, &text);
    if bad {
        told_line.push_str(&failure_text(ending));
    }
    told_line
}

/// The reason for the failure of a step and the remedy.
fn failure_text(ending: &TaskEnding) -> String {
    let mut text = String::new();
    for verdict in &ending.failed_checks {
        text.push_str(&failed_check_text(verdict));
    }
    if !ending.nested && ending.duration.is_some() {
        for line in &ending.output_tail {
            let _ = writeln!(text, "{INDENT}{} {line}", paint(DIM, "│"));
        }
        let has_output = !ending.output_tail.is_empty();
        let more = if has_output { "full log" } else { "no output; see" };
        let (run, task) = (ending.run.id.short(), shell_word(&ending.task));
        let (options, words) = match &ending.server {
            // That explains no step from elsewhere, and says as much of the run.
            Some(options) if !has_output => (format!("{options} "), format!("show {run}")),
            Some(options) => (format!("{options} "), format!("logs {run} {task}")),
            None => (String::new(), format!("{} {run} {task}", if has_output { "logs" } else { "why" })),
        };
        let command = format!("wf {options}{words}");
        let _ = writeln!(text, "{INDENT}{more}: {}", paint(NAME, &styled_line(&command)));
    }
    text
}

fn verdict_line(subject: &str, verdict: &CheckVerdict, verbosity: Verbosity) -> String {
    let took = Some(Duration::from_millis(verdict.duration_ms));
    let text = format!("{subject} · check `{}`", verdict.name);
    if !verdict.passed() {
        return line(BAD, "refuted", took, &text) + &failed_check_text(verdict);
    }
    if verbosity >= Verbosity::Normal { line(GOOD, "verified", took, &text) } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::{Verbosity, final_line, notification_text};
    use crate::follow::{RunEnding, RunNotification, TaskEnding};
    use serde_json::json;
    use std::time::Duration;
    use wf_base::{
        name::{Name, PlanId, RunId},
        untrusted::plain,
    };
    use wf_core::{
        machine::{
            CheckRuling, CheckVerdict, RunOutcome, StaleFile, Standing, StepCounts, StepState, TaskId,
        },
        observe::RunRef,
    };

    fn run() -> RunId {
        RunId::from_stored("1a2b3c4d5e6f708192a3b4c5d6e7f809")
    }

    fn verdict(ruling: CheckRuling) -> CheckVerdict {
        CheckVerdict {
            name: Name::parse("is_json").unwrap(),
            phase: wf_model::CheckPhase::default(),
            ruling,
            expected: "exit code 0".into(),
            found: "exit code 1".into(),
            evidence: "line 3: no comma".into(),
            failure_class: None,
            duration_ms: 120,
            certainty: wf_model::CheckCertainty::default(),
            isolation: None,
            hidden: Vec::new(),
            changes: None,
            changed_inputs: Vec::new(),
            foreign_changes: None,
            is_unbounded: false,
            tests: None,
            before: None,
            judgement: None,
        }
    }

    fn ending(state: StepState, standing: Standing) -> TaskEnding {
        TaskEnding {
            run: RunRef { id: run(), plan: PlanId::parse("demo").unwrap(), path: Vec::new() },
            task: "build".into(),
            step: Name::parse("build").unwrap(),
            state,
            standing,
            reason: String::new(),
            failure_class: None,
            allowed_to_fail: false,
            cached: false,
            duration: Some(Duration::from_millis(1_250)),
            attempts: 1,
            failed_checks: Vec::new(),
            output_tail: Vec::new(),
            nested: false,
            server: None,
        }
    }

    fn check(ending: TaskEnding, verbosity: Verbosity, expected: &str) {
        let news = RunNotification::Ended(Box::new(ending));
        assert_eq!(plain(&notification_text(&news, verbosity)), expected);
    }

    #[test]
    fn success_takes_one_line() {
        let verified = ending(StepState::Succeeded, Standing::Verified);
        check(verified.clone(), Verbosity::Normal, "   verified      1.2s  build\n");
        check(verified, Verbosity::Quiet, "");
        let mut second = ending(StepState::Succeeded, Standing::Reported);
        second.attempts = 2;
        second.run.path = vec!["all".into(), "docs[2]".into()];
        let line = "   reported      1.2s  all/docs[2]/build · attempt 2\n";
        check(second, Verbosity::Normal, line);
    }

    #[test]
    fn a_failure_says_what_was_expected_and_what_to_do() {
        let mut failed = ending(StepState::Failed, Standing::Refuted);
        failed.reason = "check `is_json` failed".into();
        failed.failed_checks = vec![verdict(CheckRuling::Fail)];
        failed.output_tail = vec!["writing data.json".into()];
        let expected = "     failed      1.2s  build
                       check is_json failed
                         expected exit code 0
                         found    exit code 1
                         │ line 3: no comma
                       │ writing data.json
                       full log: wf logs 1a2b3c4d build
";
        check(failed, Verbosity::Quiet, expected);
    }

    #[test]
    fn what_was_skipped_says_why() {
        let mut skipped = ending(StepState::Skipped, Standing::Unchecked);
        skipped.reason = "`build` failed".into();
        skipped.duration = None;
        skipped.task = "publish".into();
        let line = "    skipped            publish · `build` failed\n";
        check(skipped, Verbosity::Normal, line);
    }

    #[test]
    fn the_end_counts() {
        let ending = RunEnding {
            run: run(),
            plan: PlanId::parse("demo").unwrap(),
            outcome: RunOutcome::Succeeded,
            reason: String::new(),
            failed_step: None,
            counts: StepCounts { verified: 5, reported: 2, ..StepCounts::default() },
            stale: Vec::new(),
            outputs: wf_model::JsonObject::new(),
            accepted: None,
            moves: Vec::new(),
            duration: Duration::from_millis(3_210),
            rounds: Vec::new(),
            next_commands: "wf retry 1a2b3c4d".into(),
            rounds_command: "wf show 1a2b3c4d --rounds".into(),
        };
        let line = "succeeded · 5 verified, 2 reported · 3.2s · run 1a2b3c4d\n";
        assert_eq!(plain(&final_line(&ending)), line);
        let outputs = json!({"rows": 3, "title": "two\nlines", "text": "x".repeat(600)});
        let outputs = outputs.as_object().unwrap().clone();
        let told = plain(&final_line(&RunEnding { outputs, ..ending.clone() }));
        let told = told.strip_prefix(line).unwrap();
        assert!(told.starts_with("outputs rows=3 title=two") && told.ends_with("xx…\n"), "{told}");
        assert_eq!(told.lines().count(), 1, "{told}");
        let cancelled = RunEnding { outcome: RunOutcome::Cancelled, reason: "interrupted".into(), ..ending };
        let lines = "cancelled · 5 verified, 2 reported · 3.2s · run 1a2b3c4d\n\
            interrupted\nretry with: wf retry 1a2b3c4d\n";
        assert_eq!(plain(&final_line(&cancelled)), lines);
        let mut stale = vec![
            StaleFile { task_id: TaskId::of_step(&Name::parse("build").unwrap()), path: "out.txt".into() }
                .text("build"),
        ];
        let told = |stale: &[String]| {
            plain(&final_line(&RunEnding {
                outcome: RunOutcome::Succeeded,
                reason: String::new(),
                stale: stale.to_vec(),
                ..cancelled.clone()
            }))
        };
        let line = "succeeded · 5 verified, 2 reported (evidence of `build` is stale: out.txt \
            changed after it was checked) · 3.2s · run 1a2b3c4d\n";
        assert_eq!(told(&stale), line);
        stale.extend(stale.clone());
        assert!(told(&stale).contains("was checked; and of 1 more place) ·"));
    }
}
