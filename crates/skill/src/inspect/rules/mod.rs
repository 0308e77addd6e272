//! Rules against dangerous scripts, one by one. Each checks commands or calls, and none executes
//! anything.

mod code;
mod danger;
mod env;
mod look;
mod network;
mod other;
mod places;
mod private;
mod program;
mod python;
mod run;
mod shell;
mod sockets;
mod values;

pub use private::private;

pub(super) use danger::installs;
pub(super) use look::{FileInspection, ScriptPermissions};
pub(super) use network::reaches_network;
pub(super) use other::other;
pub(super) use program::{ExecutedProgram, programs};
pub(super) use python::python;
pub(super) use shell::{assigned, loaded, shell};
