//! A workspace as a server of the Model Context Protocol (MCP), over standard input and output.
//!
//! ```text
//! line ──▶ session ──▶ reply                            what needs no work
//!             └──▶ call ──▶ tool ──▶ wf … --json ──▶ answer ──▶ reply
//! ```
//!
//! [`serve()`] reads a message a line. A session knows the protocol, and neither reads nor writes. Each tool
//! is a command of `wf`, executed as a process of its own: what a tool does and says is what the command
//! does and says, a client that cancels a call ends the process, and nothing that a command prints can get between
//! the messages.
//!
//! **Invariant:** no tool approves, signs, or changes a key: a run starts only with an approval that a person has
//! given before. **Invariant:** paths stay in the workspace. **Invariant:** whatever a client sends, it gets one
//! reply of a bounded size, and other calls go on.
//!
//! The protocol is implemented here, not by the library `rmcp`: of that, a server that offers tools alone takes
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
