use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use super::agree::agreed;
use super::bounds::{BoundArgs, Bounds, bounds};
use super::entry::{plan_ref, read, usage, used};
use super::standing::spawned;
use super::view::{changes, shown, signed};
use super::withdrawal::withdrawal;
use super::{AnswerArgs, Rules, token_at, tree};
use crate::approval::{Nonce, Refusal, Scope, Statement, Token, VERSION, Verdict};
use crate::bus::Act;
use crate::cli::keys::{self, OwnKey, PassphraseArgs};
use crate::cli::load::{self, Ready};
use crate::cli::skills::consent::SignArgs;
use crate::cli::{Exit, Failure, Ui, relative, watch};
use crate::machine::Pin;
use crate::time::{Moment, parse_duration};

/// How a plan is approved.
#[derive(Args, Clone, Debug, Default)]
pub struct PlanArgs {
    #[command(flatten)]
    bounds: BoundArgs,
    /// How long the approval holds; by default, as long as approvers.yaml allows, else 7d
    #[arg(long, value_name = "TIME", value_parser = period)]
    expires: Option<Duration>,
    /// How many runs it allows: 1 by default; of a goal how many repairs, 10 by default
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    executions: Option<u32>,
    /// Do not ask: you have looked at it
    #[arg(long)]
    yes: bool,
    /// Write the approval to this file instead of beside the plan
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The key that signs, by its name
    #[arg(long, value_name = "NAME")]
    key: Option<String>,
    #[command(flatten)]
    passphrase: PassphraseArgs,
}

impl PlanArgs {
    /// The same, where it is a question of a run that is answered.
    pub fn answer(&self, reason: Option<&String>) -> AnswerArgs {
        AnswerArgs {
            yes: self.yes,
            reason: reason.cloned(),
            key: self.key.clone(),
            secret: self.passphrase.clone(),
        }
    }
}

impl PlanArgs {
    /// The same, where it is a skill that is signed for.
    pub fn sign(&self) -> SignArgs {
        SignArgs::of(
            (self.yes, self.expires),
            self.key.as_ref(),
            &self.passphrase,
        )
    }

    fn executions(&self, ready: &Ready) -> u32 {
        let usual = if ready.goal.is_some() { REPAIRS } else { 1 };
        self.executions.unwrap_or(usual)
    }
}

/// How many repairs the approval of a goal allows, if nobody says.
const REPAIRS: u32 = 10;

/// What an approval of it is for.
fn scope(ready: &Ready) -> Scope {
    match ready.goal {
        Some(_) => Scope::Standing,
        None => Scope::FullPlan,
    }
}

fn period(text: &str) -> Result<Duration, String> {
    parse_duration(text).map_err(|bad| bad.to_string())
}

/// A plan that is being looked at.
pub(super) struct Proposal {
    pub(super) ready: Ready,
    pub(super) bounds: Bounds,
    pub(super) pins: Vec<Pin>,
    pub(super) rules: Rules,
}

/// Shows a plan, asks, and signs. Silas 5.1.2.
pub fn approve(ui: &Ui, path: &Path, args: &PlanArgs) -> Result<Exit, Failure> {
    let ready = load::spec(ui, path)?;
    let rules = Rules::of(ui, &ready.workspace)?;
    let keys = keys::keys(ui)?;
    let Some(key) = keys::choose(ui, &keys, args.key.as_deref())? else {
        let failure = usage("you have no key to sign with");
        return Err(failure.hint("`wf key init` makes one"));
    };
    may_sign(&rules, &key)?;
    let bounds = bounds(ui, (ready.plan.parts(), ready.goal.is_some()), &args.bounds)?;
    let out = token_at(ui, &ready, args.out.as_ref());
    let pins = tree(ui, &ready, &bounds.given, &out)?.files;
    let proposal = Proposal {
        ready,
        bounds,
        pins,
        rules,
    };
    let (token, is_new) = token(ui, &proposal, args, &out)?;
    let id = key.public.id();
    if !is_new && token.signers().any(|by| by == Some(id)) {
        ui.print_line(&format!(
            "approved already with this key: {}",
            relative(&out, ui.env.cwd())
        ))?;
        return Ok(Exit::Ok);
    }
    ui.print(&shown(&proposal, token.statement()))?;
    ui.print(&changes(&proposal, &read(&proposal.ready.workspace, &out)))?;
    agreed(ui, args.yes, "approve this?")?;
    let signer = keys::open(ui, &keys, &key, &args.passphrase)?;
    let signed_token = match token {
        Draft::New(statement) => Token::sign(*statement, &signer),
        Draft::Signed(mut token) => {
            token.sign_too(&signer);
            *token
        }
    };
    write(ui, &out, &signed_token)?;
    let scope = scope(&proposal.ready).as_str().to_owned();
    watch::note(ui, Act::Approved { scope, key: id });
    ui.print(&signed(
        &proposal,
        &signed_token,
        &relative(&out, ui.env.cwd()),
    ))?;
    Ok(Exit::Ok)
}

