use super::{DaemonHealth, GoalHealth};
use wf_base::time::Moment;
use wf_report::metrics::{Exposition, MetricsFormat};

/// Writes all metrics.
pub(super) fn metrics(health: &DaemonHealth, format: MetricsFormat) -> String {
    let mut text = Exposition::new(format);
    write_numbers(&mut text, health);
    let goals: Vec<_> = health.goals.iter().map(|(goal, state)| (goal.as_str(), state)).collect();
    write_goals(&mut text, &goals);
    write_counters(&mut text, health);
    text.end()
}

fn write_numbers(exposition: &mut Exposition, health: &DaemonHealth) {
    let yes = |is: bool| u64::from(is).to_string();
    for (name, help, value) in [
        ("wf_up", "1 if the daemon has no problem.", yes(health.is_well())),
        ("wf_ready", "1 if the daemon is ready.", yes(health.is_ready())),
        ("wf_leader", "1 if this daemon is the leader.", yes(health.leads)),
        ("wf_start_time_seconds", "Start time of the daemon.", seconds(health.since)),
        ("wf_goals", "Number of goals.", health.goals.len().to_string()),
        ("wf_cycles_running", "Number of running reconciliations.", health.running.to_string()),
    ] {
        exposition.gauge(name, help);
        exposition.sample(name, &[], value);
    }
}

/// Writes the state of goals, by id.
pub fn write_goals(exposition: &mut Exposition, goals: &[(&str, &GoalHealth)]) {
    let mut times = |name: &str, help: &str, time: fn(&GoalHealth) -> Option<Moment>| {
        exposition.gauge(name, help);
        for (goal, state) in goals {
            if let Some(time) = time(state) {
                exposition.sample(name, &[("goal", goal)], seconds(time));
            }
        }
    };
    times(
        "wf_next_slot_timestamp_seconds",
        "Time of the next scheduled reconciliation of the goal.",
        |state| state.next,
    );
    times("wf_goal_last_success_timestamp_seconds", "Time at which the goal was last well.", |state| {
        state.last_success
    });
    times(
        "wf_goal_blocked_since_timestamp_seconds",
        "First scheduled time that was refused, of a goal that is blocked.",
        |state| state.blocked.as_ref()?.since,
    );
    times(
        "wf_goal_approval_expires_timestamp_seconds",
        "End of the standing approval of the goal.",
        |state| state.approval.map(|approval| approval.expires),
    );
    let name = "wf_goal_last_end_timestamp_seconds";
    exposition.gauge(name, "Time at which the last reconciliation of the goal ended, by result.");
    for (goal, state) in goals {
        if let Some((at, health)) = state.last_end {
            exposition.sample(name, &[("goal", goal), ("result", health.as_str())], seconds(at));
        }
    }
    let mut numbers = |name: &str, help: &str, number: fn(&GoalHealth) -> Option<u32>| {
        exposition.gauge(name, help);
        for (goal, state) in goals {
            if let Some(number) = number(state) {
                exposition.sample(name, &[("goal", goal)], number);
            }
        }
    };
    numbers("wf_goal_holds", "1 if the last checks of the goal passed.", |state| state.holds.map(u32::from));
    numbers("wf_goal_blocked", "1 if the goal is not run any more, otherwise 0.", |state| {
        Some(u32::from(state.blocked.is_some()))
    });
    numbers(
        "wf_goal_approval_repairs",
        "Repairs that the standing approval of the goal still permits.",
        |state| state.approval.map(|approval| approval.repairs),
    );
}

fn write_counters(exposition: &mut Exposition, health: &DaemonHealth) {
    for (name, label, help, counted) in [
        ("wf_slots", "state", "Slots since the start of the daemon, by state.", &health.slots),
        ("wf_cycles", "result", "Reconciliations since the start of the daemon, by result.", &health.cycles),
    ] {
        exposition.counter(name, help);
        let total = format!("{name}_total");
        for (value, count) in counted {
            exposition.sample(&total, &[(label, value)], count);
        }
    }
}

