//! The statements to sign, and the files of signed ones.

use std::{collections::BTreeMap, path::Path, time::Duration};

use crate::{CommandError, Host, Workspace, failure::usage_error, relative_path, specs::load::LoadedPlan};
use wf_core::machine::PinnedFile;
use wf_sign::approval::{
    ApprovalDecision, ApprovalNonce, ApprovalRefusal, ApprovalScope, ApprovalStatement, ApprovalToken,
    PlanRef, VERSION, plan_digest,
};
use wf_store::{StoreReader, allow_no_state};

/// The plan an approval is for.
pub fn plan_ref(loaded: &LoadedPlan, files: &[PinnedFile]) -> PlanRef {
    PlanRef { id: loaded.plan.id().clone(), path: loaded.path.clone(), digest: plan_digest(files) }
}

/// Returns the statement permitting one use of a plan from now on, without files and parameters;
/// its nonce is drawn for this purpose. The caller adds what else it is bound to.
pub fn draft_statement(
    host: &Host,
    purpose: &str,
    scope: ApprovalScope,
    plan: PlanRef,
    validity: Duration,
) -> Result<ApprovalStatement, CommandError> {
    let now = host.now();
    Ok(ApprovalStatement {
        v: VERSION,
        scope,
        verdict: ApprovalDecision::Approved,
        reason: None,
        plan,
        files: Vec::new(),
        params: BTreeMap::new(),
        run: None,
        request_ref: None,
        answer: None,
        nonce: ApprovalNonce::from_bytes(host.random_id(purpose)?),
        issued: now,
        expires: now.after(validity),
        executions: 1,
        spawn_policy: None,
        settings: None,
        workspace: None,
    })
}

pub fn read_token(workspace: &Workspace, path: &Path) -> Result<ApprovalToken, ApprovalRefusal> {
    let shown = workspace.name(path);
    // Reading a pipe would wait for a writer, maybe for ever.
    if std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return Err(ApprovalRefusal::NoToken(format!("{shown} is not a regular file; remove it")));
    }
    match std::fs::read_to_string(path) {
        Ok(text) => ApprovalToken::parse(&text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(ApprovalRefusal::Missing(shown)),
        Err(error) => Err(ApprovalRefusal::NoToken(format!("cannot read {shown}: {error}"))),
    }
}

/// Returns the number of uses of a token, as far as the state knows.
pub fn use_count(workspace: &Workspace, token: &ApprovalToken) -> Result<u32, CommandError> {
    let reader = allow_no_state(StoreReader::open(&workspace.state))?;
    Ok(reader.map_or(Ok(0), |reader| reader.approvals().last_use(token.statement().nonce.as_str()))?)
}

/// Writes an approval atomically: its name appears only once it is complete.
pub fn write_token(host: &Host, out: &Path, token: &ApprovalToken) -> Result<(), CommandError> {
    let written = || {
        let dir = out.parent().unwrap_or(Path::new("/"));
        let mut file = tempfile::NamedTempFile::new_in(dir)?;
        std::io::Write::write_all(&mut file, token.text().as_bytes())?;
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
        file.as_file().set_permissions(mode)?;
        file.persist(out).map_err(|error| error.error)
    };
    written().map(drop).map_err(|error| {
        let shown = relative_path(out, host.cwd());
        usage_error(format!("cannot write {shown}: {error}"))
    })
}
