use crate::{Caller, watch};
use wf_base::name::{PlanId, RefId};
use wf_exec::connection_secrets::{self, SecretEntryError, SecretPrompt};
use wf_store::feed::WorkspaceAction;

/// Returns the secrets setups wait for in a browser; none has a value.
pub fn waiting_secrets(caller: &dyn Caller) -> Vec<SecretPrompt> {
    connection_secrets::secret_prompts(&caller.host().workspace().state)
}

/// Hands a secret over to the setup of a connection waiting for it, and audits that.
pub fn enter_secret(
    caller: &dyn Caller,
    connection: &str,
    ref_id: &str,
    secret: &str,
) -> Result<(), SecretEntryError> {
    let connection = PlanId::parse(connection).map_err(|_| SecretEntryError::Unknown)?;
    let ref_id = RefId::parse(ref_id).map_err(|_| SecretEntryError::Unknown)?;
    let state = caller.host().workspace().state;
    connection_secrets::enter_secret(&state, &connection, &ref_id, secret)?;
    watch::record_quietly(caller, WorkspaceAction::SecretStored { connection, ref_id });
    Ok(())
}
