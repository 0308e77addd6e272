use crate::{Host, Workspace, relative_path};
use wf_base::{
    diag::CheckedFile,
    source::{DeclarationSite, DeclarationSites, SourceText, Span},
};
use wf_lang::LoadedSpec;

/// The diagnostics, file by file, with paths as seen from the current folder.
pub fn diagnostics_by_file(host: &Host, workspace: &Workspace, loaded: &LoadedSpec) -> Vec<CheckedFile> {
    let mut files: Vec<CheckedFile> = loaded
        .sources
        .iter()
        .map(|source| CheckedFile {
            source: with_shown_path(host, workspace, source),
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
pub(super) fn with_shown_path(host: &Host, workspace: &Workspace, source: &SourceText) -> SourceText {
    let path = relative_path(&workspace.root.join(source.path()), host.cwd());
    source.with_path(path)
}

/// The places where the steps and the checks of the plans among files are written.
pub(super) fn declaration_sites(loaded: &LoadedSpec) -> DeclarationSites {
    let mut sites = DeclarationSites::default();
    for (source, plan) in loaded.sources.iter().zip(&loaded.plans) {
        let Some(plan) = plan else { continue };
        let Some(id) = plan.id.as_ref().map(|id| &id.value) else {
            continue;
        };
        let site = |span: Span| DeclarationSite {
            path: source.path().to_owned(),
            line: source.line_column(span.start).line,
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
