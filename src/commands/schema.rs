use clap::{Args, ValueEnum};

use crate::Ui;
use wf_app::config::{ApproversFile, ConfigFile};
use wf_app::{CliExitCode, CommandError};
use wf_audit::AuditRecord;
use wf_core::machine::AttemptFeedback;
use wf_report::attest::AttestationStatement;
use wf_report::follow::EventLine;

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
    ui.print_json(&text(args.what))?;
    Ok(CliExitCode::Ok)
}

/// A schema as text.
pub fn text(what: SchemaKind) -> String {
    let schema = match what {
        SchemaKind::Plan => wf_lang::plan_schema(),
        SchemaKind::Dag => wf_lang::dag_schema(),
        SchemaKind::Goal => wf_lang::goal_schema(),
        SchemaKind::Gate => wf_lang::gate_schema(),
        SchemaKind::Skill => wf_lang::skill_schema(),
        SchemaKind::Config => {
            wf_lang::schema_of::<ConfigFile>("The configuration of a wf workspace", "config")
        }
        SchemaKind::Approvers => {
            wf_lang::schema_of::<ApproversFile>("Who may approve what runs in a wf workspace", "approvers")
        }
        SchemaKind::Correction => wf_lang::schema_of::<AttemptFeedback>(
            "What an attempt is told about the one before",
            "correction",
        ),
        SchemaKind::Audit => wf_lang::schema_of::<AuditRecord>("A record of the audit log of wf", "audit"),
        SchemaKind::Event => wf_lang::schema_of::<EventLine>("An event of a wf run", "event"),
        SchemaKind::Attestation => {
            wf_lang::schema_of::<AttestationStatement>("What a wf run proved", "attestation")
        }
    };
    serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n"
}
