//! The parts of a run that a page reads are those of the whole.

use crate::{
    StepOrder, StepRow, StepSelection, StoreReader,
    tests::fixture::{answered, attempt, ended, first, name, new_run, open, run_id, started, story},
};
use wf_core::machine::{AttemptUsage, EventKind, StepState, TaskId};

/// Returns the end of an attempt that used tokens.
fn counted() -> EventKind {
    let mut fact = answered(attempt("ask", None, 1), 0);
    if let EventKind::AttemptEnded { usage, .. } = &mut fact {
        *usage = AttemptUsage { tokens: 7, ..AttemptUsage::default() };
    }
    fact
}

/// Opens a store with a run, once as its tables are and once from its log.
fn with_readers(test: impl Fn(&StoreReader)) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let end = ended(TaskId::of_step(&name("ask")), StepState::Succeeded);
    let mut facts = story();
    facts.splice(3..3, [started("ask"), counted(), end]);
    store.append(first(&run_id(1), new_run("report"), facts)).wait().unwrap();
    store.append(first(&run_id(2), new_run("report"), story())).wait().unwrap();
    test(&store.reader().unwrap());
    test(&StoreReader::from_log(dir.path()).unwrap());
}

#[test]
fn pages_of_tasks_make_up_the_run() {
    with_readers(|reader| {
        let all = reader.steps().of_run(&run_id(1)).unwrap();
        for states in
            [None, Some(vec![StepState::Succeeded]), Some(vec![StepState::Failed, StepState::Skipped])]
        {
            let wanted = |state| states.as_ref().is_none_or(|states| states.contains(&state));
            let expected: Vec<_> = all.iter().filter(|row| wanted(row.state)).cloned().collect();
            let mut found = Vec::new();
            for offset in (0..all.len() + 2).step_by(2) {
                let selection =
                    StepSelection { states: states.clone(), offset, limit: 2, order: StepOrder::Start };
                let page = reader.steps().page(&run_id(1), &selection).unwrap();
                assert_eq!(page.states.values().sum::<usize>(), all.len());
                for (state, count) in page.states {
                    assert_eq!(all.iter().filter(|row| row.state == state).count(), count, "{state:?}");
                }
                found.extend(page.steps);
            }
            assert_eq!(found, expected, "{states:?}");
        }
        let longest = StepSelection { limit: 9, order: StepOrder::Duration, ..StepSelection::default() };
        let took: Vec<_> = reader.steps().page(&run_id(1), &longest).unwrap().steps;
        let took: Vec<_> = took.iter().map(|row| row.started.zip(row.ended)).collect();
        let took: Vec<_> = took.into_iter().map(|times| times.map(|(from, to)| to.since(from))).collect();
        assert!(took.is_sorted_by(|one, other| one >= other), "{took:?}");
        for group in reader.steps().item_groups(&run_id(1)).unwrap() {
            let items = reader.steps().items(&run_id(1), &group.step, Some(group.state), 100).unwrap();
            let own =
                |row: &&StepRow| row.step == group.step && row.item.is_some() && row.state == group.state;
            assert_eq!(items.iter().collect::<Vec<_>>(), all.iter().filter(own).collect::<Vec<_>>());
            assert_eq!(items.len(), group.count);
        }
        let times: Vec<_> =
            reader.steps().times(&run_id(1)).unwrap().into_iter().map(|row| row.step).collect();
        let mut whole: Vec<_> =
            all.into_iter().filter(|row| row.item.is_none()).map(|row| row.step).collect();
        whole.sort();
        assert_eq!(times, whole);
    });
}

#[test]
fn the_rows_of_a_task_are_those_of_the_run() {
    with_readers(|reader| {
        let run = run_id(1);
        let steps = reader.steps().of_run(&run).unwrap();
        let (attempts, checks) =
            (reader.attempts().of_run(&run).unwrap(), reader.checks().of_run(&run).unwrap());
        let artifacts = reader.artifacts().of_run(&run).unwrap();
        assert_eq!(reader.attempts().count(&run).unwrap(), attempts.len() as u64);
        let tasks = checks.iter().filter_map(|row| Some(TaskId { step: row.step.clone()?, item: row.item }));
        let own: Vec<_> = checks.iter().filter(|row| row.step.is_some()).cloned().collect();
        assert_eq!(reader.checks().of_tasks(&run, &tasks.collect()).unwrap(), own);
        assert!(!artifacts.is_empty() && checks.iter().any(|row| row.step.is_some()));
        for row in steps {
            let task = TaskId { step: row.step.clone(), item: row.item };
            let is_own = |step: &_, item| *step == task.step && item == task.item;
            let own: Vec<_> = attempts.iter().filter(|row| is_own(&row.step, row.item)).cloned().collect();
            assert_eq!(reader.attempts().of_task(&run, &task).unwrap(), own);
            let own =
                checks.iter().filter(|row| row.step.as_ref().is_some_and(|step| is_own(step, row.item)));
            assert_eq!(reader.checks().of_task(&run, &task).unwrap(), own.cloned().collect::<Vec<_>>());
            let own: Vec<_> = artifacts.iter().filter(|row| is_own(&row.step, row.item)).cloned().collect();
            assert_eq!(reader.artifacts().of_task(&run, &task).unwrap(), own);
            assert_eq!(reader.steps().find(&run, &task).unwrap(), Some(row));
        }
        assert_eq!(reader.steps().find(&run, &TaskId::of_step(&name("nothing"))).unwrap(), None);
        let none = reader.artifacts().first(&run, 0).unwrap();
        assert_eq!((none.artifacts.len(), none.total), (0, artifacts.len()));
    });
}

#[test]
fn events_apart_are_those_that_not_every_task_has() {
    with_readers(|reader| {
        let kinds =
            ["run_started", "attempt_started", "attempt_ended", "step_ended", "check_completed", "run_ended"];
        let facts = reader.events().apart(&run_id(1), &kinds).unwrap();
        let facts: Vec<EventKind> = facts.into_iter().map(|event| event.fact).collect();
        let story = story();
        assert_eq!(facts, [story.first().unwrap().clone(), counted(), story.last().unwrap().clone()]);
        let others = reader.events().apart(&run_id(1), &["retry_scheduled", "step_expanded"]).unwrap();
        assert_eq!(others.len(), 2);
    });
}
