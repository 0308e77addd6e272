use clap::{Args, ValueEnum};
use serde_json::Value;

use crate::cli::which::called_attempt;
use crate::cli::{Exit, Failure, Ui};
use crate::machine::Outcome;
use crate::name::PlanId;
use crate::report::record::{Life, runs, tell_life};
use crate::store::{Owner, Reader, RunFilter, RunRow, RunState, StoreError};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wf runs                          the latest twenty
  wf runs -n 5 --state-is failed   the latest five that failed
  wf runs --plan nightly --json    for a program")]
pub struct RunsArgs {
    /// How many
    #[arg(short = 'n', long = "limit", value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Only runs of this plan, by its id
    #[arg(long, value_name = "PLAN")]
    plan: Option<String>,
    /// Only runs in this state
    #[arg(long, value_name = "STATE")]
    state_is: Option<State>,
    /// Runs nested in others, too
    #[arg(long)]
    all: bool,
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// The states that a run can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum State {
    /// It has not ended, and does not only wait for people.
    Running,
    /// It waits for people.
    Waiting,
    /// It succeeded.
    Succeeded,
    /// It failed.
    Failed,
    /// It was cancelled.
    Cancelled,
    /// It failed, and the controller had nothing left to try.
    Abandoned,
}

/// Lists runs.
pub fn run(ui: &Ui, args: &RunsArgs) -> Result<Exit, Failure> {
    let state = ui.workspace().state;
    let word = state
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or("");
    if !state.exists() && State::from_str(word, true).is_ok() {
        let message = format!("--state names a folder, and there is no folder {word}");
        let failure = Failure::new(Exit::Usage, message);
        return Err(failure.hint(format!("to see only those runs: --state-is {word}")));
    }
    let filter = filter(args)?;
    let rows = match Reader::open(&ui.workspace().state) {
        Ok(reader) => rows(&reader, args, &filter)?,
        Err(StoreError::NoState(_)) => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    if args.json {
        ui.print_json(&json(&rows))?;
    } else if rows.is_empty() {
        let chosen = args.plan.is_some() || args.state_is.is_some();
        ui.note(if chosen {
            "no such runs\n"
        } else {
            "no runs yet · begin with: wf run PLAN\n"
        });
    } else {
        ui.print(&runs(&rows, ui.env.now()))?;
    }
    Ok(Exit::Ok)
}

fn filter(args: &RunsArgs) -> Result<RunFilter, Failure> {
    let plan = args.plan.as_deref().map(PlanId::parse).transpose();
    let plan = plan.map_err(|error| Failure::new(Exit::Usage, format!("--plan: {error}")))?;
    let state = args.state_is.map(|state| match state {
        State::Running | State::Waiting => RunState::Running,
        State::Succeeded => RunState::Ended(Outcome::Succeeded),
        State::Failed => RunState::Ended(Outcome::Failed),
        State::Cancelled => RunState::Ended(Outcome::Cancelled),
        State::Abandoned => RunState::Ended(Outcome::Abandoned),
    });
    Ok(RunFilter {
        plan,
        state,
        nested: args.all,
    })
}

fn rows(
    reader: &Reader,
    args: &RunsArgs,
    filter: &RunFilter,
) -> Result<Vec<(RunRow, Option<Owner>)>, Failure> {
    let mut rows = Vec::new();
    let going = filter.state == Some(RunState::Running);
    let limit = if going { usize::MAX } else { args.limit };
    for mut row in reader.runs(limit, filter)? {
        if let Some((above, attempt)) = row.parent.as_mut().filter(|_| !args.json) {
            *attempt = called_attempt(reader, above, attempt)?;
        }
        let owner = match row.state {
            RunState::Running => reader.owner(&row.id)?,
            RunState::Ended(_) => None,
        };
        let waits = Life::of(&row, owner) == Life::Waiting;
        if !going || waits == (args.state_is == Some(State::Waiting)) {
            rows.push((row, owner));
        }
    }
    rows.truncate(args.limit);
    Ok(rows)
}

fn json(rows: &[(RunRow, Option<Owner>)]) -> String {
    let runs: Vec<Value> = rows
        .iter()
        .map(|(row, owner)| {
            let mut value = serde_json::to_value(row).unwrap_or_default();
            let life = Value::from(Life::of(row, *owner).as_str());
            tell_life(&mut value, &life);
            if let Some(fields) = value.as_object_mut() {
                fields.insert("life".into(), life);
            }
            value
        })
        .collect();
    let document = serde_json::json!({ "v": 1, "runs": runs });
    serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
}
