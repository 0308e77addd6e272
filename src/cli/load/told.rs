use crate::cli::{Ui, Workspace, relative};
use crate::report::follow::Volume;
use crate::report::mistakes::{Checked, annotations, summary, text};
use crate::report::{Site, Sites};
use crate::source::{Source, Span};
use crate::spec::Loaded;

/// What is wrong, file by file, with paths as seen from the current folder.
pub fn by_file(ui: &Ui, workspace: &Workspace, loaded: &Loaded) -> Vec<Checked> {
    let mut files: Vec<Checked> = loaded
        .sources
        .iter()
        .map(|source| Checked {
            source: seen(ui, workspace, source),
            diagnostics: Vec::new(),
        })
        .collect();
    for (file, diagnostic) in &loaded.diagnostics {
        if let Some(checked) = files.get_mut(*file) {
            checked.diagnostics.push(diagnostic.clone());
        }
    }
    files
}

/// A text under its path as seen from the current folder.
pub(super) fn seen(ui: &Ui, workspace: &Workspace, source: &Source) -> Source {
    let path = relative(&workspace.root.join(source.path()), ui.env.cwd());
    source.under(path)
}

/// Tells what is wrong with files, if anything is.
pub fn say(ui: &Ui, all: &[Checked]) {
    if all.iter().all(|file| file.diagnostics.is_empty()) {
        return;
    }
    let errors = all
        .iter()
        .any(|file| file.count(crate::diag::Severity::Error) > 0);
    if ui.volume == Volume::Quiet && !errors {
        return;
    }
    let drawn: String = all.iter().map(|file| text(file, ui.env.size.0)).collect();
    ui.say(&drawn);
    ui.say(&summary(all));
    if ui.env.in_actions() {
        ui.say(&annotations(all));
    }
}

/// Where the steps and the checks of the plans among files are written.
pub(super) fn sites(loaded: &Loaded) -> Sites {
    let mut sites = Sites::default();
    for (source, plan) in loaded.sources.iter().zip(&loaded.plans) {
        let Some(plan) = plan else { continue };
        let Some(id) = plan.id.as_ref().map(|id| &id.value) else {
            continue;
        };
        let site = |span: Span| Site {
            path: source.path().to_owned(),
            line: source.place(span.start).line,
        };
        for step in plan.steps.iter().flatten().chain(&plan.finally) {
            sites.put_step(id, &step.id.value, site(step.id.span));
        }
        for check in plan.checks() {
            sites.put_check(id, &check.name.value, site(check.name.span));
        }
    }
    sites
}
