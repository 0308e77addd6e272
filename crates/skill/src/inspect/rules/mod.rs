//! Rules against dangerous scripts, one by one. Each checks commands or calls, and none executes
//! anything.

mod danger;
mod lists;
mod look;
mod other;
mod program;
mod python;
mod run;
mod shell;
mod sockets;
mod values;

pub use lists::private_content;

pub(super) use danger::installs;
pub(super) use lists::reaches_network;
pub(super) use look::{FileInspection, ScriptPermissions};
pub(super) use other::other;
pub(super) use program::{ExecutedProgram, programs};
pub(super) use python::python;
pub(super) use shell::{assigned, loaded, shell};
