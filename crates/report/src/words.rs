use anstyle::Style;

use wf_base::untrusted::{BAD, DIM, GOOD, WARN};
use wf_core::machine::{CheckVerdict, RunOutcome, Standing, StepCounts, StepState};
use wf_model::CheckCertainty;

/// The word for the state of a step: the standing of a success, else the state.
pub fn state_word(state: StepState, standing: Standing) -> &'static str {
    match (state, standing) {
        (StepState::Succeeded, Standing::Verified) => "verified",
        (StepState::Succeeded, Standing::Plausible) => "plausible",
        (StepState::Succeeded, _) => "reported",
        (other, _) => other.as_str(),
    }
}

/// The style of a step's state.
pub fn state_style(state: StepState) -> Style {
    match state {
        StepState::Succeeded => GOOD,
        StepState::Failed => BAD,
        StepState::Cancelled | StepState::Interrupted => WARN,
        StepState::Skipped | StepState::Pending => DIM,
        _ => Style::new(),
    }
}

/// The style of a run's outcome.
pub fn outcome_style(outcome: RunOutcome) -> Style {
    match outcome {
        RunOutcome::Succeeded => GOOD,
        RunOutcome::Failed | RunOutcome::Abandoned => BAD,
        RunOutcome::Cancelled => WARN,
    }
}

/// The counts of a run's steps by outcome, worst first: `1 failed, 5 verified, 2 reported`.
pub fn counts_text(counts: &StepCounts) -> String {
    let parts: Vec<String> = [
        (counts.failed, "failed"),
        (counts.allowed_to_fail, "failed (ignored)"),
        (counts.cancelled, "cancelled"),
        (counts.verified, "verified"),
        (counts.plausible, "plausible"),
        (counts.reported, "reported"),
        (counts.skipped, "skipped"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, word)| format!("{count} {word}"))
    .collect();
    if parts.is_empty() { "no steps".to_owned() } else { parts.join(", ") }
}

/// The numbers of passed checks by mode, if one of them is plausible and so decides the standing:
/// `2 verifiable, 1 plausible`.
pub fn certainty_counts<'a>(verdicts: impl IntoIterator<Item = &'a CheckVerdict>) -> Option<String> {
    let passed = verdicts.into_iter().filter(|verdict| verdict.passed());
    let (verifiable, plausible) = passed.fold((0_u32, 0_u32), |counts, verdict| match verdict.certainty {
        CheckCertainty::Verifiable => (counts.0 + 1, counts.1),
        CheckCertainty::Plausible => (counts.0, counts.1 + 1),
    });
    (plausible > 0).then(|| match verifiable {
        0 => format!("{plausible} plausible"),
        _ => format!("{verifiable} verifiable, {plausible} plausible"),
    })
}

#[cfg(test)]
mod tests {
    use super::{counts_text, state_word};
    use wf_core::machine::{Standing, StepCounts, StepState};

    #[test]
    fn success_says_how_far_it_is_believed() {
        assert_eq!(state_word(StepState::Succeeded, Standing::Verified), "verified");
        assert_eq!(state_word(StepState::Succeeded, Standing::Reported), "reported");
        assert_eq!(state_word(StepState::Failed, Standing::Refuted), "failed");
    }

    #[test]
    fn counts_name_what_there_is() {
        let ended = StepCounts { verified: 5, reported: 2, ..StepCounts::default() };
        assert_eq!(counts_text(&ended), "5 verified, 2 reported");
        let ended = StepCounts { allowed_to_fail: 1, ..ended };
        let told = "1 failed (ignored), 5 verified, 2 reported";
        assert_eq!(counts_text(&ended), told);
        assert_eq!(counts_text(&StepCounts::default()), "no steps");
    }
}
