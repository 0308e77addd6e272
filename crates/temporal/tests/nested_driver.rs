//! The loop of a run with runs inside, without a server.

use wf_base::name::RunId;
use wf_core::machine::{Effect, RunOutcome};
use wf_engine::NestedRun;
use wf_model::JsonObject;
use wf_temporal::{
    command::{DriverCommand, Occurrence, RunTimer},
    lock_queue::{LockMessage, LockNotice},
    order::{Job, WorkWish},
};

use crate::driven::{Driven, driven_run, ended};

const OUTER: &str =
    "  - {id: outer, uses: inner.md, timeout: 1h}\n  - {id: after, depends_on: [outer], run: 'true'}\n";
const INNER: &str = "  - {id: inner, run: 'true'}\n";

/// A run with a nested run that has begun.
struct Begun {
    driven: Driven,
    nested: RunId,
    /// The effect that began the attempt of the outer run.
    outer: Effect,
    /// The work of the nested run, and its effect.
    key: u64,
    inner: Effect,
    /// The commands that came with that.
    commands: Vec<DriverCommand>,
}

impl Begun {
    /// A nested run whose step has begun.
    fn new() -> Self {
        let mut begun = Self::of(INNER);
        let works = begun.driven.works(&begun.commands);
        let [(key, order, Job::Effect(inner))] = works.as_slice() else { panic!("{works:?}") };
        assert_eq!(order.run, begun.nested);
        assert!(order.log.count > 0, "what a worker does for a nested run relies on its beginning");
        (begun.key, begun.inner) = (*key, (**inner).clone());
        begun
    }

    /// A nested run with some steps that has begun.
    fn of(steps: &str) -> Self {
        let mut driven = Driven::with(OUTER, &[("inner", steps)]);
        let commands = driven.begin();
        let (key, _, outer) = driven.only_work(&commands);
        let nested = NestedRun {
            outer: driven_run(),
            attempt: outer.attempt().unwrap(),
            child: None,
            path: "inner.md".into(),
            params: JsonObject::new(),
            generated: None,
            item_key: None,
            dropped: Vec::new(),
        };
        let run = nested.id();
        let commands = driven.report_nested(key, nested);
        Self { nested: run, inner: outer.clone(), outer, key, commands, driven }
    }

