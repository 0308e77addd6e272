//! The words for the work of agents: their calls, conversations, child runs and merges.
//!
//! **Invariant:** a record of an agent is the fold of its facts.
//!
//! Start at `agent_event` and `agent_record`, the fold of the facts; `agent_context` derives the size of the next request.

pub(in crate::machine) mod agent_record;
pub(in crate::machine) mod compaction_event;
pub(in crate::machine) mod tool_subject;

mod agent_context;
mod agent_effect;
mod agent_event;
mod child_event;
mod exchange;
mod merge_event;

pub use agent_effect::{AgentEnding, ClientTurn, ModelCall, ToolOrder};
pub use agent_event::{
    AgentBriefing, AgentExit, ClientCall, ClientRepair, InvalidAnswer, ModelCallEnd, ModelCallOutcome,
    ModelCallStart, ModelLimits, RequestedTool, ToolCallEnd, ToolCallId, ToolCallRefusal, ToolCallStart,
};
pub use agent_record::{AgentRecord, AgentTurn, ClientReply, PersonAnswer, ToolRecord};
pub use child_event::{ChildDispatch, ChildEnd, ChildId, ChildPhase, ChildRecord};
pub use compaction_event::{
    CompactionEnd, CompactionOutcome, CompactionReply, CompactionRequest, CompactionStart, CompactorLimits,
};
pub use exchange::{
    AddedContext, CallSupplement, ExchangeGated, ExchangePart, ExchangeQuestion, GateReply, GatedExchange,
    RevisedResult,
};
pub use merge_event::{
    MergeEnd, MergeOutcome, MergePlan, MergePreparation, MergeRequest, MergeStart, MergeSubject,
};
pub use tool_subject::{ExchangeSubject, ShownContent, ToolCallSubject};
