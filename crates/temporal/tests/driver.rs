//! The loop of a run without a server: occurrences in, commands out.

use wf_core::machine::{Effect, RunOutcome};
use wf_temporal::command::{DriverCommand, Occurrence};

use crate::driven::{Driven, begin, ended};

#[tokio::test(flavor = "multi_thread")]
async fn a_step_goes_to_the_queue_that_it_names() {
    for (steps, queue) in
        [("  - {id: a, run: 'true'}\n", "here"), ("  - {id: a, run: 'true', runs_on: gpu}\n", "there")]
    {
        let mut driven = Driven::new(steps);
        let commands = driven.begin();
        assert_eq!(driven.only_work(&commands).1, queue);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn work_that_was_left_is_waited_for_where_it_goes_on() {
    let mut driven = Driven::new("  - {id: a, run: 'true'}\n");
    let commands = driven.begin();
    let (key, ..) = driven.only_work(&commands);
    assert!(matches!(driven.driver.drain()[..], [DriverCommand::Grace { .. }]));
    let told = driven.step(Occurrence::GraceOver);
    assert!(matches!(told[..], [DriverCommand::Stop { key: told }] if told == key));
    driven.report(key, vec![], true);
    let commands = driven.go_on();
    let (key, queue, effect) = driven.only_work(&commands);
    assert_eq!(queue, "wf-host-w");
    assert!(matches!(effect, Effect::Watch { .. }), "{effect:?}");
    driven.report(key, vec![ended(&effect)], false);
    assert_eq!(driven.driver.outcome(), Some(RunOutcome::Succeeded));
}

#[tokio::test(flavor = "multi_thread")]
async fn work_that_no_worker_began_begins_in_the_next_workflow() {
    let mut driven = Driven::new("  - {id: a, run: 'true'}\n");
    let commands = driven.begin();
    let (key, ..) = driven.only_work(&commands);
    driven.driver.drain();
    driven.step(Occurrence::GraceOver);
    driven.step(Occurrence::Unbegun { key });
    let commands = driven.go_on();
    let (_, queue, effect) = driven.only_work(&commands);
    assert_eq!(queue, "here");
    assert!(matches!(effect, Effect::Start { .. }), "{effect:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_loss_of_a_worker_interrupts_the_attempt() {
    let mut driven = Driven::new("  - {id: a, run: 'true'}\n");
    let commands = driven.begin();
    let (key, ..) = driven.only_work(&commands);
    driven.step(Occurrence::Lost { key });
    assert_eq!(driven.driver.outcome(), Some(RunOutcome::Failed));
    // It is no news that comes twice.
    assert!(driven.step(Occurrence::Lost { key }).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_cancelled_before_it_begins_ends() {
    let mut driven = Driven::new("  - {id: a, run: 'true'}\n");
    let at = driven.now();
    let commands = driven.driver.begin(at).unwrap();
    assert!(driven.step(Occurrence::Cancel("nobody wants it".into())).is_empty());
    let [DriverCommand::Work { key, .. }] = commands.as_slice() else { panic!("{commands:?}") };
    let commands = driven.report(*key, vec![begin()], false);
    let works = commands.iter().filter_map(|command| match command {
        DriverCommand::Work { key, .. } => Some(*key),
        _ => None,
    });
    for key in works.collect::<Vec<_>>() {
        driven.step(Occurrence::Unbegun { key });
    }
    assert_eq!(driven.driver.outcome(), Some(RunOutcome::Cancelled));
}
