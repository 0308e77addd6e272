use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::cli::{Exit, Failure, Ui, load};
use crate::graph::export;
use crate::report::draw::{Sketch, dot, mermaid, svg};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wf graph plan.md                         Mermaid, which GitHub shows as a picture
  wf graph plan.md --format svg > plan.svg
  wf graph plan.md --format dot | dot -Tpng > plan.png")]
pub struct GraphArgs {
    /// The plan, by its file or its id
    #[arg(value_name = "PLAN")]
    plan: PathBuf,
    /// The language of the picture
    #[arg(long, value_name = "FORMAT", default_value = "mermaid")]
    format: Format,
    /// Show the steps of the plans that it uses, too (not in SVG)
    #[arg(long)]
    unfold: bool,
    /// Write one JSON document: the steps, what leads from which to which, and what stands together
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

/// The languages of pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Mermaid
    Mermaid,
    /// Graphviz
    Dot,
    /// A picture
    Svg,
}

/// Draws a plan.
pub fn run(ui: &Ui, args: &GraphArgs) -> Result<Exit, Failure> {
    if args.unfold && args.format == Format::Svg {
        let failure = Failure::new(Exit::Usage, "--unfold does not go with --format svg");
        return Err(failure.hint("use --format dot and Graphviz"));
    }
    let plan = load::spec(ui, &args.plan)?.plan;
    let sketch = Sketch::of(&plan, args.unfold);
    if args.json {
        ui.print_json(&format!("{:#}\n", sketch.json()))?;
        return Ok(Exit::Ok);
    }
    ui.print(&match args.format {
        Format::Mermaid => mermaid(&sketch),
        Format::Dot => dot(&sketch),
        Format::Svg => {
            let layout = export(&plan);
            let at = |layer: &Vec<crate::model::StepIx>| layer.iter().map(|ix| ix.at()).collect();
            let layers: Vec<Vec<usize>> = layout.layers.iter().map(at).collect();
            let finally = plan.steps().len() - plan.parts().main;
            svg(&sketch, &layers, layers.len() - finally)
        }
    })?;
    Ok(Exit::Ok)
}
