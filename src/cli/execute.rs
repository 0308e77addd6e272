use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use super::approve::{Posed, Rules, posed};
use super::goals::FOLDERS;
use super::load::Ready;
use super::watch::{Watched, watch};
use super::{Exit, Failure, Ui, Workspace, keep, load_record, normal, relative};
use crate::bus::{Act, Bound, Message};
use crate::cli::workspace::{APPROVERS, CONFIG};
use crate::config;
use crate::engine::{EngineError, Finished, Ground, Observer, Question, Session};
use crate::exec::log;
use crate::exec::manifest::{Excluded, Manifest};
use crate::exec::sandbox::Around;
use crate::exec::view::family;
use crate::machine::{Attempt, Outcome};
use crate::name::RunId;
use crate::report::follow::{
    Actions, Board, JsonLines, Live, Next, Plain, Screen, Several, Volume,
};
use crate::report::record::{Record, junit, summary};
use crate::report::{NAME, WARN, paint};
use crate::skill::lock::LOCK;
use crate::spec::GATES;
use crate::store::{Durability, Folder, Reader, Retention, Store, StoreError};

/// Where git keeps a repository, or says where it is.
const REPOSITORY: &str = ".git";

/// How many of the last lines of an attempt a report shows.
const LINES: usize = 50;

/// How a run is told, and to whom.
#[derive(Args, Clone, Debug, Default)]
pub struct Telling {
    /// Write every event as a line of JSON
    #[arg(long)]
    pub json: bool,
    /// Write a JUnit report
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Write a JSON report
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Stay while the run waits for people, instead of leaving with exit code 5
    #[arg(long)]
    pub wait: bool,
}

/// Opens what a run needs.
pub fn session(ui: &Ui, ready: &Ready, telling: &Telling) -> Result<Watched, Failure> {
    followed(ui, ready, telling.wait, observer(ui, ready, telling))
}

/// Opens what a run needs, and lets somebody follow it.
pub fn followed(
    ui: &Ui,
    ready: &Ready,
    stays: bool,
    observer: Box<dyn Observer + Send>,
) -> Result<Watched, Failure> {
    Folder::new(&ready.workspace.state).may_be_written()?;
    // Started first: it gets ready while the database is opened.
    let hands = keep::hands(ui, &ready.workspace.state)?;
    let store = store(ui, ready)?;
    let watch = watch(ui, ready)?;
    let session = Session::new(Ground {
        store,
        clock: ui.env.clock(),
        root: ready.workspace.root.clone(),
        host: ui.env.host(),
        pass: ready.config.env_pass.clone(),
        log_limit: ready.config.logs.max_bytes,
        hands,
        around: around(ui, &ready.config.sandbox, &ready.workspace, control(ready)?),
        approvers: Rules::of(ui, &ready.workspace)?.approvers,
        reuses: !ready.begun.no_cache,
        stays,
        bus: watch.bus.clone(),
        observer,
    });
    Ok(Watched { session, watch })
}

/// Opens the state of a workspace for writing.
pub fn store(ui: &Ui, ready: &Ready) -> Result<Store, Failure> {
    let (state, clock) = (&ready.workspace.state, ui.env.clock());
    let lease = ui.env.lease()?;
    Ok(Store::open_with_lease(
        state,
        durability(ready),
        clock,
        lease,
    )?)
}

/// The files of the workspace that decide over wf: what it is configured by, what it may take from
/// the workspace by a known name, the texts of a plan, and the repositories that lie in it.
fn control(ready: &Ready) -> Result<Vec<String>, Failure> {
    let known = [CONFIG, APPROVERS, LOCK, GATES, REPOSITORY].into_iter();
    let known = known.chain(FOLDERS).map(str::to_owned);
    let texts = ready.sources.iter().map(|(name, _)| name.clone());
    let mut files: Vec<String> = known.chain(texts).collect();
    files.extend(repositories(ready)?);
    files.retain(|file| Path::new(file).is_relative());
    files.sort();
    files.dedup();
    Ok(files)
}

