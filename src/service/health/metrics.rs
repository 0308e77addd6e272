use std::fmt::Write as _;

use super::Health;
use crate::time::Moment;

/// How metrics are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// The text format of Prometheus, 0.0.4.
    Prometheus,
    /// OpenMetrics 1.0: counters are called without `_total`, and there is an end.
    OpenMetrics,
}

impl Format {
    /// What it is called in a header.
    pub(super) fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// Writes all metrics.
pub(super) fn metrics(health: &Health, format: Format) -> String {
    let mut page = Page {
        text: String::new(),
        format,
    };
    page.numbers(health);
    page.of_goals(health);
    page.counters(health);
    if format == Format::OpenMetrics {
        page.text.push_str("# EOF\n");
    }
    page.text
}

struct Page {
    text: String,
    format: Format,
}

impl Page {
    fn numbers(&mut self, health: &Health) {
        let yes = |is: bool| u64::from(is).to_string();
        for (name, help, value) in [
            (
                "wf_up",
                "Whether nothing is wrong with the daemon.",
                yes(health.is_well()),
            ),
            (
                "wf_ready",
                "Whether the daemon does its work.",
                yes(health.is_ready()),
            ),
            (
                "wf_leader",
                "Whether this daemon is the one that acts.",
                yes(health.leads),
            ),
            (
                "wf_start_time_seconds",
                "When the daemon began.",
                seconds(health.since),
            ),
            (
                "wf_goals",
                "How many goals there are.",
                health.goals.len().to_string(),
            ),
            (
                "wf_cycles_running",
                "How many cycles are under way.",
                health.running.to_string(),
            ),
        ] {
            self.head(name, "gauge", help);
            self.sample(name, &[], &value);
        }
    }

    fn of_goals(&mut self, health: &Health) {
        self.head(
            "wf_next_slot_timestamp_seconds",
            "gauge",
            "When the goal is due next.",
        );
        for (goal, state) in &health.goals {
            if let Some(next) = state.next {
                let value = seconds(next);
                self.sample("wf_next_slot_timestamp_seconds", &[("goal", goal)], &value);
            }
        }
        self.head(
            "wf_goal_holds",
            "gauge",
            "Whether the goal held when it was last looked at.",
        );
        for (goal, state) in &health.goals {
            if let Some(holds) = state.holds {
                let value = u64::from(holds).to_string();
                self.sample("wf_goal_holds", &[("goal", goal)], &value);
            }
        }
    }

    fn counters(&mut self, health: &Health) {
        for (name, label, help, counted) in [
            (
                "wf_slots",
                "state",
                "Slots since the daemon began, by what became of them.",
                &health.slots,
            ),
            (
                "wf_cycles",
                "result",
                "Cycles since the daemon began, by how they ended.",
                &health.cycles,
            ),
        ] {
            let total = format!("{name}_total");
            let family = match self.format {
                Format::Prometheus => &total,
                Format::OpenMetrics => name,
            };
            self.head(family, "counter", help);
            for (value, count) in counted {
                self.sample(&total, &[(label, value)], &count.to_string());
            }
        }
    }

    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = write!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: &str) {
        let labels: Vec<String> = labels
            .iter()
            .map(|(label, value)| format!("{label}=\"{}\"", escaped(value)))
            .collect();
        let labels = match labels.as_slice() {
            [] => String::new(),
            some => format!("{{{}}}", some.join(",")),
        };
        let _ = writeln!(self.text, "{name}{labels} {value}");
    }
}

/// Seconds since the epoch, to the millisecond, without rounding.
fn seconds(at: Moment) -> String {
    let (whole, rest) = (at.millis().div_euclid(1000), at.millis().rem_euclid(1000));
    if whole < 0 {
        // Before the epoch nothing of ours happens; the whole second is near enough.
        return whole.to_string();
    }
    format!("{whole}.{rest:03}")
}

/// A value of a label, as both formats want it.
fn escaped(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Format, metrics, seconds};
    use crate::service::health::{GoalHealth, Health};
    use crate::time::Moment;

    fn health() -> Health {
        let goal = |next, holds| GoalHealth { next, holds };
        let at = Moment::from_millis(1_700_000_000_050);
        Health {
            since: Moment::from_millis(1_000),
            leads: true,
            goals: BTreeMap::from([
                ("backup".into(), goal(Some(at), Some(false))),
                ("odd \"\\\n".into(), goal(None, None)),
                ("odd\"\\\n".into(), goal(None, Some(true))),
            ]),
            slots: BTreeMap::from([("missed".into(), 1), ("started".into(), 2)]),
            cycles: BTreeMap::from([("held".into(), 2)]),
            ..Health::default()
        }
    }

    #[test]
    fn the_whole_page() {
        let page = metrics(&health(), Format::OpenMetrics);
        let expected = "\
# HELP wf_up Whether nothing is wrong with the daemon.
# TYPE wf_up gauge
wf_up 1
# HELP wf_ready Whether the daemon does its work.
# TYPE wf_ready gauge
wf_ready 1
# HELP wf_leader Whether this daemon is the one that acts.
# TYPE wf_leader gauge
wf_leader 1
# HELP wf_start_time_seconds When the daemon began.
# TYPE wf_start_time_seconds gauge
wf_start_time_seconds 1.000
# HELP wf_goals How many goals there are.
# TYPE wf_goals gauge
wf_goals 3
# HELP wf_cycles_running How many cycles are under way.
# TYPE wf_cycles_running gauge
wf_cycles_running 0
# HELP wf_next_slot_timestamp_seconds When the goal is due next.
# TYPE wf_next_slot_timestamp_seconds gauge
wf_next_slot_timestamp_seconds{goal=\"backup\"} 1700000000.050
# HELP wf_goal_holds Whether the goal held when it was last looked at.
# TYPE wf_goal_holds gauge
wf_goal_holds{goal=\"backup\"} 0
wf_goal_holds{goal=\"odd\\\"\\\\\\n\"} 1
# HELP wf_slots Slots since the daemon began, by what became of them.
# TYPE wf_slots counter
wf_slots_total{state=\"missed\"} 1
wf_slots_total{state=\"started\"} 2
# HELP wf_cycles Cycles since the daemon began, by how they ended.
# TYPE wf_cycles counter
wf_cycles_total{result=\"held\"} 2
# EOF
";
        assert_eq!(page, expected);
    }

    #[test]
    fn the_older_format_differs_in_the_names_of_counters_and_has_no_end() {
        let page = metrics(&health(), Format::Prometheus);
        assert!(
            page.contains("# TYPE wf_slots_total counter\nwf_slots_total{"),
            "{page}"
        );
        assert!(!page.contains("# EOF"), "{page}");
    }

    #[test]
    fn the_document_names_each() {
        let document = include_str!("../../../docs/daemon.md");
        let page = metrics(&health(), Format::Prometheus);
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
