//! The selection of steps to run again, from the command line.

use clap::Args;

use wf_app::retry::StepSelectionNames;

/// The selection of steps to run again besides the unsuccessful ones.
#[derive(Args, Clone, Debug, Default)]
pub struct StepSelectionArgs {
    /// Run this step and all its dependents again
    #[arg(long, value_name = "STEP")]
    from: Vec<String>,
    /// Run this step again, and nothing else that is not selected
    #[arg(long, value_name = "STEP")]
    only: Vec<String>,
    /// Run the dependents of this step again, but not the step
    #[arg(long, value_name = "STEP")]
    downstream: Vec<String>,
    /// Reuse nothing: run every step again
    #[arg(long, conflicts_with_all = ["from", "only", "downstream"])]
    all: bool,
}

impl StepSelectionArgs {
    /// Returns the names given by the user.
    pub fn names(&self) -> StepSelectionNames {
        let Self { from, only, downstream, all } = self.clone();
        StepSelectionNames { all, from, only, downstream }
    }
}
