//! Plans of any size: chains, fans, and layers in which each step needs three others.

use std::{collections::BTreeMap, fmt::Write as _, sync::Arc, time::Duration};

use wf_app::config::WorkspaceConfig;
use wf_base::name::{Name, PlanId};
use wf_lang::{InMemoryFiles, LoadedSpec, load, lower};
use wf_model::{OnStepFailure, Plan, PlanParts, PlanPolicy, Step, StepIx, StepWork, expr::Template};

/// How many steps of a layered plan stand side by side.
const WIDTH: usize = 100;

/// What needs what.
#[derive(Clone, Copy)]
pub enum Layout {
    /// Each step needs the one before.
    Chain,
    /// No step needs another.
    Fan,
    /// Each step needs three of the layer before.
    Layers,
}

/// How a step is written.
#[derive(Clone, Copy)]
pub enum Style {
    /// In one line, in braces.
    Flow,
    /// A line for each key.
    Block,
}

/// The steps that each step needs.
pub fn needs(layout: Layout, steps: usize) -> Vec<Vec<usize>> {
    let of = |step: usize| match layout {
        Layout::Chain => step.checked_sub(1).into_iter().collect(),
        Layout::Fan => Vec::new(),
        Layout::Layers => {
            let layer = step / WIDTH;
            let before = layer.checked_sub(1).map(|before| before * WIDTH);
            let places = [0, 7, 31].map(|far| (step + far) % WIDTH);
            before.into_iter().flat_map(|before| places.map(|place| before + place)).collect()
        }
    };
    (0..steps).map(of).collect()
}

/// The file of a layered plan.
pub fn text(style: Style, steps: usize) -> String {
    let mut text = String::from("---\nkind: plan\nid: bench\nsteps:\n");
    for (step, needs) in needs(Layout::Layers, steps).iter().enumerate() {
        let needs: Vec<String> = needs.iter().map(|needed| format!("s{needed}")).collect();
        let needs = needs.join(", ");
        let written = match style {
            Style::Flow => writeln!(text, "  - {{id: s{step}, run: 'true', depends_on: [{needs}]}}"),
            Style::Block => {
                writeln!(text, "  - id: s{step}\n    run: make part-{step}\n    depends_on: [{needs}]")
            }
        };
        written.expect("text can be written to");
    }
    text + "---\n"
}

/// A workspace of one file.
pub fn files(text: &str) -> InMemoryFiles {
    InMemoryFiles(BTreeMap::from([("plan.md".to_owned(), text.as_bytes().to_vec())]))
}

/// That file, read and not checked.
pub fn loaded(files: &InMemoryFiles) -> LoadedSpec {
    load(files, "plan.md")
}

/// What may run.
pub fn lowered(loaded: &LoadedSpec) -> Arc<Plan> {
    lower(loaded, &WorkspaceConfig::default().defaults).expect("a plan without mistakes")
}

/// A plan that two attempts at a time carry out.
pub fn plan(layout: Layout, steps: usize) -> Arc<Plan> {
    let index = |needed: usize| StepIx(u32::try_from(needed).expect("not that many"));
    let all: Vec<Step> = needs(layout, steps)
        .into_iter()
        .enumerate()
        .map(|(step, needs)| {
            let id = Name::parse(&format!("s{step}")).expect("a name");
            Step {
                depends_on: needs.into_iter().map(index).collect(),
                ..Step::new(id, StepWork::Exec(vec![Template::literal("true")]))
            }
        })
        .collect();
    let policy = PlanPolicy { max_parallel: 2, on_failure: OnStepFailure::Stop, grace: Duration::ZERO };
    let id = PlanId::parse("bench").expect("an id");
    Plan::new(PlanParts::new(id, all, steps, policy)).expect("a sound plan")
}
