//! Instants at which the program may be killed, for the tests that kill it.
//!
//! Every durable write stands between two points: `crash::point("commit.before")` and
//! `crash::point("commit.after")`. In a build with debug assertions, `WF_CRASH` names a process
//! and what the points do in it: `engine:7` kills the engine at the seventh point it comes to,
//! `keeper:7` the keeper, `engine:panic=7` lets the engine panic there, and `engine:list=FILE`
//! only writes the name of every point down. In a release build a point is nothing.
//!
//! A kill is `SIGKILL`: nothing is flushed, no destructor runs.

mod armed;

pub use armed::{arm, point};
