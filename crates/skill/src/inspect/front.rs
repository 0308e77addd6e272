use super::{InspectionIssue, Rule};
use crate::Skill;

/// The minimum length of a description, in characters.
const SHORTEST: usize = 20;

/// The maximum length of a description, in characters.
const LONGEST: usize = 1024;

/// Words that describe when to use a skill.
const WHEN: [&str; 12] = [
    "when", "whenever", "use for", "use this", "use it", "use to", "if ", "before ", "after ", "while ",
    "for ", "trigger",
];

/// Returns the issues of the name and the description of a skill.
pub(super) fn front(skill: &Skill) -> Vec<InspectionIssue> {
    let mut issues = Vec::new();
    let mut find = |rule, reason: String| issues.push(InspectionIssue::new(rule, "SKILL.md", 0, reason));
    if !is_plain(&skill.name) {
        find(
            Rule::NameForm,
            format!("the name `{}` is not valid for skills.lock", skill.name.escape_debug()),
        );
    }
    let text = skill.description.trim();
    let long = text.chars().count();
    if long < SHORTEST {
        find(
            Rule::DescriptionShort,
            format!("the description has {long} characters; at least {SHORTEST} are required"),
        );
    } else if long > LONGEST {
        find(
            Rule::DescriptionLong,
            format!("the description has {long} characters; at most {LONGEST} are allowed"),
        );
    }
    if steps(text) >= 3 {
        find(Rule::DescriptionSteps, "the description lists the steps of the work".to_owned());
    }
    let lower = text.to_lowercase();
    // Text in other scripts than Latin is not judged.
    let is_latin = text.chars().filter(|c| c.is_alphabetic()).all(|c| u32::from(c) < 0x250);
    if is_latin && !WHEN.iter().any(|word| lower.contains(word)) {
        find(Rule::DescriptionWhen, "the description does not seem to say when to use the skill".to_owned());
    }
    issues
}

/// True for lower-case ASCII words and numbers, joined by single hyphens.
fn is_plain(name: &str) -> bool {
    let is_word = |word: &str| {
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    name.len() <= 64 && name.split('-').all(is_word)
}

/// Counts the steps a text lists: numbers at the start of a line or after a full stop,
/// `Step 1`, and words that join steps.
fn steps(text: &str) -> usize {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_number = |word: &str| {
        let digits = word.strip_suffix('.').or_else(|| word.strip_suffix(')'));
        let digits = digits.map(|digits| digits.trim_start_matches('('));
        digits.is_some_and(|digits| {
            !digits.is_empty() && digits.len() <= 2 && digits.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    let numbers = words.iter().filter(|word| is_number(word)).count();
    let named = words.array_windows().filter(|[one, two]| {
        one.eq_ignore_ascii_case("step") && two.starts_with(|c: char| c.is_ascii_digit())
    });
    let joins = words.iter().filter(|word| {
        let word = word.trim_end_matches([',', ':']).to_ascii_lowercase();
        matches!(word.as_str(), "then" | "finally" | "next" | "afterwards" | "firstly" | "secondly")
    });
    numbers.max(named.count()).max(joins.count())
}
