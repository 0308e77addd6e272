//! The declaration of a step, and of each kind of work that it may have.
//!
//! - `step`: the step itself; `alternative`: another way to do it.
//! - `agent`, `dispatch`, `persona`, `persona_file`, `interaction`, `stuck`: an agent.
//! - `approve`, `generated`, `http`, `skill`, `wait`: other work.
//! - `cache`, `lock`, `loops`, `matrix`, `repeat`: settings of a step.
//!
//! **Invariant:** a step has one kind of work, and no key without an effect on it.
//!
//! Start at `step`.

mod agent;
mod alternative;
mod approve;
mod cache;
mod dispatch;
mod generated;
mod http;
mod interaction;
mod lock;
mod loops;
mod matrix;
mod persona;
mod persona_file;
mod repeat;
mod skill;
mod step;
pub(super) mod stuck;
mod wait;

pub use agent::AgentSpec;
pub use alternative::AlternativeSpec;
pub use approve::{AnswerSpec, ApproveSpec, ChoicesSpec};
pub use cache::CacheSpec;
pub use dispatch::DispatchSpec;
pub use generated::{EnvelopeSpec, GeneratedSpec, UsesSpec};
pub use http::{HttpExpectationSpec, HttpMethod, HttpSpec};
pub use interaction::InteractionSpec;
pub use lock::{ConcurrencySpec, LockSpec};
pub use loops::LoopsSpec;
pub use matrix::{MAX_COMBINATIONS, MatrixSpec};
pub use persona::{PersonaSpec, PersonaUse};
pub use persona_file::PersonaFileSpec;
pub use repeat::ForEachSpec;
pub use skill::{
    ConnectionPermissions, DryRunSpec, ScriptArg, SkillArgs, SkillConnection, SkillExtension, SkillScript,
    SkillUse,
};
pub use step::StepSpec;
pub use wait::WaitSpec;
