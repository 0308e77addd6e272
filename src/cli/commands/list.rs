use clap::Args;
use serde_json::{Value, json};

use crate::cli::plans::{Listed, all};
use crate::cli::{Exit, Failure, Ui, relative};
use crate::report::{Align, BOLD, DIM, Table, WARN, first_line, plural};

#[derive(Args, Debug)]
#[command(after_help = "\
Plans and goals are looked for in workflows/, in goals/ and beside wf.yaml. What is listed with an
id is run by it: wf run ID, wf goal run ID.

More of goals, how they are and when they are due next: wf goal list. Gates: wf gate list. Skills:
wf skill list. Runs: wf runs.")]
pub struct ListArgs {
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// Lists the plans and goals of the workspace.
pub fn run(ui: &Ui, args: &ListArgs) -> Result<Exit, Failure> {
    let workspace = ui.workspace();
    let listed = all(&workspace);
    if args.json {
        let plans: Vec<Value> = listed.iter().map(json).collect();
        ui.print_json(&format!("{:#}\n", json!({"v": 1, "plans": plans})))?;
    } else if listed.is_empty() {
        let root = relative(&workspace.root, ui.env.cwd());
        ui.note_line(&format!(
            "no plans in {root}/workflows, {root}/goals and {root} · `wf init` makes a first one"
        ));
    } else {
        ui.print(&table(&listed))?;
    }
    Ok(Exit::Ok)
}

fn table(listed: &[Listed]) -> String {
    let columns = ["id", "kind", "file", "title"];
    let mut table = Table::new(&columns.map(|name| (name, Align::Left)));
    for one in listed {
        let title = one.title.as_deref().map(first_line).unwrap_or_default();
        let last = match one.mistakes {
            0 => (title.to_owned(), anstyle::Style::new()),
            count => {
                let mistakes = plural(count, "mistake");
                (format!("{mistakes}: wf check {}", one.path), WARN)
            }
        };
        table.row(vec![
            (one.id.clone().unwrap_or_else(|| "-".into()), BOLD),
            (one.kind.to_owned(), anstyle::Style::new()),
            (one.path.clone(), DIM),
            last,
        ]);
    }
    table.render()
}

fn json(one: &Listed) -> Value {
    json!({
        "id": one.id,
        "kind": one.kind,
        "path": one.path,
        "title": one.title,
        "mistakes": one.mistakes,
    })
}
