//! The commands about the means of agents: skills, servers of tools, memory, lines of work, and accounts at services.
//!
//! Each is a noun with a folder, and one file for each command of it. Start at `skill`; the others can be read alone.

pub mod connection;
pub mod mcp;
pub mod memory;
pub mod session;
pub mod skill;
