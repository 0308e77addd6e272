use crate::agent::{cut_result, repair_text};

/// Returns the instructions of a program begun again, since its answer did not fit.
pub fn repair_prompt(prompt: &str, answer: Option<&str>, mistake: &str) -> String {
    let said = match answer {
        Some(answer) => format!("and your answer was:\n\n{}", cut_result(answer)),
        None => "and you gave no answer.".to_owned(),
    };
    format!(
        "{prompt}\n\nYou have already worked on this, what you did is there, {said}\n\n{}\n\nRepair the answer.",
        repair_text(mistake)
    )
}
