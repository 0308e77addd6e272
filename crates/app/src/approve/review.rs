use std::{fs, path::PathBuf, time::Duration};

use super::{
    SigningRules,
    signing::{SigningOptions, agree},
    token::{read_token, use_count, write_token},
    withdrawal_time,
};
use crate::{Caller, CliExitCode, CommandError, Workspace, keys::OwnKey, watch};
use wf_base::digest::Sha256Digest;
use wf_sign::approval::{ApprovalScope, ApprovalStatement, ApprovalToken};
use wf_store::feed::WorkspaceAction;

/// A statement before a person signs it, and the file with the signatures of all.
#[derive(Debug)]
pub struct TokenReview {
    pub path: PathBuf,
    /// The approvers.
    pub rules: SigningRules,
    /// The token in the file now, for any purpose.
    pub last: Option<ApprovalToken>,
    pub statement: ApprovalStatement,
    /// The token with the statement, if other approvers have signed it.
    signed: Option<ApprovalToken>,
    key: Option<OwnKey>,
}

/// The terms of an approval a person asks for; `None`: those signed by others, or the usual ones.
#[derive(Clone, Copy, Debug)]
pub struct AskedTerms {
    pub validity: Option<Duration>,
    /// The number of runs, repairs or uses.
    pub executions: Option<u32>,
}

impl TokenReview {
    /// A new statement for a person's own key.
    pub fn of_owner(
        workspace: &Workspace,
        path: PathBuf,
        rules: SigningRules,
        statement: ApprovalStatement,
    ) -> Self {
        let last = read_token(workspace, &path).ok();
        Self { path, rules, last, statement, signed: None, key: None }
    }

    /// The statement for an approver: the one in the file if others have signed it and it is of the same terms, where these
    /// were asked for.
    pub fn for_approver(
        self,
        workspace: &Workspace,
        key: OwnKey,
        terms: AskedTerms,
    ) -> Result<Self, CommandError> {
        let mut review = Self { key: Some(key), ..self };
        if let Some(token) = &review.last
            && review.can_join(workspace, token, terms)?
        {
            review.statement = token.statement().clone();
            review.signed = Some(token.clone());
        }
        Ok(review)
    }

    /// True if a signature may be added to a token: it permits exactly the same, and can still be used.
    fn can_join(
        &self,
        workspace: &Workspace,
        token: &ApprovalToken,
        terms: AskedTerms,
    ) -> Result<bool, CommandError> {
        let (signed, now) = (token.statement(), self.statement.issued);
        let same_terms = ApprovalStatement {
            nonce: signed.nonce.clone(),
            issued: signed.issued,
            expires: signed.expires,
            executions: terms.executions.unwrap_or(signed.executions),
            ..self.statement.clone()
        };
        let as_long = terms.validity.is_none_or(|validity| signed.expires.since(signed.issued) == validity);
        // A signature that does not count would invalidate the others.
        let counts = |by: Option<Sha256Digest>| {
            let signed_by = by.and_then(|id| self.rules.approvers.find(id));
            signed_by.is_some_and(|approver| approver.revoked.is_none())
        };
        let is_valid = *signed == same_terms
            && as_long
            && signed.issued <= now
            && now < signed.expires
            && token.signers().all(counts);
        if !is_valid || use_count(workspace, token)? >= signed.executions {
            return Ok(false);
        }
        Ok(match signed.scope {
            ApprovalScope::Standing => withdrawal_time(workspace, &signed.plan.id, signed, now)?.is_none(),
            _ => true,
        })
    }

    /// Returns the statement this one replaces, and who signed it: it is about the same files, still holds, and has other
    /// terms.
    pub fn replaced(&self) -> Option<(&ApprovalStatement, Vec<String>)> {
        let last = self.last.as_ref().filter(|_| self.signed.is_none())?;
        let statement = last.statement();
        let own = self.key.as_ref().map(|key| key.public.id());
        let others = last.signers().flatten().filter(|id| Some(*id) != own);
        let others = others.filter_map(|id| Some(self.rules.approvers.find(id)?.name.clone()));
        let others: Vec<String> = others.collect();
        let is_same = statement.files == self.statement.files && statement.plan == self.statement.plan;
        let holds = self.statement.issued < statement.expires;
        (is_same && holds && !others.is_empty()).then_some((statement, others))
    }

    /// True if there is nothing left to sign with this key.
    pub fn is_signed(&self) -> bool {
        let id = self.key.as_ref().map(|key| key.public.id());
        self.signed.iter().flat_map(ApprovalToken::signers).any(|by| by.is_some() && by == id)
    }

    /// Shows the statement, asks, signs it, and writes the token.
    pub fn sign(
        &self,
        caller: &dyn Caller,
        question: &str,
        options: &SigningOptions,
        show: &dyn Fn() -> Result<(), CommandError>,
    ) -> Result<ApprovalToken, CommandError> {
        let signer = agree(caller, &mut self.rules.clone(), self.key.as_ref(), options, question, show)?;
        let token = match self.signed.clone() {
            Some(mut token) => {
                token.add_signature(&signer);
                token
            }
            None => ApprovalToken::sign(self.statement.clone(), &signer),
        };
        self.record(caller, &token, signer.public().id())?;
        Ok(token)
    }

    /// Writes a token with a new signature, and records its signer.
    pub fn record(
        &self,
        caller: &dyn Caller,
        token: &ApprovalToken,
        key: Sha256Digest,
    ) -> Result<(), CommandError> {
        let scope = self.statement.scope;
        // The file of a plan may be one that the user named, and then its folder must be there.
        if let Some(folder) = self.path.parent()
            && matches!(scope, ApprovalScope::GoalAccept | ApprovalScope::ConnectionManage)
        {
            fs::create_dir_all(folder).map_err(|error| {
                CommandError::new(CliExitCode::State, format!("{}: {error}", folder.display()))
            })?;
        }
        write_token(caller.host(), &self.path, token)?;
        let scope = scope.as_str().to_owned();
        watch::record_quietly(caller, WorkspaceAction::Approved { scope, key });
        Ok(())
    }
}
