use std::fmt::Write as _;

use super::record::{called, place, took};
use super::{Life, Record};
use crate::machine::StepState;
use crate::model::Object;
use crate::name::RunId;
use crate::report::lines::{INDENT, asked_for, broken, goal_name, line, nth, word};
use crate::report::moves;
use crate::report::paint::{DIM, GOOD, NAME, WARN, paint};
use crate::report::rounds::rounds;
use crate::report::{believed, counts, elapsed, first_line, ledger, moment, size, state_style};
use crate::store::{CheckRow, Durability, RunRow, RunState, StepRow};
use crate::time::Moment;
use crate::untrusted::{styled_line, untrusted};

/// A run with its steps, their checks, and the runs nested in them.
/// `now` is when it is looked at.
pub fn show(record: &Record, now: Moment) -> String {
    let mut text = head(record, now);
    if !record.steps.is_empty() {
        text.push('\n');
    }
    steps(record, 0, &mut text);
    let own: Vec<&CheckRow> = record.own_rulings().collect();
    if !own.is_empty() {
        let _ = writeln!(text, "\n{}", paint(DIM, "the plan's own checks"));
        for check in own {
            text.push_str(&ruling(check));
        }
    }
    if !record.held.rounds.is_empty() {
        let told = rounds(&record.held.rounds, false);
        let _ = write!(text, "\n{}\n{told}", paint(DIM, "rounds"));
        text.push_str(&whats_next(record));
    }
    text.push_str(&record.held.lines(&|place| record.called(place)));
    text.push_str(&artifacts(record));
    text.push_str(&next(record));
    text
}

/// What can be done about a run for which nothing more was tried.
fn whats_next(record: &Record) -> String {
    let abandoned = RunState::Ended(crate::machine::Outcome::Abandoned);
    match record.held.rounds.last() {
        Some(round) if record.run.state == abandoned => {
            format!(
                "\n{}",
                moves::told(&moves::moves(round), record.run.id.short())
            )
        }
        _ => String::new(),
    }
}

fn head(record: &Record, now: Moment) -> String {
    let run = &record.run;
    let life = record.life;
    let state = paint(life.style(), life.as_str());
    let tally = match run.state {
        RunState::Ended(_) => format!(" · {}", counts(&run.tally)),
        RunState::Running => String::new(),
    };
    let id = paint(NAME, run.id.short());
    let mut text = format!("{} · {state}{tally} · run {id}\n", run.plan);
    let mut field = |name: &str, value: &str| {
        if !value.is_empty() {
            let _ = writeln!(
                text,
                "  {} {}",
                paint(DIM, &format!("{name:<8}")),
                styled_line(value)
            );
        }
    };
    let accepted = run.accepted.map(|met| format!("within δ: {met}"));
    field("accepted", &paint_some(accepted));
    field("why", &untrusted(&run.why).to_string());
    field("goal", &of_goal(run));
    field("file", &untrusted(&run.path).to_string());
    field("params", &pairs(&run.params));
    let took = run.took().map(elapsed);
    let took = took
        .map(|took| format!(" · took {took}"))
        .unwrap_or_default();
    field("started", &format!("{}{took}", moment(run.created)));
    field("durable", run.durability.map_or("", survives));
    let used = record.ledger.as_ref();
    let used = used.and_then(|used| ledger(used, now));
    field("used", &used.unwrap_or_default());
    if let Some(earlier) = &run.retry_of {
        field("retry of", earlier.short());
    }
    let repeats: Vec<&str> = record.repeated_by.iter().map(RunId::short).collect();
    field("again in", &repeats.join(", "));
    if let Some((above, attempt)) = &run.parent {
        field("part of", &format!("{attempt} of run {}", above.short()));
    }
    field("approved", &record.held.by());
    field("outputs", &pairs(&run.outputs));
    text
}

/// What the record of a run survives, under its name in `wf.yaml`.
fn survives(durability: Durability) -> &'static str {
    match durability {
        Durability::Full => "full · survives a loss of power",
        Durability::Normal => "normal · a loss of power may take the last moments",
    }
}

/// Which run of a cycle it is, and of which slot.
fn of_goal(run: &RunRow) -> String {
    let Some(part) = run.goal else {
        return String::new();
    };
    let slot = run.params.get("slot").and_then(serde_json::Value::as_str);
    match slot.filter(|slot| !slot.is_empty()) {
        Some(slot) => format!("{} · slot {slot}", part.as_str()),
        None => format!("{} · somebody asked for it", part.as_str()),
    }
}

/// What is not to be overlooked, if there is something.
fn paint_some(text: Option<String>) -> String {
    text.map(|text| paint(WARN, &text)).unwrap_or_default()
}

/// Values on one line: `day=mon n=3`.
fn pairs(values: &Object) -> String {
    let pair = |(name, value): (&String, &serde_json::Value)| match value {
        serde_json::Value::String(text) => format!("{name}={}", untrusted(text)),
        other => format!("{name}={}", untrusted(&other.to_string())),
    };
    values.iter().map(pair).collect::<Vec<_>>().join(" ")
}

fn steps(record: &Record, depth: usize, text: &mut String) {
    for row in &record.steps {
        let place = place(row);
        let rulings = record.rulings(&place);
        let told = rulings.iter().any(|check| !check.verdict.passed());
        let mut notes = Vec::new();
        notes.extend(record.gap(&place));
        notes.extend(record.looped(&place));
        notes.extend(doubts(record, row));
        text.push_str(&step(row, depth, told, &notes));
        for check in rulings {
            text.push_str(&ruling(check));
        }
        for nested in record.nested_in(&place) {
            steps(nested, depth + 1 + usize::from(row.item.is_some()), text);
        }
    }
}

