use clap::{Args, ValueEnum};

use crate::Ui;
use wf_app::{CliExitCode, CommandError};

#[derive(Args, Debug)]
pub struct SchemaArgs {
    /// Subject of the schema
    #[arg(value_name = "WHAT", default_value = "plan")]
    what: SchemaKind,
}

/// The subjects of schemas.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SchemaKind {
    /// The front matter of a plan
    Plan,
    /// The front matter of a dag
    Dag,
    /// The front matter of a goal
    Goal,
    /// The front matter of a gate
    Gate,
    /// The front matter of a persona
    Persona,
    /// The `wf` entry in the `metadata` of a skill's SKILL.md
    Skill,
    /// wf.yaml
    Config,
    /// approvers.yaml
    Approvers,
    /// A line of `wf run --json`
    Event,
    /// A line of `.wf/audit/log.jsonl`
    Audit,
    /// The statement signed by `wf attest`
    Attestation,
    /// The content of `WF_CORRECTION_FILE`
    Correction,
}

/// Writes a schema.
pub fn run(ui: &Ui, args: &SchemaArgs) -> Result<CliExitCode, CommandError> {
    ui.print_json(text(args.what))?;
    Ok(CliExitCode::Ok)
}

/// Returns a schema as text. The files are those of the types: a test makes them.
fn text(kind: SchemaKind) -> &'static str {
    match kind {
        SchemaKind::Plan => include_str!("../../../schemas/plan.schema.json"),
        SchemaKind::Dag => include_str!("../../../schemas/dag.schema.json"),
        SchemaKind::Goal => include_str!("../../../schemas/goal.schema.json"),
        SchemaKind::Gate => include_str!("../../../schemas/gate.schema.json"),
        SchemaKind::Persona => include_str!("../../../schemas/persona.schema.json"),
        SchemaKind::Skill => include_str!("../../../schemas/skill.schema.json"),
        SchemaKind::Config => include_str!("../../../schemas/config.schema.json"),
        SchemaKind::Approvers => include_str!("../../../schemas/approvers.schema.json"),
        SchemaKind::Event => include_str!("../../../schemas/event.schema.json"),
        SchemaKind::Audit => include_str!("../../../schemas/audit.schema.json"),
        SchemaKind::Attestation => include_str!("../../../schemas/attestation.schema.json"),
        SchemaKind::Correction => include_str!("../../../schemas/correction.schema.json"),
    }
}
