use std::collections::BTreeMap;

use wf_base::name::Name;
use wf_core::{
    machine::{Event, EventKind, TaskId},
    observe::RunRef,
};

/// The names of the items of runs: their keys, by the tasks above the run, and by step.
#[derive(Clone, Debug, Default)]
pub struct ItemNames(BTreeMap<Vec<String>, BTreeMap<Name, Vec<String>>>);

impl ItemNames {
    pub fn record(&mut self, run: &RunRef, event: &Event) {
        if let EventKind::StepExpanded { step, items } = &event.fact {
            let keys = items.iter().map(|item| item.key.clone()).collect();
            let own = self.0.entry(run.path.clone()).or_default();
            own.insert(step.clone(), keys);
        }
    }

    /// Forgets a run that has ended.
    pub fn forget(&mut self, run: &RunRef) {
        self.0.remove(&run.path);
    }

    /// Returns the name of a task of the run at this path.
    pub fn place(&self, path: &[String], task_id: &TaskId) -> String {
        let keys = self.0.get(path).and_then(|steps| steps.get(&task_id.step));
        let item = task_id.item.and_then(|item| usize::try_from(item).ok());
        let key = keys.zip(item).and_then(|(keys, item)| keys.get(item));
        task_id.display_name(key.map(String::as_str))
    }

    /// Returns a task with those above it: `build/compile[linux]`.
    pub fn subject(&self, path: &[String], task_id: &TaskId) -> String {
        self.text(path, self.place(path, task_id))
    }

    /// Returns a text below the tasks above its run.
    pub fn text(&self, path: &[String], text: impl Into<String>) -> String {
        let mut path = self.path(path);
        path.push(text.into());
        path.join("/")
    }

    /// Returns the tasks above a run.
    pub fn path(&self, path: &[String]) -> Vec<String> {
        let called = path.iter().enumerate();
        let called = called.map(|(at, above)| match above.parse::<TaskId>() {
            Ok(place) => self.place(path.get(..at).unwrap_or_default(), &place),
            Err(_) => above.clone(),
        });
        called.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::ItemNames;
    use wf_base::{
        name::{PlanId, RunId},
        time::Moment,
    };
    use wf_core::{
        machine::{Event, EventKind, StepItem, TaskId},
        observe::RunRef,
    };

    fn run(path: &[&str]) -> RunRef {
        RunRef {
            id: RunId::from_stored("1"),
            plan: PlanId::parse("demo").unwrap(),
            path: path.iter().map(|place| (*place).to_owned()).collect(),
        }
    }

    #[test]
    fn items_are_called_by_their_keys_however_deep() {
        let mut names = ItemNames::default();
        let mut expand = |run: &RunRef, step: &str, keys: &[&str]| {
            let item = |key: &&str| StepItem { key: (*key).to_owned(), value: serde_json::Value::Null };
            let fact = EventKind::StepExpanded {
                step: step.parse::<TaskId>().unwrap().step,
                items: keys.iter().map(item).collect(),
            };
            let at = Moment::from_millis(0);
            names.record(run, &Event { at, fact });
        };
        let inner = run(&["build[1]"]);
        expand(&run(&[]), "build", &["linux,3.9", "linux,3.12"]);
        expand(&inner, "test", &["eu", "us"]);
        let place = "test[0]".parse().unwrap();
        assert_eq!(names.subject(&inner.path, &place), "build[linux,3.12]/test[eu]");
        assert_eq!(names.subject(&run(&["all"]).path, &place), "all/test[0]");
    }
}
