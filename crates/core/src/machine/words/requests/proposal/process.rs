use super::{ProposedAlternative, mistake::ProposalMistake};
use wf_model::{
    ShellScript, Step, StepWork,
    expr::{Template, templates_in_script},
};

impl ProposedAlternative {
    /// Returns the process, if it names any. Values reach it through its variables alone.
    pub(super) fn process(&self, written: &Step) -> Result<Option<StepWork>, ProposalMistake> {
        let work = match (&self.run, &self.exec) {
            (None, None) => return Ok(None),
            (Some(_), Some(_)) => return Err(ProposalMistake::Exclusive("run", "exec")),
            (Some(text), None) if !templates_in_script(text).is_empty() => {
                return Err(ProposalMistake::CommandTemplate("run"));
            }
            (Some(text), None) => StepWork::Run(ShellScript { shell: shell_of(written), text: text.clone() }),
            (None, Some(words)) => {
                if words.first().is_none_or(String::is_empty) {
                    return Err(ProposalMistake::NoProgram);
                }
                if words.iter().any(|word| word.contains("{{")) {
                    return Err(ProposalMistake::CommandTemplate("exec"));
                }
                StepWork::Exec(words.iter().map(|word| Template::literal(word)).collect())
            }
        };
        if self.tool.is_none() {
            return Err(ProposalMistake::NoTool);
        }
        Ok(Some(work))
    }
}

/// Returns the shell of a step's script: its own, or the default one.
fn shell_of(written: &Step) -> Vec<String> {
    match &written.work {
        StepWork::Run(script) => script.shell.clone(),
        _ => ["sh", "-eu", "-c"].map(str::to_owned).to_vec(),
    }
}
