//! The keys of whoever runs `wf`: which there are, which one signs, and how it is opened.
//!
//! **Invariant:** a private key and its passphrase come from files or the terminal, never from
//! arguments or the environment, and go nowhere but into a signature.

mod own;
mod passphrase;

pub use own::{OwnKey, adopt, choose, fault, keys, make, open, own, own_name};
pub use passphrase::{
    NewKeyArgs, PassphraseArgs, Under, asked as asked_secretly, from_file as from_private_file,
    keep, passphrase, recalled, under,
};