/// The repositories below the workspace, where a step may write a folder that one could lie in. What a step makes
/// later is its own.
fn repositories(ready: &Ready) -> Result<Vec<String>, Failure> {
    let plans = family(&ready.plan).into_iter();
    let steps = plans.flat_map(|plan| plan.steps());
    let mut ways = steps.flat_map(|step| (0..step.ways()).filter_map(|way| step.way(way)));
    if !ways.any(|way| {
        way.allow
            .as_ref()
            .is_some_and(|allow| !allow.write.is_empty())
    }) {
        return Ok(Vec::new());
    }
    let apart = Excluded::new([ready.workspace.state.as_path()]);
    let files = Manifest::of(&ready.workspace.root, &apart);
    let files = files.map_err(|unable| Failure::new(Exit::Usage, unable.why))?;
    let found = files.named(OsStr::new(REPOSITORY)).into_iter();
    let found = found.map(|path| {
        path.into_os_string().into_string().map_err(|path| {
            let shown = path.display();
            Failure::new(
                Exit::Usage,
                format!("`{shown}` is a repository whose path is no text"),
            )
            .hint("rename its folder: steps that may write there could not be kept from it")
        })
    });
    found.collect()
}

/// What confines checks and steps, as a configuration says it; `None`: nothing.
pub fn around(
    ui: &Ui,
    config: &config::Sandbox,
    workspace: &Workspace,
    control: Vec<String>,
) -> Option<Arc<Around>> {
    let around = || {
        Around::new(
            &workspace.root,
            &workspace.state,
            &ui.env.host(),
            &config.read,
        )
        .with_control(control)
    };
    config.on.then(|| Arc::new(around()))
}

/// What the record of a run survives: as it was begun, else as the configuration says.
fn durability(ready: &Ready) -> Durability {
    ready
        .begun
        .durability
        .unwrap_or(match ready.config.durability {
            config::Durability::Full => Durability::Full,
            config::Durability::Normal => Durability::Normal,
        })
}

fn observer(ui: &Ui, ready: &Ready, telling: &Telling) -> Box<dyn Observer + Send> {
    let mut all = Several::default();
    let next = Next::of(&ready.path, ready.begun.part.is_some());
    let board = Board::of(next, ready.begun.worked);
    let board = board.without_sandbox(!ready.config.sandbox.on);
    if telling.json {
        all.add(JsonLines::new(std::io::stdout()));
    } else if is_live(ui) {
        let (width, height) = ui.env.size;
        let screen = Screen {
            width,
            height,
            color: ui.colors(),
            steps: ready.plan.steps().len(),
        };
        all.add(Live::new(
            std::io::stdout(),
            screen,
            (ui.volume, board),
            ui.env.clock(),
        ));
    } else {
        all.add(Plain::new(ui.out(), ui.volume, board));
    }
    if ui.env.in_actions() {
        let sites = ready.sites.clone();
        all.add(Actions::new(std::io::stderr(), ready.path.clone(), sites));
    }
    Box::new(all)
}

fn is_live(ui: &Ui) -> bool {
    let watched = ui.env.terminal && ui.volume != Volume::Quiet;
    watched && ui.env.var("CI").is_none() && ui.env.var("TERM") != Some("dumb")
}

/// Writes what was asked for about a run that ended, and says how it went.
pub fn finish(
    ui: &Ui,
    ready: &Ready,
    session: &Session,
    finished: Result<Finished, EngineError>,
    telling: &Telling,
) -> Result<Exit, Failure> {
    let finished = match finished {
        Err(EngineError::Parked { run, questions }) => {
            waiting(ui, &ready.workspace.state, &run, &questions)?;
            return Ok(Exit::Waiting);
        }
        other => other?,
    };
    let wants_summary = ui.env.in_actions() && ui.env.var("GITHUB_STEP_SUMMARY").is_some();
    if telling.junit.is_some() || telling.report.is_some() || wants_summary {
        let reader = Reader::open(&ready.workspace.state)?;
        let folder = Folder::new(&ready.workspace.state);
        write_reports(ui, &load_record(&reader, &finished.run)?, &folder, telling)?;
    }
    match finished.outcome {
        // A reader that went away is no failure; events that nobody could write are one.
        Outcome::Succeeded => match session.lost() {
            Some(error) => Err(error.into()),
            None if finished.accepted.is_some() => Ok(Exit::Accepted),
            None => Ok(Exit::Ok),
        },
        Outcome::Failed | Outcome::Abandoned => Ok(Exit::RunFailed),
        Outcome::Cancelled => Ok(Exit::Interrupted),
    }
}

