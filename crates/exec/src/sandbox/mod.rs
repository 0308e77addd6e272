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

mod control;
mod copies;
mod factory;
mod git_folders;
mod git_settings;
mod grants;
mod inner;
mod limits;
mod loopback;
mod messages;
mod mount;
mod mounts;
mod outer;
mod places;
mod port;
mod private;
mod probe;
mod programs;
mod restrictions;
mod seccomp;
mod spec;
mod start;
mod view;

pub use control::ControlFiles;
pub use factory::SandboxFactory;
pub use messages::SANDBOX_STAGE_ARG;
pub use outer::{OFF_REMEDY, stage};
pub use port::GatewayPort;
pub use probe::{IsolationSupport, ability};
pub use spec::{KeptCopy, KeptGitFolder, SandboxSpec, WorkspaceLayer};
pub use wf_core::machine::IsolationKind;

pub(super) use start::{PreparedSandbox, SandboxHandle, SandboxReport, prepare, start};
