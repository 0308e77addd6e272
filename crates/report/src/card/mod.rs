//! A request as a card: its subject, its reason, and the effect of each answer (Silas, 0.5.3).
//!
//! A card says nothing the request and the plan do not: its sentences are made from the rights of the steps, never
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
