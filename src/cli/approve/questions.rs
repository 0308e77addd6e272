use crate::cli::which::called;
use crate::cli::{Exit, Failure};
use crate::machine::{Ask, Decision, Event, Fact, Given, Place};
use crate::name::RunId;
use crate::report::word;
use crate::store::{Reader, StoreError};

/// A question of a run, and what became of it.
#[derive(Clone, Debug)]
pub struct Posed {
    /// The run that asks: the one that was named, or one nested in it.
    pub run: RunId,
    /// The places above it, as people are shown them, if it is nested; the place that asks is the
    /// last.
    pub path: Vec<String>,
    /// The same with items by their numbers.
    numbers: Vec<String>,
    /// What is asked.
    pub ask: Ask,
    /// What became of it; `None`: it is open.
    pub given: Option<Given>,
}

/// Every question of a run and of those nested in it, in order.
pub fn posed(reader: &Reader, run: &RunId) -> Result<Vec<Posed>, StoreError> {
    below(reader, run, &Above::default())
}

/// The places above a run: as people are shown them, and with items by their numbers.
#[derive(Clone, Default)]
struct Above {
    path: Vec<String>,
    numbers: Vec<String>,
}

impl Above {
    fn with(&self, name: String, number: String) -> Self {
        let mut below = self.clone();
        below.path.push(name);
        below.numbers.push(number);
        below
    }
}

fn below(reader: &Reader, run: &RunId, above: &Above) -> Result<Vec<Posed>, StoreError> {
    let events = reader.events(run, 0)?;
    let mut found = of((run, above), events.iter().map(|(_, event)| event));
    for posed in &mut found {
        if let Some(place) = &posed.ask.place {
            posed.path.push(called(reader, run, place)?);
            posed.numbers.push(place.to_string());
        }
    }
    for (child, attempt) in reader.children(run)? {
        let number = attempt
            .split_once('#')
            .map_or(&*attempt, |(place, _)| place);
        let name = match number.parse::<Place>() {
            Ok(place) => called(reader, run, &place)?,
            Err(_) => number.to_owned(),
        };
        let above = above.with(name, number.to_owned());
        found.extend(below(reader, &child, &above)?);
    }
    Ok(found)
}

fn of<'a>((run, above): (&RunId, &Above), events: impl Iterator<Item = &'a Event>) -> Vec<Posed> {
    let mut found: Vec<Posed> = Vec::new();
    for event in events {
        match &event.fact {
            Fact::ApprovalAsked(ask) => found.push(Posed {
                run: run.clone(),
                path: above.path.clone(),
                numbers: above.numbers.clone(),
                ask: (**ask).clone(),
                given: None,
            }),
            Fact::ApprovalAnswered { number, given, .. } => {
                if let Some(posed) = found.iter_mut().find(|posed| posed.ask.number == *number) {
                    posed.given = Some(given.clone());
                }
            }
            _ => {}
        }
    }
    found
}

impl Posed {
    /// What it is called on a command line: the step, after those above it, or `run`.
    pub fn name(&self) -> String {
        if self.path.is_empty() {
            "run".to_owned()
        } else {
            self.path.join("/")
        }
    }

    /// Whether a person means it: items have names and numbers.
    fn is_called(&self, step: &str) -> bool {
        self.name() == step || !self.numbers.is_empty() && self.numbers.join("/") == step
    }
}

/// The one question that is meant: the only open one, or that of a step.
pub fn open(run: &RunId, all: Vec<Posed>, step: Option<&str>) -> Result<Posed, Failure> {
    let short = run.short();
    let meant = |posed: &Posed| step.is_none_or(|step| posed.is_called(step));
    let last = all.iter().rev().find(|posed| meant(posed)).cloned();
    let mut open: Vec<Posed> = all
        .into_iter()
        .filter(|posed| posed.given.is_none() && meant(posed))
        .collect();
    match (open.len(), last) {
        (0, Some(posed)) => Ok(posed),
        (0, None) => {
            let message = match step {
                Some(step) => format!("run {short} asks nothing about `{step}`"),
                None => format!("run {short} asks nobody for anything"),
            };
            let failure = Failure::new(Exit::Usage, message);
            Err(failure.hint(format!("wf show {short} says how far it is")))
        }
        (1, _) => Ok(open.remove(0)),
        _ => {
            let names: Vec<String> = open.iter().map(Posed::name).collect();
            let message = format!("run {short} asks several things: {}", names.join(", "));
            let first = names.first().map_or_else(String::new, |name| word(name));
            let failure = Failure::new(Exit::Usage, message);
            Err(failure.hint(format!("name the step: wf approve {short} {first}")))
        }
    }
}

/// What an answer that comes late is told: the same again is no mistake.
pub fn late(posed: &Posed, given: &Given, wanted: Decision) -> Result<String, Failure> {
    let names: Vec<&str> = given.by.iter().map(|by| by.name.as_str()).collect();
    let by = if names.is_empty() {
        String::new()
    } else {
        format!(" by {}", names.join(", "))
    };
    let (name, word) = (posed.name(), given.decision.as_str());
    let message = format!(
        "`{name}` of run {} was {word}{by} before",
        posed.run.short()
    );
    if given.decision == wanted {
        return Ok(message);
    }
    let failure = Failure::new(Exit::Approval, message);
    Err(failure.hint("a decision stands; `wf cancel RUN` stops the run all the same"))
}