/// What is to be signed: something new, or what others have signed.
enum Draft {
    New(Box<Statement>),
    Signed(Box<Token>),
}

impl Draft {
    fn statement(&self) -> &Statement {
        match self {
            Self::New(statement) => statement,
            Self::Signed(token) => token.statement(),
        }
    }

    fn signers(&self) -> impl Iterator<Item = Option<crate::digest::Digest>> {
        let token = match self {
            Self::New(_) => None,
            Self::Signed(token) => Some(token),
        };
        token.into_iter().flat_map(|token| token.signers())
    }
}

/// A key that does not count signs nothing: its approval would only be refused.
pub fn may_sign(rules: &Rules, key: &OwnKey) -> Result<(), Failure> {
    let why = match rules.approvers.find(key.public.id()) {
        None => "it is not listed as an approver".to_owned(),
        Some(one) => match one.revoked {
            Some(since) => format!("it was revoked on {since}"),
            None => return Ok(()),
        },
    };
    let message = format!("the key `{}` may not approve here: {why}", key.name);
    let hint = "approvers.yaml lists who may; another of your keys: --key NAME";
    Err(Failure::new(Exit::Approval, message).hint(hint))
}

/// What others have signed, if it is of exactly this and can still be used; else a new statement.
fn token(
    ui: &Ui,
    proposal: &Proposal,
    args: &PlanArgs,
    out: &Path,
) -> Result<(Draft, bool), Failure> {
    let now = ui.env.now();
    if let Ok(token) = read(&proposal.ready.workspace, out) {
        let statement = token.statement();
        let same = statement.scope == scope(&proposal.ready)
            && statement.verdict == Verdict::Approved
            && statement.run.is_none()
            && statement.plan == plan_ref(&proposal.ready, &proposal.pins)
            && statement.params == proposal.bounds.bounds
            && statement.executions == args.executions(&proposal.ready)
            && statement.issued <= now
            && now < statement.expires;
        let as_long = args
            .expires
            .is_none_or(|asked| statement.expires.since(statement.issued) == asked);
        let counts = |by: Option<crate::digest::Digest>| {
            let one = by.and_then(|id| proposal.rules.approvers.find(id));
            one.is_some_and(|one| one.revoked.is_none())
        };
        let left = used(&proposal.ready.workspace, &token)? < statement.executions
            && !is_withdrawn(&proposal.ready, statement, now)?;
        if same && as_long && left && token.signers().all(counts) {
            return Ok((Draft::Signed(Box::new(token)), false));
        }
    }
    let allowed = proposal.rules.approvers.validity;
    let asks = args.expires.unwrap_or(allowed);
    if asks > allowed || asks.is_zero() {
        let refusal = Refusal::TooLong { asks, allowed };
        let failure = Failure::new(Exit::Approval, refusal.to_string());
        return Err(failure.hint(refusal.remedy()));
    }
    let mut bytes = [0; 16];
    let drawn = ui.env.random("nonce of an approval")?;
    bytes.copy_from_slice(drawn.split_at(16).0);
    let statement = Statement {
        v: VERSION,
        scope: scope(&proposal.ready),
        verdict: Verdict::Approved,
        reason: None,
        plan: plan_ref(&proposal.ready, &proposal.pins),
        files: proposal.pins.clone(),
        params: proposal.bounds.bounds.clone(),
        run: None,
        ask: None,
        nonce: Nonce::from_bytes(bytes),
        issued: now,
        expires: now.after(asks),
        executions: args.executions(&proposal.ready),
        spawn_policy: spawned(&proposal.ready, &proposal.pins).map(|spawned| spawned.policy),
    };
    Ok((Draft::New(Box::new(statement)), true))
}

/// Whether it was withdrawn: then it can be used no more, whoever signs it too.
fn is_withdrawn(ready: &Ready, statement: &Statement, now: Moment) -> Result<bool, Failure> {
    let Some(of) = &ready.goal else {
        return Ok(false);
    };
    let found = withdrawal(&ready.workspace, (&of.goal.id, statement), now)?;
    Ok(found.is_some())
}

/// Writes an approval under its name only when it is whole.
pub fn write(ui: &Ui, out: &Path, token: &Token) -> Result<(), Failure> {
    let written = || {
        let dir = out.parent().unwrap_or(Path::new("/"));
        let mut file = tempfile::NamedTempFile::new_in(dir)?;
        std::io::Write::write_all(&mut file, token.text().as_bytes())?;
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
        file.as_file().set_permissions(mode)?;
        file.persist(out).map_err(|error| error.error)
    };
    written().map(drop).map_err(|error| {
        let shown = relative(out, ui.env.cwd());
        usage(format!("cannot write {shown}: {error}"))
    })
}
