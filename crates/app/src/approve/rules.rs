use std::sync::{Mutex, PoisonError};

use crate::{
    APPROVERS, Caller, CommandError, Host, Workspace,
    config::ApproversFile,
    keys::{self, OwnKey},
    specs::load,
};
use wf_base::{diag::Severity, digest::Sha256Digest};
use wf_engine::ApproverSource;
use wf_exec::keyfile::{KeyFolder, KeyFolderError};
use wf_lang::DiskFiles;
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
        let listed = load::approvers(caller, workspace)?;
        Self::with_own_keys(caller.host(), listed.map(|(file, _)| file))
    }

    fn with_own_keys(host: &Host, listed: Option<ApproversFile>) -> Result<Self, CommandError> {
        let own = match KeyFolder::from_env(&host.vars()) {
            Ok(folder) => keys::usable_keys(&folder)?,
            Err(KeyFolderError::NoFolder) => Vec::new(),
            Err(error) => return Err(keys::key_error(&error)),
        };
        let approvers = listed.map(Approvers::from);
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

/// The approvers of a workspace, for a run: who was enrolled or revoked while it waits counts as for anybody else.
///
/// **Invariant:** while their file is being replaced, is gone or has mistakes, the ones of before count: without a file the user's
/// own keys would, and a checkout must not bring that about for a moment.
pub struct WorkspaceApprovers {
    host: Host,
    workspace: Workspace,
    last: Mutex<ReadApprovers>,
}

/// The approvers as they were read last.
struct ReadApprovers {
    approvers: Approvers,
    /// True if a file lists them.
    are_listed: bool,
}

impl WorkspaceApprovers {
    /// Reads the approvers of a workspace for the first time.
    pub fn of(caller: &dyn Caller, workspace: &Workspace) -> Result<Self, CommandError> {
        let approvers = SigningRules::of(caller, workspace)?.approvers;
        let are_listed = workspace.root.join(APPROVERS).exists();
        let last = Mutex::new(ReadApprovers { approvers, are_listed });
        Ok(Self { host: caller.host().clone(), workspace: workspace.clone(), last })
    }
}

impl ApproverSource for WorkspaceApprovers {
    fn approvers(&self) -> Approvers {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let listed = match load::read_approvers(&DiskFiles::new(&self.workspace.root), APPROVERS) {
            // A file that is empty is one that is being written.
            Some((file, checked)) if !checked.source.text().trim().is_empty() => {
                file.filter(|_| checked.count(Severity::Error) == 0)
            }
            _ => None,
        };
        if listed.is_some() || !last.are_listed {
            let are_listed = listed.is_some();
            if let Ok(rules) = SigningRules::with_own_keys(&self.host, listed) {
                *last = ReadApprovers { approvers: rules.approvers, are_listed };
            }
        }
        last.approvers.clone()
    }
}
