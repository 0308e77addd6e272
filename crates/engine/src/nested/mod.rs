//! Runs inside a run: the plan a step uses, a plan the run made, and the child runs of agents.
//!
//! A nested run is a run like any other, with the session, the ownership and the budget of the one around it. It has a
//! loop of its own, so `running` names the room `dispatch` above it: a run nests as deep as its plan does.
//! **Invariant:** the same attempt always has the same nested run, so an interrupted one is resumed.
//!
//! Start at `plan_run`, then `running`; `generated` reads a plan the run made, `children` are the runs an agent starts.

pub(crate) mod children;
pub(crate) mod generated;
pub(crate) mod plan_run;
pub(crate) mod running;
