//! The words of the command a step executes.

use std::{collections::BTreeMap, path::Path};

use wf_exec::{WorkError, files, shell};
use wf_model::{Step, StepWork, expr::EvalError};

use crate::run::{
    AttemptTask,
    scope::{TemplateValues, argument_words},
};

/// The reason why a script of a skill is not run at all.
const UNCONFINED_SKILL_REASON: &str = "skill scripts run only in the sandbox, which is off here; remove \
    `sandbox: off` from wf.yaml";

/// Returns the working directory, relative to the workspace, which it does not leave whatever
/// its template gives.
pub(super) fn working_dir(task: &AttemptTask, step: &Step) -> Result<Option<String>, WorkError> {
    let Some(cwd) = &step.cwd else {
        return Ok(None);
    };
    let rendered = task.with_template_values(&BTreeMap::new(), |values| cwd.render(values));
    let rendered = rendered.map_err(|error| WorkError::logical(error.to_string()))?;
    if cwd.refs().is_empty() {
        return Ok(Some(rendered));
    }
    files::plain(&rendered).map(|cwd| Some(cwd.to_owned()))
}

/// Returns the program and its arguments; none if the step is no process.
pub(crate) fn argv(
    task: &AttemptTask,
    step: &Step,
    path: Option<&str>,
    cwd: &Path,
) -> Result<Vec<String>, WorkError> {
    let logical = |error: EvalError| WorkError::logical(error.to_string());
    let none = BTreeMap::new();
    match &step.work {
        StepWork::Run(script) => Ok(shell::argv(script, path, cwd)),
        StepWork::Exec(_) if task.tool_args.is_some() => {
            Ok(task.tool_args.as_deref().map(argument_words).unwrap_or_default())
        }
        StepWork::Exec(templates) => {
            let words = templates.iter();
            let render = |values: &TemplateValues<'_>| -> Result<Vec<String>, EvalError> {
                words.map(|word| word.render(values)).collect()
            };
            task.with_template_values(&none, render).map_err(logical)
        }
        StepWork::Skill(call) => {
            let call = shell::with_interpreter(call, &task.run.session.root);
            let cwd = working_dir(task, step)?;
            let argv = |template_values: &TemplateValues<'_>| Ok(call.argv(cwd.as_deref(), template_values));
            let argv = task.with_template_values(&none, argv).map_err(logical)?;
            argv.map_err(|bad| WorkError::logical(bad.to_string()))
        }
        StepWork::Agent(_)
        | StepWork::Http(_)
        | StepWork::Uses(_)
        | StepWork::Generated(_)
        | StepWork::Wait(_)
        | StepWork::Approve(_) => Ok(Vec::new()),
    }
}

/// Returns the variable that tells a script of a skill the path of the skill. The script runs in
/// the sandbox or not at all.
pub(super) fn skill_argv(
    step: &Step,
    is_confined: bool,
    root: &Path,
) -> Result<Option<(String, String)>, WorkError> {
    let StepWork::Skill(call) = &step.work else {
        return Ok(None);
    };
    if !is_confined {
        return Err(WorkError::logical(UNCONFINED_SKILL_REASON));
    }
    let folder = root.join(&call.folder).display().to_string();
    Ok(Some(("WF_SKILL".into(), folder)))
}
