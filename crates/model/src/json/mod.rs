//! JSON values in plans: their schemas, their order, paths into them.
//!
//! A schema ([`schema`]) has a bounded vocabulary ([`vocabulary`]) and is strict about integers. Comparisons are the same in
//! expressions and in checks ([`order`]). A document has no key twice ([`once`]).
//!
//! **Invariant:** a path is bounded in length and depth ([`path`]); nothing here knows a plan.
//!
//! Start at [`schema`].

pub(crate) mod once;
pub(crate) mod order;
pub(crate) mod path;
pub(crate) mod schema;
pub(crate) mod vocabulary;
