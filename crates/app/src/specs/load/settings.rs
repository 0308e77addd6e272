use std::sync::Arc;

use crate::{
    APPROVERS, CONFIG, Caller, CliExitCode, CommandError, Workspace,
    config::{self, ApproversFile, WorkspaceConfig},
    relative_path,
};
use wf_base::{
    diag::{CheckedFile, Code, Diagnostic, Severity},
    name::GateId,
    source::{SourceText, Span},
};
use wf_lang::{self as lang, DiskFiles, FileReadError, SpecFileSource};
use wf_model::ModelTable;

/// Reads the configuration of a workspace with all its diagnostics; `None` if there is none.
pub fn read_config(files: &dyn SpecFileSource, shown: &str) -> Option<(WorkspaceConfig, CheckedFile)> {
    read_and_report(files, CONFIG, shown, |source| {
        let (config, mut diagnostics) = config::load(source);
        for id in &config.gates {
            let read = files.read(&lang::gate_path(&id.value));
            if matches!(read, Err(FileReadError::Missing)) {
                diagnostics.push(lang::no_gate(id, files));
            }
        }
        (config, diagnostics)
    })
}

/// The models of a workspace; `None` if its configuration has errors, which are reported with it.
pub(super) fn known_models(files: &dyn SpecFileSource) -> Option<Arc<ModelTable>> {
    match read_config(files, CONFIG) {
        Some((config, checked)) => (checked.count(Severity::Error) == 0).then_some(config.models),
        None => Some(Arc::default()),
    }
}

/// Reads the approvers of a workspace, with all diagnostics of the file; `None` if there is none.
pub fn read_approvers(
    files: &dyn SpecFileSource,
    shown: &str,
) -> Option<(Option<ApproversFile>, CheckedFile)> {
    read_and_report(files, APPROVERS, shown, config::load_approvers)
}

/// The approvers of a workspace, and the text listing them; `None` if there is no file. On
/// failure the errors have been printed.
pub fn approvers(
    caller: &dyn Caller,
    workspace: &Workspace,
) -> Result<Option<(ApproversFile, SourceText)>, CommandError> {
    let files = DiskFiles::new(&workspace.root);
    let shown = relative_path(&workspace.root.join(APPROVERS), caller.host().cwd());
    let Some((file, checked)) = read_approvers(&files, &shown) else {
        return Ok(None);
    };
    caller.diagnostics(std::slice::from_ref(&checked));
    match file.filter(|_| checked.count(Severity::Error) == 0) {
        Some(file) => Ok(Some((file, checked.source))),
        None => Err(CommandError::reported(CliExitCode::Invalid)),
    }
}

fn read_and_report<T: Default>(
    files: &dyn SpecFileSource,
    name: &str,
    shown: &str,
    load: impl FnOnce(&SourceText) -> (T, Vec<Diagnostic>),
) -> Option<(T, CheckedFile)> {
    let wrong = |code, message: String| {
        let checked = CheckedFile {
            source: SourceText::new(shown, ""),
            diagnostics: vec![Diagnostic::new(code, Span::default(), message)],
        };
        Some((T::default(), checked))
    };
    let text = match files.read(name).map(String::from_utf8) {
        Ok(Ok(text)) => text,
        Err(FileReadError::Missing) => return None,
        Ok(Err(_)) => return wrong(Code::FileNotText, "the file is not UTF-8 text".into()),
        Err(error) => return wrong(Code::FileUnreadable, error.to_string()),
    };
    let source = SourceText::new(shown, text);
    let (read, diagnostics) = load(&source);
    let checked = CheckedFile { source, diagnostics };
    Some((read, checked))
}

/// The gates that apply to every plan of a workspace and exist. Errors in the others are errors of
/// the configuration, and reported with it.
pub fn system_gates(files: &dyn SpecFileSource) -> Vec<GateId> {
    let config = read_config(files, CONFIG).map(|(config, _)| config);
    let mut gates = config.unwrap_or_default().gates();
    gates.retain(|id| !matches!(files.read(&lang::gate_path(id)), Err(FileReadError::Missing)));
    gates
}

/// The configuration of a workspace, and its text under its own name.
pub fn configuration(
    caller: &dyn Caller,
    files: &dyn SpecFileSource,
    workspace: &Workspace,
) -> Result<(WorkspaceConfig, Option<SourceText>), CommandError> {
    let shown = relative_path(&workspace.root.join(CONFIG), caller.host().cwd());
    let Some((config, checked)) = read_config(files, &shown) else {
        return Ok((WorkspaceConfig::default(), None));
    };
    caller.diagnostics(std::slice::from_ref(&checked));
    if checked.count(Severity::Error) > 0 {
        return Err(CommandError::reported(CliExitCode::Invalid));
    }
    Ok((config, Some(SourceText::new(CONFIG, checked.source.text()))))
}
