use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;

use super::refused::refused;
use super::skilled::skills_hold;
use super::{Rules, owner, pins, token_at, token_path, tree};
use crate::approval::{
    Approvers, Bound, Nonce, PlanRef, Policy, Refusal, Scope, Statement, Subject, Token, VERSION,
    Valid, Verdict, plan_digest, verify,
};
use crate::cli::keys::PassphraseArgs;
use crate::cli::load::Ready;
use crate::cli::{Exit, Failure, Ui, Workspace};
use crate::digest::Digest;
use crate::exec::pinned;
use crate::machine::{Approved, Pin, tree_of};
use crate::model::Object;
use crate::name::RunId;
use crate::store::{Reader, StoreError};

/// What must have been approved before a run begins.
#[derive(Args, Clone, Debug, Default)]
pub struct ApprovalArgs {
    /// Run only what was approved with `wf approve`, whatever the policy says
    #[arg(long)]
    require_approval: bool,
    /// The approval, instead of the one beside the plan
    #[arg(long, value_name = "FILE")]
    approval: Option<PathBuf>,
    /// The key that signs for what you run, by its name
    #[arg(long, value_name = "NAME")]
    key: Option<String>,
    #[command(flatten)]
    passphrase: PassphraseArgs,
}

/// A run that may begin.
#[derive(Debug)]
pub struct Entered {
    /// Who approved it.
    pub approved: Approved,
    /// The token as a text of the run: where it lies, and what is in it.
    pub token: (String, String),
}

/// What is about to begin.
struct Start<'a> {
    ready: &'a Ready,
    run: &'a RunId,
    params: &'a Object,
    pins: Vec<Pin>,
    /// What else was approved as made.
    products: Vec<String>,
}

/// Whether a run may begin. By policy `owner` who runs it signs for it; by policy `reviewed`, and
/// wherever it is demanded, others must have signed. Silas 5.1.2, 5.2.1 step 0, INV-01.
pub fn enter(
    ui: &Ui,
    ready: &Ready,
    (run, params): (&RunId, &Object),
    args: &ApprovalArgs,
) -> Result<Entered, Failure> {
    let mut rules = Rules::of(ui, &ready.workspace)?;
    let demanded = args.require_approval || args.approval.is_some();
    let in_advance = demanded || rules.approvers.policy == Policy::Reviewed;
    let (pins, products) = if in_advance {
        let bound = tree(
            ui,
            ready,
            params,
            &token_at(ui, ready, args.approval.as_ref()),
        )?;
        (bound.files, bound.products)
    } else {
        (pins(ready, params)?, Vec::new())
    };
    let start = Start {
        ready,
        run,
        params,
        pins,
        products,
    };
    skills_hold(ui, ready, &start.pins, false)?;
    if in_advance {
        return by_token(ui, &start, &rules, args);
    }
    let secret = (args.key.as_deref(), &args.passphrase);
    let signer = owner::signer(ui, &mut rules, secret)?;
    let mut bytes = [0; 16];
    let drawn = ui.env.random(&format!("nonce {run}"))?;
    bytes.copy_from_slice(drawn.split_at(16).0);
    let now = ui.env.now();
    let bound =
        |(name, value): (&String, &serde_json::Value)| (name.clone(), Bound::Is(value.clone()));
    let statement = Statement {
        v: VERSION,
        scope: Scope::FullPlan,
        verdict: Verdict::Approved,
        reason: None,
        plan: plan_ref(ready, &start.pins),
        files: start.pins.clone(),
        params: params.iter().map(bound).collect::<BTreeMap<_, _>>(),
        run: Some(run.clone()),
        ask: None,
        nonce: Nonce::from_bytes(bytes),
        issued: now,
        expires: now.after(rules.approvers.validity),
        executions: 1,
        spawn_policy: None,
    };
    // Who signs for a run is who begins it: how many must agree is for what others are asked.
    let alone = Approvers {
        required: 1,
        ..rules.approvers.clone()
    };
    let token = Token::sign(statement, &signer);
    let initiator = Some(signer.public().id());
    verified(ui, &start, &token, (&alone, initiator, 0))
}

