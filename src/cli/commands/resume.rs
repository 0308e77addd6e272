use clap::Args;

use crate::cli::approve::go_on;
use crate::cli::execute::{Telling, finish, session};
use crate::cli::given::{approval, secrets_given};
use crate::cli::goals::poke;
use crate::cli::lineage::{past, top};
use crate::cli::outdated::warn_of_outdated;
use crate::cli::which::called_attempt;
use crate::cli::{Exit, Failure, RunArg, Ui, load};
use crate::engine;
use crate::machine::Outcome;
use crate::name::RunId;
use crate::report::goal_name;
use crate::store::{Folder, Reader, RunState};

#[derive(Args, Debug)]
#[command(after_help = "\
What is recorded as done is not done again. A step that was running when the engine died is
repeated if it is `idempotent` or its `retry.on` names `interrupted`, and fails otherwise.
To repeat what failed in a run that ended, use `wf retry`.")]
pub struct ResumeArgs {
    #[command(flatten)]
    run: RunArg,
    #[command(flatten)]
    telling: Telling,
}

/// Goes on with a run.
pub fn run(ui: &Ui, args: &ResumeArgs) -> Result<Exit, Failure> {
    let reader = Reader::from_whole_log(&ui.workspace().state)?;
    let run = args.run.resolve(&reader)?;
    let row = reader.run(&run)?;
    if let Some((above, attempt)) = &row.parent {
        let attempt = called_attempt(&reader, above, attempt)?;
        let message = format!("run {} is part of another: {attempt}", run.short());
        let failure = Failure::new(Exit::Usage, message);
        let top = top(&reader, &run)?;
        return Err(failure.hint(format!("wf resume {}", top.short())));
    }
    if let RunState::Ended(outcome) = row.state {
        // Its engine may have died just after the end.
        engine::tidy(&Folder::new(&ui.workspace().state))?;
        let message = format!(
            "run {} has ended already: {}",
            run.short(),
            outcome.as_str()
        );
        let failure = Failure::new(Exit::Usage, message);
        return Err(match (&row.goal, outcome) {
            (Some(_), _) => failure.hint(format!(
                "`wf goal run {}` runs another cycle",
                goal_name(&row.plan, &row.path)
            )),
            (None, Outcome::Succeeded) => failure,
            (None, _) => failure.hint(format!(
                "wf retry {} repeats what did not succeed",
                run.short()
            )),
        });
    }
    let ready = load::snapshot(ui, &reader, &run)?;
    let past = past(&reader, &row, &ready.plan)?;
    go_on(ui, &reader, &run, &ready)?;
    warn_of_outdated(ui, &reader, &run, &ready)?;
    let given = secrets_given(&reader, &run, &ready.plan)?;
    let approved = approval(&reader, &run)?;
    drop(reader);
    let session = session(ui, &ready, &args.telling)?;
    engine::recover(&session, (&ready.plan, approved.as_ref()), given)?;
    let finished = engine::resume(&session, &run, ready.plan.clone(), past);
    let exit = finish(ui, &ready, &session, finished, &args.telling);
    // If it is one of a goal, a daemon brings its cycle to its end.
    poke(&ready.workspace.state);
    exit
}

/// Brings a run that nobody works on to its end.
pub fn cancel_dead(ui: &Ui, run: &RunId) -> Result<Exit, Failure> {
    let reader = Reader::from_whole_log(&ui.workspace().state)?;
    let ready = load::snapshot(ui, &reader, run)?;
    let given = secrets_given(&reader, run, &ready.plan)?;
    let approved = approval(&reader, run)?;
    drop(reader);
    let telling = Telling::default();
    let session = session(ui, &ready, &telling)?;
    engine::recover(&session, (&ready.plan, approved.as_ref()), given)?;
    engine::cancel(&session, run, ready.plan.clone())?;
    poke(&ready.workspace.state);
    Ok(Exit::Ok)
}
