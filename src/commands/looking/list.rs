use clap::Args;
use serde_json::{Value, json};

use crate::Ui;
use wf_app::{
    CliExitCode, CommandError,
    plans::{SpecSummary, list_specs},
    relative_path,
};
use wf_base::{
    units::{first_line, plural},
    untrusted::{BOLD, DIM, WARN},
};
use wf_report::{ColumnAlign, TextTable};

#[derive(Args, Debug)]
#[command(after_help = "\
Searches workflows/, goals/ and the directory of wf.yaml. Plans and goals with an id are run by
it: wf run ID, wf goal run ID.

Status and next run of goals: wf goal list. Gates: wf gate list. Skills: wf skill list. Runs: wf
runs.")]
pub struct ListArgs {
    /// Write one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Lists the plans and goals of the workspace.
pub fn run(ui: &Ui, args: &ListArgs) -> Result<CliExitCode, CommandError> {
    let workspace = ui.host.workspace();
    let listed = list_specs(&workspace);
    if args.json {
        let plans: Vec<Value> = listed.iter().map(json).collect();
        ui.print_json(&format!("{:#}\n", json!({"v": 1, "plans": plans})))?;
    } else if listed.is_empty() {
        let root = relative_path(&workspace.root, ui.host.cwd());
        ui.print_info_line(&format!(
            "no plans found in {root}/workflows, {root}/goals and {root} · create one with `wf init`"
        ));
    } else {
        ui.print(&table(&listed))?;
    }
    Ok(CliExitCode::Ok)
}

fn table(summaries: &[SpecSummary]) -> String {
    let columns = ["id", "kind", "file", "title"];
    let mut table = TextTable::new(&columns.map(|name| (name, ColumnAlign::Left)));
    for summary in summaries {
        let title = summary.title.as_deref().map(first_line).unwrap_or_default();
        let last = match summary.error_count {
            0 => (title.to_owned(), anstyle::Style::new()),
            count => {
                let mistakes = plural(count, "mistake");
                (format!("{mistakes}: wf check {}", summary.path), WARN)
            }
        };
        table.row(vec![
            (summary.id.clone().unwrap_or_else(|| "-".into()), BOLD),
            (summary.kind.to_owned(), anstyle::Style::new()),
            (summary.path.clone(), DIM),
            last,
        ]);
    }
    table.render()
}

fn json(summary: &SpecSummary) -> Value {
    json!({
        "id": summary.id,
        "kind": summary.kind,
        "path": summary.path,
        "title": summary.title,
        "mistakes": summary.error_count,
    })
}
