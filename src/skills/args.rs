use std::time::Duration;

use clap::Args;

use crate::keys::SigningArgs;
use wf_app::{approve::SigningOptions, skills::needs::AcceptedDanger};
use wf_base::time::{BadDuration, parse_duration};
use wf_sign::approval::SKILL_VALIDITY;

/// The options for signing for a skill.
#[derive(Args, Clone, Debug, Default)]
pub struct SkillSigningArgs {
    /// Validity of the approval (default and maximum: 365d)
    #[arg(long, value_name = "TIME", value_parser = period)]
    expires: Option<Duration>,
    #[command(flatten)]
    signing: SigningArgs,
}

impl SkillSigningArgs {
    /// The same, as a use case takes it.
    pub fn options(&self) -> SigningOptions {
        self.signing.options(self.expires)
    }
}

/// The reason why a text is not a validity of the approval of a skill.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum BadValidity {
    #[error(transparent)]
    Duration(#[from] BadDuration),
    /// It is none, or longer than [`SKILL_VALIDITY`].
    #[error("an approval of a skill is valid for at most 365d")]
    Length,
}

fn period(text: &str) -> Result<Duration, BadValidity> {
    let asks = parse_duration(text)?;
    if asks.is_zero() || asks > SKILL_VALIDITY { Err(BadValidity::Length) } else { Ok(asks) }
}

/// The accepted dangers.
#[derive(Args, Clone, Debug, Default)]
pub struct AcceptDangerArgs {
    /// Accept the findings of a rule in a file, as long as the file is unchanged
    #[arg(long, value_name = "RULE:FILE")]
    pub accept: Vec<AcceptedDanger>,
}
