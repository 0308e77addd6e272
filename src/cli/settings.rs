use std::time::Duration;

use crate::model::{OnFailure, Policy, Retry};
use crate::spec::Defaults;
use crate::store::{Durability, Retention};

/// How much of an attempt's output is kept where nobody says it.
const LOG_LIMIT: u64 = 64 * 1024 * 1024;

/// What holds in a workspace.
#[derive(Clone, Debug)]
pub struct Settings {
    /// For plans that say nothing about it.
    pub defaults: Defaults,
    /// What an acknowledged event survives.
    pub durability: Durability,
    /// How much output of an attempt is kept, in bytes.
    pub log_limit: u64,
    /// How long runs are kept.
    pub retention: Retention,
    /// Globs of variables that steps may see.
    pub pass: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            defaults: Defaults {
                policy: Policy {
                    max_parallel: u32::try_from(processors).unwrap_or(u32::MAX),
                    on_failure: OnFailure::Stop,
                    grace: Duration::from_secs(10),
                },
                retry: Retry::default(),
            },
            durability: Durability::default(),
            log_limit: LOG_LIMIT,
            retention: Retention::default(),
            pass: Vec::new(),
        }
    }
}
