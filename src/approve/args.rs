use std::path::PathBuf;

use clap::Args;

use crate::keys::PassphraseArgs;
use wf_app::approve::{ApprovalDemand, SigningOptions};

/// The approvals required before a run starts.
#[derive(Args, Clone, Debug, Default)]
pub struct ApprovalArgs {
    /// Run only what was approved with `wf approve`, regardless of the policy
    #[arg(long)]
    require_approval: bool,
    /// Use this approval instead of the one beside the plan
    #[arg(long, value_name = "FILE")]
    approval: Option<PathBuf>,
    /// Sign for the run with this key, by its name
    #[arg(long, value_name = "NAME")]
    key: Option<String>,
    #[command(flatten)]
    passphrase: PassphraseArgs,
}

impl ApprovalArgs {
    /// The same, as a use case takes it.
    pub fn demand(&self) -> ApprovalDemand {
        ApprovalDemand {
            is_required: self.require_approval,
            file: self.approval.clone(),
            signing: SigningOptions {
                key: self.key.clone(),
                passphrase_file: self.passphrase.file().map(Into::into),
                ..SigningOptions::default()
            },
        }
    }
}
