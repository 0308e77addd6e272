use std::time::Duration;

use clap::Args;

use crate::{Ui, keys::SigningArgs};
use wf_app::{
    CliExitCode, CommandError,
    connections::{ConnectionApprovalRequest, ConnectionReview},
    relative_path,
};
use wf_base::{
    name::PlanId,
    time::parse_duration,
    untrusted::{BOLD, paint},
};

/// Sign an approval of a connection that another user sets up
#[derive(Args, Debug)]
#[command(after_help = "\
With `policy: reviewed` in approvers.yaml, setting up a connection or granting it more permissions
requires an approval signed by another approver. It covers one setup, by this skill, with at most
these permissions. It is written to connections/NAME.approval.json, to be committed to git.

Examples:
  wf connection approve mail --skill m365-mail
  wf connection approve mail --permission Mail.Read --permission Mail.Send")]
pub struct ConnectionApproveArgs {
    /// Name of the connection
    #[arg(value_name = "NAME")]
    name: PlanId,
    /// Skill that maintains it [default: that of the connection, if it is set up already]
    #[arg(long, value_name = "SKILL")]
    skill: Option<String>,
    /// Permission that it may have [default: those that it has, or that the skill requests first]
    #[arg(long = "permission", value_name = "PERMISSION")]
    permissions: Vec<String>,
    /// Validity of the approval [default: the maximum in approvers.yaml, else 7d]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    expires: Option<Duration>,
    #[command(flatten)]
    signing: SigningArgs,
}

/// Shows the permissions of a connection, asks, and signs.
pub(super) fn run(ui: &Ui, args: &ConnectionApproveArgs) -> Result<CliExitCode, CommandError> {
    let signing = args.signing.options(args.expires);
    let request = ConnectionApprovalRequest {
        name: &args.name,
        skill: args.skill.as_deref(),
        permissions: &args.permissions,
        signing: &signing,
    };
    let review = ConnectionReview::of(ui, &request)?;
    let file = relative_path(&review.token.path, ui.host.cwd());
    if review.token.is_signed() {
        ui.print_line(&format!("already approved with this key: {file}"))?;
        return Ok(CliExitCode::Ok);
    }
    review.token.sign(ui, "Approve this connection?", &signing, &|| ui.print(&terms(&review)))?;
    ui.print_line(&format!("signed {file}"))?;
    Ok(CliExitCode::Ok)
}

/// The terms for the approver to sign.
fn terms(review: &ConnectionReview) -> String {
    let statement = &review.token.statement;
    let permissions = match review.permissions.as_slice() {
        [] => "none".to_owned(),
        some => some.join(", "),
    };
    format!(
        "the connection {} can be set up once\n  by the skill  {} {}\n  permissions   {permissions}\n  until         {}\n",
        paint(BOLD, statement.plan.id.as_str()),
        review.adapter.skill,
        review.adapter.digest.short(),
        statement.expires,
    )
}
