//! The conversation of an agent with its model, in one attempt of a step.
//!
//! All of it is text of others: it is escaped, and nothing of it is loaded or executed.

use axum::{extract::Path, response::Response};
use serde::Deserialize;

use crate::{query::PageQuery, visit::Visit};
use wf_app::views::{ExchangeFilter, ExchangeQuery, exchange_view, run_reader};
use wf_base::keyword::Keyword as _;

/// The shown part of a conversation, as the address has it.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct ConversationQuery {
    /// The word for a filter; empty: everything.
    #[serde(default)]
    only: String,
    /// The number of the first turn, from 1.
    #[serde(default)]
    from: usize,
}

pub(crate) async fn conversation(
    visit: Visit,
    Path((run, task, attempt)): Path<(String, String, String)>,
    PageQuery(ConversationQuery { only, from }): PageQuery<ConversationQuery>,
) -> Response {
    visit
        .show("exchange.html", move |caller| {
            let (Ok(attempt), Some((reader, run))) = (attempt.parse(), run_reader(caller, &run)?) else {
                return Ok(None);
            };
            let filter = ExchangeFilter::from_word(&only).unwrap_or_default();
            exchange_view(&reader, &run, &task, ExchangeQuery { attempt, filter, from })
        })
        .await
}
