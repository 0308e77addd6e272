use std::collections::BTreeMap;

use crate::engine::RunRef;
use crate::machine::{Event, Fact, Place};
use crate::name::Name;

/// The names of the items of runs: their keys, by the places above the run, and by step.
#[derive(Clone, Debug, Default)]
pub struct Names(BTreeMap<Vec<String>, BTreeMap<Name, Vec<String>>>);

impl Names {
    /// Learns from an event.
    pub fn note(&mut self, run: &RunRef, event: &Event) {
        if let Fact::StepExpanded { step, items } = &event.fact {
            let keys = items.iter().map(|item| item.key.clone()).collect();
            let own = self.0.entry(run.path.clone()).or_default();
            own.insert(step.clone(), keys);
        }
    }

    /// Forgets a run that has ended.
    pub fn forget(&mut self, run: &RunRef) {
        self.0.remove(&run.path);
    }

    /// A place of the run that this way leads to.
    pub fn place(&self, path: &[String], place: &Place) -> String {
        let keys = self.0.get(path).and_then(|steps| steps.get(&place.step));
        let item = place.item.and_then(|item| usize::try_from(item).ok());
        let key = keys.zip(item).and_then(|(keys, item)| keys.get(item));
        place.called(key.map(String::as_str))
    }

    /// A place with those above it: `build/compile[linux]`.
    pub fn subject(&self, path: &[String], place: &Place) -> String {
        self.text(path, self.place(path, place))
    }

    /// A text below the places above its run.
    pub fn text(&self, path: &[String], text: impl Into<String>) -> String {
        let mut path = self.path(path);
        path.push(text.into());
        path.join("/")
    }

    /// The places above a run.
    pub fn path(&self, path: &[String]) -> Vec<String> {
        let called = path.iter().enumerate();
        let called = called.map(|(at, above)| match above.parse::<Place>() {
            Ok(place) => self.place(path.get(..at).unwrap_or_default(), &place),
            Err(_) => above.clone(),
        });
        called.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Names;
    use crate::engine::RunRef;
    use crate::machine::{Event, Fact, Item, Place};
    use crate::name::{PlanId, RunId};
    use crate::time::Moment;

    fn run(path: &[&str]) -> RunRef {
        RunRef {
            id: RunId::from_stored("1"),
            plan: PlanId::parse("demo").unwrap(),
            path: path.iter().map(|place| (*place).to_owned()).collect(),
        }
    }

    #[test]
    fn items_are_called_by_their_keys_however_deep() {
        let mut names = Names::default();
        let mut expand = |run: &RunRef, step: &str, keys: &[&str]| {
            let item = |key: &&str| Item {
                key: (*key).to_owned(),
                value: serde_json::Value::Null,
            };
            let fact = Fact::StepExpanded {
                step: step.parse::<Place>().unwrap().step,
                items: keys.iter().map(item).collect(),
            };
            let at = Moment::from_millis(0);
            names.note(run, &Event { at, fact });
        };
        let inner = run(&["build[1]"]);
        expand(&run(&[]), "build", &["linux,3.9", "linux,3.12"]);
        expand(&inner, "test", &["eu", "us"]);
        let place = "test[0]".parse().unwrap();
        assert_eq!(
            names.subject(&inner.path, &place),
            "build[linux,3.12]/test[eu]"
        );
        assert_eq!(names.subject(&run(&["all"]).path, &place), "all/test[0]");
    }
}
