use std::{collections::BTreeMap, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

use super::{Backend, ConfigFile, DurabilitySetting, LogsSection, SandboxSection};
use wf_base::{
    name::{GateId, Name},
    source::Spanned,
};
use wf_core::{agent::authoring::PlanningBudget, permit::ParallelLimits};
use wf_lang::{
    PlanDefaults,
    decode::{CompleteSpec, LowerSpec},
};
use wf_model::{AutonomyThresholds, ModelTable, OnStepFailure, PlanPolicy, ReplanSettings, SuggestionLimits};
use wf_store::RunRetention;

/// The configuration of a workspace, with all defaults filled in.
#[derive(Clone, Debug)]
pub struct WorkspaceConfig {
    pub defaults: PlanDefaults,
    /// The limits on the concurrent steps of all runs.
    pub limits: ParallelLimits,
    /// True if the file sets `replan.strict`; else that depends on where a run begins.
    pub says_strict: bool,
    /// The durability of data at a loss of power.
    pub durability: DurabilitySetting,
    /// The sandbox of checks and of steps with `allow`.
    pub sandbox: SandboxConfig,
    /// The limits on the stored output of attempts.
    pub logs: LogLimits,
    /// The limits on finished runs.
    pub retention: RetentionLimits,
    /// The amount of activity before a report of the auditor.
    pub audit_window: Duration,
    /// The thresholds for proposing more, or less, autonomy for a goal.
    pub autonomy: AutonomyThresholds,
    /// The limits on the calls of each request for a plan.
    pub planning: PlanningBudget,
    /// True if memory learns preferences from decisions of people.
    pub learns_preferences: bool,
    /// The models, and their roles.
    pub models: Arc<ModelTable>,
    pub backends: BTreeMap<Name, Backend>,
    /// Patterns of environment variables every step sees.
    pub env_pass: Vec<String>,
    /// The gates for every plan, before its own, and their positions.
    pub gates: Vec<Spanned<GateId>>,
}

impl WorkspaceConfig {
    /// Returns the ids of the gates for every plan, in order.
    pub fn gates(&self) -> Vec<GateId> {
        self.gates.lower()
    }

    /// Returns the configuration for a run beginning in strict or lax surroundings: the argument
    /// applies unless a plan or the configuration decides.
    #[must_use]
    pub fn with_strictness(mut self, strict: bool) -> Self {
        if !self.says_strict {
            self.defaults.replan.strict = strict;
        }
        self
    }
}

/// The sandbox of checks and of steps with `allow`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxConfig {
    /// True if there is a sandbox; without one they run as ordinary processes.
    pub on: bool,
    /// Files and folders readable in every sandbox besides the workspace: relative to the
    /// workspace, absolute, or below the home folder (`~/…`).
    pub read: Vec<String>,
}

impl Default for SandboxConfig {
    fn default() -> Self {
        Self { on: true, read: Vec::new() }
    }
}

impl From<SandboxSection> for SandboxConfig {
    fn from(section: SandboxSection) -> Self {
        match section {
            SandboxSection::Is(on) => Self { on, read: Vec::new() },
            SandboxSection::With(reads) => Self { on: true, read: reads.read.lower() },
        }
    }
}

/// The limits on the stored output of attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogLimits {
    /// The number of bytes stored per attempt: its beginning and its end.
    pub max_bytes: u64,
}

/// The limits on finished runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetentionLimits {
    /// The age of a finished run at its deletion.
    pub max_age: Option<Duration>,
    /// The number of finished runs to keep.
    pub max_runs: Option<u32>,
    /// The size of stored files beyond which those of the oldest finished runs are deleted, in bytes.
    pub max_artifact_bytes: Option<u64>,
    /// True if the file says so.
    pub is_written: bool,
}

/// The size of stored files kept by default, in bytes.
pub const DEFAULT_ARTIFACT_BYTES: u64 = 10 << 30;

impl Default for RetentionLimits {
    fn default() -> Self {
        Self {
            max_age: Some(Duration::from_hours(90 * 24)),
            max_runs: None,
            max_artifact_bytes: Some(DEFAULT_ARTIFACT_BYTES),
            is_written: false,
        }
    }
}

impl RetentionLimits {
    /// Returns the limits as the store takes them; `None`: finished runs are kept for ever.
    pub fn limits(self) -> Option<RunRetention> {
        let max_runs = self.max_runs.map(|runs| runs as usize);
        let Self { max_age, max_artifact_bytes, .. } = self;
        let limits = RunRetention { max_age, max_runs, max_artifact_bytes };
        (limits != RunRetention::default()).then_some(limits)
    }
}

impl Default for WorkspaceConfig {
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            defaults: PlanDefaults {
                policy: PlanPolicy {
                    max_parallel: u32::try_from(processors).unwrap_or(u32::MAX),
                    on_failure: OnStepFailure::default(),
                    grace: Duration::from_secs(10),
                },
                retry: Arc::default(),
                replan: ReplanSettings::default(),
                suggestions: SuggestionLimits::default(),
            },
            limits: ParallelLimits::default(),
            says_strict: false,
            durability: DurabilitySetting::default(),
            sandbox: SandboxConfig::default(),
            logs: LogLimits { max_bytes: 64 << 20 },
            retention: RetentionLimits::default(),
            audit_window: Duration::from_mins(5),
            autonomy: AutonomyThresholds::default(),
            planning: PlanningBudget::default(),
            learns_preferences: false,
            models: Arc::default(),
            backends: BTreeMap::new(),
            env_pass: Vec::new(),
            gates: Vec::new(),
        }
    }
}

impl From<ConfigFile> for WorkspaceConfig {
    /// Returns the configuration of a file, with defaults filled in.
    fn from(file: ConfigFile) -> Self {
        let plain = Self::default();
        let logs = file.logs.unwrap_or(LogsSection { max_bytes: None });
        let suggestions = file.suggestions.map(|section| section.completed());
        Self {
            says_strict: file.replan.as_ref().is_some_and(|spec| spec.strict.is_some()),
            defaults: PlanDefaults {
                suggestions: suggestions.unwrap_or(plain.defaults.suggestions),
                ..plain.defaults.completing(file.policy.as_ref(), file.retry.as_ref(), file.replan.as_ref())
            },
            limits: file.limits.map(|section| section.limits()).unwrap_or_default(),
            durability: file.durability,
            sandbox: file.sandbox.map(SandboxConfig::from).unwrap_or_default(),
            logs: LogLimits { max_bytes: logs.max_bytes.map_or(plain.logs.max_bytes, |size| size.0) },
            retention: file.retention.map_or(plain.retention, |limits| RetentionLimits {
                max_age: limits.max_age.lower(),
                max_runs: limits.max_runs.lower(),
                max_artifact_bytes: limits.max_artifact_bytes.lower(),
                is_written: true,
            }),
            audit_window: file
                .audit
                .and_then(|audit| audit.window)
                .map_or(plain.audit_window, |window| window.0),
            autonomy: file.autonomy.complete(&plain.autonomy),
            planning: file.planning.map_or(plain.planning, |section| section.budget()),
            learns_preferences: file.memory.is_some_and(|section| section.preferences),
            models: Arc::new(ModelTable {
                servers: super::mcp::servers(&file.mcp),
                ..super::models::table(&file.models, &file.roles)
            }),
            backends: super::backends::backends(&file.backends),
            env_pass: file.env_pass.lower(),
            gates: file.gates,
        }
    }
}
