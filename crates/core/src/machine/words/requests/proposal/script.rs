use serde_json::Value;

use super::{ProposedArguments, ProposedScript, mistake::ProposalMistake, values::KnownReads};
use wf_model::{SkillArg, SkillCall, misfit_arg};

impl ProposedScript {
    /// Returns the call of a skill's script with other arguments, each as the skill declares it.
    pub(super) fn apply_to(&self, written: &SkillCall) -> Result<SkillCall, ProposalMistake> {
        let mut call = written.clone();
        let known = KnownReads::of(written.templates());
        match &self.args {
            ProposedArguments::Named(values) => {
                for (name, value) in values {
                    let key = format!("skill.args.{name}");
                    let arg = call.args.iter_mut().find(|arg| arg.name == *name);
                    let arg = arg.ok_or_else(|| ProposalMistake::UnknownArgument(key.clone()))?;
                    let value = known.value(&key, value)?;
                    if let Some(mistake) = value.constant().and_then(|value| mistake(arg, value)) {
                        return Err(ProposalMistake::Misfit { key, mistake });
                    }
                    arg.value = Some(value);
                }
            }
            ProposedArguments::Words(_) if !call.args.is_empty() => {
                return Err(ProposalMistake::UnnamedArguments);
            }
            ProposedArguments::Words(words) => {
                let words = words.iter().map(|word| known.template("skill.args", word));
                call.words = words.collect::<Result<_, _>>()?;
            }
        }
        Ok(call)
    }
}

/// Returns the mistake in a value computed alike by every run.
fn mistake(arg: &SkillArg, value: Value) -> Option<String> {
    let value = match value {
        Value::String(text) => arg.schema.read(&text),
        other => other,
    };
    misfit_arg(&arg.schema, arg.position, &value)
}
