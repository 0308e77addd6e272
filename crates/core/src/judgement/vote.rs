use serde::Deserialize;

use crate::agent::unfence;

/// The maximum length of a quote or a reason in the record, in characters.
const LONGEST: usize = 300;

/// The minimum length of a quote, in characters: a single letter is in any text.
const SHORTEST_QUOTE: usize = 3;

/// The vote on one criterion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CriterionVote {
    /// True if it holds, shown by a quote that is in the evidence.
    pub passes: bool,
    /// The quoted passage, if it passes.
    pub quote: String,
    /// The reason.
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

/// Parses a vote on some criteria, and compares its quotes with the evidence. The error is the mistake in its form,
/// which a model is asked once to repair.
pub fn read_vote(text: &str, criteria: usize, evidence: &str) -> Result<Vec<CriterionVote>, String> {
    let written: WrittenVote = serde_json::from_str(unfence(text))
        .map_err(|error| format!("the answer is not the JSON object that was asked for: {error}"))?;
    let numbers = written.verdicts.iter().map(|verdict| verdict.criterion);
    if !numbers.eq(1..=criteria) {
        return Err(format!(
            "`verdicts` must have one object for each criterion from 1 to {criteria}, in order"
        ));
    }
    Ok(written.verdicts.into_iter().map(|verdict| verdict.compared_with(evidence)).collect())
}

impl WrittenVerdict {
    /// Returns the vote that it is: a pass counts only with a quote.
    fn compared_with(self, evidence: &str) -> CriterionVote {
        let quote = self.quote.trim();
        let is_quoted = quote.chars().count() >= SHORTEST_QUOTE.min(evidence.trim().chars().count())
            && !quote.is_empty()
            && evidence.contains(quote);
        let reason = match self.verdict {
            WrittenRuling::Pass if !is_quoted => {
                format!("its quote is not in the evidence: {:?}", shortened(quote))
            }
            WrittenRuling::Unclear => format!("unclear: {}", self.reason.trim()),
            WrittenRuling::Pass | WrittenRuling::Fail => self.reason.trim().to_owned(),
        };
        let passes = self.verdict == WrittenRuling::Pass && is_quoted;
        let quote = if passes { shortened(quote) } else { String::new() };
        CriterionVote { passes, quote, reason: shortened(&reason) }
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::{CriterionVote, read_vote};
    use proptest::prelude::*;
    use serde_json::json;

    const EVIDENCE: &str = "The total is 42 EUR.\nPaid by card.";

    fn vote(verdict: &str, quote: &str) -> Result<CriterionVote, String> {
        let verdict = json!({"criterion": 1, "verdict": verdict, "quote": quote, "reason": "so"});
        let text = json!({ "verdicts": [verdict] }).to_string();
        read_vote(&text, 1, EVIDENCE).map(|mut votes| votes.remove(0))
    }

    #[test]
    fn a_pass_needs_a_quote_of_the_evidence() {
        let passed = CriterionVote { passes: true, quote: "total is 42".into(), reason: "so".into() };
        assert_eq!(vote("pass", "total is 42"), Ok(passed));
        for quote in ["", "t", "total is 43", "TOTAL IS 42", "the total is 42 EUR. Paid"] {
            let vote = vote("pass", quote).unwrap();
            assert!(!vote.passes && vote.reason.starts_with("its quote is not in the evidence"), "{vote:?}");
        }
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
            assert!(read(numbers).unwrap_err().contains("from 1 to 2"), "{numbers:?}");
        }
    }

    #[test]
    fn another_form_is_a_mistake() {
        for text in ["It passes.", "{}", "[]", r#"{"verdicts": [{"criterion": 1, "verdict": "yes"}]}"#] {
            let mistake = read_vote(text, 1, EVIDENCE).unwrap_err();
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
