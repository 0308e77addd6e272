use std::path::PathBuf;

use clap::Args;

use super::Ui;
use wf_app::{CliExitCode, CommandError, load::LoadedPlan, normalize_path, replay::write_recording};
use wf_base::name::RunId;
use wf_engine::{Cassette, CassetteError, EngineSession};

/// The options for recording the exchanges with models, and for repeating a run from them.
#[derive(Args, Clone, Debug, Default)]
pub struct CassetteArgs {
    /// Record all exchanges with models in this directory
    #[arg(long, value_name = "DIR", conflicts_with = "replay")]
    record: Option<PathBuf>,
    /// Answer all calls of models from a recording; no provider is called
    #[arg(long, value_name = "DIR")]
    replay: Option<PathBuf>,
}

impl CassetteArgs {
    /// Opens the user's cassette for something new; `None`: none.
    pub fn open_new(&self, ui: &Ui) -> Result<Option<Cassette>, CommandError> {
        self.open(ui, Cassette::create)
    }

    /// Lets the models of a new run be recorded or answered as the user wants.
    pub fn apply_to_new_run(&self, ui: &Ui, session: &EngineSession) -> Result<(), CommandError> {
        self.open_new(ui).map(|cassette| use_cassette(session, cassette))
    }

    /// Lets the models of a resumed run be recorded, in addition to the recording, or answered.
    pub fn apply_to_resumed_run(&self, ui: &Ui, session: &EngineSession) -> Result<(), CommandError> {
        self.open(ui, Cassette::extend).map(|cassette| use_cassette(session, cassette))
    }

    /// Completes a recording with the ended run.
    pub fn complete(&self, ui: &Ui, loaded: &LoadedPlan, run: &RunId) -> Result<(), CommandError> {
        let Some(dir) = &self.record else {
            return Ok(());
        };
        let folder = normalize_path(&ui.host.cwd().join(dir));
        write_recording(&folder, &loaded.workspace, run)
    }

    fn open(
        &self,
        ui: &Ui,
        record: impl Fn(&std::path::Path) -> Result<Cassette, CassetteError>,
    ) -> Result<Option<Cassette>, CommandError> {
        let place = |dir: &PathBuf| normalize_path(&ui.host.cwd().join(dir));
        let cassette = match (&self.record, &self.replay) {
            (Some(dir), _) => record(&place(dir)),
            (None, Some(dir)) => Cassette::open(&place(dir)),
            (None, None) => return Ok(None),
        };
        cassette.map(Some).map_err(|error| {
            let command_error = CommandError::new(CliExitCode::Usage, error.to_string());
            match error {
                CassetteError::Used(_) => command_error
                    .hint("name a new directory, or remove the recordings: one belongs to one run"),
                CassetteError::NoFolder { .. } => {
                    command_error.hint("make a recording: wf run PLAN --record DIR")
                }
                _ => command_error,
            }
        })
    }
}

fn use_cassette(session: &EngineSession, cassette: Option<Cassette>) {
    if let Some(cassette) = cassette {
        session.use_cassette(cassette);
    }
}
