use clap::{Args, ValueEnum};

use crate::audit::Record;
use crate::cli::{Exit, Failure, Ui};
use crate::config::{ApproversFile, ConfigFile};
use crate::machine::Correction;
use crate::report::attest::Statement;
use crate::report::follow::EventLine;
use crate::spec;

#[derive(Args, Debug)]
pub struct SchemaArgs {
    /// Of what
    #[arg(value_name = "WHAT", default_value = "plan")]
    what: What,
}

/// What there are schemas of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum What {
    /// The front matter of a plan
    Plan,
    /// The front matter of a dag
    Dag,
    /// The front matter of a goal
    Goal,
    /// The front matter of a gate
    Gate,
    /// What a skill says to wf: `wf` in the `metadata` of its SKILL.md
    Skill,
    /// wf.yaml
    Config,
    /// approvers.yaml
    Approvers,
    /// A line of `wf run --json`
    Event,
    /// A line of `.wf/audit/log.jsonl`
    Audit,
    /// What `wf attest` signs
    Attestation,
    /// What `WF_CORRECTION_FILE` holds
    Correction,
}

/// Writes a schema.
pub fn run(ui: &Ui, args: &SchemaArgs) -> Result<Exit, Failure> {
    ui.print_json(&text(args.what))?;
    Ok(Exit::Ok)
}

/// A schema as text.
pub fn text(what: What) -> String {
    let schema = match what {
        What::Plan => spec::plan_schema(),
        What::Dag => spec::dag_schema(),
        What::Goal => spec::goal_schema(),
        What::Gate => spec::gate_schema(),
        What::Skill => spec::skill_schema(),
        What::Config => {
            spec::schema_of::<ConfigFile>("The configuration of a wf workspace", "config")
        }
        What::Approvers => spec::schema_of::<ApproversFile>(
            "Who may approve what runs in a wf workspace",
            "approvers",
        ),
        What::Correction => spec::schema_of::<Correction>(
            "What an attempt is told about the one before",
            "correction",
        ),
        What::Audit => spec::schema_of::<Record>("A record of the audit log of wf", "audit"),
        What::Event => spec::schema_of::<EventLine>("An event of a wf run", "event"),
        What::Attestation => spec::schema_of::<Statement>("What a wf run proved", "attestation"),
    };
    serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n"
}
