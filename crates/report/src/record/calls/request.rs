//! The requests that a model got, from the record: of the builtin loop it has only the first one whole.

use super::{AgentCalls, BodyReader, CallBodyError, ModelCallRecord, exchange::read_body};
use wf_core::agent::{ModelReply, ModelRequest, ToolResult};

impl AgentCalls {
    /// Returns the request of a call by its number in its attempt, from 1, as it was sent after a cut. An agent that
    /// is a program makes whole requests; those of the builtin loop follow from the first one and what came after it.
    pub fn request_of(&self, number: usize, bodies: BodyReader<'_>) -> Result<ModelRequest, CallBodyError> {
        let Some((call, earlier_calls)) = self.calls.get(..number).and_then(<[ModelCallRecord]>::split_last)
        else {
            return Err(CallBodyError::NoCall { attempt: self.attempt.clone(), number });
        };
        let mut request = match &call.client {
            Some(client) => read_body(bodies, &client.request)?,
            None => self.built_request(call, earlier_calls, bodies)?,
        };
        if let Some(added) = &call.supplement.context {
            request.add_context(read_body(bodies, &added.text)?);
        }
        Ok(request)
    }

    /// Returns the request of a call of the builtin loop.
    fn built_request(
        &self,
        call: &ModelCallRecord,
        earlier_calls: &[ModelCallRecord],
        bodies: BodyReader<'_>,
    ) -> Result<ModelRequest, CallBodyError> {
        let mut request: ModelRequest = read_body(bodies, &self.request)?;
        let next_calls = earlier_calls.iter().skip(1).chain([call]);
        for (earlier_call, next_call) in earlier_calls.iter().zip(next_calls) {
            let Some(reply) = earlier_call.reply() else {
                continue;
            };
            let reply: ModelReply = read_body(bodies, &reply)?;
            let results = results(earlier_call, &reply, bodies)?;
            request.append_turn(reply, results, next_call.repairs.as_deref());
        }
        Ok(request.after_cut(&call.context).into_owned())
    }
}

/// Returns the results of all tool calls in a reply, as the model got them.
fn results(
    call: &ModelCallRecord,
    reply: &ModelReply,
    bodies: BodyReader<'_>,
) -> Result<Vec<ToolResult>, CallBodyError> {
    let mut results = Vec::new();
    for (position, tool_call) in reply.tool_calls.iter().enumerate() {
        let recorded = call.tools.get(position);
        results.push(match recorded.and_then(|tool| tool.result) {
            Some(digest) => read_body(bodies, &digest)?,
            None => ToolResult {
                id: tool_call.id.clone(),
                text: recorded
                    .and_then(|tool| tool.refused.clone())
                    .unwrap_or_else(|| "the call was not executed".into()),
                is_error: true,
            },
        });
    }
    Ok(results)
}
