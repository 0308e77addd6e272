use clap::Args;

use crate::Ui;
use wf_app::{CliExitCode, CommandError};
use wf_base::diag::nearest;
use wf_model::{JsonObject, Plan};

/// The output of a plan, for a shell to read from standard output.
#[derive(Args, Clone, Debug, Default)]
pub struct PrintArgs {
    /// Print nothing but this output of the plan to standard output: text as it is, other values as JSON
    #[arg(long, value_name = "NAME", conflicts_with = "json")]
    print: Option<String>,
}

impl PrintArgs {
    /// True if an output is to be printed: then nothing else is, on standard output.
    pub fn is_given(&self) -> bool {
        self.print.is_some()
    }

    /// Refuses a name undeclared in the plan, before anything runs.
    pub fn check(&self, plan: &Plan) -> Result<(), CommandError> {
        let declared = &plan.parts().outputs;
        let names: Vec<&str> = declared.iter().map(|output| output.name.as_str()).collect();
        match &self.print {
            Some(name) if !names.contains(&name.as_str()) => {
                Err(unknown(&format!("plan {}", plan.id()), name, &names))
            }
            _ => Ok(()),
        }
    }

    /// Prints the output, if one is asked for and the run has it.
    pub fn print(&self, ui: &Ui, outputs: &JsonObject) -> Result<(), CommandError> {
        match self.print.as_deref().and_then(|name| outputs.get(name)) {
            Some(value) => print_value(ui, value),
            None => Ok(()),
        }
    }

    /// Prints the output of a run, if one is asked for. True if it was.
    pub fn print_recorded(&self, ui: &Ui, run: &str, outputs: &JsonObject) -> Result<bool, CommandError> {
        let Some(name) = &self.print else {
            return Ok(false);
        };
        let names: Vec<&str> = outputs.keys().map(String::as_str).collect();
        let value = outputs.get(name).ok_or_else(|| unknown(&format!("run {run}"), name, &names))?;
        print_value(ui, value).map(|()| true)
    }
}

/// Prints a value for a shell: its text, or JSON. A terminal gets the text without its control characters.
fn print_value(ui: &Ui, value: &serde_json::Value) -> Result<(), CommandError> {
    match value {
        serde_json::Value::String(text) if ui.terminal.is_output => ui.print(&format!("{text}\n")),
        serde_json::Value::String(text) => ui.print_bytes(format!("{text}\n").as_bytes()),
        other => ui.print_json(&format!("{other}\n")),
    }
}

fn unknown(owner: &str, name: &str, names: &[&str]) -> CommandError {
    let error = CommandError::new(CliExitCode::Usage, format!("{owner} has no output `{name}`"));
    match (nearest(name, names.iter().copied()), names) {
        (Some(near), _) => error.hint(format!("did you mean `{near}`?")),
        (None, []) => error.hint("it has no outputs"),
        (None, names) => error.hint(format!("its outputs are {}", names.join(", "))),
    }
}