/// What shakes a result that was believed.
pub(super) fn doubts(record: &Record, row: &StepRow) -> Vec<String> {
    let own = row.stale.as_ref();
    let own = own.map(|path| {
        format!(
            "evidence is stale: {} changed after it was checked",
            untrusted(path)
        )
    });
    let other = record.shaken_by(&row.step).filter(|_| row.item.is_none());
    let other = other.map(|on| format!("depends on `{on}`, whose evidence is stale"));
    own.into_iter().chain(other).collect()
}

/// The line of a step; `told` leaves out why it failed, which its checks tell.
fn step(row: &StepRow, depth: usize, told: bool, notes: &[String]) -> String {
    let margin = "  ".repeat(depth + usize::from(row.item.is_some()));
    let mut about = format!("{margin}{}", called(row));
    about.push_str(&nth(row.attempts));
    if row.tolerated {
        about.push_str(" · allowed to fail");
    }
    if row.cached.is_some() {
        about.push_str(" · cached");
    }
    if let Some(from) = &row.kept_from {
        let _ = write!(about, " · kept from run {}", from.short());
    }
    if !row.why.is_empty() && !told && row.kept_from.is_none() {
        let _ = write!(about, " · {}", untrusted(first_line(&row.why)));
    }
    for note in notes {
        let _ = write!(about, " · {note}");
    }
    let verb = believed(row.state, row.standing);
    line(state_style(row.state), verb, took(row), &about)
}

fn ruling(check: &CheckRow) -> String {
    if check.verdict.passed() {
        let name = paint(GOOD, check.verdict.name.as_str());
        format!(
            "{INDENT}  check {name} holds{}\n",
            asked_for(&check.verdict)
        )
    } else {
        broken(&check.verdict)
    }
}

fn artifacts(record: &Record) -> String {
    let mut text = String::new();
    for row in &record.artifacts {
        let file = &row.artifact;
        let (bytes, digest) = (size(file.size), file.digest.short());
        let _ = writeln!(
            text,
            "  {} · {bytes} · {digest} · from {}",
            untrusted(&file.path),
            row.step
        );
    }
    if text.is_empty() {
        text
    } else {
        format!("\n{}\n{text}", paint(DIM, "artifacts"))
    }
}

/// The commands that lead to the end of a run, or to another one.
fn onwards(record: &Record) -> Vec<String> {
    let id = record.run.id.short();
    if let Some(top) = &record.top {
        // A run inside of another goes on with it.
        return vec![format!("wf show {}", top.short())];
    }
    match record.life {
        Life::Waiting => {
            let step = match record.open_questions().as_slice() {
                [] | [_] => String::new(),
                [first, ..] => format!(" {}", word(first)),
            };
            vec![
                format!("wf approve {id}{step}"),
                format!("wf deny {id}{step}"),
                format!("wf resume {id}"),
            ]
        }
        Life::Interrupted => vec![format!("wf resume {id}")],
        Life::Ended(outcome) if outcome != crate::machine::Outcome::Succeeded => {
            vec![match record.run.goal {
                // A cycle begins with a look, and is not repeated in part.
                Some(_) => format!(
                    "wf goal run {}",
                    goal_name(&record.run.plan, &record.run.path)
                ),
                None => format!("wf retry {id}"),
            }]
        }
        _ => Vec::new(),
    }
}

/// The commands that lead on from here.
fn next(record: &Record) -> String {
    let id = record.run.id.short();
    let mut commands = Vec::new();
    let failed = |row: &&StepRow| row.state == StepState::Failed && row.started.is_some();
    if let Some(row) = record.steps.iter().find(failed) {
        let place = word(&called(row));
        commands.push(format!("wf logs {id} {place}"));
        commands.push(format!("wf why {id} {place}"));
    }
    commands.extend(onwards(record));
    if commands.is_empty() {
        return String::new();
    }
    let commands: Vec<String> = commands.iter().map(|c| paint(NAME, c)).collect();
    format!("\n{} {}\n", paint(DIM, "next:"), commands.join(" · "))
}

#[cfg(test)]
mod tests {
    use super::show;
    use crate::machine::{Ledger, Standing};
    use crate::model::Budget;
    use crate::report::plain;
    use crate::report::record::sample;
    use crate::time::Moment;

    fn at() -> Moment {
        Moment::from_millis(1_700_000_000_000 + 90_000)
    }

    #[test]
    fn a_record_tells_states_checks_and_what_to_do() {
        let expected = "\
nightly-report · failed · 1 failed, 1 verified, 1 skipped · run 1a2b3c4d
  why      step `build` failed
  file     workflows/nightly.md
  params   day=mon n=3
  started  2023-11-14 22:13:20 · took 3.2s
  durable  full · survives a loss of power

   verified      1.2s  fetch
                         check is_json holds
     failed      1.2s  build · attempt 2
                       check is_json does not hold
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
        record.shake(&sample::plan());
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
    fn what_was_used_up_is_one_line() {
        let mut record = sample::record();
        record.ledger = Some(Ledger {
            attempts: 3,
            since: Some(Moment::from_millis(1_700_000_000_000)),
            budget: Some(Budget {
                max_attempts: Some(4),
                max_wall_time_ms: Some(600_000),
                ..Budget::default()
            }),
            ..Ledger::default()
        });
        let text = plain(&show(&record, at()));
        let line = "\n  used     attempts 3/4 · 1m30s/10m\n";
        assert!(text.contains(line), "{text}");
    }
}
