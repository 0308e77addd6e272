use std::fmt::Write as _;
use std::time::Duration;

use super::{Ending, News, RunEnding};
use crate::ggs::{Directive, Solved};
use crate::machine::{Outcome, Round, StepState, Verdict};
use crate::report::lines::{INDENT, broken, line, nth, word};
use crate::report::moves;
use crate::report::paint::{BAD, BOLD, DIM, GOOD, NAME, WARN, paint};
use crate::report::rounds::rounds;
use crate::report::words::{believed, counts, outcome_style, state_style};
use crate::report::{elapsed, first_line, plural};
use crate::untrusted::{styled_line, untrusted};

/// How much is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Volume {
    /// Failures and the end.
    Quiet,
    /// What ended.
    #[default]
    Normal,
    /// What began, too, and what the steps print.
    Verbose,
}

/// News as lines of text; empty if the volume is too low for it.
pub fn tell(news: &News, volume: Volume) -> String {
    let loud = volume >= Volume::Normal;
    match news {
        News::Ended(ending) => ended(ending, volume),
        News::Judged {
            subject, verdict, ..
        } => judged(subject, verdict, volume),
        News::Began { plan, run, is_open } if loud => {
            let mut text = format!("{plan} · run {}", paint(NAME, run.short()));
            if *is_open {
                text += &paint(WARN, " · without any sandbox");
            }
            line(BOLD, "running", None, &text)
        }
        News::Started { subject, attempt } if volume == Volume::Verbose => {
            line(DIM, "started", None, &format!("{subject}{}", nth(*attempt)))
        }
        News::Awaits { subject, lock } if loud => line(
            DIM,
            "waiting",
            None,
            &format!("{subject} · for the lock `{}`", untrusted(lock)),
        ),
        News::Retries {
            subject,
            attempt,
            wait,
            why,
            gap,
            looped,
        } if loud => {
            let wait = elapsed(*wait);
            let why = untrusted(first_line(why));
            // Of a single criterion there is nothing to count.
            let gap = gap.filter(|gap| gap.of > 1);
            let gap = gap.map(|gap| format!(" · gap {gap}")).unwrap_or_default();
            let when = match looped {
                Some(looped) => format!(" · {looped}"),
                None => format!(" in {wait}"),
            };
            let text = format!("{subject} · attempt {attempt}{when}{gap} · {why}");
            line(WARN, "retrying", None, &text)
        }
        News::Noted { verb, text } if loud => line(WARN, verb, None, text),
        _ => String::new(),
    }
}

/// How a run ended: `succeeded · 5 verified, 2 reported · 3.2s · run 1a2b3c4d`; where it did not
/// succeed, why, and how to go on.
///
/// Before it, the rounds, if there was more than one or one that did not hold.
pub fn final_line(ending: &RunEnding) -> String {
    let mut text = trajectory(&ending.rounds);
    text.push_str(&paint(
        outcome_style(ending.outcome),
        ending.outcome.as_str(),
    ));
    let took = elapsed(ending.took);
    let run = paint(NAME, ending.run.short());
    let _ = writeln!(
        text,
        " · {}{} · {took} · run {run}",
        counts(&ending.tally),
        stale(&ending.stale)
    );
    if let Some(met) = ending.accepted {
        let told = paint(WARN, &format!("accepted within δ: {met}"));
        let _ = writeln!(text, "{told}; the others do not hold");
    }
    if !ending.why.is_empty() {
        let _ = writeln!(text, "{}", untrusted(first_line(&ending.why)));
    }
    if ending.outcome == Outcome::Abandoned {
        let more = format!("wf show {} --rounds", ending.run.short());
        let _ = writeln!(text, "what was tried: {}", paint(NAME, &more));
        text.push_str(&moves::told(&ending.moves, ending.run.short()));
    }
    // Of a look at a goal, which has no steps, there is nothing to repeat.
    if ending.outcome != Outcome::Succeeded && ending.tally != crate::machine::Tally::default() {
        let _ = writeln!(
            text,
            "to go on: {}",
            paint(NAME, &styled_line(&ending.next))
        );
    }
    text
}

