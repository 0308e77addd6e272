//! Goals as commands and the daemon deal with them: where they are, what the ledger says of them,
//! and the cycles that look and repair.
//!
//! A cycle is worked on by one process, which holds the cycle's lock file for as long as it does.
//! Whatever is needed to go on is recorded: who comes after a process that died takes the lock,
//! reads how far it came, and goes on.

mod apart;
mod attended;
mod autonomy;
mod cycle;
mod ended;
mod find;
mod given;
mod hold;
mod ledger;
mod left;
mod news;
mod poke;
mod tell;
mod told;

pub use apart::{apart, apart_aside, write};
pub use attended::attended;
pub use autonomy::{Leash, granted};
pub use cycle::{Begin, Ended, adopt, begin};
pub use find::{FOLDERS, Found, Where, all, all_with_waits, by_name, named};
pub use hold::{Hold, LEADER, sweep};
pub use ledger::{StoreLedger, as_kept, ledger_of};
pub use left::answered;
pub use news::notices;
pub use poke::{POKE, not_begun, poke};
pub use tell::tell;
