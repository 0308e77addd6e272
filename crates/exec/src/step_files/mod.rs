//! The files through which a step and `wf` talk: the findings on its previous attempt go in; its outputs, its usage
//! and the values to mask come out.
//!
//! It reads and writes these files, and starts nothing. **Invariant:** a file of a step is data of somebody else: it is
//! bounded, and what is malformed in it is reported as a mistake of the step.
//!
//! Start at `output_entry`, the form of the output file, then `outputs` and `usage`; `correction` is the way in.

pub mod correction;
pub(crate) mod output_entry;
pub mod outputs;
pub mod usage;
