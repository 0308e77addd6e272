//! The tools of an agent, carried out as the step's own scripts would be: in its sandbox, with its rights.
//!
//! ```text
//! run_tool ──▶ probe ──▶ sandbox, inner stage     a request about files: this program is in it already
//!                │            └──▶ sh             a script
//!                ├──▶ this program, as a stage    a request about files, where there is no sandbox
//!                └──▶ sh
//! ```
//!
//! One call is one process. The engine touches no file for a model: a request about files is carried out by a process
//! seeing what a script of the step would see, below the root of the workspace and nowhere else.
//!
//! **Invariant:** an answer is masked before it is cut: half a secret would not be recognised. **Invariant:** nothing a
//! call started lives on after it.
//!
//! Start at [`run_tool`].

mod answer;
mod edit;
mod error;
mod list;
mod outcome;
mod read;
mod search;
mod stage;
#[cfg(test)]
mod tests;
mod workspace;
mod write;

pub use outcome::{ToolEnvironment, ToolOutcome, run_program, run_tool};
pub use stage::{TOOL_STAGE_ARG, stage};

pub(crate) use stage::{carry_out_in, is_stage};
