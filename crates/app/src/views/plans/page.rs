//! A plan as its file is now: its prose, problems and picture, and the runs of it.

use serde::Serialize;

use super::{
    super::{
        run_line::{RunLine, run_lines},
        state_reader,
    },
    list::{PlanHistory, PlanListing},
    trend::{PlanTrend, plan_trend},
};
use crate::{
    CONFIG, Caller, CommandError, Workspace,
    runs::relied::warn_of_files_of_checks,
    specs::{
        load::{load_with_gates, read_config, system_gates},
        plans::{AddressedPlan, SpecSummary, list_specs, plan_files},
    },
};
use wf_base::{
    diag::{Diagnostic, Severity},
    name::PlanId,
    source::SourceText,
};
use wf_lang::{DiskFiles, LoadedSpec, lower, prose_html};
use wf_model::{Plan, graph::export};
use wf_report::draw::{PlanSketch, page_svg};

/// The most steps of a picture, problems and lines of a source that a page shows.
const MAX_DRAWN_STEPS: usize = 300;
const MAX_PROBLEMS: usize = 100;
const MAX_LINES: usize = 20_000;

/// A plan with its runs.
#[derive(Debug, Serialize)]
pub struct PlanView {
    pub plan: PlanListing,
    /// The prose of its file as HTML; empty if it has none.
    pub prose: String,
    /// Its last runs, newest first.
    pub runs: Vec<RunLine>,
    /// The trends of its last runs; absent: it has none.
    pub trend: Option<PlanTrend>,
    /// Its steps as a picture; `None`: its file is broken, or it has too many.
    pub graph: Option<String>,
    pub step_count: usize,
    /// The plans and goals that use it.
    pub users: Vec<PlanUse>,
    /// The problems of its files, errors first.
    pub problems: Vec<PlanProblem>,
    /// The number of further problems.
    pub more_problems: usize,
}

/// A plan or goal that uses another plan.
#[derive(Clone, Debug, Serialize)]
pub struct PlanUse {
    pub kind: &'static str,
    pub title: String,
    /// The address of its page; `None`: it has none.
    pub page: Option<String>,
}

/// A problem of a file, as `wf check` finds it.
#[derive(Clone, Debug, Serialize)]
pub struct PlanProblem {
    pub path: String,
    pub line: usize,
    pub is_error: bool,
    pub code: &'static str,
    pub message: String,
    pub help: Option<String>,
    /// True if it is in the plan's own file.
    pub is_own: bool,
}

/// The file of a plan, line by line.
#[derive(Debug, Serialize)]
pub struct PlanSource {
    pub address: String,
    pub title: String,
    pub path: String,
    pub lines: Vec<String>,
    /// The number of further lines.
    pub more_lines: usize,
}

/// Finds a plan by the part of an address that names it, or by its path.
pub(crate) fn find_plan(summaries: &[SpecSummary], address: &str) -> Option<AddressedPlan> {
    let files = plan_files(summaries);
    let by_address = files.iter().find(|file| file.address == address);
    by_address.or_else(|| files.iter().find(|file| file.summary.path == address)).cloned()
}

/// Returns a plan with its runs; `None` if there is no such plan.
pub fn plan_view(caller: &dyn Caller, address: &str) -> Result<Option<PlanView>, CommandError> {
    let workspace = caller.host().workspace();
    let summaries = list_specs(&workspace);
    let Some(file) = find_plan(&summaries, address) else {
        return Ok(None);
    };
    let reader = state_reader(caller)?;
    let now = caller.host().now();
    let history = match &reader {
        Some(reader) => PlanHistory::read(reader, now)?,
        None => PlanHistory::default(),
    };
    let files = DiskFiles::new(&workspace.root);
    let mut loaded = load_with_gates(&files, &file.summary.path, &system_gates(&files));
    warn_of_files_of_checks(caller.host(), &workspace, &mut loaded);
    let plan = lowered_plan(&workspace, &loaded);
    let id = file.summary.id.clone().unwrap_or_default();
    let trend = match (&reader, PlanId::parse(&id)) {
        (Some(reader), Ok(id)) => Some(plan_trend(reader, &id, plan.as_deref(), now)?),
        _ => None,
    };
    let mut problems = problems_of(&loaded);
    let more_problems = problems.len().saturating_sub(MAX_PROBLEMS);
    problems.truncate(MAX_PROBLEMS);
    Ok(Some(PlanView {
        prose: loaded.sources.first().map(|source| prose_html(source.text())).unwrap_or_default(),
        runs: reader
            .as_ref()
            .map(|reader| run_lines(reader, history.runs(&id)))
            .transpose()?
            .unwrap_or_default(),
        trend: trend.filter(|trend| !trend.runs.is_empty()),
        graph: plan.as_deref().filter(|plan| plan.steps().len() <= MAX_DRAWN_STEPS).map(plan_svg),
        step_count: plan.as_ref().map_or(0, |plan| plan.steps().len()),
        users: users_of(&summaries, &file.summary.path),
        problems,
        more_problems,
        plan: history.listing(file, now),
    }))
}

