use clap::Args;

use crate::cli::lineage::past_below;
use crate::cli::which::{Found, StepArg, find};
use crate::cli::{Begun, Exit, Failure, Ui, load};
use crate::exec::cache::{differences, refused};
use crate::goal::Part;
use crate::name::RunId;
use crate::repeat::Fate;
use crate::report::record::{CacheStory, Record, Why, why, why_json};
use crate::store::Reader;

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wf why --last build        the latest run
  wf why 1a2b fetch[2]       an item of a repeated step
  wf why 1a2b outer/inner    a step of a nested run")]
pub struct WhyArgs {
    #[command(flatten)]
    step: StepArg,
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// Explains a step.
pub fn run(ui: &Ui, args: &WhyArgs) -> Result<Exit, Failure> {
    let reader = Reader::open(&ui.workspace().state)?;
    let (run, subject) = args.step.resolve(&reader)?;
    let Some(subject) = subject else {
        return Err(no_step(&reader, &run)?);
    };
    let found = find(run, &subject, &reader)?;
    let record = crate::cli::load_record(&reader, &found.run)?;
    let plan = load::recorded(ui, &reader, &found.run)?;
    if plan.find(found.place.step.as_str()).is_none() {
        let message = format!(
            "the plan `{}` has no step `{}`",
            plan.id(),
            found.place.step
        );
        let steps = plan.steps().iter().map(|step| step.id.as_str());
        let near = crate::diag::nearest(found.place.step.as_str(), steps);
        let failure = Failure::new(Exit::Usage, message);
        return Err(match near {
            Some(near) => failure.hint(format!("did you mean `{near}`?")),
            None => failure,
        });
    }
    let cache = cache(&reader, &record, &found)?;
    let again = again(&reader, &found)?;
    let of = Why {
        record: &record,
        plan: &plan,
        place: &found.place,
        cache: cache.as_ref(),
        again: again.as_deref(),
    };
    if args.json {
        ui.print_json(&format!("{:#}\n", why_json(&of)))?;
    } else {
        ui.print(&why(&of))?;
    }
    Ok(Exit::Ok)
}

/// What is said where no step was named.
fn no_step(reader: &Reader, run: &RunId) -> Result<Failure, Failure> {
    let short = run.short();
    Ok(if reader.run(run)?.goal == Some(Part::Look) {
        let failure = Failure::new(
            Exit::Usage,
            format!("run {short} is a look: it has no steps"),
        );
        failure.hint(format!("wf show {short} tells what its checks found"))
    } else {
        let failure = Failure::new(Exit::Usage, "which step? name one after the run");
        failure.hint(format!("wf show {short} lists them"))
    })
}

/// Why the step ran again, if its run repeats another.
fn again(reader: &Reader, found: &Found) -> Result<Option<String>, Failure> {
    let past = past_below(reader, &found.run)?;
    let fate = past.as_ref().and_then(|past| past.fate(&found.place.step));
    Ok(match fate {
        Some(Fate::Again(again)) => Some(again.why.to_string()),
        _ => None,
    })
}

/// The run that a run is part of, however deep.
fn top(reader: &Reader, run: &RunId) -> Result<RunId, Failure> {
    let mut top = run.clone();
    while let Some((above, _)) = reader.run(&top)?.parent {
        top = above;
    }
    Ok(top)
}

fn cache(reader: &Reader, record: &Record, found: &Found) -> Result<Option<CacheStory>, Failure> {
    let step = &found.place.step;
    let own = |row: &&crate::store::StepRow| row.step == *step && row.item == found.place.item;
    let row = record.steps.iter().find(own);
    let key = row.and_then(|row| row.item_key.as_deref());
    let Some((hit, parts)) = reader.cache_parts(&found.run, step, key)? else {
        return Ok(None);
    };
    let plan = crate::name::PlanId::parse(&record.run.plan);
    let earlier = match plan {
        Ok(plan) if !hit => reader.last_cache_parts(&plan, step, key, &found.run)?,
        _ => None,
    };
    let used = row.and_then(|row| row.cached.as_deref());
    let used = match used.and_then(|used| used.parse().ok()) {
        Some(used) => reader.cache_get(&used)?,
        None => None,
    };
    Ok(Some(CacheStory {
        reuses: !Begun::recorded(&reader.config(&top(reader, &found.run)?)?).no_cache,
        hit,
        from: used.map(|entry| entry.run),
        changes: earlier
            .as_ref()
            .map(|(_, old)| changes(old, &parts))
            .unwrap_or_default(),
        refused: refused(&parts).map(str::to_owned),
        against: earlier.map(|(run, _)| run),
    }))
}

/// What changed since another run asked the cache; if nothing did, why that run left no result.
fn changes(old: &serde_json::Value, new: &serde_json::Value) -> Vec<String> {
    match differences(old, new) {
        none if none.is_empty() => refused(old).map(str::to_owned).into_iter().collect(),
        changes => changes,
    }
}
