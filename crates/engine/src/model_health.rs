//! The health of models across processes: read when the first model is called, recorded after each call.

use std::collections::BTreeMap;

use wf_base::name::Name;
use wf_base::redact::SecretMask;
use wf_core::health::{CallTarget, TargetHealth, TargetKind};
use wf_gateway::{Gateway, ModelCallResult};
use wf_store::{Store, StoreReader};

/// Returns the health of models that earlier calls left. Without a state there were none; a state that cannot be read
/// stops runs elsewhere, not here.
pub(super) fn recorded(reader: Option<StoreReader>) -> BTreeMap<Name, TargetHealth> {
    let all = reader.and_then(|reader| reader.health().ok()).unwrap_or_default().into_iter();
    let models = all.filter(|(target, _)| target.kind == TargetKind::Model);
    models.filter_map(|(target, health)| Some((Name::parse(&target.name).ok()?, health))).collect()
}

/// Records the health of the models that a call asked. Nothing waits for it, and a run does not depend on it.
pub(super) fn record(store: &Store, gateway: &Gateway, result: &ModelCallResult, mask: &SecretMask) {
    for model in result.called() {
        let Some(mut health) = gateway.health_of(model) else {
            continue;
        };
        // A provider may repeat a key in its message.
        health.error = mask.text(&health.error).into_owned();
        let target = CallTarget { kind: TargetKind::Model, name: model.to_string() };
        drop(store.record_health(target, health));
    }
}
