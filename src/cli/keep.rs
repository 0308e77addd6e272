//! The hidden command that is the keeper of a run's processes, and how it is started.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use super::env::FOR_TESTS;
use super::{Env, Exit, Failure, Ui};
use crate::exec::Hands;
use crate::exec::keeper::{Keeper, Start, serve};
use crate::store::{Folder, StoreError};

/// The word that makes this program a keeper. It is no command that a person gives.
const WORD: &str = "__keep";

/// This program, whatever became of its file since it was started.
const SELF: &str = "/proc/self/exe";

/// Is a keeper, if the command line says so.
pub fn keeper(args: &[OsString]) -> Option<ExitCode> {
    let [_, word, dir, id] = args else {
        return None;
    };
    if word != WORD {
        return None;
    }
    let served = Env::read_as("keeper").map(|env| {
        let id = id.to_string_lossy();
        serve(Path::new(dir), &id, env.clock())
    });
    Some(match served {
        Ok(Ok(())) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

/// What no other keeper is called: always by chance, even where tests decide the ids of runs.
fn unique() -> Result<String, Failure> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|error| {
        Failure::new(
            Exit::State,
            format!("the system gives no random bytes: {error}"),
        )
    })?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// How this program is started once more.
pub fn program() -> PathBuf {
    if Path::new(SELF).exists() {
        PathBuf::from(SELF)
    } else {
        std::env::current_exe().unwrap_or_default()
    }
}

/// Starts a keeper for the runs of a state folder.
pub fn hands(ui: &Ui, state: &Path) -> Result<Hands, Failure> {
    let folder = Folder::new(state);
    folder.create()?;
    let program = program();
    let start = Start {
        dir: &folder.keepers(),
        id: unique()?,
        program: (&program, &[WORD]),
        env: ui.env.only(&FOR_TESTS),
    };
    let unable =
        |error| StoreError::io("start a process that listens in", &folder.keepers(), &error);
    let keeper = Keeper::start(start).map_err(unable)?;
    Ok(Hands::Keeper(Arc::new(keeper)))
}
