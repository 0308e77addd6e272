//! What people sign of a skill, and whether that holds.

use std::time::Duration;

use clap::Args;
use serde_json::Value;

use crate::approval::{
    Bound, Nonce, PlanRef, Policy, Refusal, SKILL_VALIDITY, Scope, Statement, Subject, Token,
    VERSION, Valid, Verdict, install_params, installs, plan_digest,
};
use crate::bus::Act;
use crate::cli::approve::{self, Rules, agreed, may_sign};
use crate::cli::keys::{self, PassphraseArgs};
use crate::cli::{Exit, Failure, Ui, Workspace, watch};
use crate::digest::Digest;
use crate::machine::Pin;
use crate::name::PlanId;
use crate::seal::Signer;
use crate::skill::lock::Locked;
use crate::time::parse_duration;

/// How somebody signs for a skill.
#[derive(Args, Clone, Debug, Default)]
pub struct SignArgs {
    /// Do not ask: you have looked at it
    #[arg(long)]
    pub yes: bool,
    /// How long the approval holds; 365d by default, and at most
    #[arg(long, value_name = "TIME", value_parser = period)]
    expires: Option<Duration>,
    /// The key that signs, by its name
    #[arg(long, value_name = "NAME")]
    key: Option<String>,
    #[command(flatten)]
    secret: PassphraseArgs,
}

impl SignArgs {
    /// The same as was said to another command; no approval holds longer than it may.
    pub fn of(
        (yes, expires): (bool, Option<Duration>),
        key: Option<&String>,
        secret: &PassphraseArgs,
    ) -> Self {
        Self {
            yes,
            expires: expires.map(|asks| asks.min(SKILL_VALIDITY)),
            key: key.cloned(),
            secret: secret.clone(),
        }
    }
}

fn period(text: &str) -> Result<Duration, String> {
    let asks = parse_duration(text).map_err(|bad| bad.to_string())?;
    if asks.is_zero() || asks > SKILL_VALIDITY {
        return Err("an approval of a skill holds for 365d at most".to_owned());
    }
    Ok(asks)
}

/// What an approval of a skill is bound to: every file, the install report, all of it together
/// with what can be executed, what it was granted, and each exception by rule and file. All but the
/// files stand behind an empty part, which no file has.
pub fn pins(locked: &Locked) -> Vec<Pin> {
    let folder = &locked.folder;
    let files = locked.files.iter();
    let files = files.map(|(path, file)| Pin::file(format!("{folder}/{path}"), file.digest));
    let mut more = vec![
        ("bundle".to_owned(), locked.digest),
        ("report".to_owned(), locked.report),
    ];
    if !locked.granted.is_empty() {
        let granted = serde_json::to_string(&locked.granted).unwrap_or_default();
        more.push(("granted".to_owned(), Digest::of(granted.as_bytes())));
    }
    for (rule, files) in &locked.exceptions {
        let each = files.iter();
        more.extend(each.map(|(path, file)| (format!("exception/{rule}/{path}"), file.digest)));
    }
    let more = more.into_iter();
    let more = more.map(|(name, digest)| Pin::file(format!("{folder}//{name}"), digest));
    let mut pins: Vec<Pin> = files.chain(more).collect();
    pins.sort();
    pins
}

/// The name of a skill as approvals write it.
pub fn id(name: &str) -> Result<PlanId, Failure> {
    PlanId::parse(name).map_err(|_| {
        let message = format!("`{}` is no name of a skill", name.escape_debug());
        let lower = name.to_lowercase();
        if lower != name && PlanId::parse(&lower).is_ok() {
            let message = message + ": names of Agent Skills are lower case";
            return Failure::new(Exit::Usage, message).hint(format!("its name would be `{lower}`"));
        }
        Failure::new(Exit::Usage, message).hint("use a-z, 0-9 and single hyphens")
    })
}

/// Whether what people signed of a skill holds now.
pub fn holds(ui: &Ui, rules: &Rules, name: &str, locked: &Locked) -> Result<Valid, Refusal> {
    let mut tokens = Vec::new();
    for envelope in &locked.approvals {
        tokens.push(Token::parse(&(crate::seal::canonical(envelope) + "\n"))?);
    }
    let other = || Refusal::NoToken(format!("`{name}` is no name of a skill"));
    let plan = PlanId::parse(name).map_err(|_| other())?;
    let files = pins(locked);
    let params = install_params(locked.installer);
    let subject = Subject {
        scope: Scope::SkillInstall,
        plan: &plan,
        path: &locked.folder,
        files: &files,
        params: &params,
        run: None,
        ask: None,
        initiator: Some(locked.installer),
        spawned: None,
        now: ui.env.now(),
    };
    installs(&tokens, &subject, &rules.approvers)
}

