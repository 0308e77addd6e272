use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use serde_json::json;

use super::entry::{ApprovalArgs, Entered, enter, read, used};
use super::refused::refused;
use super::skilled::skills_hold;
use super::withdrawal::withdrawal;
use super::{Rules, Tree, token_at, token_path, tree};
use crate::approval::{
    Approvers, Policy, Refusal, Scope, SpawnPolicy, Spawned, Subject, Token, Valid, allows,
    plan_digest, verify,
};
use crate::cli::load::{OfGoal, Ready};
use crate::cli::{Exit, Failure, Ui};
use crate::digest::Digest;
use crate::exec::pinned;
use crate::goal::Part;
use crate::machine::{Approved, Pin, tree_of};
use crate::model::{GoalApproval, Object, Plan};
use crate::name::RunId;

/// Whether a run of a cycle of a goal may begin. A repair is done by itself, so that somebody must
/// have signed in advance for what it may do, and each one uses up one execution of that. A look
/// needs a signature only where others than who runs it must approve everything, and uses none
/// up. Silas 3.6, 5.2.3.
pub fn enter_goal(
    ui: &Ui,
    ready: &Ready,
    part: Part,
    (run, params): (&RunId, &Object),
) -> Result<Entered, Failure> {
    let Some(of) = &ready.goal else {
        return Err(Failure::new(Exit::Bug, "this is no goal"));
    };
    let rules = Rules::of(ui, &ready.workspace)?;
    let reviewed = rules.approvers.policy == Policy::Reviewed;
    let repairs = part == Part::Repair && of.goal.approval == GoalApproval::Standing;
    if !(reviewed || repairs) {
        return enter(ui, ready, (run, params), &ApprovalArgs::default());
    }
    let path = token_at(ui, ready, None);
    let Tree {
        files: pins,
        products,
    } = tree(ui, ready, params, &path)?;
    skills_hold(ui, ready, &pins, false)?;
    let workspace = &ready.workspace;
    let token =
        read(workspace, &path).map_err(|refusal| refused(ui, workspace, &ready.path, &refusal))?;
    let of = (&of.goal.id, token.statement());
    if part == Part::Repair
        && let Some(at) = withdrawal(workspace, of, ui.env.now())?
    {
        let refusal = Refusal::Withdrawn(at);
        return Err(refused(ui, workspace, &ready.path, &refusal));
    }
    let signers: Vec<Digest> = token.signers().flatten().collect();
    let start = Start {
        ready,
        run,
        params,
        part,
        pins,
        initiator: rules.initiator(&signers),
    };
    let used = used(workspace, &token)?;
    let (Valid { by }, execution) = start
        .verified(ui, (&token, &rules.approvers, used))
        .map_err(|refusal| refused(ui, workspace, &ready.path, &refusal))?;
    let statement = token.statement();
    let approved = Approved {
        policy: rules.approvers.policy.into(),
        token: token.digest(),
        plan: statement.plan.digest,
        by,
        nonce: statement.nonce.to_string(),
        execution,
        executions: statement.executions,
        expires: statement.expires,
        initiator: start.initiator,
        tree: tree_of(&start.pins),
        pins: start.pins,
        products,
        skills: Vec::new(),
    };
    let path = token_path(Path::new(&ready.path)).display().to_string();
    Ok(Entered {
        approved,
        token: (path, token.text()),
    })
}

struct Start<'a> {
    ready: &'a Ready,
    run: &'a RunId,
    params: &'a Object,
    part: Part,
    pins: Vec<Pin>,
    initiator: Option<Digest>,
}

impl Start<'_> {
    fn verified(
        &self,
        ui: &Ui,
        (token, approvers, used): (&Token, &Approvers, u32),
    ) -> Result<(Valid, u32), crate::approval::Refusal> {
        let spawned = spawned(self.ready, &self.pins);
        let subject = Subject {
            scope: Scope::Standing,
            plan: self.ready.plan.id(),
            path: &self.ready.path,
            files: &self.pins,
            params: self.params,
            run: Some(self.run),
            ask: None,
            initiator: self.initiator,
            spawned: spawned.as_ref(),
            now: ui.env.now(),
        };
        if self.part == Part::Look {
            return Ok((allows(token, &subject, approvers)?, 0));
        }
        let (valid, consumption) = verify(token, &subject, approvers, used)?;
        Ok((valid, consumption.execution))
    }
}

/// What a goal is about to start, if it is one.
pub(super) fn spawned(ready: &Ready, pins: &[Pin]) -> Option<Spawned> {
    let policy = spawn_policy(ready, ready.goal.as_ref()?).digest();
    let plan = plan_digest(pins);
    Some(Spawned { policy, plan })
}

/// What a standing approval of a goal lets be started: its own plan with its own text, gates,
/// checks and escalations.
fn spawn_policy(ready: &Ready, of: &OfGoal) -> SpawnPolicy {
    let text = ready.sources.first().map(|(_, text)| text.clone());
    let parts = of.whole.parts();
    let gates = ready
        .sources
        .iter()
        .filter(|(path, _)| path.starts_with("gates/"))
        .map(|(path, text)| json!({"path": path, "digest": Digest::of(text.as_bytes())}));
    let checks = parts.verify.iter().map(|check| json!(check.name));
    let escalations = parts.escalations.iter();
    SpawnPolicy {
        failure_template: text.unwrap_or_default(),
        skills: skills(&of.whole),
        gates: gates.collect(),
        verify: checks.collect(),
        escalations: escalations
            .map(|escalation| (escalation.name.clone(), json!(escalation.plan)))
            .collect(),
    }
}

/// The skills that a goal and all that it uses may use.
fn skills(plan: &Arc<Plan>) -> BTreeSet<String> {
    let mut names: BTreeSet<String> = pinned::skills(plan);
    let said = plan.parts().skills.iter().flatten();
    names.extend(said.map(ToString::to_string));
    names
}