pub(super) fn plan_ref(ready: &Ready, pins: &[Pin]) -> PlanRef {
    PlanRef {
        id: ready.plan.id().clone(),
        path: ready.path.clone(),
        digest: plan_digest(pins),
    }
}

/// A run of what others have approved.
fn by_token(
    ui: &Ui,
    start: &Start<'_>,
    rules: &Rules,
    args: &ApprovalArgs,
) -> Result<Entered, Failure> {
    let ready = start.ready;
    let path = token_at(ui, ready, args.approval.as_ref());
    let token = read(&ready.workspace, &path)
        .map_err(|refusal| refused(ui, &ready.workspace, &ready.path, &refusal))?;
    let signers: Vec<Digest> = token.signers().flatten().collect();
    let initiator = rules.initiator(&signers);
    let used = used(&ready.workspace, &token)?;
    verified(ui, start, &token, (&rules.approvers, initiator, used))
}

/// Reads a token.
pub fn read(workspace: &Workspace, path: &std::path::Path) -> Result<Token, Refusal> {
    let shown = workspace.name(path);
    match std::fs::read_to_string(path) {
        Ok(text) => Token::parse(&text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(Refusal::Missing(shown)),
        Err(error) => Err(Refusal::NoToken(format!("{shown} cannot be read: {error}"))),
    }
}

/// How often a token was used, as far as the state knows.
pub fn used(workspace: &Workspace, token: &Token) -> Result<u32, Failure> {
    match Reader::open(&workspace.state) {
        Ok(reader) => Ok(reader.used(token.statement().nonce.as_str())?),
        Err(StoreError::NoState(_)) => Ok(0),
        Err(error) => Err(error.into()),
    }
}

fn verified(
    ui: &Ui,
    start: &Start<'_>,
    token: &Token,
    (approvers, initiator, used): (&Approvers, Option<Digest>, u32),
) -> Result<Entered, Failure> {
    let ready = start.ready;
    let subject = Subject {
        scope: Scope::FullPlan,
        plan: ready.plan.id(),
        path: &ready.path,
        files: &start.pins,
        params: start.params,
        run: Some(start.run),
        ask: None,
        initiator,
        spawned: None,
        now: ui.env.now(),
    };
    let (Valid { by }, consumption) = verify(token, &subject, approvers, used)
        .map_err(|refusal| refused(ui, &ready.workspace, &ready.path, &refusal))?;
    let statement = token.statement();
    // Who runs what they signed for in the same moment has approved what it makes, too: only
    // what was looked at in advance is held to the byte while it runs.
    let in_advance = statement.run.is_none();
    let (pins, skills) = if in_advance {
        (start.pins.clone(), Vec::new())
    } else {
        (Vec::new(), of_skills(ready, &start.pins))
    };
    let approved = Approved {
        policy: approvers.policy.into(),
        token: token.digest(),
        plan: statement.plan.digest,
        by,
        nonce: consumption.nonce.to_string(),
        execution: consumption.execution,
        executions: statement.executions,
        expires: statement.expires,
        initiator,
        tree: tree_of(&pins),
        pins,
        products: start.products.clone(),
        skills,
    };
    let path = token_path(std::path::Path::new(&ready.path));
    Ok(Entered {
        approved,
        token: (path.display().to_string(), token.text()),
    })
}

/// The files of the skills whose scripts a plan runs.
fn of_skills(ready: &Ready, pins: &[Pin]) -> Vec<Pin> {
    let folders = pinned::skills(&ready.plan);
    let is_one = |pin: &&Pin| {
        folders
            .iter()
            .any(|folder| Path::new(&pin.path).starts_with(folder))
    };
    pins.iter().filter(is_one).cloned().collect()
}

/// A mistake of the caller.
pub(super) fn usage(message: impl Into<String>) -> Failure {
    Failure::new(Exit::Usage, message)
}
