use clap::Args;

use crate::cli::approve::{ApprovalArgs, enter};
use crate::cli::choose::ChoiceArgs;
use crate::cli::execute::{Telling, finish, outrun, prune, session};
use crate::cli::given::secrets_given;
use crate::cli::lineage::top;
use crate::cli::load::Ready;
use crate::cli::outlook::{Outlook, possible};
use crate::cli::params::{self, ParamArgs};
use crate::cli::which::called_attempt;
use crate::cli::{Begun, Exit, Failure, RunArg, Ui, load};
use crate::engine::{self, Request};
use crate::model::{Object, Secret};
use crate::name::RunId;
use crate::repeat::{Ask, Past};
use crate::report::goal_name;
use crate::report::record::Life;
use crate::spec::Disk;
use crate::store::{Reader, RunRow};

#[derive(Args, Debug)]
#[command(after_help = "\
The new run has the parameters of the old one and takes over the results of its successful steps,
also inside of plans that it uses. It runs by the files as they are now: a step that was changed
since, or reads a parameter that changed, and what depends on it, runs again.

Examples:
  wf retry --last                        what did not succeed
  wf retry 1a2b --from build             build, and all that depends on it
  wf retry 1a2b --only 'test[eu]'        one item, and nothing else
  wf retry 1a2b --from nightly/compile   a step inside of the plan that nightly uses
  wf retry 1a2b -p day=2026-11-02        with another parameter
  wf retry 1a2b --from build --dry-run   what would run again, and why; touches nothing

To go on with a run that was interrupted, use `wf resume`.")]
pub struct RetryArgs {
    #[command(flatten)]
    run: RunArg,
    #[command(flatten)]
    choice: ChoiceArgs,
    #[command(flatten)]
    params: ParamArgs,
    /// Show what would run again and why, and touch nothing
    #[arg(long, conflicts_with_all = ["json", "junit", "report"])]
    dry_run: bool,
    #[command(flatten)]
    approval: ApprovalArgs,
    #[command(flatten)]
    telling: Telling,
}

/// Runs a plan again.
pub fn run(ui: &Ui, args: &RetryArgs) -> Result<Exit, Failure> {
    let workspace = ui.workspace();
    let reader = Reader::from_whole_log(&workspace.state)?;
    let old = args.run.resolve(&reader)?;
    let row = reader.run(&old)?;
    refuse(&reader, &row)?;
    let files = Disk::new(&workspace.root);
    let ready = load::ready(
        ui,
        &files,
        workspace,
        row.path.clone(),
        Begun::now(ui, None),
    )?;
    let choice = args.choice.resolve(&reader, &old, &ready.plan)?;
    let params = params::again(ui, ready.plan.parts(), &args.params, &row.params)?;
    let before = load::before_or(&reader, &old, &ready)?;
    let ask = Ask {
        run: Some(old.clone()),
        before: before.clone(),
        now: ready.plan.clone(),
        choice: choice.clone(),
    };
    let past = Past::of(&reader, ask, &params)?;
    let past = engine::unchanged(&ready.workspace.root, &reader, past)?;
    let root = &ready.workspace.root;
    possible((root, &reader), &past, "")?;
    let outlook = Outlook::of(root, &reader, &past)?;
    let given = match &before {
        Some(before) => secrets_given(&reader, &old, before)?,
        None => Vec::new(),
    };
    drop(reader);
    if past.is_done() {
        ui.say(&nothing(&old));
        return Ok(Exit::Ok);
    }
    if args.dry_run {
        ui.print(&(outlook.line(&old) + &outlook.list()))?;
        return Ok(Exit::Ok);
    }
    ui.note(&outlook.line(&old));
    let config = ready.begun.record(choice.record());
    loop {
        let what = (params.clone(), past.clone(), config.clone());
        if let Some(exit) = begin(ui, args, (&ready, &given), what)? {
            return Ok(exit);
        }
    }
}

/// Begins the new run; `None` if another took the use of the approval that was the next.
fn begin(
    ui: &Ui,
    args: &RetryArgs,
    (ready, given): (&Ready, &[Secret]),
    (params, past, config): (Object, Past, serde_json::Value),
) -> Result<Option<Exit>, Failure> {
    let run = ui.env.new_run()?;
    let entered = enter(ui, ready, (&run, &params), &args.approval)?;
    let session = session(ui, ready, &args.telling)?;
    let approved = Some(&entered.approved);
    engine::recover(&session, (&ready.plan, approved), given.to_vec())?;
    let request = Request {
        run,
        plan: ready.plan.clone(),
        path: ready.path.clone(),
        sources: ready
            .sources
            .iter()
            .cloned()
            .chain([entered.token])
            .collect(),
        params,
        past: Some(past),
        approved: Some(entered.approved),
        config,
        claim: None,
    };
    let finished = engine::run(&session, request);
    if outrun(&finished) {
        return Ok(None);
    }
    let exit = finish(ui, ready, &session, finished, &args.telling)?;
    prune(ui, &session, ready);
    Ok(Some(exit))
}

fn refuse(reader: &Reader, row: &RunRow) -> Result<(), Failure> {
    let short = row.id.short();
    if let Some((above, attempt)) = &row.parent {
        let attempt = called_attempt(reader, above, attempt)?;
        let message = format!("run {short} is part of another: {attempt}");
        let top = top(reader, &row.id)?;
        return Err(Failure::new(Exit::Usage, message).hint(format!(
            "wf retry {} repeats it there; --from STEP/INNER chooses inside of it",
            top.short()
        )));
    }
    let failure = |what: &str| Failure::new(Exit::Usage, format!("run {short} {what}"));
    match Life::of(row, reader.owner(&row.id)?) {
        Life::Running => Err(failure("has not ended")
            .hint(format!("wait for its end, or end it: wf cancel {short}"))),
        Life::Waiting => Err(failure("waits for people").hint(format!(
            "wf approve {short} or wf deny {short}, then wf resume {short}"
        ))),
        Life::Interrupted => {
            Err(failure("has not ended").hint(format!("wf resume {short} goes on with it")))
        }
        // A cycle begins with a look, and is not repeated in part.
        Life::Ended(_) if row.goal.is_some() => {
            let message = format!("run {short} is part of a cycle of the goal `{}`", row.plan);
            let failure = Failure::new(Exit::Usage, message);
            Err(failure.hint(format!(
                "`wf goal run {}` runs a cycle of it",
                goal_name(&row.plan, &row.path)
            )))
        }
        Life::Ended(_) => Ok(()),
    }
}

/// What is said if there is nothing to run again.
fn nothing(run: &RunId) -> String {
    let short = run.short();
    format!(
        "run {short} succeeded, and nothing changed since: there is nothing to run again\n\
         to run it again: wf retry {short} --all, or --from STEP\n"
    )
}
