//! Crash points: instants at which tests may kill the program.
//!
//! Every durable write is between two points: `crash::point("commit.before")` and
//! `crash::point("commit.after")`. In a build with debug assertions, `WF_CRASH` names a process and
//! the action of the points in it: `engine:7` kills the engine at the seventh point it reaches,
//! `keeper:7` the supervisor, `engine:panic=7` makes the engine panic there, `engine:stop=7` stops it as
//! `SIGSTOP` does, and `engine:list=FILE`
//! only writes the name of every point to a file. In a release build a point does nothing.
//!
//! A kill is `SIGKILL`: nothing is flushed, no destructor runs.

mod armed;

pub use armed::{arm, point};
