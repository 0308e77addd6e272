//! Tests of leases, locks and permits between stores.

mod hold;
mod lock_order;
mod permits;
