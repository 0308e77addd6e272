//! Speaking with systemd, without its library: `sd_notify(3)` and `systemd.service(5)`.
//!
//! The protocol is a datagram of lines `NAME=value` to the socket that `NOTIFY_SOCKET` names.
//! Nothing here reads the environment; without a socket, telling does nothing.
//!
//! **Invariant:** a daemon that nobody watches over is not woken up: only `WATCHDOG_USEC` asks for
//! a regular sign of life. Whoever gives it does so from the loop that does the work, so that one that
//! hangs gives none.

mod tell;
mod unit;

pub use tell::{Tell, sign_of_life};
pub use unit::{BadUnit, Owner, Unit};