/// Whose key installs: where whoever runs a plan approves it, it signs at once, and is opened.
pub struct Installer {
    /// The rules, with the key among ours.
    pub rules: Rules,
    /// Its id.
    pub id: Digest,
    signer: Option<Signer>,
}

/// Finds the key of who installs.
pub fn installer(ui: &Ui, workspace: &Workspace, args: &SignArgs) -> Result<Installer, Failure> {
    let mut rules = Rules::of(ui, workspace)?;
    let name = args.key.as_deref();
    if rules.approvers.policy == Policy::Owner {
        let signer = approve::signer(ui, &mut rules, (name, &args.secret))?;
        let id = signer.public().id();
        return Ok(Installer {
            rules,
            id,
            signer: Some(signer),
        });
    }
    let key = keys::choose(ui, &keys::keys(ui)?, name)?.ok_or_else(no_key)?;
    Ok(Installer {
        rules,
        id: key.public.id(),
        signer: None,
    })
}

fn no_key() -> Failure {
    Failure::new(Exit::Usage, "you have no key to sign with").hint("`wf key init` makes one")
}

impl Installer {
    /// Signs for a skill at once, where who installs it approves it. What others signed of
    /// other bytes is gone.
    pub fn sign(
        &self,
        ui: &Ui,
        (name, locked): (&str, &mut Locked),
        args: &SignArgs,
    ) -> Result<(), Failure> {
        locked.approvals.clear();
        if let Some(signer) = &self.signer {
            add(ui, (name, locked), signer, args)?;
        }
        Ok(())
    }
}

/// Lets somebody sign for a skill, once it was shown.
pub fn approve(
    ui: &Ui,
    workspace: &Workspace,
    (name, locked): (&str, &mut Locked),
    args: &SignArgs,
) -> Result<Rules, Failure> {
    let mut rules = Rules::of(ui, workspace)?;
    let keys = keys::keys(ui)?;
    let key = keys::choose(ui, &keys, args.key.as_deref())?.ok_or_else(no_key)?;
    rules.count(key.clone());
    may_sign(&rules, &key)?;
    let id = key.public.id();
    if rules.approvers.policy == Policy::Reviewed && id == locked.installer {
        let refusal = Refusal::SelfApproval(key.name);
        let message = format!("the skill `{name}` is what you installed: {refusal}");
        return Err(Failure::new(Exit::Approval, message).hint(format!(
            "let another approver sign it: wf skill approve {name}"
        )));
    }
    agreed(ui, args.yes, "approve this skill?")?;
    // What does not count here is not carried on: it would spoil what does.
    locked
        .approvals
        .retain(|envelope| counts(&rules, envelope, id));
    let signer = keys::open(ui, &keys, &key, &args.secret)?;
    add(ui, (name, locked), &signer, args)?;
    Ok(rules)
}

/// Whether an envelope may stay beside a new one of this key: by policy `owner` those of others do.
fn counts(rules: &Rules, envelope: &Value, id: Digest) -> bool {
    let token = Token::parse(&(crate::seal::canonical(envelope) + "\n"));
    token.is_ok_and(|token| {
        token.signers().all(|by| {
            let known = by.and_then(|by| rules.approvers.find(by));
            let holds = known.map_or(rules.approvers.policy == Policy::Owner, |one| {
                one.revoked.is_none()
            });
            holds && by != Some(id)
        })
    })
}

fn add(
    ui: &Ui,
    (name, locked): (&str, &mut Locked),
    signer: &Signer,
    args: &SignArgs,
) -> Result<(), Failure> {
    let files = pins(locked);
    let key = signer.public().id();
    let mut bytes = [0; 16];
    let drawn = ui
        .env
        .random(&format!("skill {name} {} {key}", locked.digest))?;
    bytes.copy_from_slice(drawn.split_at(16).0);
    let now = ui.env.now();
    let params = install_params(locked.installer).into_iter();
    let statement = Statement {
        v: VERSION,
        scope: Scope::SkillInstall,
        verdict: Verdict::Approved,
        reason: None,
        plan: PlanRef {
            id: id(name)?,
            path: locked.folder.clone(),
            digest: plan_digest(&files),
        },
        files,
        params: params
            .map(|(name, value)| (name, Bound::Is(value)))
            .collect(),
        run: None,
        ask: None,
        nonce: Nonce::from_bytes(bytes),
        issued: now,
        expires: now.after(args.expires.unwrap_or(SKILL_VALIDITY)),
        executions: 1,
        spawn_policy: None,
    };
    let token = Token::sign(statement, signer);
    let envelope = serde_json::to_value(token.envelope());
    let envelope = envelope.map_err(|error| Failure::new(Exit::Bug, error.to_string()))?;
    locked.approvals.push(envelope);
    let scope = Scope::SkillInstall.as_str().to_owned();
    watch::note(ui, Act::Approved { scope, key });
    Ok(())
}