/// The way that a run went, round after round. Of a single round in which everything held there is
/// nothing to tell.
fn trajectory(all: &[Round]) -> String {
    if matches!(
        all,
        [] | [Round {
            solved: Solved {
                directive: Directive::Accept,
                ..
            },
            ..
        }]
    ) {
        return String::new();
    }
    format!("{}\n{}\n", paint(DIM, "rounds"), rounds(all, false))
}

/// Which evidence is not worth what it was: ` (evidence of `build` is stale: …)`.
fn stale(stale: &[String]) -> String {
    match stale {
        [] => String::new(),
        [one] => format!(" ({})", untrusted(one)),
        [one, more @ ..] => format!(
            " ({}; and of {})",
            untrusted(one),
            plural(more.len(), "more place")
        ),
    }
}

fn ended(ending: &Ending, volume: Volume) -> String {
    let bad = ending.state == StepState::Failed;
    if !bad && volume == Volume::Quiet {
        return String::new();
    }
    let (verb, style) = match ending.state {
        StepState::Succeeded if ending.cached => ("cached", GOOD),
        StepState::Failed if ending.tolerated => ("failed", WARN),
        state => (believed(state, ending.standing), state_style(state)),
    };
    let mut text = ending.subject();
    if ending.attempts > 1 {
        text.push_str(&nth(ending.attempts));
    }
    if ending.tolerated && bad {
        text.push_str(" · allowed to fail");
    }
    if !ending.why.is_empty() && ending.broken.is_empty() {
        let _ = write!(text, " · {}", untrusted(first_line(&ending.why)));
    }
    let mut told = line(style, verb, ending.took, &text);
    if bad {
        told.push_str(&failure(ending));
    }
    told
}

/// Why a step failed and what to do about it.
fn failure(ending: &Ending) -> String {
    let mut text = String::new();
    for verdict in &ending.broken {
        text.push_str(&broken(verdict));
    }
    if !ending.nested && ending.took.is_some() {
        for line in &ending.tail {
            let _ = writeln!(text, "{INDENT}{} {line}", paint(DIM, "│"));
        }
        let (more, command) = if ending.tail.is_empty() {
            ("it printed nothing", "why")
        } else {
            ("the whole log", "logs")
        };
        let command = format!(
            "wf {command} {} {}",
            ending.run.id.short(),
            word(&ending.place)
        );
        let _ = writeln!(text, "{INDENT}{more}: {}", paint(NAME, &command));
    }
    text
}

