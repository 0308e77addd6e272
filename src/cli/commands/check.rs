use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::collect::{Collected, collect};
use crate::cli::workspace::APPROVERS;
use crate::cli::{Exit, Failure, Ui, load, must_be_text, relative, relied};
use crate::diag::{Code, Diagnostic, Severity};
use crate::report::follow::Volume;
use crate::report::mistakes::{Checked, annotations, json, sarif, summary, text};
use crate::report::plural;
use crate::skill::{disk, load as load_skill};
use crate::source::{Source, Span};
use crate::spec::{Disk, skill_own};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wf check                       workflows/, goals/, gates/, skills, wf.yaml, approvers.yaml
  wf check plan.md ops/          a file, and the plans and skills of a folder
  wf check --sarif > wf.sarif    for a code scanner

Every mistake of every file is told at once. Exit code 3 if there are errors.")]
pub struct CheckArgs {
    /// Files and folders; by default, the workspace's workflows/, goals/, gates/, skills, wf.yaml
    /// and approvers.yaml
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Write one JSON document
    #[arg(long, conflicts_with = "sarif")]
    json: bool,
    /// Write a SARIF log
    #[arg(long)]
    sarif: bool,
}

/// Checks files.
pub fn run(ui: &Ui, args: &CheckArgs) -> Result<Exit, Failure> {
    let paths: Vec<&Path> = args.paths.iter().map(PathBuf::as_path).collect();
    let collected = collect(ui, &paths)?;
    for path in &collected.plans {
        must_be_text(path)?;
    }
    let all = check_all(ui, &collected);
    if args.json {
        ui.print_json(&json(&all))?;
    } else if args.sarif {
        ui.print_json(&sarif(&all, env!("CARGO_PKG_VERSION")))?;
    } else {
        tell(ui, &all, &collected)?;
    }
    let errors = all.iter().any(|file| file.count(Severity::Error) > 0);
    Ok(if errors { Exit::Invalid } else { Exit::Ok })
}

/// Every file once, whether it was named or is used by one that was.
fn check_all(ui: &Ui, collected: &Collected) -> Vec<Checked> {
    let mut all: Vec<Checked> = Vec::new();
    for path in &collected.plans {
        let workspace = ui.workspace_of(path.parent().unwrap_or(path));
        let files = Disk::new(&workspace.root);
        let gates = load::system_gates(&files);
        let mut loaded = load::checked(&files, &workspace.name(path), &gates);
        relied::note(&workspace, &mut loaded);
        add(&mut all, load::by_file(ui, &workspace, &loaded));
    }
    for path in &collected.configs {
        let shown = relative(path, ui.env.cwd());
        let files = Disk::new(path.parent().unwrap_or(path));
        let checked = if path.file_name().is_some_and(|name| name == APPROVERS) {
            load::read_approvers(&files, &shown).map(|(_, checked)| checked)
        } else {
            load::read_config(&files, &shown).map(|(_, checked)| checked)
        };
        add(&mut all, checked.into_iter().collect());
    }
    for path in &collected.skills {
        add(&mut all, skill(ui, path).into_iter().collect());
    }
    all.sort_by(|a, b| a.source.path().cmp(b.source.path()));
    all
}

/// What keeps a skill from loading, or what is odd about it.
fn skill(ui: &Ui, path: &Path) -> Option<Checked> {
    let folder = path.parent()?;
    let shown = relative(path, ui.env.cwd());
    let broken = |code, message: String| {
        let source = Source::new(shown.clone(), "");
        let diagnostics = vec![Diagnostic::new(code, Span::default(), message)];
        Some(Checked {
            source,
            diagnostics,
        })
    };
    let bytes = match disk::skill_md(folder) {
        Ok(read) => read.map(|(_, bytes)| bytes).unwrap_or_default(),
        Err(error) => {
            return broken(
                Code::FileUnreadable,
                format!("{}; {}", error.why, error.remedy()),
            );
        }
    };
    let Ok(text) = String::from_utf8(bytes) else {
        return broken(Code::FileNotText, "the file is not UTF-8 text".into());
    };
    let name = folder
        .file_name()
        .map_or(String::new(), |name| name.to_string_lossy().into_owned());
    let diagnostics = match load_skill(&text, &name) {
        Err(findings) => findings
            .iter()
            .map(|finding| finding.diagnostic(false))
            .collect(),
        Ok(skill) => {
            let noted = skill
                .warnings
                .iter()
                .map(|finding| finding.diagnostic(true));
            noted.chain(skill_own(&text, skill.own).1).collect()
        }
    };
    let source = Source::new(shown, text);
    Some(Checked {
        source,
        diagnostics,
    })
}

/// Adds what is not known yet: a file may be used by many.
fn add(all: &mut Vec<Checked>, more: Vec<Checked>) {
    for file in more {
        let known = all
            .iter_mut()
            .find(|own| own.source.path() == file.source.path());
        match known {
            None => all.push(file),
            Some(known) => {
                for diagnostic in file.diagnostics {
                    if !known.diagnostics.contains(&diagnostic) {
                        known.diagnostics.push(diagnostic);
                    }
                }
            }
        }
    }
}

fn tell(ui: &Ui, all: &[Checked], collected: &Collected) -> Result<(), Failure> {
    for file in all {
        ui.print(&text(file, ui.env.size.0))?;
    }
    if ui.env.in_actions() {
        ui.print_bytes(annotations(all).as_bytes())?;
    }
    if ui.volume > Volume::Quiet && collected.skipped > 0 {
        let files = plural(collected.skipped, "Markdown file");
        ui.print_line(&format!("{files} without front matter left out"))?;
    }
    let wrong = all.iter().any(|file| !file.diagnostics.is_empty());
    if wrong || ui.volume > Volume::Quiet {
        ui.print(&summary(all))?;
    }
    Ok(())
}
