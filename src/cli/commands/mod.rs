//! The commands, one file each: what it takes (the comments are its help) and what it does.

pub mod cancel;
pub mod check;
pub mod completions;
pub mod doctor;
pub mod graph;
pub mod init;
pub mod logs;
pub mod resume;
pub mod retry;
pub mod run;
pub mod runs;
pub mod schema;
pub mod show;
pub mod why;
