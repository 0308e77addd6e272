//! Follows a process to its end, or ends it.
