//! The flow of a whole skill: what is fetched from outside and what is secret, where it lies, and
//! what is started or sent later, in whichever file.
//!
//! [Shell](shell), [Python](python) and [texts] are read into [facts]: labels at
//! [places](place), moves between places, sends and runs. [`solve`] carries the labels along the
//! moves, and [`judge`] looks at what arrives. The order of commands does not count: whoever has
//! a skill executes its parts in any order.
//!
//! Pure. Takes time in the size of the files; what is larger than the bounds in [`facts`] is cut.

mod archives;
mod facts;
mod files;
mod judge;
mod operands;
mod packages;
mod place;
mod programs;
mod python;
mod python_calls;
mod shell;
mod solve;
mod starts;
mod statements;
mod texts;
mod transfers;

pub(super) use judge::flow;
