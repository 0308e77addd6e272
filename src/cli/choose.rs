//! What a command line chooses to run again.

use clap::Args;

use super::{Exit, Failure};
use crate::diag::nearest;
use crate::model::{Fan, Plan, Step, Work};
use crate::name::{RunId, Spot, Subject};
use crate::repeat::{Choice, items, nested_run};
use crate::store::Reader;

/// What is to run again beside what did not succeed.
#[derive(Args, Clone, Debug, Default)]
pub struct ChoiceArgs {
    /// Run this step again, and all that depend on it
    #[arg(long, value_name = "STEP")]
    from: Vec<String>,
    /// Run this step again, and nothing that is not chosen
    #[arg(long, value_name = "STEP")]
    only: Vec<String>,
    /// Run again what depends on this step, but not the step
    #[arg(long, value_name = "STEP")]
    downstream: Vec<String>,
    /// Keep nothing: run every step again
    #[arg(long, conflicts_with_all = ["from", "only", "downstream"])]
    all: bool,
}

/// Where steps are looked for.
struct Place<'a> {
    reader: &'a Reader,
    run: Option<RunId>,
    plan: &'a Plan,
}

impl ChoiceArgs {
    /// What is chosen of a run that is to be repeated by a plan.
    pub fn resolve(&self, reader: &Reader, run: &RunId, plan: &Plan) -> Result<Choice, Failure> {
        let paths = |texts: &[String]| {
            let paths = texts.iter().map(|text| {
                let run = Some(run.clone());
                path(text, Place { reader, run, plan })
            });
            paths.collect::<Result<Vec<_>, _>>()
        };
        Ok(Choice {
            all: self.all,
            narrow: !self.only.is_empty(),
            from: paths(&self.from)?,
            only: paths(&self.only)?,
            downstream: paths(&self.downstream)?,
        })
    }
}

/// The way to a step, with the keys of the items on it.
fn path(text: &str, mut place: Place<'_>) -> Result<Vec<Spot>, Failure> {
    let subject: Subject = text.parse().map_err(|error| usage(format!("{error}")))?;
    if subject.attempt.is_some() {
        return Err(usage(format!("`{text}` names an attempt; name the step")));
    }
    let mut path = Vec::new();
    for spot in subject.above {
        let (spot, step) = find(&place, spot)?;
        let Work::Uses(uses) = &step.work else {
            return Err(usage(format!(
                "`{spot}` uses no plan, so nothing is inside of it"
            )));
        };
        let run = match &place.run {
            Some(run) => nested_run(place.reader, run, &spot.step, spot.item.as_deref())?,
            None => None,
        };
        place = Place {
            run,
            plan: &uses.plan,
            ..place
        };
        path.push(spot);
    }
    path.push(find(&place, subject.spot)?.0);
    Ok(path)
}

/// A step of a plan, and the item by its key.
fn find<'a>(place: &Place<'a>, spot: Spot) -> Result<(Spot, &'a Step), Failure> {
    let id = spot.step.as_str();
    let Some(ix) = place.plan.find(id) else {
        let steps = place.plan.steps().iter().map(|step| step.id.as_str());
        let near = nearest(id, steps);
        return Err(near_to(
            usage(format!("the plan `{}` has no step `{id}`", place.plan.id())),
            near,
        ));
    };
    let step = place.plan.step(ix);
    let Some(named) = &spot.item else {
        return Ok((spot, step));
    };
    if matches!(step.fan, Fan::Once) {
        return Err(usage(format!("`{id}` is not repeated, so it has no items")));
    }
    let rows = match &place.run {
        Some(run) => items(place.reader, run, &spot.step)?,
        None => Vec::new(),
    };
    let number: Option<u32> = named.parse().ok();
    let by_key = rows.iter().find(|row| row.item_key.as_ref() == Some(named));
    let by_number = || {
        rows.iter()
            .find(|row| number.is_some() && row.item == number)
    };
    let found = by_key
        .or_else(by_number)
        .and_then(|row| row.item_key.clone());
    let Some(key) = found else {
        let keys = rows.iter().filter_map(|row| row.item_key.as_deref());
        let near = nearest(named, keys);
        return Err(near_to(
            usage(format!("`{id}` has no item `{named}`")),
            near,
        ));
    };
    let step_name = spot.step;
    Ok((
        Spot {
            step: step_name,
            item: Some(key),
        },
        step,
    ))
}

fn near_to(failure: Failure, near: Option<&str>) -> Failure {
    match near {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None => failure,
    }
}

fn usage(message: String) -> Failure {
    Failure::new(Exit::Usage, message)
}
