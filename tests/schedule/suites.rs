//! The tables of `suites.md`.

use wf_base::time::Moment;
use wf_model::schedule::{
    CronExpression, DstGapPolicy, DstOverlapPolicy, DstPolicy, GoalSchedule, ScheduleZone, TimingRule,
};

const SUITES: &str = include_str!("suites.md");

/// The cells of a row; nothing for what is no row.
fn cells(line: &str) -> Vec<&str> {
    let row = line.strip_prefix("| ").and_then(|row| row.strip_suffix(" |"));
    row.map(|row| row.split(" | ").map(|cell| cell.trim().trim_matches('`')).collect()).unwrap_or_default()
}

/// The policies that a heading names after its colon.
fn policies(heading: &str) -> Option<DstPolicy> {
    let (_, policies) = heading.rsplit_once(": ")?;
    let (gap, overlap) = policies.split_once(", ")?;
    let gap = match gap {
        "skip" => DstGapPolicy::Skip,
        "run_at_transition" => DstGapPolicy::RunAtTransition,
        _ => return None,
    };
    let overlap = match overlap {
        "first" => DstOverlapPolicy::First,
        "last" => DstOverlapPolicy::Last,
        "both" => DstOverlapPolicy::Both,
        _ => return None,
    };
    Some(DstPolicy { gap, overlap })
}

fn due(zone: &str, expression: &str, dst: DstPolicy, after: &str, n: usize) -> Vec<String> {
    let timing = GoalSchedule::of(TimingRule::Cron {
        expression: CronExpression::parse(expression).unwrap(),
        zone: ScheduleZone::parse(zone).unwrap(),
        dst,
    });
    let slots = timing.slots(Moment::parse(after).unwrap(), Moment::from_millis(i64::MAX));
    let local = |at| timing.zone.local(at).to_string().replace("+00:00", "Z");
    slots.take(n).map(|slot| local(slot.at)).collect()
}

#[test]
fn what_others_do_is_done_by_choice() {
    let mut dst = None;
    let (mut rows, mut wrong) = (0, Vec::new());
    for line in SUITES.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            dst = policies(heading);
        }
        let (Some(dst), &[zone, expression, after, then]) = (dst, &cells(line)[..]) else {
            continue;
        };
        if zone == "zone" {
            continue;
        }
        rows += 1;
        let then: Vec<&str> = then.split(", ").collect();
        let found = due(zone, expression, dst, after, then.len());
        if found != then {
            wrong.push(format!("{line}\n  found {}", found.join(", ")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(rows > 80, "{rows} rows were found");
}

#[test]
fn what_is_no_schedule_is_refused_where_it_is_wrong() {
    let (_, refused) = SUITES.split_once("## Refused").unwrap();
    let (mut rows, mut wrong) = (0, Vec::new());
    for line in refused.lines() {
        let [expression, underlined, said] = cells(line)[..] else {
            continue;
        };
        if expression == "expression" {
            continue;
        }
        rows += 1;
        // Marks around code are part of what is said.
        let said = line.rsplit_once(" | ").map_or(said, |(_, said)| said.trim_end_matches(" |"));
        match CronExpression::parse(expression) {
            Ok(_) => wrong.push(format!("`{expression}` is taken")),
            Err(bad) => {
                let at = expression.get(bad.at.clone()).unwrap_or("(nowhere)");
                if (at, bad.message.as_str()) != (underlined, said) || bad.remedy.is_none() {
                    wrong.push(format!("`{expression}` | `{at}` | {bad} | {:?}", bad.remedy));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(rows > 30, "{rows} rows were found");
}
