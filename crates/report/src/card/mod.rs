//! A request as a card: what it is about, why it comes, and what each answer leads to (Silas, 0.5.3).
//!
//! A card says nothing that the request and the plan do not: its sentences are made from what the steps may do, never
//! from the words of an agent.

mod bands;
mod consequence;
mod kind;
mod request;

#[cfg(test)]
mod tests;

pub use bands::{BandEntry, EntryBand, chosen_positions, entry_bands};
pub use kind::CardKind;
pub use request::RequestCard;