    /// Reports the end of the attempt that the nested run was, and returns the work that it was, and what follows.
    fn end_nested(&mut self, commands: &[DriverCommand]) -> (bool, Vec<DriverCommand>) {
        let works = self.driven.works(commands);
        let [(key, order, Job::EndNested { timed_out, .. })] = works.as_slice() else { panic!("{works:?}") };
        assert_eq!(order.run, driven_run());
        (*timed_out, self.driven.report(*key, vec![ended(&self.outer)], false))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_ends_after_the_run_that_it_is() {
    let mut begun = Begun::new();
    let (key, end) = (begun.key, ended(&begun.inner));
    let commands = begun.driven.report(key, vec![end], false);
    let (timed_out, commands) = begun.end_nested(&commands);
    assert!(!timed_out);
    let (key, _, after) = begun.driven.only_work(&commands);
    assert_eq!(after.attempt().unwrap().task_id.step.as_str(), "after");
    begun.driven.report(key, vec![ended(&after)], false);
    assert_eq!(begun.driven.driver.outcome(), Some(RunOutcome::Succeeded));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_of_a_nested_run_gets_its_lock_and_gives_it_back_before_the_run_ends() {
    let mut begun = Begun::of("  - {id: inner, concurrency: db, writes: [out.txt], run: 'true'}\n");
    let [DriverCommand::Tell { key, message: LockMessage::Acquire(ticket), .. }] = &begun.commands[1..]
    else {
        panic!("{:?}", begun.commands)
    };
    assert_eq!(ticket.run, driven_run(), "the workflow hears of it");
    let ticket = ticket.clone();
    begun.driven.step(Occurrence::Told { key: *key });
    let granted = LockNotice { lock: "db".into(), ticket: ticket.clone(), holder: None };
    let commands = begun.driven.step(Occurrence::Lock(granted));
    let works = begun.driven.works(&commands);
    let [(key, order, Job::Effect(effect))] = works.as_slice() else { panic!("{works:?}") };
    assert_eq!(order.run, begun.nested);
    let commands = begun.driven.report(*key, vec![ended(effect)], false);
    let [DriverCommand::Tell { key, message, .. }] = commands.as_slice() else { panic!("{commands:?}") };
    assert_eq!(*message, LockMessage::Release(ticket));
    let commands = begun.driven.step(Occurrence::Told { key: *key });
    assert!(!begun.end_nested(&commands).0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_nested_run_goes_on_in_the_next_workflow() {
    let mut begun = Begun::new();
    begun.driven.driver.drain();
    begun.driven.step(Occurrence::GraceOver);
    begun.driven.report(begun.key, vec![], true);
    let commands = begun.driven.go_on();
    let works = begun.driven.works(&commands);
    let [(key, order, Job::Effect(effect))] = works.as_slice() else { panic!("{works:?}") };
    assert_eq!(order.run, begun.nested, "its outer attempt is no work of its own");
    assert!(matches!(**effect, Effect::Watch { .. }));
    let limits = |commands: &[DriverCommand]| -> Vec<i64> {
        let is_limit = |command: &DriverCommand| match command {
            DriverCommand::Wake { at, timer: RunTimer { timer: None, .. } } => Some(at.millis()),
            _ => None,
        };
        commands.iter().filter_map(is_limit).collect()
    };
    assert_eq!(limits(&commands), limits(&begun.commands), "its time is counted from its beginning");
    assert_eq!(limits(&commands).len(), 1);
    let commands = begun.driven.report(*key, vec![ended(effect)], false);
    begun.end_nested(&commands);
    assert!(begun.driven.driver.outcome().is_none(), "a step is left");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_nested_run_whose_time_is_over_ends() {
    let mut begun = Begun::new();
    let timer = RunTimer { run: begun.nested.clone(), timer: None };
    let commands = begun.driven.step(Occurrence::Woke(timer.clone()));
    assert!(matches!(commands[..], [DriverCommand::Stop { key }] if key == begun.key), "{commands:?}");
    assert_eq!(begun.driven.driver.wish(begun.key), WorkWish::End);
    let commands = begun.driven.step(Occurrence::Unbegun { key: begun.key });
    let (timed_out, _) = begun.end_nested(&commands);
    assert!(timed_out);
    assert!(begun.driven.step(Occurrence::Woke(timer)).is_empty(), "a run that is over has no time");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_run_ends_what_is_in_it_first_gently_and_then_at_once() {
    let mut begun = Begun::new();
    for wish in [WorkWish::End, WorkWish::Kill] {
        let commands = begun.driven.step(Occurrence::Cancel("enough".into()));
        assert!(matches!(commands[..], [DriverCommand::Stop { key }] if key == begun.key), "{commands:?}");
        assert_eq!(begun.driven.driver.wish(begun.key), wish);
    }
    let commands = begun.driven.step(Occurrence::Unbegun { key: begun.key });
    assert_eq!(begun.driven.driver.outcome(), None, "the attempt has not ended");
    begun.end_nested(&commands);
    assert_eq!(begun.driven.driver.outcome(), Some(RunOutcome::Cancelled));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_begins_after_its_attempt_was_told_to_end_is_cancelled() {
    let mut driven = Driven::with(OUTER, &[("inner", INNER)]);
    let commands = driven.begin();
    let (key, _, outer) = driven.only_work(&commands);
    driven.step(Occurrence::Cancel("enough".into()));
    let (outermost, attempt) = (driven_run(), outer.attempt().unwrap());
    let (path, params, dropped) = ("inner.md".into(), JsonObject::new(), Vec::new());
    let nested = NestedRun {
        outer: outermost,
        attempt,
        child: None,
        path,
        params,
        generated: None,
        item_key: None,
        dropped,
    };
    let commands = driven.report_nested(key, nested);
    let is_end = |(_, _, job): &(_, _, Job)| matches!(job, Job::EndNested { .. });
    let mut open = driven.works(&commands);
    // The step that began before it was known that the run ends was told so at once.
    while let Some((key, ..)) = open.iter().find(|work| !is_end(work)).cloned() {
        let commands = driven.step(Occurrence::Unbegun { key });
        open = driven.works(&commands);
    }
    assert!(open.iter().all(is_end) && open.len() == 1, "{open:?}");
}
