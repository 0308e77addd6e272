//! The flow of values in a whole skill: fetched and secret values, the places holding them, and
//! later starts or sends, across files.
//!
//! [Shell](shell), [Python](python) and [texts] are read into [facts]: labels at
//! [places](place), moves between places, sends and runs. [`solve`] carries the labels along the
//! moves, and [`judge`] checks the arrivals. The order of commands does not count: the parts of a
//! skill may be executed in any order.
//!
//! Pure. Takes time in the size of the files; a text above the bounds in [`facts`] is cut.

mod archives;
mod facts;
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
mod texts;
mod transfers;

pub(super) use judge::flow;
