//! The files of a run, carried between hosts as objects: bytes in a shared store, under the SHA-256 of their content.
//!
//! A run begins with a tree of digests ([`tree`]), and work adds changes to it. A host has the files in a folder
//! (`checkout`), and reports the differences there ([`findings`]). Cached results are shared by their keys (`results`).
//!
//! **Invariant:** an object never changes. **Invariant:** a path from another host stays below its folder ([`tree`]).
//!
//! Start at [`objects`] and `parcel`, then [`tree`], `checkout`, [`findings`].

pub(crate) mod checkout;
pub mod findings;
pub mod objects;
pub(crate) mod parcel;
pub(crate) mod results;
pub mod tree;
pub(crate) mod tree_files;
