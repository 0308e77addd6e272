use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use wf_base::keywords;
use wf_model::TokenUsage;

/// A request to a model, in the format of no provider.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelRequest {
    /// The instructions before the conversation.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub system: String,
    /// The conversation so far, oldest message first.
    pub messages: Vec<Message>,
    /// The tools the model may call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolDefinition>,
    /// The JSON Schema of the answer; `None`: free text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_schema: Option<Value>,
    /// The maximum tokens of the reply.
    pub max_output: u64,
    /// The temperature; `None`: the provider's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
}

/// A message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// A text for the model.
    User {
        /// The text.
        text: String,
    },
    /// A reply of the model.
    Assistant {
        /// Its text.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
        /// The tools it calls.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCall>,
    },
    /// The results of all tool calls of the reply before.
    Tool {
        /// The results, in the order of the calls.
        results: Vec<ToolResult>,
    },
    /// A mark where the first turns were left out.
    Omitted {
        /// The number of turns.
        turns: u32,
    },
}

/// A tool, as a model sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolDefinition {
    /// Its name.
    pub name: String,
    /// The explanation for the model.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub arguments_schema: Value,
}

/// A tool call a model asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The provider's id of the call, by which its result is given.
    pub id: String,
    /// The name of the tool, as the model wrote it.
    pub tool: String,
    /// The arguments, as the model wrote them: meant to be a JSON object.
    pub arguments: String,
}

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The provider's id of the call.
    pub id: String,
    /// The text for the model.
    pub text: String,
    /// True if the call failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
}

/// A reply of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelReply {
    /// Its text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The tools it calls, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// The reason for its end.
    pub stop: StopReason,
    /// The tokens the provider counted.
    pub usage: TokenUsage,
}

impl ModelReply {
    /// Returns the reply for a program that must not execute some of its tool calls: without these, and with the
    /// reasons as text.
    #[must_use]
    pub fn without(&self, refusals: &BTreeMap<u32, String>) -> Self {
        let mut reply = self.clone();
        let calls = (0_u32..).zip(reply.tool_calls);
        let (refused, kept): (Vec<_>, Vec<_>) =
            calls.partition(|(position, _)| refusals.contains_key(position));
        reply.tool_calls = kept.into_iter().map(|(_, call)| call).collect();
        for (position, call) in refused {
            let reason = refusals.get(&position).map(String::as_str).unwrap_or_default();
            if !reply.text.is_empty() {
                reply.text.push_str("\n\n");
            }
            reply.text.push_str(&format!("[`{}` was not executed: {reason}]", call.tool));
        }
        if reply.tool_calls.is_empty() && reply.stop == StopReason::ToolCalls {
            reply.stop = StopReason::EndTurn;
        }
        reply
    }
}

keywords! {
    /// The reason why a reply ends.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum StopReason {
        /// The model is done.
        EndTurn = "end_turn",
        /// The model waits for the results of tools.
        ToolCalls = "tool_calls",
        /// The reply reached its maximum length.
        MaxTokens = "max_tokens",
        /// The model, or its provider, refused to answer.
        Refusal = "refusal",
    }
}
