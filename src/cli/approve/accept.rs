use std::collections::BTreeMap;
use std::time::Duration;

use clap::Args;

use super::accepted::{acceptance_path, executed};
use super::agree::agreed;
use super::bounds::{BoundArgs, bounds};
use super::entry::{plan_ref, read};
use super::plan::{Proposal, write};
use super::view::{changes, meaning};
use super::{Rules, owner};
use crate::approval::{Nonce, Scope, Statement, Token, VERSION, Verdict};
use crate::bus::Act;
use crate::cli::keys::{self, PassphraseArgs};
use crate::cli::load::Ready;
use crate::cli::{Exit, Failure, Ui, watch};
use crate::model::Goal;

/// Who accepts a goal, and how.
#[derive(Args, Clone, Debug, Default)]
pub struct Acceptance {
    /// Do not ask: you have looked at it
    #[arg(long)]
    yes: bool,
    /// The key that signs, by its name
    #[arg(long, value_name = "NAME")]
    key: Option<String>,
    #[command(flatten)]
    passphrase: PassphraseArgs,
}

impl Acceptance {
    /// That of somebody who asks for a cycle of it in so many words.
    pub fn by_run() -> Self {
        Self {
            yes: true,
            ..Self::default()
        }
    }
}

/// How long it counts that somebody saw a goal: until the goal is another one.
const VALIDITY: Duration = Duration::from_hours(100 * 365 * 24);

/// Shows a goal and what changed since it was accepted, asks, and signs. `ready` is the goal as
/// people look at it.
pub fn accept(ui: &Ui, (ready, goal): (Ready, &Goal), args: &Acceptance) -> Result<(), Failure> {
    let out = acceptance_path(&ready.workspace, &goal.id);
    let is_goal = true;
    let bounds = bounds(ui, (ready.plan.parts(), is_goal), &BoundArgs::default())?;
    let pins = executed(&ready)?;
    let rules = Rules::of(ui, &ready.workspace)?;
    let mut proposal = Proposal {
        ready,
        bounds,
        pins,
        rules,
    };
    ui.print(&meaning(&proposal))?;
    ui.print(&changes(&proposal, &read(&proposal.ready.workspace, &out)))?;
    agreed(ui, args.yes, &format!("accept {}?", goal.id))?;
    keys::keys(ui)?;
    let secret = (args.key.as_deref(), &args.passphrase);
    let signer = owner::signer(ui, &mut proposal.rules, secret)?;
    let mut bytes = [0; 16];
    let drawn = ui
        .env
        .random(&format!("nonce of the acceptance of {}", goal.id))?;
    bytes.copy_from_slice(drawn.split_at(16).0);
    let now = ui.env.now();
    let statement = Statement {
        v: VERSION,
        scope: Scope::GoalAccept,
        verdict: Verdict::Approved,
        reason: None,
        plan: plan_ref(&proposal.ready, &proposal.pins),
        files: proposal.pins,
        params: BTreeMap::new(),
        run: None,
        ask: None,
        nonce: Nonce::from_bytes(bytes),
        issued: now,
        expires: now.after(VALIDITY),
        executions: 1,
        spawn_policy: None,
    };
    if let Some(folder) = out.parent() {
        std::fs::create_dir_all(folder)
            .map_err(|error| Failure::new(Exit::State, format!("{}: {error}", folder.display())))?;
    }
    write(ui, &out, &Token::sign(statement, &signer))?;
    let (scope, key) = (Scope::GoalAccept.as_str().to_owned(), signer.public().id());
    watch::note(ui, Act::Approved { scope, key });
    ui.note_line(&format!(
        "{} is accepted as it is: `wf daemon` keeps it",
        goal.id
    ));
    Ok(())
}
