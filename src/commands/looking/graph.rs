use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::Ui;
use wf_app::{CliExitCode, CommandError, load};
use wf_model::graph::export;
use wf_report::draw::{PlanSketch, dot, mermaid, svg};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wf graph plan.md                         Mermaid, which GitHub shows as a picture
  wf graph plan.md --format svg > plan.svg
  wf graph plan.md --format dot | dot -Tpng > plan.png")]
pub struct GraphArgs {
    /// Plan, by its file or its id
    #[arg(value_name = "PLAN")]
    plan: PathBuf,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "mermaid")]
    format: GraphFormat,
    /// Also show the steps of the plans that it uses (not in SVG)
    #[arg(long)]
    unfold: bool,
    /// Write one JSON document with the steps, edges and groups
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

/// The output formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum GraphFormat {
    /// Mermaid flowchart
    Mermaid,
    /// Graphviz
    Dot,
    /// SVG image
    Svg,
}

/// Draws a plan.
pub fn run(ui: &Ui, args: &GraphArgs) -> Result<CliExitCode, CommandError> {
    if args.unfold && args.format == GraphFormat::Svg {
        let error = CommandError::new(CliExitCode::Usage, "--unfold cannot be combined with --format svg");
        return Err(error.hint("use --format dot and Graphviz"));
    }
    let plan = load::load_for_review(ui, &args.plan)?.plan;
    let sketch = PlanSketch::from_plan(&plan, args.unfold);
    if args.json {
        ui.print_json(&format!("{:#}\n", sketch.json()))?;
        return Ok(CliExitCode::Ok);
    }
    ui.print(&match args.format {
        GraphFormat::Mermaid => mermaid(&sketch),
        GraphFormat::Dot => dot(&sketch),
        GraphFormat::Svg => {
            let layout = export(&plan);
            let at = |layer: &Vec<wf_model::StepIx>| layer.iter().map(|ix| ix.index()).collect();
            let layers: Vec<Vec<usize>> = layout.layers.iter().map(at).collect();
            let finally = plan.steps().len() - plan.parts().main;
            svg(&sketch, &layers, layers.len() - finally)
        }
    })?;
    Ok(CliExitCode::Ok)
}
