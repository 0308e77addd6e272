use std::path::{Path, PathBuf};

use clap::Args;

use crate::Ui;
use wf_app::{
    APPROVERS, CliExitCode, CommandError, Host,
    collect::{SpecFileSet, collect},
    git::place_in_repository,
    load,
    load::EnvelopeStep,
    relative_path, relied, require_utf8,
};
use wf_base::{
    diag::{CheckedFile, Code, Diagnostic, Severity},
    source::{SourceText, Span},
    units::plural,
};
use wf_lang::{DiskFiles, skill_own};
use wf_report::{
    follow::Verbosity,
    mistakes::{annotations, json, sarif, summary, text},
};
use wf_skill::{disk, load as load_skill};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wf check                       workflows/, goals/, gates/, skills, wf.yaml, approvers.yaml
  wf check plan.md ops/          a file, and the plans and skills in a directory
  wf check --sarif > wf.sarif    for a code scanner
  wf check task.md --envelope ask.md:work
                                 a plan that a run made, and what step `work` of ask.md allows it

Reports all problems in all files. Exit code 3 if there are errors.")]
pub struct CheckArgs {
    /// Files and folders [default: the workspace's workflows/, goals/, gates/, skills, wf.yaml and
    /// approvers.yaml]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Compare plans that a run made with the envelope (`within`) of the step that runs them
    #[arg(long, value_name = "PLAN:STEP", requires = "paths")]
    envelope: Option<String>,
    /// Write one JSON document
    #[arg(long, conflicts_with = "sarif")]
    json: bool,
    /// Write a SARIF log
    #[arg(long)]
    sarif: bool,
}

/// Checks files.
pub fn run(ui: &Ui, args: &CheckArgs) -> Result<CliExitCode, CommandError> {
    let paths: Vec<&Path> = args.paths.iter().map(PathBuf::as_path).collect();
    let collected = collect(&ui.host, &paths)?;
    for path in &collected.plans {
        require_utf8(path)?;
    }
    let envelope = args.envelope.as_deref().map(|name| EnvelopeStep::find(ui, name)).transpose()?;
    let files = check_all(&ui.host, &collected, envelope.as_ref());
    if args.json {
        ui.print_json(&json(&files))?;
    } else if args.sarif {
        ui.print_json(&sarif(&files, &place_in_repository(ui.host.cwd()), env!("CARGO_PKG_VERSION")))?;
    } else {
        print_diagnostics(ui, &files, &collected)?;
    }
    let errors = files.iter().any(|file| file.count(Severity::Error) > 0);
    Ok(if errors { CliExitCode::Invalid } else { CliExitCode::Ok })
}

/// Checks every file once: the named ones, and those in use by them.
fn check_all(host: &Host, file_set: &SpecFileSet, envelope: Option<&EnvelopeStep>) -> Vec<CheckedFile> {
    let mut checked_files: Vec<CheckedFile> = Vec::new();
    for path in &file_set.plans {
        if let Some(envelope) = envelope {
            add_unknown(&mut checked_files, envelope.check(host, path));
            continue;
        }
        let workspace = host.workspace_of(path.parent().unwrap_or(path));
        let files = DiskFiles::new(&workspace.root);
        let gates = load::system_gates(&files);
        let mut loaded = load::load_with_gates(&files, &workspace.name(path), &gates);
        relied::warn_of_files_of_checks(host, &workspace, &mut loaded);
        add_unknown(&mut checked_files, load::diagnostics_by_file(host, &workspace, &loaded));
    }
    for path in &file_set.configs {
        let shown = relative_path(path, host.cwd());
        let files = DiskFiles::new(path.parent().unwrap_or(path));
        let checked = if path.file_name().is_some_and(|name| name == APPROVERS) {
            load::read_approvers(&files, &shown).map(|(_, checked)| checked)
        } else {
            load::read_config(&files, &shown).map(|(_, checked)| checked)
        };
        add_unknown(&mut checked_files, checked.into_iter().collect());
    }
    for path in &file_set.skills {
        add_unknown(&mut checked_files, skill(host, path).into_iter().collect());
    }
    checked_files.sort_by(|a, b| a.source.path().cmp(b.source.path()));
    checked_files
}

/// Checks a skill: the error that keeps it from loading, or its warnings.
fn skill(host: &Host, path: &Path) -> Option<CheckedFile> {
    let folder = path.parent()?;
    let shown = relative_path(path, host.cwd());
    let broken = |code, message: String| {
        let source = SourceText::new(shown.clone(), "");
        let diagnostics = vec![Diagnostic::new(code, Span::default(), message)];
        Some(CheckedFile { source, diagnostics })
    };
    let bytes = match disk::skill_md(folder) {
        Ok(read) => read.map(|(_, bytes)| bytes).unwrap_or_default(),
        Err(error) => {
            return broken(Code::FileUnreadable, format!("{}; {}", error.problem, error.remedy()));
        }
    };
    let Ok(text) = String::from_utf8(bytes) else {
        return broken(Code::FileNotText, "the file is not UTF-8 text".into());
    };
    let name = folder.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned());
    let diagnostics = match load_skill(&text, &name) {
        Err(findings) => findings.iter().map(|finding| finding.diagnostic(false)).collect(),
        Ok(skill) => {
            let noted = skill.warnings.iter().map(|finding| finding.diagnostic(true));
            noted.chain(skill_own(&text, skill.own).1).collect()
        }
    };
    let source = SourceText::new(shown, text);
    Some(CheckedFile { source, diagnostics })
}

/// Adds the files not known yet: a file may be used by many.
fn add_unknown(checked: &mut Vec<CheckedFile>, more_files: Vec<CheckedFile>) {
    for file in more_files {
        let same_file =
            checked.iter_mut().find(|checked_file| checked_file.source.path() == file.source.path());
        match same_file {
            None => checked.push(file),
            Some(checked_file) => {
                for diagnostic in file.diagnostics {
                    if !checked_file.diagnostics.contains(&diagnostic) {
                        checked_file.diagnostics.push(diagnostic);
                    }
                }
            }
        }
    }
}

fn print_diagnostics(ui: &Ui, checked: &[CheckedFile], file_set: &SpecFileSet) -> Result<(), CommandError> {
    for file in checked {
        ui.print(&text(file, ui.terminal.width))?;
    }
    if ui.host.in_actions() {
        ui.print_bytes(annotations(checked, &place_in_repository(ui.host.cwd())).as_bytes())?;
    }
    if ui.verbosity > Verbosity::Quiet && file_set.skipped > 0 {
        let files = plural(file_set.skipped, "Markdown file");
        ui.print_line(&format!("skipped {files} without front matter"))?;
    }
    let wrong = checked.iter().any(|file| !file.diagnostics.is_empty());
    if wrong || ui.verbosity > Verbosity::Quiet {
        ui.print(&summary(checked))?;
    }
    Ok(())
}