fn judged(subject: &str, verdict: &Verdict, volume: Volume) -> String {
    let took = Some(Duration::from_millis(verdict.millis));
    let text = format!("{subject} · check `{}`", verdict.name);
    if !verdict.passed() {
        return line(BAD, "refuted", took, &text) + &broken(verdict);
    }
    if volume >= Volume::Normal {
        line(GOOD, "verified", took, &text)
    } else {
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use super::{Volume, final_line, tell};
    use crate::engine::RunRef;
    use crate::machine::{Outcome, Place, Ruling, Stale, Standing, StepState, Tally, Verdict};
    use crate::name::{Name, PlanId, RunId};
    use crate::report::follow::{Ending, News, RunEnding};
    use crate::report::plain;
    use std::time::Duration;

    fn run() -> RunId {
        RunId::from_stored("1a2b3c4d5e6f708192a3b4c5d6e7f809")
    }

    fn verdict(ruling: Ruling) -> Verdict {
        Verdict {
            name: Name::parse("is_json").unwrap(),
            phase: crate::model::CheckPhase::default(),
            ruling,
            expected: "exit code 0".into(),
            found: "exit code 1".into(),
            evidence: "line 3: no comma".into(),
            class: None,
            millis: 120,
            mode: crate::model::Mode::default(),
            guards: None,
            hidden: Vec::new(),
        }
    }

    fn ending(state: StepState, standing: Standing) -> Ending {
        Ending {
            run: RunRef {
                id: run(),
                plan: PlanId::parse("demo").unwrap(),
                path: Vec::new(),
            },
            place: "build".into(),
            step: Name::parse("build").unwrap(),
            state,
            standing,
            why: String::new(),
            class: None,
            tolerated: false,
            cached: false,
            took: Some(Duration::from_millis(1_250)),
            attempts: 1,
            broken: Vec::new(),
            tail: Vec::new(),
            nested: false,
        }
    }

    fn check(ending: Ending, volume: Volume, expected: &str) {
        let news = News::Ended(Box::new(ending));
        assert_eq!(plain(&tell(&news, volume)), expected);
    }

    #[test]
    fn success_takes_one_line() {
        let verified = ending(StepState::Succeeded, Standing::Verified);
        check(
            verified.clone(),
            Volume::Normal,
            "   verified      1.2s  build\n",
        );
        check(verified, Volume::Quiet, "");
        let mut second = ending(StepState::Succeeded, Standing::Reported);
        second.attempts = 2;
        second.run.path = vec!["all".into(), "docs[2]".into()];
        let line = "   reported      1.2s  all/docs[2]/build · attempt 2\n";
        check(second, Volume::Normal, line);
    }

    #[test]
    fn a_failure_says_what_was_expected_and_what_to_do() {
        let mut failed = ending(StepState::Failed, Standing::Refuted);
        failed.why = "check `is_json` failed".into();
        failed.broken = vec![verdict(Ruling::Fail)];
        failed.tail = vec!["writing data.json".into()];
        let expected = "     failed      1.2s  build
                       check is_json does not hold
                         expected exit code 0
                         found    exit code 1
                         │ line 3: no comma
                       │ writing data.json
                       the whole log: wf logs 1a2b3c4d build
";
        check(failed, Volume::Quiet, expected);
    }

    #[test]
    fn what_was_skipped_says_why() {
        let mut skipped = ending(StepState::Skipped, Standing::Unchecked);
        skipped.why = "`build` failed".into();
        skipped.took = None;
        skipped.place = "publish".into();
        let line = "    skipped            publish · `build` failed\n";
        check(skipped, Volume::Normal, line);
    }

    #[test]
    fn the_end_counts() {
        let ending = RunEnding {
            run: run(),
            plan: PlanId::parse("demo").unwrap(),
            outcome: Outcome::Succeeded,
            why: String::new(),
            failed: None,
            tally: Tally {
                verified: 5,
                reported: 2,
                ..Tally::default()
            },
            stale: Vec::new(),
            accepted: None,
            moves: Vec::new(),
            took: Duration::from_millis(3_210),
            rounds: Vec::new(),
            next: "wf retry 1a2b3c4d".into(),
        };
        let line = "succeeded · 5 verified, 2 reported · 3.2s · run 1a2b3c4d\n";
        assert_eq!(plain(&final_line(&ending)), line);
        let cancelled = RunEnding {
            outcome: Outcome::Cancelled,
            why: "interrupted".into(),
            ..ending
        };
        let lines = "cancelled · 5 verified, 2 reported · 3.2s · run 1a2b3c4d\n\
            interrupted\nto go on: wf retry 1a2b3c4d\n";
        assert_eq!(plain(&final_line(&cancelled)), lines);
        let mut stale = vec![
            Stale {
                place: Place::of(&Name::parse("build").unwrap()),
                path: "out.txt".into(),
            }
            .text("build"),
        ];
        let told = |stale: &[String]| {
            plain(&final_line(&RunEnding {
                outcome: Outcome::Succeeded,
                why: String::new(),
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
