use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use clap::Args;

use super::{
    AnswerArgs,
    bounds::ParamBoundArgs,
    view::{approval_text, changes_text, signed_message},
};
use crate::{Ui, keys::SigningArgs, params};
use wf_app::{
    CliExitCode, CommandError,
    approve::{PlanApprovalRequest, PlanReview, SigningOptions},
    relative_path,
};
use wf_base::time::parse_duration;
use wf_model::PlanParam;
use wf_sign::approval::SKILL_VALIDITY;

/// The options for approving a plan.
#[derive(Args, Clone, Debug, Default)]
pub struct PlanApprovalArgs {
    #[command(flatten)]
    bounds: ParamBoundArgs,
    /// Validity of the approval [default: the maximum in approvers.yaml, else 7d]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    expires: Option<Duration>,
    /// Number of runs it permits [default: 1]; for a goal, number of repairs [default: 10]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    executions: Option<u32>,
    /// Write the approval to this file instead of beside the plan
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    signing: SigningArgs,
}

impl PlanApprovalArgs {
    /// The same options for answering a pending approval.
    pub fn for_answer(&self, reason: Option<&String>) -> AnswerArgs {
        AnswerArgs { reason: reason.cloned(), signing: self.signing.clone(), ..AnswerArgs::default() }
    }

    /// The same options for signing for a skill.
    pub fn for_skill(&self) -> SigningOptions {
        self.signing.options(self.expires.map(|asks| asks.min(SKILL_VALIDITY)))
    }
}

/// Shows a plan, asks, and signs. Silas 5.1.2.
pub fn approve_plan(ui: &Ui, path: &Path, args: &PlanApprovalArgs) -> Result<CliExitCode, CommandError> {
    let signing = args.signing.options(args.expires);
    let values = |params: &[PlanParam]| params::resolve_some(ui, params, &args.bounds.params);
    let request = PlanApprovalRequest {
        bounds: args.bounds.request(&values),
        executions: args.executions,
        file: args.out.as_ref(),
        signing: &signing,
    };
    let review = PlanReview::of_plan(ui, path, &request)?;
    let file = relative_path(&review.token.path, ui.host.cwd());
    if review.token.is_signed() {
        ui.print_line(&format!("already approved with this key: {file}"))?;
        return Ok(CliExitCode::Ok);
    }
    let show = || {
        ui.print(&approval_text(&review))?;
        ui.print(&changes_text(ui, &review))
    };
    let token = review.token.sign(ui, "Approve?", &signing, &show)?;
    ui.print(&signed_message(&review, &token, &file))?;
    Ok(CliExitCode::Ok)
}
