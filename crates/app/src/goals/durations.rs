use std::{collections::BTreeMap, sync::Arc, time::Duration};

use crate::{CommandError, Host};
use wf_base::name::PlanId;
use wf_model::Goal;
use wf_store::StoreReader;

/// The number of latest reconciliations for the estimate of a duration.
const DURATION_SAMPLES: usize = 50;

/// Returns the duration of the longest of the latest reconciliations of each goal; no time where none has ended.
pub fn longest_reconciliations(
    host: &Host,
    goals: &[Arc<Goal>],
) -> Result<BTreeMap<PlanId, Duration>, CommandError> {
    let reader = StoreReader::open(&host.workspace().state).ok();
    let mut durations = BTreeMap::new();
    for goal in goals {
        let cycles =
            reader.as_ref().map(|reader| reader.reconciliations().latest(&goal.id, DURATION_SAMPLES));
        let rows = cycles.transpose()?.unwrap_or_default();
        let times = rows.iter().filter_map(|cycle| {
            let (ended, _, _) = cycle.ended.as_ref()?;
            Some(ended.since(cycle.started_at))
        });
        durations.insert(goal.id.clone(), times.max().unwrap_or_default());
    }
    Ok(durations)
}
