use std::collections::BTreeMap;

use clap::Args;

use crate::cli::execute::{Telling, finish, prune, session};
use crate::cli::load::Ready;
use crate::cli::same::unchanged;
use crate::cli::{Exit, Failure, RunArg, Ui, load};
use crate::engine::{self, Request};
use crate::machine::{Kept, StepState};
use crate::model::Plan;
use crate::name::RunId;
use crate::report::plural;
use crate::spec::Disk;
use crate::store::{Reader, RunRow, RunState, StepRow};

/// Run a plan again, keeping what succeeded
#[derive(Args, Debug)]
#[command(after_help = "\
The new run has the parameters of the old one and takes over the results of its successful steps.
It runs by the files as they are now: a step that was changed since, and what depends on it, runs
again. To go on with a run that was interrupted, use `wf resume`.")]
pub struct RetryArgs {
    #[command(flatten)]
    run: RunArg,
    #[command(flatten)]
    telling: Telling,
    /// Keep nothing: run every step again
    #[arg(long)]
    all: bool,
}

/// Runs a plan again.
pub fn run(ui: &Ui, args: &RetryArgs) -> Result<Exit, Failure> {
    let workspace = ui.workspace();
    let reader = Reader::open(&workspace.state)?;
    let old = args.run.resolve(&reader)?;
    let row = reader.run(&old)?;
    refuse(&row)?;
    let files = Disk::new(&workspace.root);
    let ready = load::ready(ui, &files, workspace, row.path.clone(), None)?;
    let kept = if args.all {
        Vec::new()
    } else {
        kept(ui, &reader, &old, &ready)?
    };
    drop(reader);
    ui.note(&format!(
        "repeats run {} · keeps {}\n",
        old.short(),
        plural(kept.len(), "result")
    ));
    let session = session(ui, &ready, &args.telling)?;
    let params = crate::model::resolve_params(&ready.plan.parts().params, &row.params)?;
    let request = Request {
        run: ui.env.new_run()?,
        plan: ready.plan.clone(),
        path: ready.path.clone(),
        sources: ready.sources.clone(),
        params,
        kept,
        retry_of: Some(old),
        config: serde_json::Value::Null,
    };
    let finished = engine::run(&session, request);
    let exit = finish(ui, &ready, &session, finished, &args.telling)?;
    prune(ui, &session, &ready);
    Ok(exit)
}

fn refuse(row: &RunRow) -> Result<(), Failure> {
    if let Some((above, _)) = &row.parent {
        let message = format!("run {} is part of another", row.id.short());
        return Err(Failure::new(Exit::Usage, message).hint(format!("wf retry {}", above.short())));
    }
    if row.state == RunState::Running {
        let message = format!("run {} has not ended", row.id.short());
        let failure = Failure::new(Exit::Usage, message);
        return Err(failure.hint(format!("wf resume {} goes on with it", row.id.short())));
    }
    Ok(())
}

/// The results that the new run takes over: of main steps that succeeded and, like all that they
/// depend on, were not changed since.
fn kept(ui: &Ui, reader: &Reader, old: &RunId, ready: &Ready) -> Result<Vec<Kept>, Failure> {
    let before = load::recorded(ui, reader, old)?;
    let rows = reader.steps(old)?;
    let mut steps: BTreeMap<&str, &StepRow> = BTreeMap::new();
    let mut items: BTreeMap<&str, Vec<&StepRow>> = BTreeMap::new();
    for row in &rows {
        if row.item.is_none() {
            steps.insert(row.step.as_str(), row);
        } else {
            items.entry(row.step.as_str()).or_default().push(row);
        }
    }
    let plan: &Plan = &ready.plan;
    let mut taken = vec![false; plan.steps().len()];
    let mut kept = Vec::new();
    for ix in plan.order() {
        let step = plan.step(ix);
        let grounded = step
            .depends_on
            .iter()
            .all(|ix| taken.get(ix.at()) == Some(&true));
        if plan.is_finally(ix) || !grounded || !unchanged(&before, plan, step) {
            continue;
        }
        let row = steps.get(step.id.as_str());
        if let Some(row) = row.filter(|row| row.state == StepState::Succeeded) {
            if let Some(slot) = taken.get_mut(ix.at()) {
                *slot = true;
            }
            kept.push((ix, taken_over(row, old)));
        } else {
            // Of a repeated step that failed, the items that succeeded.
            let items = items.get(step.id.as_str()).into_iter().flatten();
            let good = items.filter(|row| row.state == StepState::Succeeded);
            kept.extend(good.map(|row| (ix, taken_over(row, old))));
        }
    }
    kept.sort_by_key(|(ix, _)| *ix);
    Ok(kept.into_iter().map(|(_, kept)| kept).collect())
}

fn taken_over(row: &StepRow, old: &RunId) -> Kept {
    Kept {
        step: row.step.clone(),
        item: row.item_key.clone(),
        outputs: row.outputs.clone(),
        standing: row.standing,
        from: row.kept_from.clone().unwrap_or_else(|| old.clone()),
    }
}
