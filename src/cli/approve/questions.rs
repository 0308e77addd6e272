use crate::cli::{Exit, Failure};
use crate::machine::{Ask, Decision, Event, Fact, Given};
use crate::name::RunId;
use crate::store::{Reader, StoreError};

/// A question of a run, and what became of it.
#[derive(Clone, Debug)]
pub struct Posed {
    /// The run that asks: the one that was named, or one nested in it.
    pub run: RunId,
    /// The places above it, if it is nested.
    pub path: Vec<String>,
    /// What is asked.
    pub ask: Ask,
    /// What became of it; `None`: it is open.
    pub given: Option<Given>,
}

/// Every question of a run and of those nested in it, in order.
pub fn posed(reader: &Reader, run: &RunId) -> Result<Vec<Posed>, StoreError> {
    below(reader, run, &[])
}

fn below(reader: &Reader, run: &RunId, path: &[String]) -> Result<Vec<Posed>, StoreError> {
    let events = reader.events(run, 0)?;
    let mut found = of((run, path), events.iter().map(|(_, event)| event));
    for (child, attempt) in reader.children(run)? {
        let place = attempt.split('#').next().unwrap_or(&attempt).to_owned();
        let path: Vec<String> = path.iter().cloned().chain([place]).collect();
        found.extend(below(reader, &child, &path)?);
    }
    Ok(found)
}

fn of<'a>((run, path): (&RunId, &[String]), events: impl Iterator<Item = &'a Event>) -> Vec<Posed> {
    let mut found: Vec<Posed> = Vec::new();
    for event in events {
        match &event.fact {
            Fact::ApprovalAsked(ask) => found.push(Posed {
                run: run.clone(),
                path: path.to_vec(),
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
        let place = self.ask.place.as_ref().map(ToString::to_string);
        let path: Vec<String> = self.path.iter().cloned().chain(place).collect();
        if path.is_empty() {
            "run".to_owned()
        } else {
            path.join("/")
        }
    }
}

/// The one question that is meant: the only open one, or that of a step.
pub fn open(run: &RunId, all: Vec<Posed>, step: Option<&str>) -> Result<Posed, Failure> {
    let short = run.short();
    let meant = |posed: &Posed| step.is_none_or(|step| posed.name() == step);
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
            let failure = Failure::new(Exit::Usage, message);
            Err(failure.hint(format!("name the step: wf approve {short} {}", names[0])))
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
