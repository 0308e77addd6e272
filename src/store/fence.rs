use crate::name::RunId;

/// The right to work on a run, given back when dropped.
#[derive(Debug)]
pub struct Fence {
    run: RunId,
}

impl Fence {
    /// The run.
    pub fn run(&self) -> &RunId {
        &self.run
    }
}
