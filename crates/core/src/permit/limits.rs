use wf_base::keywords;

/// The number of steps that execute at once in a workspace. An absent limit is unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ParallelLimits {
    /// Of all runs.
    pub in_workspace: Option<u32>,
    /// Of the runs of one session, or of one outermost run without a session.
    pub in_session: Option<u32>,
    /// Of one outermost run, with those nested in it.
    pub in_run: Option<u32>,
}

keywords! {
    /// A limit, as `wf.yaml` names it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ParallelLimit {
        /// That of the workspace.
        Workspace = "max_parallel",
        /// That of each session.
        Session = "max_parallel_per_session",
        /// That of each outermost run.
        Run = "max_parallel_per_run",
    }
}

impl ParallelLimits {
    /// True if nothing is limited.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    pub fn value(&self, limit: ParallelLimit) -> Option<u32> {
        match limit {
            ParallelLimit::Workspace => self.in_workspace,
            ParallelLimit::Session => self.in_session,
            ParallelLimit::Run => self.in_run,
        }
    }
}
