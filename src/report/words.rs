use anstyle::Style;

use super::paint::{BAD, DIM, GOOD, WARN};
use crate::machine::{Outcome, Standing, StepState, Tally};

/// The word for how a step stands: how far a success is believed, else where it is.
pub fn believed(state: StepState, standing: Standing) -> &'static str {
    match (state, standing) {
        (StepState::Succeeded, Standing::Verified) => "verified",
        (StepState::Succeeded, _) => "reported",
        (other, _) => other.as_str(),
    }
}

/// The style of a step's state.
pub fn state_style(state: StepState) -> Style {
    match state {
        StepState::Succeeded => GOOD,
        StepState::Failed => BAD,
        StepState::Cancelled => WARN,
        StepState::Skipped | StepState::Pending => DIM,
        _ => Style::new(),
    }
}

/// The style of a run's end.
pub fn outcome_style(outcome: Outcome) -> Style {
    match outcome {
        Outcome::Succeeded => GOOD,
        Outcome::Failed | Outcome::Abandoned => BAD,
        Outcome::Cancelled => WARN,
    }
}

/// How the steps of a run ended, worst first: `1 failed, 5 verified, 2 reported`.
pub fn counts(tally: &Tally) -> String {
    let parts: Vec<String> = [
        (tally.failed, "failed"),
        (tally.tolerated, "allowed to fail"),
        (tally.cancelled, "cancelled"),
        (tally.verified, "verified"),
        (tally.reported, "reported"),
        (tally.skipped, "skipped"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, word)| format!("{count} {word}"))
    .collect();
    if parts.is_empty() {
        "no steps".to_owned()
    } else {
        parts.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::{believed, counts};
    use crate::machine::{Standing, StepState, Tally};

    #[test]
    fn success_says_how_far_it_is_believed() {
        assert_eq!(
            believed(StepState::Succeeded, Standing::Verified),
            "verified"
        );
        assert_eq!(
            believed(StepState::Succeeded, Standing::Reported),
            "reported"
        );
        assert_eq!(believed(StepState::Failed, Standing::Refuted), "failed");
    }

    #[test]
    fn counts_name_what_there_is() {
        let tally = Tally {
            verified: 5,
            reported: 2,
            ..Tally::default()
        };
        assert_eq!(counts(&tally), "5 verified, 2 reported");
        let tally = Tally {
            tolerated: 1,
            ..tally
        };
        let told = "1 allowed to fail, 5 verified, 2 reported";
        assert_eq!(counts(&tally), told);
        assert_eq!(counts(&Tally::default()), "no steps");
    }
}
