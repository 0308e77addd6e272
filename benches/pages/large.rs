//! Runs of many items, recorded as an engine does: each item begins, ends, and is judged by nobody.

use std::fmt::Write as _;

use wf_base::{
    name::{Name, PlanId, RunId},
    time::Moment,
};
use wf_core::machine::{
    Attempt, AttemptUsage, Event, EventKind, RunOutcome, Standing, StepCounts, StepItem, StepState, TaskId,
    WorkExit,
};
use wf_model::{FailureClass, JsonObject};
use wf_store::{EventBatch, FencingToken, NewRun, Store};

/// The shape of a run with many tasks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// One step with many items.
    Items,
    /// Many steps in rows of ten, each behind those of the row before.
    Steps,
}

impl Shape {
    /// Returns the plan of so many tasks.
    pub fn plan(self, tasks: u32) -> String {
        let mut text = "---\nkind: plan\nid: many\nsteps:\n  - id: names\n    run: ./names\n    outputs:\n      names: {type: array, \
                        items: {type: string}}\n"
            .to_owned();
        match self {
            Self::Items => text.push_str(
                "  - {id: probe, for_each: steps.names.outputs.names, run: ./probe, depends_on: [names]}\n",
            ),
            Self::Steps => {
                for number in 0..tasks {
                    let after =
                        number.checked_sub(10).map_or("names".to_owned(), |before| format!("step_{before}"));
                    let _ = writeln!(text, "  - {{id: step_{number}, run: ./probe, depends_on: [{after}]}}");
                }
            }
        }
        text.push_str("  - {id: done, run: ./done, depends_on: [names]}\n---\n");
        text
    }

    /// Returns the only attempt of a task.
    fn attempt(self, number: u32) -> Attempt {
        match self {
            Self::Items => {
                Attempt { task_id: TaskId { step: name("probe"), item: Some(number) }, attempt: 1 }
            }
            Self::Steps => of_step(&format!("step_{number}")),
        }
    }
}

/// The items of a batch of events.
const BATCH: u32 = 500;

/// Of so many items, one failed.
const FAILURE_EVERY: u32 = 100;

const NOW: Moment = Moment::from_millis(1_800_000_000_000);

/// Records a run with so many tasks, of which some failed.
pub fn record_run(store: &Store, shape: Shape, tasks: u32) -> RunId {
    let mut random = [0; 16];
    getrandom::fill(&mut random).expect("there is randomness");
    let run = RunId::from_bytes(random);
    let plan = PlanId::parse("many").expect("a name");
    let new = NewRun {
        plan: plan.clone(),
        path: "plan.md".into(),
        params: JsonObject::new(),
        parent: None,
        retry_of: None,
        session: None,
        sources: vec![("plan.md".into(), shape.plan(tasks))],
        created: NOW,
        config: serde_json::Value::Null,
        claim: None,
    };
    let began = EventKind::RunStarted { logic_version: 1, plan, params: JsonObject::new(), dispatch: None };
    write(store, &run, Some(new), vec![began, EventKind::AttemptStarted(of_step("names"))]);
    let names = of_step("names");
    write(store, &run, None, ended(names, StepState::Succeeded).into());
    if shape == Shape::Items {
        let keys = (0..tasks).map(|number| format!("name-{number}"));
        let items = keys.map(|key| StepItem { value: key.clone().into(), key }).collect();
        write(store, &run, None, vec![EventKind::StepExpanded { step: name("probe"), items }]);
    }
    for first in (0..tasks).step_by(BATCH as usize) {
        let numbers = first..tasks.min(first + BATCH);
        write(
            store,
            &run,
            None,
            numbers.clone().map(|number| EventKind::AttemptStarted(shape.attempt(number))).collect(),
        );
        let state =
            |number| if number % FAILURE_EVERY == 0 { StepState::Failed } else { StepState::Succeeded };
        write(
            store,
            &run,
            None,
            numbers.flat_map(|number| ended(shape.attempt(number), state(number))).collect(),
        );
    }
    write(
        store,
        &run,
        None,
        vec![EventKind::RunEnded {
            outcome: RunOutcome::Failed,
            reason: "step `probe` failed".into(),
            failed_step: Some(name("probe")),
            failures: wf_core::machine::FailureTally::default(),
            standing: Standing::Reported,
            counts: StepCounts::default(),
            stale: vec![],
            outputs: JsonObject::new(),
            accepted: None,
            offers: wf_core::machine::RunOffers::default(),
        }],
    );
    run
}

/// Records one more event, and returns the number that it has in the log.
pub fn append(store: &Store, run: &RunId, number: usize) -> u64 {
    let number = u32::try_from(number).unwrap_or(u32::MAX);
    let attempt = Attempt { attempt: number.saturating_add(2), ..of_step("done") };
    write(store, run, None, vec![EventKind::AttemptStarted(attempt)])
}

/// Records events, and returns the number of the last one in the log.
fn write(store: &Store, run: &RunId, new: Option<NewRun>, facts: Vec<EventKind>) -> u64 {
    let events = facts.into_iter().map(|fact| Event { at: NOW, fact }).collect();
    let token = FencingToken { run: run.clone(), number: 0 };
    let after = new.as_ref().map(|_| 0);
    let batch = EventBatch { run: run.clone(), token, after, new, events };
    store.append(batch).wait().expect("the events are recorded");
    store
        .reader()
        .and_then(|reader| reader.log().end())
        .expect("the log can be read")
        .map_or(0, |end| end.seq)
}

fn name(text: &str) -> Name {
    Name::parse(text).expect("a name")
}

fn of_step(step: &str) -> Attempt {
    Attempt { task_id: TaskId { step: name(step), item: None }, attempt: 1 }
}

fn ended(attempt: Attempt, state: StepState) -> [EventKind; 2] {
    let failure_class = (state == StepState::Failed).then_some(FailureClass::Logical);
    let task_id = attempt.task_id.clone();
    let answered = EventKind::AttemptEnded {
        attempt,
        how: WorkExit::Code { code: i32::from(failure_class.is_some()) },
        failure_class,
        findings: wf_core::machine::NestedFindings::default(),
        outputs: JsonObject::new(),
        artifacts: vec![],
        standing: None,
        swapped_file: None,
        usage: AttemptUsage::default(),
        left: wf_core::machine::LeftProcesses::default(),
        log: None,
        breakers: Vec::new(),
    };
    let ended = EventKind::StepEnded {
        task_id,
        state,
        standing: Standing::Reported,
        reason: String::new(),
        failure_class,
        allowed_to_fail: false,
        cache_key: None,
        outputs: JsonObject::new(),
        reused_from: None,
    };
    [answered, ended]
}
