//! What an author wrote, typed, with the place of everything that can be wrong.
//!
//! One file for each thing. Each mapping is declared once, by `record!`.

mod cache;
mod check;
mod classify;
mod dag;
mod expect;
mod http;
mod matrix;
mod param;
mod plan;
mod policy;
mod repeat;
mod retry;
mod sandbox;
mod secret;
mod shell;
mod sound;
mod step;
mod wait;

pub use cache::Cache;
pub use check::Check;
pub use classify::{Blame, ClassRule};
pub use dag::{Dag, DagPolicy, Node};
pub use expect::{Expect, JsonExpect};
pub use http::{Http, HttpExpect, Method};
pub use matrix::{MAX_COMBINATIONS, Matrix};
pub use param::{Param, PlanOutput};
pub use plan::{DagKind, Plan, PlanKind};
pub use policy::Policy;
pub use repeat::ForEach;
pub use retry::Retry;
pub use sandbox::{Allow, CheckAllow, Limits};
pub use secret::{Secret, SecretFrom};
pub use shell::{Shell, ShellWord};
pub use step::Step;
pub use wait::Wait;
