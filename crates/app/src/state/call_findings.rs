//! The last calls of models, MCP servers and connections, as `wf doctor` lists them. Nothing is called.

use std::{collections::BTreeMap, time::Duration};

use super::doctor::{DoctorFinding, DoctorStatus};
use crate::{CommandError, Host, connections::connection_rows};
use wf_base::time::{Moment, format_duration};
use wf_core::health::{CallTarget, TargetHealth};
use wf_model::ModelTable;
use wf_store::StoreReader;

/// The recorded calls of a state.
#[derive(Default)]
pub struct RecordedCalls(BTreeMap<CallTarget, TargetHealth>);

impl RecordedCalls {
    /// Reads the record. Without a state there is none; a state that cannot be read is reported elsewhere.
    pub fn read(host: &Host) -> Self {
        let reader = StoreReader::open(&host.workspace().state);
        reader.map(|reader| Self::of_state(&reader)).unwrap_or_default()
    }

    /// Reads the record of a state that is open.
    pub fn of_state(reader: &StoreReader) -> Self {
        Self(reader.health().unwrap_or_default())
    }

    /// Returns the calls of a target, if there were some.
    pub fn of(&self, target: &CallTarget) -> Option<&TargetHealth> {
        self.0.get(target)
    }

    /// Returns one finding for each target with an open breaker at a moment.
    pub fn open_breakers(&self, now: Moment) -> Vec<DoctorFinding> {
        let open = self.0.iter().filter(|(_, health)| health.open_at(now).is_some());
        open.map(|(target, health)| health_finding(target, health, now)).collect()
    }

    /// Returns a finding about the calls of a target, if there were some.
    pub fn finding(&self, target: &CallTarget, now: Moment) -> Option<DoctorFinding> {
        self.0.get(target).map(|health| health_finding(target, health, now))
    }
}

/// Returns one finding for each called MCP server of a configuration.
pub fn server_findings(host: &Host, table: &ModelTable, calls: &RecordedCalls) -> Vec<DoctorFinding> {
    let servers = table.servers.keys().map(CallTarget::mcp_server);
    servers.filter_map(|target| calls.finding(&target, host.now())).collect()
}

/// Returns one finding for each connection whose service was called.
pub fn connection_findings(host: &Host, calls: &RecordedCalls) -> Result<Vec<DoctorFinding>, CommandError> {
    let rows = connection_rows(host)?;
    let targets = rows.iter().map(|row| CallTarget::connection(&row.name));
    Ok(targets.filter_map(|target| calls.finding(&target, host.now())).collect())
}

/// Reports the last calls of a target, and whether its breaker is open.
fn health_finding(target: &CallTarget, health: &TargetHealth, now: Moment) -> DoctorFinding {
    let ago = |moment: Moment| {
        let seconds = Duration::from_secs(now.since(moment).as_secs());
        format!("{} ago", format_duration(seconds))
    };
    let open = health.open_at(now);
    let is_failing = open.is_some() || health.failed_at > health.succeeded_at;
    let status = if is_failing { DoctorStatus::Weak } else { DoctorStatus::Good };
    let open =
        open.map(|until| format!("breaker open until {until}, after {} failures in a row", health.failures));
    let succeeded = health.succeeded_at.map(|moment| format!("last success {}", ago(moment)));
    let failed = health.failed_at.map(|moment| format!("last failure {}: {}", ago(moment), health.error));
    let name = format!("{} {}", target.kind.label(), target.name);
    let parts: Vec<String> = [Some(name), open, succeeded, failed].into_iter().flatten().collect();
    DoctorFinding::new("calls", status, parts.join(" · "))
}

#[cfg(test)]
mod tests {
    use super::health_finding;
    use crate::state::doctor::DoctorStatus;
    use wf_base::time::Moment;
    use wf_core::health::{CallEnd, CallTarget, TargetHealth, TargetKind};

    #[test]
    fn the_last_calls_and_the_breaker_are_reported() {
        let at = |second: i64| Moment::from_millis(second * 1_000);
        let target = CallTarget { kind: TargetKind::McpServer, name: "notes".into() };
        let mut health = TargetHealth::default();
        health.note(&CallEnd::Success, at(0));
        let doctor_finding = health_finding(&target, &health, at(60));
        assert_eq!(
            (doctor_finding.health, doctor_finding.found.as_str()),
            (DoctorStatus::Good, "MCP server notes · last success 1m ago")
        );
        for second in 100..103 {
            health.note(&CallEnd::Outage { error: "busy".into() }, at(second));
        }
        let finding = health_finding(&target, &health, at(112));
        let open = "breaker open until 1970-01-01T00:02:42.000Z, after 3 failures in a row";
        let expected =
            format!("MCP server notes · {open} · last success 1m52s ago · last failure 10s ago: busy");
        assert_eq!((finding.health, finding.found), (DoctorStatus::Weak, expected));
        let later = health_finding(&target, &health, at(200)).found;
        assert!(!later.contains("breaker"), "{later}");
    }

    #[test]
    fn nonsense_is_reported_as_it_is() {
        let target = CallTarget { kind: TargetKind::Connection, name: "mail".into() };
        let far = Some(Moment::from_millis(i64::MAX));
        let health =
            TargetHealth { failures: u32::MAX, open_until: far, failed_at: far, ..TargetHealth::default() };
        let description = health_finding(&target, &health, Moment::default()).found;
        assert_eq!(description, "connection mail · last failure 0s ago: ");
    }
}
