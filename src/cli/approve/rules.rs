use crate::approval::{Approver, Approvers, Policy};
use crate::cli::keys::{self, OwnKey};
use crate::cli::{Failure, Ui, Workspace, load};
use crate::digest::Digest;
use crate::exec::keyfile::{KeyFault, Keys};

/// Who may approve in a workspace, and who we are.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Whose signatures count.
    pub approvers: Approvers,
    /// Our own keys.
    pub own: Vec<OwnKey>,
}

impl Rules {
    /// The rules of a workspace: those of its `approvers.yaml`. Without one, and where it says
    /// `owner`, our own keys count too.
    pub fn of(ui: &Ui, workspace: &Workspace) -> Result<Self, Failure> {
        let own = match Keys::of(&ui.env.host()) {
            Ok(found) => keys::own(&found)?,
            Err(KeyFault::NoFolder) => Vec::new(),
            Err(bad) => return Err(keys::fault(&bad)),
        };
        let listed = load::approvers(ui, workspace)?;
        let approvers = listed.map(|(file, _)| Approvers::from(file));
        let mut rules = Self {
            approvers: approvers.unwrap_or_else(|| Approvers::owner(Vec::new())),
            own: Vec::new(),
        };
        for key in own {
            rules.count(key);
        }
        Ok(rules)
    }

    /// Takes a key as one of ours.
    pub fn count(&mut self, key: OwnKey) {
        let is_known = self.approvers.find(key.public.id()).is_some();
        if self.approvers.policy == Policy::Owner && !is_known {
            self.approvers.keys.push(Approver {
                name: key.name.clone(),
                public: key.public.clone(),
                revoked: None,
            });
        }
        if self.own.iter().all(|own| own.public != key.public) {
            self.own.push(key);
        }
    }

    /// The key of who runs a plan: one of ours that signed, if there is one, else ours.
    pub fn initiator(&self, signers: &[Digest]) -> Option<Digest> {
        let mut ids = self.own.iter().map(|key| key.public.id());
        ids.find(|id| signers.contains(id))
            .or_else(|| self.own.first().map(|key| key.public.id()))
    }
}
