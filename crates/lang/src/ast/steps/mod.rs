//! The declaration of a step, and of each kind of work it may have.
//!
//! - `step`: the step itself; `alternative`: another way to do it.
//! - `agent`, `dispatch`, `persona`, `persona_file`, `interaction`, `stuck`: an agent.
//! - `approve`, `generated`, `http` (requests and waits), `skill`: other work.
//! - `matrix` and `settings`: repetition, cache, lock and rework of a step.
//!
//! **Invariant:** a step has one kind of work, and no key without an effect on it.
//!
//! Start at `step`.

mod agent;
mod alternative;
mod approve;
mod dispatch;
mod generated;
mod http;
mod interaction;
mod matrix;
mod persona;
mod persona_file;
mod settings;
mod skill;
mod step;
pub(super) mod stuck;

pub use agent::AgentSpec;
pub use alternative::AlternativeSpec;
pub use approve::{AnswerSpec, ApproveSpec, ChoicesSpec};
pub use dispatch::DispatchSpec;
pub use generated::{EnvelopeSpec, GeneratedSpec, UsesSpec};
pub use http::{HttpExpectationSpec, HttpMethod, HttpSpec, WaitSpec};
pub use interaction::InteractionSpec;
pub use matrix::{MAX_COMBINATIONS, MatrixSpec};
pub use persona::{PersonaSpec, PersonaUse};
pub use persona_file::PersonaFileSpec;
pub use settings::{CacheSpec, ConcurrencySpec, ForEachSpec, LockSpec, LoopsSpec};
pub use skill::{
    ConnectionPermissions, DryRunSpec, ScriptArg, SkillArgs, SkillConnection, SkillExtension, SkillScript,
    SkillUse,
};
pub use step::StepSpec;
