//! What a step executes, word by word.

use std::collections::BTreeMap;
use std::path::Path;

use crate::exec::{Unable, files, shell};
use crate::expr::EvalError;
use crate::model::{Step, Work};

use super::scope::{Known, words};
use super::unit::Task;

/// Why a script of a skill is not run at all.
const UNCONFINED: &str = "a script of a skill runs only in the sandbox, and it is off here; \
     remove `sandbox: off` from wf.yaml";

impl Task {
    /// Where it runs, relative to the workspace, which it does not leave whatever its template
    /// gives.
    pub(super) fn cwd(&self, step: &Step) -> Result<Option<String>, Unable> {
        let Some(cwd) = &step.cwd else {
            return Ok(None);
        };
        let rendered = self.known(&BTreeMap::new(), |known| cwd.render(known));
        let rendered = rendered.map_err(|error| Unable::logical(error.to_string()))?;
        if cwd.refs().is_empty() {
            return Ok(Some(rendered));
        }
        files::plain(&rendered).map(|cwd| Some(cwd.to_owned()))
    }

    /// The program and its arguments; none if the step is no process.
    pub(super) fn argv(
        &self,
        step: &Step,
        (path, cwd): (Option<&str>, &Path),
    ) -> Result<Vec<String>, Unable> {
        let logical = |error: EvalError| Unable::logical(error.to_string());
        let none = BTreeMap::new();
        match &step.work {
            Work::Run(script) => Ok(shell::argv(script, path, cwd)),
            Work::Exec(_) if self.tool_args.is_some() => {
                Ok(self.tool_args.as_deref().map(words).unwrap_or_default())
            }
            Work::Exec(templates) => {
                let words = templates.iter();
                let render = |known: &Known<'_>| -> Result<Vec<String>, EvalError> {
                    words.map(|word| word.render(known)).collect()
                };
                self.known(&none, render).map_err(logical)
            }
            Work::Skill(call) => {
                let call = shell::named(call, &self.run.session.root);
                let cwd = self.cwd(step)?;
                let argv = |known: &Known<'_>| Ok(call.argv(cwd.as_deref(), known));
                let argv = self.known(&none, argv).map_err(logical)?;
                argv.map_err(|bad| Unable::logical(bad.to_string()))
            }
            Work::Http(_) | Work::Uses(_) | Work::Wait(_) | Work::Approve(_) => Ok(Vec::new()),
        }
    }
}

/// What a script of a skill is told besides: where the skill lies. It runs in the sandbox or not at
/// all.
pub(super) fn of_skill(
    step: &Step,
    is_confined: bool,
    root: &Path,
) -> Result<Option<(String, String)>, Unable> {
    let Work::Skill(call) = &step.work else {
        return Ok(None);
    };
    if !is_confined {
        return Err(Unable::logical(UNCONFINED));
    }
    let folder = root.join(&call.folder).display().to_string();
    Ok(Some(("WF_SKILL".into(), folder)))
}
