//! Results used again.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::digest::Digest;
use crate::exec::{Unable, cache, environment, files};
use crate::machine::{Artifact, Attempt, Cached, Happening, Item, Place};
use crate::model::{Object, Step, Work};
use crate::store::{CacheEntry, CacheLookup, KeptFile};

use super::dispatch::Report;
use super::run::Ongoing;
use super::unit::{Task, step_of};
use super::EngineError;
