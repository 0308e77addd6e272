use super::say;
use crate::cli::workspace::{APPROVERS, CONFIG};
use crate::cli::{Exit, Failure, Ui, Workspace, relative};
use crate::config::{self, ApproversFile, Config};
use crate::diag::{Code, Diagnostic, Severity};
use crate::name::GateId;
use crate::report::mistakes::Checked;
use crate::source::{Source, Span};
use crate::spec::{self, Disk, Files, Unreadable};

/// The configuration of a workspace with everything that is wrong with it; `None` if there is
/// none.
pub fn read_config(files: &dyn Files, shown: &str) -> Option<(Config, Checked)> {
    read_strict(files, CONFIG, shown, |source| {
        let (config, mut diagnostics) = config::load(source);
        for id in &config.gates {
            let read = files.read(&spec::gate_path(&id.value));
            if matches!(read, Err(Unreadable::Missing)) {
                diagnostics.push(spec::no_gate(id, files));
            }
        }
        (config, diagnostics)
    })
}

/// Who may approve in a workspace, with everything that is wrong with the file; `None` if there
/// is none.
pub fn read_approvers(files: &dyn Files, shown: &str) -> Option<(Option<ApproversFile>, Checked)> {
    read_strict(files, APPROVERS, shown, config::load_approvers)
}

/// Who may approve in a workspace, and the text that says so; `None` if no file does. What is
/// wrong with it has been said when this fails.
pub fn approvers(
    ui: &Ui,
    workspace: &Workspace,
) -> Result<Option<(ApproversFile, Source)>, Failure> {
    let files = Disk::new(&workspace.root);
    let shown = relative(&workspace.root.join(APPROVERS), ui.env.cwd());
    let Some((file, checked)) = read_approvers(&files, &shown) else {
        return Ok(None);
    };
    say(ui, std::slice::from_ref(&checked));
    match file.filter(|_| checked.count(Severity::Error) == 0) {
        Some(file) => Ok(Some((file, checked.source))),
        None => Err(Failure::silent(Exit::Invalid)),
    }
}

fn read_strict<T: Default>(
    files: &dyn Files,
    name: &str,
    shown: &str,
    load: impl FnOnce(&Source) -> (T, Vec<Diagnostic>),
) -> Option<(T, Checked)> {
    let wrong = |code, message: String| {
        let checked = Checked {
            source: Source::new(shown, ""),
            diagnostics: vec![Diagnostic::new(code, Span::default(), message)],
        };
        Some((T::default(), checked))
    };
    let text = match files.read(name).map(String::from_utf8) {
        Ok(Ok(text)) => text,
        Err(Unreadable::Missing) => return None,
        Ok(Err(_)) => return wrong(Code::FileNotText, "the file is not UTF-8 text".into()),
        Err(error) => return wrong(Code::FileUnreadable, error.to_string()),
    };
    let source = Source::new(shown, text);
    let (read, diagnostics) = load(&source);
    let checked = Checked {
        source,
        diagnostics,
    };
    Some((read, checked))
}

/// The gates that hold for every plan of a workspace and are there. What is wrong with the others
/// is wrong with the configuration, and told with it.
pub fn system_gates(files: &dyn Files) -> Vec<GateId> {
    let config = read_config(files, CONFIG).map(|(config, _)| config);
    let mut gates = config.unwrap_or_default().gates();
    gates.retain(|id| !matches!(files.read(&spec::gate_path(id)), Err(Unreadable::Missing)));
    gates
}

/// The configuration of a workspace, and its text under its own name.
pub fn configuration(
    ui: &Ui,
    files: &dyn Files,
    workspace: &Workspace,
) -> Result<(Config, Option<Source>), Failure> {
    let shown = relative(&workspace.root.join(CONFIG), ui.env.cwd());
    let Some((config, checked)) = read_config(files, &shown) else {
        return Ok((Config::default(), None));
    };
    say(ui, std::slice::from_ref(&checked));
    if checked.count(Severity::Error) > 0 {
        return Err(Failure::silent(Exit::Invalid));
    }
    Ok((config, Some(Source::new(CONFIG, checked.source.text()))))
}
