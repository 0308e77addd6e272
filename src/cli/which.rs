use clap::Args;

use super::{Exit, Failure};
use crate::machine::Place;
use crate::name::{RunId, Spot, Subject};
use crate::store::{Reader, StoreError};

/// A run: by the beginning of its id, or the last one.
#[derive(Args, Clone, Debug)]
pub struct RunArg {
    /// The run, by as much of its id as is unique
    #[arg(value_name = "RUN", required_unless_present = "last")]
    run: Option<String>,
    /// The latest run
    #[arg(long, conflicts_with = "run")]
    last: bool,
}

/// A run and perhaps a step of it.
#[derive(Args, Clone, Debug)]
pub struct StepArg {
    /// The run, by as much of its id as is unique (not with --last), and the step: `build`,
    /// `fetch[2]`, `fetch[eu]#3` or `outer/inner`
    #[arg(value_names = ["RUN", "STEP"], num_args = 0..=2)]
    names: Vec<String>,
    /// The latest run
    #[arg(long)]
    last: bool,
}

/// A run and perhaps the step of it that asks people something.
#[derive(Args, Clone, Debug)]
pub struct AskArg {
    /// The run, by as much of its id as is unique (not with --last), and the step that asks, if
    /// several do; `run` is the run itself
    #[arg(value_names = ["RUN", "STEP"], num_args = 0..=2)]
    names: Vec<String>,
    /// The latest run
    #[arg(long)]
    last: bool,
}

/// A step of a run, found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The run that the step belongs to; a nested one if it was named so.
    pub run: RunId,
    /// The step or item.
    pub place: Place,
    /// Which attempt, if one was named.
    pub attempt: Option<u32>,
}

impl RunArg {
    /// A run that is named.
    pub fn of(name: &str) -> Self {
        Self {
            run: Some(name.to_owned()),
            last: false,
        }
    }

    /// The run that is meant.
    pub fn resolve(&self, reader: &Reader) -> Result<RunId, Failure> {
        named(self.run.as_deref(), reader)
    }
}

impl StepArg {
    /// The run that is meant, and the step as named.
    pub fn resolve(&self, reader: &Reader) -> Result<(RunId, Option<Subject>), Failure> {
        let (run, step) = split(self.last, &self.names)?;
        let subject = step.map(str::parse::<Subject>).transpose();
        let subject = subject.map_err(|error| usage(&error.to_string()))?;
        Ok((named(run, reader)?, subject))
    }
}

impl AskArg {
    /// The run that is meant, and the step as named.
    pub fn resolve(&self, reader: &Reader) -> Result<(RunId, Option<&str>), Failure> {
        let (run, step) = split(self.last, &self.names)?;
        Ok((named(run, reader)?, step))
    }
}

/// A run, `None` if it is the latest one, and a step.
type Named<'a> = (Option<&'a str>, Option<&'a str>);

/// What positional arguments name: with `--last`, the first is the step.
pub fn split(last: bool, names: &[String]) -> Result<Named<'_>, Failure> {
    match (last, names) {
        (true, []) => Ok((None, None)),
        (true, [step]) => Ok((None, Some(step))),
        (false, [run]) => Ok((Some(run), None)),
        (false, [run, step]) => Ok((Some(run), Some(step))),
        (true, _) => Err(usage("--last stands in place of RUN; give one of them")),
        (false, _) => Err(usage("which run? give the beginning of its id, or --last")),
    }
}

fn usage(message: &str) -> Failure {
    Failure::new(Exit::Usage, message)
}

/// The run whose id begins with this, or the latest one.
pub fn named(prefix: Option<&str>, reader: &Reader) -> Result<RunId, Failure> {
    match prefix {
        Some(prefix) => Ok(reader.find_run(prefix)?),
        None => Ok(reader.last_run()?),
    }
}

/// A place of a run as people are shown it.
pub fn called(reader: &Reader, run: &RunId, place: &Place) -> Result<String, StoreError> {
    if place.item.is_none() {
        return Ok(place.to_string());
    }
    let rows = reader.steps(run)?;
    let own = rows
        .iter()
        .find(|row| row.step == place.step && row.item == place.item);
    Ok(place.called(own.and_then(|row| row.item_key.as_deref())))
}

/// A place of a run as people are shown it, by its text. Of a run that is forgotten nobody knows what
/// its items were called: their numbers stay.
pub fn called_text(reader: Option<&Reader>, run: &RunId, place: &str) -> String {
    let known = reader.zip(place.parse::<Place>().ok());
    let called = known.and_then(|(reader, place)| called(reader, run, &place).ok());
    called.unwrap_or_else(|| place.to_owned())
}

/// An attempt of a run as people are shown it, by its text: `build[linux]#2`.
pub fn called_attempt(reader: &Reader, run: &RunId, attempt: &str) -> Result<String, StoreError> {
    let (place, number) = attempt.rsplit_once('#').unwrap_or((attempt, ""));
    let shown = match place.parse::<Place>() {
        Ok(place) => called(reader, run, &place)?,
        Err(_) => place.to_owned(),
    };
    Ok(if number.is_empty() {
        shown
    } else {
        format!("{shown}#{number}")
    })
}

/// Finds a step below a run, in nested runs where it is named so.
pub fn find(run: RunId, subject: &Subject, reader: &Reader) -> Result<Found, Failure> {
    let mut run = run;
    for spot in &subject.above {
        run = nested(&run, &place(&run, spot, reader)?, reader)?;
    }
    Ok(Found {
        place: place(&run, &subject.spot, reader)?,
        run,
        attempt: subject.attempt,
    })
}

/// The last run nested in a place.
fn nested(run: &RunId, place: &Place, reader: &Reader) -> Result<RunId, Failure> {
    let name = place.to_string();
    let of = |attempt: &str| {
        attempt
            .rsplit_once('#')
            .is_some_and(|(place, _)| place == name)
    };
    let children = reader.children(run)?;
    let found = children.into_iter().rfind(|(_, attempt)| of(attempt));
    let none = || {
        usage(&format!(
            "no run is nested in `{name}` of run {}",
            run.short()
        ))
    };
    found.map(|(child, _)| child).ok_or_else(none)
}

/// A place by its step and the number or key of its item.
fn place(run: &RunId, spot: &Spot, reader: &Reader) -> Result<Place, Failure> {
    let Some(item) = &spot.item else {
        return Ok(Place::of(&spot.step));
    };
    let steps = reader.steps(run)?;
    let own = steps.iter().filter(|row| row.step == spot.step);
    let by_key = own
        .filter(|row| row.item_key.as_ref() == Some(item))
        .find_map(|row| row.item);
    // What is shown is what is meant: a key comes before a number.
    let found = by_key.or_else(|| item.parse().ok());
    let none = || usage(&format!("`{}` has no item `{item}`", spot.step));
    Ok(Place {
        step: spot.step.clone(),
        item: Some(found.ok_or_else(none)?),
    })
}
