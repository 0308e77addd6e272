use serde::Serialize;

use super::{Notice, RequestView, StateReader, SuggestionRecord, notices, open_requests, open_suggestions};
use crate::connections::{SecretPrompt, waiting_secrets};
use crate::{Caller, CommandError};

/// The inbox of a workspace: all that waits for people.
#[derive(Debug, Serialize)]
pub struct InboxView {
    /// The requests that nobody has answered, the one that expires first before the others.
    pub requests: Vec<RequestView>,
    /// The suggestions that nobody has decided about.
    pub suggestions: Vec<SuggestionRecord>,
    /// The secrets that setups of connections wait for.
    pub secrets: Vec<SecretPrompt>,
    /// The notices of things that need attention, and are no requests.
    pub notices: Vec<Notice>,
}

/// Returns the inbox of a workspace, with its state, if there is one.
pub fn inbox_view(caller: &dyn Caller, reader: Option<&StateReader>) -> Result<InboxView, CommandError> {
    let requests = reader.map_or_else(|| Ok(Vec::new()), open_requests)?;
    let suggestions = reader.map_or_else(|| Ok(Vec::new()), |reader| open_suggestions(reader))?;
    let notices = notices(caller, reader.map(|reader| &**reader), &requests)?;
    Ok(InboxView { requests, suggestions, secrets: waiting_secrets(caller), notices })
}
