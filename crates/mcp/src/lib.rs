//! A workspace as a server of the Model Context Protocol (MCP), over standard input and output.
//!
//! ```text
//! line ──▶ session ──▶ reply                            what needs no work
//!             └──▶ call ──▶ tool ──▶ wf … --json ──▶ answer ──▶ reply
//! ```
//!
//! [`serve()`] reads a message a line. A session knows the protocol, and neither reads nor writes. Each tool
//! is a command of `wf`, executed as a process of its own: a tool does and says the same as the
//! command, a client cancelling a call ends the process, and no output of a command can get between the messages.
//!
//! **Invariant:** no tool approves, signs, or changes a key: a run starts only with an approval given by a
//! person before. **Invariant:** paths stay in the workspace. **Invariant:** for anything sent, a client gets one
//! reply of a bounded size, and other calls go on.
//!
//! The protocol is implemented here, not by the library `rmcp`: with it, a server offering tools alone takes
//! 1.6 MB of the program, more than half of what reading and running plans take, for five methods. Tests let its
//! client, and that of another author, talk to this server.
//!
//! Start at [`serve()`].

mod answer;
mod arguments;
mod call;
mod command;
mod inside;
mod pending;
mod program;
mod reply;
mod serve;
mod session;
mod tool;
mod wait;

pub use program::WfProgram;
pub use serve::serve;
