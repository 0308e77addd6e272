use serde::Deserialize;

use crate::agent::unfence;

/// The maximum length of a quote or a reason in the record, in characters.
const LONGEST: usize = 300;

/// The minimum length of a quote that is only a part of a line, in characters: a single letter is in any text.
const SHORTEST_PART: usize = 3;

/// The vote on one criterion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CriterionVote {
    /// True if it holds, as a quote of the evidence shows.
    pub passes: bool,
    /// The quoted passage, if it passes.
    pub quote: String,
    pub reason: String,
}

/// The form of a vote.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenVote {
    verdicts: Vec<WrittenVerdict>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenVerdict {
    criterion: usize,
    verdict: WrittenRuling,
    #[serde(default)]
    quote: String,
    #[serde(default)]
    reason: String,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum WrittenRuling {
    Pass,
    Fail,
    Unclear,
}

/// The mistake making a vote unusable, which a model is asked once to repair.
#[derive(Debug, thiserror::Error)]
pub enum VoteMistake {
    #[error("the answer is not the JSON object that was asked for: {0}")]
    Form(#[from] serde_json::Error),
    /// It is not about the criteria.
    #[error("`verdicts` must have one object for each criterion from 1 to {0}, in order")]
    Criteria(usize),
    /// A pass has no quote of the evidence.
    #[error("criterion {criterion}: {mistake}")]
    Quote { criterion: usize, mistake: QuoteMistake },
}

/// The reason why a quote shows nothing.
#[derive(Debug, thiserror::Error)]
pub enum QuoteMistake {
    #[error("a pass needs a quote of the evidence, copied character by character")]
    Missing,
    #[error("its quote is not in the evidence: {0:?}")]
    Foreign(String),
    #[error(
        "its quote is too short: {0:?}; quote a whole line, or at least {SHORTEST_PART} characters of one"
    )]
    TooShort(String),
}

/// Parses a vote on some criteria, and compares its quotes with the evidence.
pub fn read_vote(text: &str, criteria: usize, evidence: &str) -> Result<Vec<CriterionVote>, VoteMistake> {
    let written: WrittenVote = serde_json::from_str(unfence(text))?;
    let numbers = written.verdicts.iter().map(|verdict| verdict.criterion);
    if !numbers.eq(1..=criteria) {
        return Err(VoteMistake::Criteria(criteria));
    }
    written.verdicts.into_iter().map(|verdict| verdict.compared_with(evidence)).collect()
}

impl WrittenVerdict {
    /// Returns the vote it is, or the mistake in its quote: a pass counts only with one.
    fn compared_with(self, evidence: &str) -> Result<CriterionVote, VoteMistake> {
        let passes = self.verdict == WrittenRuling::Pass;
        let quote = if passes { self.quote.trim() } else { "" };
        if passes {
            check_quote(quote, evidence)
                .map_err(|mistake| VoteMistake::Quote { criterion: self.criterion, mistake })?;
        }
        let reason = match self.verdict {
            WrittenRuling::Unclear => format!("unclear: {}", self.reason.trim()),
            WrittenRuling::Pass | WrittenRuling::Fail => self.reason.trim().to_owned(),
        };
        Ok(CriterionVote { passes, quote: shortened(quote), reason: shortened(&reason) })
    }
}

/// Checks that a quote is a passage of the evidence that can show something: a whole line, or a longer part.
fn check_quote(quote: &str, evidence: &str) -> Result<(), QuoteMistake> {
    let is_line = evidence.lines().any(|line| line.trim() == quote);
    if quote.is_empty() {
        return Err(QuoteMistake::Missing);
    }
    if !evidence.contains(quote) {
        return Err(QuoteMistake::Foreign(shortened(quote)));
    }
    if !is_line && quote.chars().count() < SHORTEST_PART {
        return Err(QuoteMistake::TooShort(quote.to_owned()));
    }
    Ok(())
}

