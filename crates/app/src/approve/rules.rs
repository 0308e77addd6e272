use crate::{
    Caller, CommandError, Workspace,
    keys::{self, OwnKey},
    specs::load,
};
use wf_base::digest::Sha256Digest;
use wf_exec::keyfile::{KeyFolder, KeyFolderError};
use wf_sign::approval::{Approver, Approvers, ReviewPolicy};

/// The approvers of a workspace, and the user's own keys.
#[derive(Clone, Debug)]
pub struct SigningRules {
    /// The approvers with valid signatures.
    pub approvers: Approvers,
    /// The user's own keys.
    pub own_keys: Vec<OwnKey>,
}

impl SigningRules {
    /// Reads the rules of a workspace: those of its `approvers.yaml`. Without one, and under
    /// `owner`, the user's own keys count too.
    pub fn of(caller: &dyn Caller, workspace: &Workspace) -> Result<Self, CommandError> {
        let own = match KeyFolder::from_env(&caller.host().vars()) {
            Ok(folder) => keys::usable_keys(&folder)?,
            Err(KeyFolderError::NoFolder) => Vec::new(),
            Err(error) => return Err(keys::key_error(&error)),
        };
        let listed = load::approvers(caller, workspace)?;
        let approvers = listed.map(|(file, _)| Approvers::from(file));
        let mut rules = Self {
            approvers: approvers.unwrap_or_else(|| Approvers::owner(Vec::new())),
            own_keys: Vec::new(),
        };
        for key in own {
            rules.add_own_key(key);
        }
        Ok(rules)
    }

    /// Adds a key to the user's own.
    pub fn add_own_key(&mut self, key: OwnKey) {
        let is_known = self.approvers.find(key.public.id()).is_some();
        if self.approvers.policy == ReviewPolicy::Owner && !is_known {
            self.approvers.keys.push(Approver {
                name: key.name.clone(),
                public: key.public.clone().into(),
                revoked: None,
            });
        }
        if self.own_keys.iter().all(|own_key| own_key.public != key.public) {
            self.own_keys.push(key);
        }
    }

    /// Returns the key of the user running a plan: one of theirs among the signatures, if any, else their own.
    pub fn initiator(&self, signers: &[Sha256Digest]) -> Option<Sha256Digest> {
        let mut ids = self.own_keys.iter().map(|key| key.public.id());
        ids.find(|id| signers.contains(id)).or_else(|| self.own_keys.first().map(|key| key.public.id()))
    }
}
