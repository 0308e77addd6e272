use std::collections::BTreeMap;

use serde_json::Value;

/// The first event of a run its replay did not repeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventDifference {
    /// The number of the event, from 1, among those that are compared.
    pub number: usize,
    /// The recorded event; `None`: the replay goes on where the run had ended, or its task had.
    pub recorded: Option<Value>,
    /// The event of the replay; `None`: it ended before.
    pub replayed: Option<Value>,
}

/// The events of a task, or of the run itself, each with its number.
type TaskEvents<'a> = Vec<(usize, &'a Value)>;

impl EventDifference {
    /// Compares the events of a run with those of its replay, both in the form that can be compared.
    pub fn first(recorded: &[Value], replayed: &[Value]) -> Option<Self> {
        let (recorded, replayed) = (by_task(recorded), by_task(replayed));
        let of_known = recorded.iter().filter_map(|(task, events)| {
            first_of_task(events, replayed.get(task).map_or(&[], Vec::as_slice))
        });
        let of_new = replayed.iter().filter(|(task, _)| !recorded.contains_key(*task));
        let of_new = of_new.filter_map(|(_, events)| first_of_task(&[], events));
        of_known.chain(of_new).min_by_key(|difference| difference.number)
    }

    /// Returns the names of the keys that differ, if both events are there and of the same kind.
    pub fn differing_keys(&self) -> Vec<&str> {
        let (Some(recorded), Some(replayed)) = (&self.recorded, &self.replayed) else {
            return Vec::new();
        };
        let (Some(old), Some(new)) = (recorded.as_object(), replayed.as_object()) else {
            return Vec::new();
        };
        if old.get("event") != new.get("event") {
            return Vec::new();
        }
        let added = new.keys().filter(|key| !old.contains_key(*key));
        let keys = old.keys().chain(added);
        keys.filter(|key| old.get(*key) != new.get(*key)).map(String::as_str).collect()
    }
}

fn first_of_task(recorded: &[(usize, &Value)], replayed: &[(usize, &Value)]) -> Option<EventDifference> {
    let same = recorded.iter().zip(replayed).take_while(|((_, old), (_, new))| old == new).count();
    let (old, new) = (recorded.get(same), replayed.get(same));
    let number = old.or(new)?.0;
    Some(EventDifference {
        number,
        recorded: old.map(|(_, event)| (*event).clone()),
        replayed: new.map(|(_, event)| (*event).clone()),
    })
}

/// Groups events by the task they belong to, or by the child run of its agent, which works beside it.
fn by_task(events: &[Value]) -> BTreeMap<String, TaskEvents<'_>> {
    let mut tasks: BTreeMap<String, TaskEvents<'_>> = BTreeMap::new();
    for (number, event) in (1..).zip(events) {
        let task = ["parents", "step", "item", "child"].map(|key| event.get(key).unwrap_or(&Value::Null));
        tasks.entry(format!("{task:?}")).or_default().push((number, event));
    }
    tasks
}

#[cfg(test)]
mod tests {
    use super::EventDifference;
    use serde_json::{Value, json};

    fn step(step: &str, n: u32) -> Value {
        json!({"event": "attempt_started", "step": step, "attempt": n})
    }

    fn run(kind: &str) -> Value {
        json!({"event": kind})
    }

    #[test]
    fn the_same_events_have_no_difference() {
        let events = [run("run_started"), step("a", 1), run("run_ended")];
        assert_eq!(EventDifference::first(&events, &events), None);
        assert_eq!(EventDifference::first(&[], &[]), None);
    }

    #[test]
    fn tasks_may_end_in_another_order() {
        let recorded = [run("run_started"), step("a", 1), step("b", 1), step("a", 2)];
        let replayed = [run("run_started"), step("b", 1), step("a", 1), step("a", 2)];
        assert_eq!(EventDifference::first(&recorded, &replayed), None);
        let swapped = [run("run_started"), step("b", 1), step("a", 2), step("a", 1)];
        let found = EventDifference::first(&recorded, &swapped).unwrap();
        assert_eq!((found.number, found.recorded), (2, Some(step("a", 1))));
        assert_eq!(found.replayed, Some(step("a", 2)));
    }

    #[test]
    fn the_first_difference_counts() {
        let recorded = [run("run_started"), step("a", 1), step("b", 1), run("run_ended")];
        let replayed = [run("run_started"), step("a", 1), step("b", 9), run("run_failed")];
        let found = EventDifference::first(&recorded, &replayed).unwrap();
        assert_eq!(found.number, 3);
        assert_eq!(found.differing_keys(), ["attempt"]);
    }

    #[test]
    fn an_end_and_a_surplus_are_differences() {
        let recorded = [run("run_started"), step("a", 1)];
        let found = EventDifference::first(&recorded, &recorded[..1]).unwrap();
        assert_eq!((found.number, found.recorded, found.replayed), (2, Some(step("a", 1)), None));
        for more in [step("a", 2), step("b", 1)] {
            let replayed = [recorded[0].clone(), recorded[1].clone(), more.clone()];
            let found = EventDifference::first(&recorded, &replayed).unwrap();
            assert_eq!((found.number, found.recorded), (3, None));
            assert_eq!(found.replayed, Some(more));
        }
    }

    #[test]
    fn child_runs_may_end_in_another_order() {
        let child = |child: &str| json!({"event": "child_ended", "step": "a", "child": child});
        let recorded = [step("a", 1), child("x"), child("y")];
        let replayed = [child("y"), step("a", 1), child("x")];
        assert_eq!(EventDifference::first(&recorded, &replayed), None);
    }

    #[test]
    fn a_nested_run_is_compared_apart() {
        let nested = |kind: &str| json!({"event": kind, "parents": ["a"]});
        let recorded = [run("run_started"), nested("run_started"), step("a", 1)];
        let replayed = [run("run_started"), step("a", 1), nested("run_started")];
        assert_eq!(EventDifference::first(&recorded, &replayed), None);
    }
}