/// Formats seconds since the epoch, to the millisecond, without rounding.
fn seconds(at: Moment) -> String {
    let (whole, rest) = (at.millis().div_euclid(1000), at.millis().rem_euclid(1000));
    if whole < 0 {
        // Nothing of `wf` happens before the epoch; the whole second is near enough.
        return whole.to_string();
    }
    format!("{whole}.{rest:03}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{metrics, seconds};
    use crate::daemon_io::health::{ApprovalRest, DaemonHealth, GoalBlockage, GoalHealth};
    use wf_base::time::Moment;
    use wf_core::goal::ReconciliationHealth;
    use wf_report::metrics::MetricsFormat;

    fn health() -> DaemonHealth {
        let goal = |next, holds| GoalHealth { next, holds, ..GoalHealth::default() };
        let at = Moment::from_millis(1_700_000_000_050);
        let blocked = GoalHealth {
            next: None,
            holds: None,
            last_success: Some(Moment::from_millis(2_000)),
            last_end: Some((Moment::from_millis(3_000), ReconciliationHealth::Failed)),
            blocked: Some(GoalBlockage { since: Some(Moment::from_millis(4_000)), reason: "so".into() }),
            approval: Some(ApprovalRest { expires: Moment::from_millis(5_000), repairs: 3 }),
        };
        DaemonHealth {
            since: Moment::from_millis(1_000),
            leads: true,
            goals: BTreeMap::from([
                ("backup".into(), goal(Some(at), Some(false))),
                ("mirror".into(), blocked),
                ("odd \"\\\n".into(), goal(None, None)),
                ("odd\"\\\n".into(), goal(None, Some(true))),
            ]),
            slots: BTreeMap::from([("missed".into(), 1), ("started".into(), 2)]),
            cycles: BTreeMap::from([("held".into(), 2)]),
            ..DaemonHealth::default()
        }
    }

    #[test]
    fn the_whole_page() {
        let page = metrics(&health(), MetricsFormat::OpenMetrics);
        let expected = "\
# HELP wf_up 1 if the daemon has no problem.
# TYPE wf_up gauge
wf_up 1
# HELP wf_ready 1 if the daemon is ready.
# TYPE wf_ready gauge
wf_ready 0
# HELP wf_leader 1 if this daemon is the leader.
# TYPE wf_leader gauge
wf_leader 1
# HELP wf_start_time_seconds Start time of the daemon.
# TYPE wf_start_time_seconds gauge
wf_start_time_seconds 1.000
# HELP wf_goals Number of goals.
# TYPE wf_goals gauge
wf_goals 4
# HELP wf_cycles_running Number of running reconciliations.
# TYPE wf_cycles_running gauge
wf_cycles_running 0
# HELP wf_next_slot_timestamp_seconds Time of the next scheduled reconciliation of the goal.
# TYPE wf_next_slot_timestamp_seconds gauge
wf_next_slot_timestamp_seconds{goal=\"backup\"} 1700000000.050
# HELP wf_goal_last_success_timestamp_seconds Time at which the goal was last well.
# TYPE wf_goal_last_success_timestamp_seconds gauge
wf_goal_last_success_timestamp_seconds{goal=\"mirror\"} 2.000
# HELP wf_goal_blocked_since_timestamp_seconds First scheduled time that was refused, of a goal that is blocked.
# TYPE wf_goal_blocked_since_timestamp_seconds gauge
wf_goal_blocked_since_timestamp_seconds{goal=\"mirror\"} 4.000
# HELP wf_goal_approval_expires_timestamp_seconds End of the standing approval of the goal.
# TYPE wf_goal_approval_expires_timestamp_seconds gauge
wf_goal_approval_expires_timestamp_seconds{goal=\"mirror\"} 5.000
# HELP wf_goal_last_end_timestamp_seconds Time at which the last reconciliation of the goal ended, by result.
# TYPE wf_goal_last_end_timestamp_seconds gauge
wf_goal_last_end_timestamp_seconds{goal=\"mirror\",result=\"failed\"} 3.000
# HELP wf_goal_holds 1 if the last checks of the goal passed.
# TYPE wf_goal_holds gauge
wf_goal_holds{goal=\"backup\"} 0
wf_goal_holds{goal=\"odd\\\"\\\\\\n\"} 1
# HELP wf_goal_blocked 1 if the goal is not run any more, otherwise 0.
# TYPE wf_goal_blocked gauge
wf_goal_blocked{goal=\"backup\"} 0
wf_goal_blocked{goal=\"mirror\"} 1
wf_goal_blocked{goal=\"odd \\\"\\\\\\n\"} 0
wf_goal_blocked{goal=\"odd\\\"\\\\\\n\"} 0
# HELP wf_goal_approval_repairs Repairs that the standing approval of the goal still permits.
# TYPE wf_goal_approval_repairs gauge
wf_goal_approval_repairs{goal=\"mirror\"} 3
# HELP wf_slots Slots since the start of the daemon, by state.
# TYPE wf_slots counter
wf_slots_total{state=\"missed\"} 1
wf_slots_total{state=\"started\"} 2
# HELP wf_cycles Reconciliations since the start of the daemon, by result.
# TYPE wf_cycles counter
wf_cycles_total{result=\"held\"} 2
# EOF
";
        assert_eq!(page, expected);
    }

    #[test]
    fn the_document_names_each() {
        let document = include_str!("../../../../../docs/daemon.md");
        let page = metrics(&health(), MetricsFormat::Prometheus);
        let types = page.lines().filter_map(|line| line.strip_prefix("# TYPE "));
        let names: Vec<&str> = types.filter_map(|line| line.split(' ').next()).collect();
        assert!(names.len() > 8, "{names:?}");
        for name in names {
            assert!(document.contains(&format!("`{name}")), "{name}");
        }
    }

    #[test]
    fn seconds_do_not_lose_their_zeros() {
        assert_eq!(seconds(Moment::from_millis(1_005)), "1.005");
        assert_eq!(seconds(Moment::from_millis(-1)), "-1");
    }
}
