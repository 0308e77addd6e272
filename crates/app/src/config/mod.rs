//! The configuration of a workspace, `wf.yaml`, and its approvers, `approvers.yaml`. Optional and
//! strict.
//!
//! **Invariant:** nothing here looks for the file or reads it; the CLI does.

mod approvers;
mod autonomy;
mod backends;
mod bound;
mod file;
mod limits;
mod load;
mod mcp;
mod models;
mod planning;
mod settings;
mod suggestions;

pub use approvers::{ApproverKeyText, ApproverRecord, ApproversFile, DayOrInstant, load_approvers};
pub use autonomy::AutonomySection;
pub use backends::{Backend, BackendSection, TemporalBackend, TemporalSection, TlsFiles, TlsSection};
pub use bound::bound_settings;
pub use file::{
    AuditSection, ConfigFile, DurabilitySetting, LogsSection, MemorySection, RetentionSection,
    SandboxReadPaths, SandboxSection,
};
pub use limits::LimitsSection;
pub use load::load;
pub use mcp::McpServerSection;
pub use models::{ModelSection, PriceSection};
pub use planning::PlanningSection;
pub use settings::{DEFAULT_ARTIFACT_BYTES, LogLimits, RetentionLimits, SandboxConfig, WorkspaceConfig};
pub use suggestions::SuggestionsSection;
