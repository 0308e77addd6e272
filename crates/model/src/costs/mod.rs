//! Amounts of money: the prices of models, and the budget of a run.
//!
//! **Invariant:** an amount is a whole number of millionths of a dollar; sums saturate, and costs are rounded up.
//!
//! Start at [`money`], then [`model_price`] and [`budget`].

pub(crate) mod budget;
pub(crate) mod model_price;
pub(crate) mod money;
