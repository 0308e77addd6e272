use clap::Args;
use serde_json::json;

use crate::cli::execute::followed;
use crate::cli::given::{approval, secrets_given};
use crate::cli::which::{Found, find};
use crate::cli::{Exit, Failure, RunArg, Ui, load};
use crate::diag::nearest;
use crate::engine::{self, Again, Finding, RunRef};
use crate::machine::{Event, Fact, Place};
use crate::name::{RunId, Subject};
use crate::report::Names;
use crate::report::follow::Several;
use crate::report::record::{findings, hold};
use crate::store::Reader;

/// How deep nested runs are looked at; deeper ones cannot be made.
const DEPTH: usize = 32;

#[derive(Args, Debug)]
#[command(after_help = "\
Looks at every result that was checked: whether its files are what they were, whether the files of
its checks are what they were when the run began, and what its checks say now. At any time, also
while the run goes on or long after it. Nothing is recorded.

Ends with 0 if something passed its checks then, and all of that passes now and is fresh.

Examples:
  wf verify --last                  the latest run
  wf verify 1a2b --step build       one step
  wf verify 1a2b --step 'test[2]'   one item
  wf verify 1a2b --json             for a program")]
pub struct VerifyArgs {
    #[command(flatten)]
    run: RunArg,
    /// Only this step or item: `build`, `test[2]` or `outer/inner`
    #[arg(long, value_name = "STEP")]
    step: Option<String>,
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// Checks the results of a run again.
pub fn run(ui: &Ui, args: &VerifyArgs) -> Result<Exit, Failure> {
    let reader = Reader::from_whole_log(&ui.workspace().state)?;
    let run = args.run.resolve(&reader)?;
    let found = match &args.step {
        Some(step) => Some(chosen(step, &run, &reader)?),
        None => None,
    };
    let (run, only) = match found {
        Some(Found { run, place, .. }) => (run, Some(place)),
        None => (run, None),
    };
    let top = outermost(&reader, &run)?;
    let ready = load::snapshot(ui, &reader, &top)?;
    let events = reader.events(&top, 0)?;
    let runs = below(ui, &reader, (&run, only), DEPTH)?;
    known(&runs)?;
    let names = names(&reader, &top, &runs)?;
    // Where no check runs, nothing is printed but names and digests.
    let given = if runs.iter().any(was_judged) {
        secrets_given(&reader, &top, &ready.plan)?
    } else {
        Vec::new()
    };
    let approved = approval(&reader, &top)?;
    drop(reader);
    let session = followed(ui, &ready, false, Box::new(Several::default()))?;
    engine::recover(&session, (&ready.plan, approved.as_ref()), given)?;
    let outermost = engine::Outermost {
        run: &top,
        plan: &ready.plan,
        events: &events,
    };
    let all = engine::verify(&session, &outermost, runs)?;
    if args.json {
        ui.print_json(&document(&run, &all))?;
    } else {
        ui.print(&findings(&all, &names))?;
    }
    Ok(if hold(&all) {
        Exit::Ok
    } else {
        Exit::RunFailed
    })
}

fn was_judged(again: &Again) -> bool {
    let mut facts = again.events.iter().map(|(_, event)| &event.fact);
    facts.any(|fact| matches!(fact, Fact::CriterionJudged { .. } | Fact::StepKept { .. }))
}

fn chosen(step: &str, run: &RunId, reader: &Reader) -> Result<Found, Failure> {
    let subject = step.parse::<Subject>();
    let subject = subject.map_err(|error| Failure::new(Exit::Usage, error.to_string()))?;
    find(run.clone(), &subject, reader)
}

/// Refuses a step that the plan does not have.
fn known(runs: &[Again]) -> Result<(), Failure> {
    let Some(Again {
        only: Some(place),
        plan,
        ..
    }) = runs.first()
    else {
        return Ok(());
    };
    if plan.find(place.step.as_str()).is_some() {
        return Ok(());
    }
    let message = format!("the plan `{}` has no step `{}`", plan.id(), place.step);
    let steps = plan.steps().iter().map(|step| step.id.as_str());
    let failure = Failure::new(Exit::Usage, message);
    Err(match nearest(place.step.as_str(), steps) {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None => failure,
    })
}

/// The run that a run is part of.
fn outermost(reader: &Reader, run: &RunId) -> Result<RunId, Failure> {
    let mut top = run.clone();
    while let Some((above, _)) = reader.run(&top)?.parent {
        top = above;
    }
    Ok(top)
}

/// The steps above a run, outermost first.
fn path(reader: &Reader, run: &RunId) -> Result<Vec<String>, Failure> {
    let mut path = Vec::new();
    let mut at = run.clone();
    while let Some((above, attempt)) = reader.run(&at)?.parent {
        path.insert(0, place_of(&attempt).to_owned());
        at = above;
    }
    Ok(path)
}

/// The names of the items of runs, and of those that they are part of.
fn names(reader: &Reader, top: &RunId, runs: &[Again]) -> Result<Names, Failure> {
    let mut names = Names::default();
    for again in runs {
        let mut note = |run: &RunRef, events: &[(u64, Event)]| {
            for (_, event) in events {
                names.note(run, event);
            }
        };
        note(&again.run, &again.events);
        let mut at = again.run.id.clone();
        while at != *top
            && let Some((above, _)) = reader.run(&at)?.parent
        {
            let run = RunRef {
                id: above.clone(),
                path: path(reader, &above)?,
                ..again.run.clone()
            };
            note(&run, &reader.events(&above, 0)?);
            at = above;
        }
    }
    Ok(names)
}

fn place_of(attempt: &str) -> &str {
    attempt.rsplit_once('#').map_or(attempt, |(place, _)| place)
}

/// A run and those that are nested in the last attempts of its steps.
fn below(
    ui: &Ui,
    reader: &Reader,
    (run, only): (&RunId, Option<Place>),
    depth: usize,
) -> Result<Vec<Again>, Failure> {
    let plan = load::recorded(ui, reader, run)?;
    let children = reader.children(run)?;
    let mut all = vec![Again {
        run: RunRef {
            id: run.clone(),
            plan: plan.id().clone(),
            path: path(reader, run)?,
        },
        plan,
        params: reader.run(run)?.params,
        events: reader.events(run, 0)?,
        only: only.clone(),
    }];
    let last = |(at, attempt): (usize, &str)| {
        let mut later = children.iter().skip(at + 1);
        !later.any(|(_, other)| place_of(other) == place_of(attempt))
    };
    for (at, (child, attempt)) in children.iter().enumerate() {
        let wanted = only
            .as_ref()
            .is_none_or(|only| only.to_string() == place_of(attempt));
        if depth > 0 && wanted && last((at, attempt)) {
            all.extend(below(ui, reader, (child, None), depth - 1)?);
        }
    }
    Ok(all)
}

fn document(run: &RunId, all: &[Finding]) -> String {
    let document = json!({ "v": 1, "run": run, "holds": hold(all), "results": all });
    serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
}