/// Whether another run took the use of an approval that was counted as the next, and there are more:
/// nothing was begun, and to count again may find one.
pub fn outrun(finished: &Result<Finished, EngineError>) -> bool {
    let Err(EngineError::Store(StoreError::UsedUp {
        execution,
        executions,
    })) = finished
    else {
        return false;
    };
    execution < executions
}

/// Says what a run waits for, and what to do about it.
fn waiting(ui: &Ui, state: &Path, top: &RunId, questions: &[Question]) -> Result<(), Failure> {
    let (hint, short) = (paint(NAME, "hint:"), top.short());
    let names = posed(&Reader::open(state)?, top)?;
    for Question { run, ask } in questions {
        let time = crate::time::format_duration(ask.expires.since(ask.since));
        let own = |posed: &&Posed| posed.run == run.id && posed.ask.number == ask.number;
        let name = match names.iter().find(own).map(Posed::name).as_deref() {
            None | Some("run") => format!("run {short}"),
            Some(path) => format!("`{path}` of run {short}"),
        };
        let message = &ask.message;
        ui.say_line(&format!(
            "{name} waits for an approval, at most {time}: {message}"
        ));
    }
    let step = if questions.len() > 1 { " STEP" } else { "" };
    ui.say_line(&format!(
        "{hint} wf approve {short}{step}, or wf deny {short}{step} --reason WHY; then wf resume {short}"
    ));
    Ok(())
}

/// Forgets the runs that the configuration keeps no longer. A run went as it went, even if this
/// fails.
pub fn prune(ui: &Ui, session: &Watched, ready: &Ready) {
    let keep = Retention {
        max_age: ready.config.retention.max_age,
        max_runs: ready.config.retention.max_runs.map(|runs| runs as usize),
    };
    let wanted = keep.max_age.is_some() || keep.max_runs.is_some();
    if !wanted {
        return;
    }
    match session.store.prune(keep, ui.env.now()) {
        Ok(pruned) if pruned.runs > 0 => {
            let runs = pruned.runs as u64;
            let db = pruned.place.map(|place| Bound {
                seq: place.seq,
                hash: place.hash,
            });
            session.publish(Message::act(ui.env.now(), Act::Pruned { runs, db }));
        }
        Ok(_) => {}
        Err(error) => not_pruned(ui, &error),
    }
}

fn not_pruned(ui: &Ui, error: &StoreError) {
    let (warning, hint) = (paint(WARN, "warning:"), paint(NAME, "hint:"));
    let remedy = error.remedy();
    ui.say(&format!(
        "{warning} old runs are not forgotten: {error}\n{hint} {remedy}\n"
    ));
}

fn write_reports(
    ui: &Ui,
    record: &Record,
    folder: &Folder,
    telling: &Telling,
) -> Result<(), Failure> {
    if let Some(path) = &telling.junit {
        let printed = |run: &RunId, attempt: &Attempt| {
            log::tail(&log::path(&folder.run(run), attempt), LINES).unwrap_or_default()
        };
        write(ui, path, &junit(record, &printed))?;
    }
    if let Some(path) = &telling.report {
        write(ui, path, &record.json())?;
    }
    match ui.env.var("GITHUB_STEP_SUMMARY") {
        Some(path) if ui.env.in_actions() => append(path.as_ref(), &summary(record)),
        _ => Ok(()),
    }
}

fn write(ui: &Ui, path: &Path, text: &str) -> Result<(), Failure> {
    let path = normal(&ui.env.cwd().join(path));
    let made = path.parent().map_or(Ok(()), fs::create_dir_all);
    made.and_then(|()| fs::write(&path, text)).map_err(|error| {
        let shown = relative(&path, ui.env.cwd());
        Failure::new(
            Exit::Usage,
            format!("cannot write the report {shown}: {error}"),
        )
    })
}

fn append(path: &Path, text: &str) -> Result<(), Failure> {
    let file = OpenOptions::new().append(true).create(true).open(path);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| {
        Failure::new(
            Exit::Usage,
            format!("cannot write the step summary: {error}"),
        )
    })
}
