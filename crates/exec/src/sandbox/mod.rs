//! The confinement of a process: its view of files, the network, other processes and the machine.
//!
//! ```text
//! supervisor ── starts, adds to control group ──▶ outer: own namespaces of users, mounts, network, processes
//!                                                   └─▶ inner: builds the view, gives up all rights,
//!                                                       └─▶ the command   is process 1 of its world and reaps
//! ```
//!
//! Both stages are this program, executed anew: this needs no `unsafe` code, and no memory of the
//! supervisor is in them. A [`SandboxSpec`] describes the request; a list of [`IsolationKind`]s reports the
//! guards in force, once all of them hold and before the command begins.
//!
//! **Invariant:** a command begins only if everything requested is enforced. If the machine cannot
//! do that, the command is not started, and the reason names the remedy.
//!
//! **Invariant:** a process in a sandbox has no capability, gets none by executing a file, sees no
//! process outside, and ends with its sandbox.
//!
//! Start at `spec`, the request, which `factory` makes; then `start`, `outer` and `inner`, the stages in their order.
//! `inner` builds the view of files in the room `root`, which knows the request and no stage; `restrictions`, `seccomp`,
//! `limits` and `port` are the other guards.

mod control;
mod error;
mod factory;
mod inner;
mod limits;
mod messages;
mod outer;
mod port;
mod probe;
mod restrictions;
mod root;
mod seccomp;
mod spec;
mod start;

pub use control::ControlFiles;
pub use factory::SandboxFactory;
pub use messages::SANDBOX_STAGE_ARG;
pub use outer::{OFF_REMEDY, stage};
pub use port::GatewayPort;
pub use probe::{IsolationSupport, ability};
pub use spec::{KeptCopy, KeptGitFolder, SandboxSpec, WorkspaceLayer};
pub use wf_core::machine::IsolationKind;

pub(super) use start::{PreparedSandbox, SandboxHandle, SandboxReport, prepare, start};
