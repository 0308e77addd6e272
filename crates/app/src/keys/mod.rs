//! The keys of the user running `wf`: the list, the signing one, and its passphrase.
//!
//! **Invariant:** a private key and its passphrase come from files or the terminal, never from
//! arguments or the environment, and go nowhere but into a signature.

mod approvers;
mod approvers_file;
mod asked;
mod committed;
mod enrolment;
mod known;
mod own;
mod passphrase;

pub use approvers::{KeyEnrolment, KeyRevocation, enrol_key, revoke_key};
pub use asked::{
    AskedKey, KeyAsker, ask_enrolment, asked_keys, find_asked, forget_asked_by, is_words, keys_version,
};
pub use committed::{ApproversChange, uncommitted_approvers};
pub use enrolment::{
    EnrolledBy, EnrolmentDraft, KeyCandidate, check_signable, draft_enrolment, submit_enrolment,
};
pub(crate) use known::known_key;
pub use known::{EnrolledKey, enrolled_key};
pub use own::{
    NewKey, OwnKey, author, choose_signing_key, default_key_name, generate_key, key_error, key_folder,
    open_key, own_keys, require_signing_key, store_key, unattended_signer, usable_keys,
};
pub use passphrase::{
    KeyProtection, from_file as from_private_file, keyring_passphrase, passphrase, store_in_keyring,
    stored_passphrase,
};
pub use wf_sign::ApproverKey;
