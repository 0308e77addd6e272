use std::time::Duration;

use clap::Args;

use crate::keys::PassphraseArgs;
use wf_app::skills::consent::SkillSigning;
use wf_app::skills::needs::AcceptedDanger;
use wf_base::time::parse_duration;
use wf_sign::approval::SKILL_VALIDITY;

/// The options for signing for a skill.
#[derive(Args, Clone, Debug, Default)]
pub struct SignArgs {
    /// Do not ask for confirmation
    #[arg(long)]
    pub yes: bool,
    /// Validity of the approval (default and maximum: 365d)
    #[arg(long, value_name = "TIME", value_parser = period)]
    expires: Option<Duration>,
    /// Sign with this key, by its name
    #[arg(long, value_name = "NAME")]
    key: Option<String>,
    #[command(flatten)]
    secret: PassphraseArgs,
}

impl SignArgs {
    /// The same, as a use case takes it.
    pub fn signing(&self) -> SkillSigning {
        SkillSigning {
            is_confirmed: self.yes,
            validity: self.expires,
            key: self.key.clone(),
            passphrase_file: self.secret.file().map(Into::into),
        }
    }
}

fn period(text: &str) -> Result<Duration, String> {
    let asks = parse_duration(text).map_err(|bad| bad.to_string())?;
    if asks.is_zero() || asks > SKILL_VALIDITY {
        return Err("an approval of a skill is valid for at most 365d".to_owned());
    }
    Ok(asks)
}

/// The accepted dangers.
#[derive(Args, Clone, Debug, Default)]
pub struct AcceptDangerArgs {
    /// Accept the findings of a rule in a file, as long as the file is unchanged
    #[arg(long, value_name = "RULE:FILE")]
    pub accept: Vec<AcceptedDanger>,
}