/// Returns the text of a plan's file; `None` if there is no such plan.
pub fn plan_source(caller: &dyn Caller, address: &str) -> Result<Option<PlanSource>, CommandError> {
    let workspace = caller.host().workspace();
    let Some(AddressedPlan { summary, address }) = find_plan(&list_specs(&workspace), address) else {
        return Ok(None);
    };
    let loaded = wf_lang::load(&DiskFiles::new(&workspace.root), &summary.path);
    let text = loaded.sources.first().map_or("", SourceText::text);
    Ok(Some(PlanSource {
        title: summary.title.unwrap_or_else(|| address.clone()),
        address,
        path: summary.path,
        lines: text.lines().take(MAX_LINES).map(str::to_owned).collect(),
        more_lines: text.lines().count().saturating_sub(MAX_LINES),
    }))
}

/// Returns the plan of a file without errors.
fn lowered_plan(workspace: &Workspace, loaded: &LoadedSpec) -> Option<std::sync::Arc<Plan>> {
    if loaded.has_errors() {
        return None;
    }
    let config = read_config(&DiskFiles::new(&workspace.root), CONFIG).map(|(config, _)| config);
    lower(loaded, &config.unwrap_or_default().defaults).ok()
}

/// Draws a plan without any run.
fn plan_svg(plan: &Plan) -> String {
    let layout = export(plan);
    let layers: Vec<Vec<usize>> =
        layout.layers.iter().map(|layer| layer.iter().map(|ix| ix.index()).collect()).collect();
    let finally = plan.steps().len() - plan.parts().main;
    page_svg(&PlanSketch::from_plan(plan, false), &layers, layers.len().saturating_sub(finally))
}

/// Returns the plans and goals among whose files a file is.
fn users_of(summaries: &[SpecSummary], path: &str) -> Vec<PlanUse> {
    let plans = plan_files(summaries);
    let users = summaries.iter().filter(|summary| summary.uses.iter().any(|used| used == path));
    let page = |summary: &SpecSummary| match (summary.kind, &summary.id) {
        ("goal", id) => id.as_ref().map(|id| format!("/goals/{id}")),
        _ => plans.iter().find(|file| file.summary.path == summary.path).map(|file| plan_page(&file.address)),
    };
    users
        .map(|summary| PlanUse {
            kind: summary.kind,
            title: summary
                .title
                .clone()
                .or_else(|| summary.id.clone())
                .unwrap_or_else(|| summary.path.clone()),
            page: page(summary),
        })
        .collect()
}

/// Returns the address of the page of a plan.
pub(in crate::views) fn plan_page(address: &str) -> String {
    let mut page = String::from("/plans/");
    for byte in address.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            page.push(char::from(byte));
        } else {
            page += &format!("%{byte:02X}");
        }
    }
    page
}

/// Returns the problems of the file of a plan, as `wf check` finds them.
pub(super) fn problems_at(workspace: &Workspace, path: &str) -> Vec<PlanProblem> {
    let files = DiskFiles::new(&workspace.root);
    let mut problems = problems_of(&load_with_gates(&files, path, &system_gates(&files)));
    problems.truncate(MAX_PROBLEMS);
    problems
}

fn problems_of(loaded: &LoadedSpec) -> Vec<PlanProblem> {
    let problem = |(file, diagnostic): &(usize, Diagnostic)| {
        let source = loaded.sources.get(*file)?;
        Some(PlanProblem {
            path: source.path().to_owned(),
            line: source.line_column(diagnostic.span.start).line,
            is_error: diagnostic.severity() == Severity::Error,
            code: diagnostic.code.as_str(),
            message: diagnostic.message.clone(),
            help: diagnostic.help.clone(),
            is_own: *file == 0,
        })
    };
    let mut problems: Vec<PlanProblem> = loaded.diagnostics.iter().filter_map(problem).collect();
    problems.sort_by_key(|problem| !problem.is_error);
    problems
}

#[cfg(test)]
mod tests {
    use super::{find_plan, plan_page, users_of};
    use crate::specs::plans::SpecSummary;

    fn summary(path: &str, kind: &'static str, id: Option<&str>) -> SpecSummary {
        SpecSummary {
            path: path.into(),
            kind,
            id: id.map(str::to_owned),
            title: None,
            error_count: 0,
            first_error: None,
            uses: vec!["inner.md".into()],
        }
    }

    #[test]
    fn a_plan_is_named_by_its_id_unless_another_has_it() {
        let summaries = [
            summary("a.md", "plan", Some("nightly")),
            summary("b.md", "dag", Some("twice")),
            summary("c.md", "plan", Some("twice")),
            summary("goals/d.md", "goal", Some("fresh")),
            summary("ops/e f.md", "plan", None),
        ];
        let address = |name: &str| find_plan(&summaries, name).map(|file| file.address);
        assert_eq!(address("nightly").as_deref(), Some("nightly"));
        assert_eq!(address("a.md").as_deref(), Some("nightly"), "its path finds it, too");
        assert_eq!((address("twice"), address("fresh")), (None, None));
        assert_eq!(address("c.md").as_deref(), Some("c.md"));
        assert_eq!(plan_page(&address("ops/e f.md").unwrap()), "/plans/ops%2Fe%20f.md");
        let pages: Vec<_> =
            users_of(&summaries, "inner.md").into_iter().filter_map(|user| user.page).collect();
        assert_eq!(pages[..2], ["/plans/nightly", "/plans/b.md"]);
        assert_eq!(pages[3], "/goals/fresh");
    }
}
