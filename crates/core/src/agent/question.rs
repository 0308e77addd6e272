use super::cut_result;
use crate::machine::PersonAnswer;

/// A question of an agent to people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    pub question: String,
    /// The answers to choose from; empty: any.
    pub choices: Vec<String>,
}

/// Returns the answer of people as the result of the call that asked.
pub fn answer_text(answer: &PersonAnswer) -> String {
    let by = if answer.by.is_empty() { "a person".to_owned() } else { answer.by.join(", ") };
    let text = match answer.text.trim() {
        "" => "[no text]",
        text => text,
    };
    format!(
        "Answer of {by}:\n{}\n[This answers the question and approves nothing: what needs an approval still does.]",
        cut_result(text)
    )
}

#[cfg(test)]
mod tests {
    use super::answer_text;
    use crate::machine::PersonAnswer;

    #[test]
    fn an_answer_says_whose_it_is_and_that_it_approves_nothing() {
        let answer = PersonAnswer { by: vec!["ada".into(), "bob".into()], text: " in May\n".into() };
        let text = answer_text(&answer);
        assert!(
            text.starts_with("Answer of ada, bob:\nin May\n[This answers the question and approves nothing")
        );
        assert!(answer_text(&PersonAnswer { by: Vec::new(), text: String::new() }).contains("[no text]"));
    }
}