fn shortened(text: &str) -> String {
    text.chars().take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::{CriterionVote, VoteMistake, read_vote};
    use proptest::prelude::*;
    use serde_json::json;

    const EVIDENCE: &str = "The total is 42 EUR.\nPaid by card.";

    fn vote(verdict: &str, quote: &str) -> Result<CriterionVote, VoteMistake> {
        let verdict = json!({"criterion": 1, "verdict": verdict, "quote": quote, "reason": "so"});
        let text = json!({ "verdicts": [verdict] }).to_string();
        read_vote(&text, 1, EVIDENCE).map(|mut votes| votes.remove(0))
    }

    #[test]
    fn a_pass_needs_a_quote_of_the_evidence() {
        let passed = CriterionVote { passes: true, quote: "total is 42".into(), reason: "so".into() };
        assert_eq!(vote("pass", "total is 42").unwrap(), passed);
        for quote in ["total is 43", "TOTAL IS 42", "the total is 42 EUR. Paid"] {
            let mistake = vote("pass", quote).unwrap_err().to_string();
            assert!(mistake.starts_with("criterion 1: its quote is not in the evidence"), "{mistake}");
        }
        assert!(vote("pass", " ").unwrap_err().to_string().contains("a pass needs a quote"));
    }

    #[test]
    fn a_short_quote_counts_if_it_is_a_whole_line() {
        let vote = |quote: &str, evidence: &str| {
            let verdict = json!({"criterion": 1, "verdict": "pass", "quote": quote, "reason": "so"});
            read_vote(&json!({ "verdicts": [verdict] }).to_string(), 1, evidence)
        };
        for evidence in ["6\n", "The answer:\n  6\nThat is all.\n", "6"] {
            assert!(vote("6", evidence).unwrap()[0].passes, "{evidence:?}");
        }
        let mistake = vote("6", "The answer is 6.\n").unwrap_err().to_string();
        assert!(mistake.contains("too short") && mistake.contains("at least 3 characters"), "{mistake}");
        assert!(vote("is 6", "The answer is 6.\n").unwrap()[0].passes);
    }

    #[test]
    fn what_does_not_pass_needs_none() {
        assert_eq!(vote("fail", "").unwrap().reason, "so");
        let unclear = vote("unclear", "total is 42").unwrap();
        assert_eq!(
            (unclear.passes, unclear.quote.as_str(), unclear.reason.as_str()),
            (false, "", "unclear: so")
        );
    }

    #[test]
    fn every_criterion_is_voted_on_once_and_in_order() {
        let one = |number: u32| json!({"criterion": number, "verdict": "fail", "quote": "", "reason": ""});
        let read = |numbers: &[u32]| {
            let verdicts: Vec<_> = numbers.iter().map(|number| one(*number)).collect();
            read_vote(&json!({ "verdicts": verdicts }).to_string(), 2, EVIDENCE)
        };
        assert_eq!(read(&[1, 2]).unwrap().len(), 2);
        for numbers in [&[1][..], &[2, 1], &[1, 1], &[1, 2, 3], &[0, 1], &[]] {
            assert!(read(numbers).unwrap_err().to_string().contains("from 1 to 2"), "{numbers:?}");
        }
    }

    #[test]
    fn another_form_is_a_mistake() {
        for text in ["It passes.", "{}", "[]", r#"{"verdicts": [{"criterion": 1, "verdict": "yes"}]}"#] {
            let mistake = read_vote(text, 1, EVIDENCE).unwrap_err().to_string();
            assert!(mistake.starts_with("the answer is not the JSON object"), "{text}: {mistake}");
        }
    }

    proptest! {
        #[test]
        fn no_text_passes_without_a_quote(text in ".{0,80}") {
            if let Ok(votes) = read_vote(&text, 1, EVIDENCE) {
                prop_assert!(votes.iter().all(|vote| !vote.passes || EVIDENCE.contains(&vote.quote)));
            }
        }
    }
}
