//! What confines a process: its view of the files, the network, other processes and the machine.
//!
//! ```text
//! keeper ── starts, puts into a control group ──▶ outer: own namespaces of users, mounts, network, processes
//!                                                   └─▶ inner: builds the view, gives everything up,
//!                                                       └─▶ the command   is process 1 of its world and reaps
//! ```
//!
//! Both stages are this program, started anew: nothing of ours needs `unsafe`, and nothing of the
//! keeper is in their memory. What was asked for is a [`Sandbox`]; what is enforced is a list of
//! [`Guard`]s, told when all of them hold and before the command begins.
//!
//! **Invariant:** a command begins only if everything holds that was asked for. If the machine
//! cannot do that, the command is not started, and the reason names the remedy.
//!
//! **Invariant:** what runs in a sandbox has no capability, gets none by executing anything, sees no
//! process outside, and ends with its sandbox.

mod around;
mod asked;
mod control;
mod inner;
mod limits;
mod loopback;
mod mount;
mod mounts;
mod outer;
mod places;
mod private;
mod probe;
mod programs;
mod rights;
mod seccomp;
mod start;
mod view;
mod words;

pub use crate::machine::Guard;
pub use around::Around;
pub use asked::{Layer, Sandbox};
pub use control::Control;
pub use outer::stage;
pub use probe::{Ability, ability};
pub use words::WORD;

pub(super) use start::{Confined, Report, prepare, start};
