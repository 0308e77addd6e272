//! The models of a workspace and their last calls, as `wf doctor` lists them. Nothing is called, and no key is shown.

use wf_app::{
    Host,
    call_findings::RecordedCalls,
    doctor::{DoctorFinding, DoctorStatus},
};
use wf_core::health::CallTarget;
use wf_model::{ModelApi, ModelDefinition, ModelTable, SecretSource};

/// Returns one finding for each model, followed by one about its calls if there were some.
pub fn model_findings(host: &Host, table: &ModelTable, calls: &RecordedCalls) -> Vec<DoctorFinding> {
    let findings = table.models.values().flat_map(|model| {
        let called = calls.finding(&CallTarget::model(&model.name), host.now());
        [Some(model_finding(host, table, model)), called]
    });
    findings.flatten().collect()
}

fn model_finding(host: &Host, table: &ModelTable, model: &ModelDefinition) -> DoctorFinding {
    let (key_health, key) = key_text(host, model.key.as_ref());
    let (place_health, place) = place_text(host, model);
    let roles: Vec<&str> =
        table.roles.iter().filter(|(_, of)| **of == model.name).map(|(role, _)| role.as_str()).collect();
    let roles = if roles.is_empty() { "no role".into() } else { format!("roles: {}", roles.join(", ")) };
    let parts = [format!("{} · {}", model.name, model.api.as_str()), place, key, price_text(model), roles];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    DoctorFinding::new("model", key_health.max(place_health), parts.join(" · "))
}

/// Returns the address of a model, or the file of its replies.
fn place_text(host: &Host, model: &ModelDefinition) -> (DoctorStatus, String) {
    if model.api == ModelApi::Scripted {
        let is_there = host.workspace().root.join(&model.model).is_file();
        let missing = if is_there { "" } else { " (missing)" };
        let health = if is_there { DoctorStatus::Good } else { DoctorStatus::Weak };
        return (health, format!("{}{missing}", model.model));
    }
    let address = model.base_url.as_ref().map(|address| format!(" at {address}")).unwrap_or_default();
    (DoctorStatus::Good, format!("{}{address}", model.model))
}

/// Returns the source of a key, and whether it is there as far as that can be seen without reading a secret.
fn key_text(host: &Host, key: Option<&SecretSource>) -> (DoctorStatus, String) {
    let (is_there, text) = match key {
        None => return (DoctorStatus::Good, "no key".into()),
        Some(SecretSource::Env(name)) => (host.var(name).is_some(), format!("key in ${name}")),
        Some(SecretSource::File(path)) => {
            (host.workspace().root.join(path).is_file(), format!("key in {path}"))
        }
        Some(SecretSource::Command(_)) => (true, "key from a command".into()),
        Some(SecretSource::Keyring { service, account }) => {
            (true, format!("key in the keyring: {service}, {account}"))
        }
        Some(SecretSource::Connection { name, .. }) => (true, format!("key of connection {name}")),
    };
    if is_there { (DoctorStatus::Good, text) } else { (DoctorStatus::Weak, format!("{text} (missing)")) }
}

/// Returns the prices of a million tokens.
fn price_text(model: &ModelDefinition) -> String {
    let Some(price) = model.price else {
        return String::new();
    };
    let cached = price.cached_input.map(|cached| format!(", {cached} cached")).unwrap_or_default();
    let written =
        price.cache_write.map(|written| format!(", {written} written to the cache")).unwrap_or_default();
    format!("{} in, {} out{cached}{written} per million tokens", price.input, price.output)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::key_text;
    use wf_app::{Host, doctor::DoctorStatus};
    use wf_model::SecretSource;

    #[test]
    fn a_key_is_named_and_not_shown() {
        let dir = tempfile::tempdir().unwrap();
        let vars = BTreeMap::from([("SET".to_owned(), "tell-nobody".to_owned())]);
        let host = Host::new(vars, dir.path().to_path_buf()).unwrap();
        let text = |source: &SecretSource| key_text(&host, Some(source));
        assert_eq!(text(&SecretSource::Env("SET".into())), (DoctorStatus::Good, "key in $SET".into()));
        let missing = (DoctorStatus::Weak, "key in $UNSET (missing)".to_owned());
        assert_eq!(text(&SecretSource::Env("UNSET".into())), missing);
        let missing = (DoctorStatus::Weak, "key in key.txt (missing)".to_owned());
        assert_eq!(text(&SecretSource::File("key.txt".into())), missing);
        assert_eq!(key_text(&host, None), (DoctorStatus::Good, "no key".into()));
    }
}
