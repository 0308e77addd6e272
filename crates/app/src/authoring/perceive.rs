//! The understanding of a wish: the perceiver, its questions, and its task.

use super::author::{PERCEIVER, PLANNER, PlanAuthor, require_wish};
use crate::{CliExitCode, CommandError};
use wf_base::untrusted::untrusted;
use wf_core::agent::authoring::{
    Clarification, MAX_CLARIFICATIONS, Perception, PerceptionMistake, TaskSpec, append_answers,
    append_mistake, read_perception, task_question,
};

impl PlanAuthor<'_> {
    /// Makes a task of the words of a user. The perceiver may ask in at most two rounds.
    pub fn perceive(&mut self, wish: &str) -> Result<TaskSpec, CommandError> {
        require_wish(wish)?;
        // Without a planner, a task is of no use.
        let planner = self.desk.model(PLANNER)?;
        let model = self.desk.model(PERCEIVER).unwrap_or(planner);
        let mut notes = self.desk.perceiver_notes()?;
        self.desk.begin(wish, None)?;
        let mut request = task_question(wish, &notes.past);
        let (mut is_repaired, mut rounds, mut clarifications) = (false, 0, Vec::new());
        loop {
            let reply = self.desk.call(PERCEIVER, &model, &request)?;
            let mistake = match read_perception(&reply.text, wish) {
                Ok(Perception::Task(task)) => {
                    self.desk.keep_notes(&notes)?;
                    self.intent = Some(task.intent.clone());
                    return Ok(TaskSpec { clarifications, ..task });
                }
                Ok(Perception::Questions(questions)) if rounds < MAX_CLARIFICATIONS => {
                    let answers = self.answers(&questions, notes.answers.get(rounds))?;
                    if rounds >= notes.answers.len() {
                        notes
                            .answers
                            .push(answers.iter().map(|clarification| clarification.answer.clone()).collect());
                    }
                    self.desk.clarified(&answers)?;
                    let is_silent = answers.iter().all(|clarification| clarification.answer.is_empty());
                    rounds = if is_silent { MAX_CLARIFICATIONS } else { rounds + 1 };
                    append_answers(&mut request, reply, &answers);
                    clarifications
                        .extend(answers.into_iter().filter(|clarification| !clarification.answer.is_empty()));
                    continue;
                }
                Ok(Perception::Questions(_)) => PerceptionMistake::LateQuestions,
                Err(mistake) => mistake,
            };
            if is_repaired {
                let message = format!("model `{}` did not understand the wish: {mistake}", model.name);
                let error = CommandError::new(CliExitCode::RunFailed, message);
                return Err(error.hint("say it in other words, or give the role `perceiver` another model"));
            }
            is_repaired = true;
            append_mistake(&mut request, reply, &mistake.to_string());
        }
    }

    /// Returns the answers of the user, or the recorded ones. Where nobody can be asked, and after the end of
    /// the input, they are empty.
    fn answers(
        &self,
        questions: &[String],
        recorded: Option<&Vec<String>>,
    ) -> Result<Vec<Clarification>, CommandError> {
        let mut may_ask = self.may_ask && self.caller.is_interactive() && !self.desk.is_replay();
        let mut answers = Vec::new();
        for (at, question) in questions.iter().enumerate() {
            let answer = match recorded.and_then(|round| round.get(at)) {
                Some(answer) => answer.clone(),
                None if may_ask => {
                    let line = self.caller.ask(&format!("{}\n> ", untrusted(question)))?;
                    may_ask = !line.is_empty();
                    line.trim().to_owned()
                }
                None => String::new(),
            };
            answers.push(Clarification { question: question.clone(), answer });
        }
        Ok(answers)
    }
}

#[cfg(test)]
mod tests;
