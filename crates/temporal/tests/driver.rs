//! The loop of a run without a server: occurrences in, commands out.

use std::sync::Arc;

use serde_json::json;

use wf_base::time::Moment;
use wf_core::machine::{AttemptUsage, Effect, Event, InputKind, Machine, ModelCall, RunOutcome};
use wf_engine::WorkClaim;
use wf_model::JsonObject;
use wf_temporal::{
    command::{DriverCommand, Occurrence},
    driver::RunDriver,
    lock_queue::{LockMessage, LockNotice, LockTicket},
    order::{Job, RunOrder, RunSpec, UnstoredLog},
};

use crate::driven::{Driven, begin, briefed, ended, replied, report_of};

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
async fn the_log_goes_to_work_that_relies_on_it_alone() {
    let mut driven = Driven::new("  - {id: a, run: 'true', verify: [{name: ok, run: 'true'}]}\n");
    let log = |commands: &[DriverCommand]| match commands {
        [DriverCommand::Work { order, .. }] => order.log.count,
        _ => panic!("{commands:?}"),
    };
    let commands = driven.begin();
    let (key, _, effect) = driven.only_work(&commands);
    assert!(matches!(effect, Effect::Start { .. }) && log(&commands) == 0, "{effect:?}");
    let commands = driven.report(key, vec![ended(&effect)], false);
    let (_, _, effect) = driven.only_work(&commands);
    assert!(matches!(effect, Effect::Check { .. }) && log(&commands) > 0, "{effect:?}");
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
async fn an_agent_whose_host_is_lost_is_briefed_anew_at_any_other() {
    let mut driven = Driven::new("  - {id: a, agent: {role: executor}}\n");
    let commands = driven.begin();
    let (key, ..) = driven.only_work(&commands);
    let commands = driven.report(key, vec![briefed()], false);
    let (key, queue, effect) = driven.only_work(&commands);
    assert_eq!(queue, "wf-host-w");
    assert!(matches!(effect, Effect::CallModel(_)), "{effect:?}");
    let commands = driven.step(Occurrence::Lost { key });
    let (_, queue, effect) = driven.only_work(&commands);
    assert_eq!(queue, "here");
    assert!(matches!(effect, Effect::Watch { agent: Some(_), .. }), "{effect:?}");
}

/// The verdict of the checks of an agent in a phase: they pass.
fn passed(effect: &Effect, name: &str) -> InputKind {
    let Effect::Check { attempt, phase, .. } = effect else { panic!("{effect:?}") };
    let verdict = json!({"name": name, "phase": phase, "ruling": "pass", "expected": "", "found": "", "duration_ms": 1});
    let verdicts = vec![serde_json::from_value(verdict).unwrap()];
    InputKind::Judged { attempt: attempt.clone(), phase: *phase, verdicts, seen: Vec::new() }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_agent_left_is_checked_at_any_host() {
    let checks = "inspect: [{name: looks, run: 'true'}], verify: [{name: works, run: 'true'}]";
    let mut driven = Driven::new(&format!("  - {{id: a, agent: {{role: executor}}, {checks}}}\n"));
    let commands = driven.begin();
    let (key, _, start) = driven.only_work(&commands);
    let commands = driven.report(key, vec![briefed()], false);
    let (key, queue, effect) = driven.only_work(&commands);
    assert!(matches!(effect, Effect::CallModel(_)) && queue == "wf-host-w", "{effect:?}");
    let mut commands = driven.report(key, vec![replied(&start, Vec::new())], false);
    let (key, queue, effect) = driven.only_work(&commands);
    assert!(matches!(effect, Effect::EndAgent(_)) && queue == "wf-host-w", "{effect:?}");
    commands = driven.report(key, vec![ended(&start)], false);
    for name in ["looks", "works"] {
        let (key, queue, effect) = driven.only_work(&commands);
        assert_eq!(queue, "here", "its host may be gone: {effect:?}");
        commands = driven.report(key, vec![passed(&effect, name)], false);
    }
    assert_eq!(driven.driver.outcome(), Some(RunOutcome::Succeeded));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_continues_a_conversation_relies_on_what_was_said_in_it() {
    let mut driven = Driven::new(
        "  - {id: a, agent: {role: executor, conversation: desk}}\n  - {id: b, depends_on: [a], run: 'true'}\n",
    );
    let granted = |ticket: LockTicket| LockNotice { lock: "conversation:desk".into(), ticket, holder: None };
    let commands = driven.begin();
    let [DriverCommand::Tell { key, message: LockMessage::Acquire(ticket), .. }] = commands.as_slice() else {
        panic!("{commands:?}")
    };
    driven.step(Occurrence::Told { key: *key });
    let commands = driven.step(Occurrence::Lock(granted(ticket.clone())));
    let works = driven.works(&commands);
    let [(_, order, _)] = works.as_slice() else { panic!("{works:?}") };
    assert!(order.log.count > 0, "another host has to know what was said before");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_begins_no_call_while_the_run_is_drained() {
    let mut driven = Driven::new("  - {id: a, agent: {role: executor}}\n");
    let commands = driven.begin();
    let (key, ..) = driven.only_work(&commands);
    driven.driver.drain();
    assert!(driven.report(key, vec![briefed()], false).is_empty());
    let commands = driven.go_on();
    let (key, queue, effect) = driven.only_work(&commands);
    assert_eq!(queue, "wf-host-w");
    assert!(matches!(effect, Effect::Watch { agent: Some(_), .. }), "{effect:?}");
    let commands = driven.report(key, vec![briefed()], false);
    assert!(matches!(driven.only_work(&commands).2, Effect::CallModel(ModelCall { call: 1, .. })));
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

fn only_message(commands: &[DriverCommand]) -> (u64, LockMessage) {
    let [DriverCommand::Tell { key, message, .. }] = commands else { panic!("{commands:?}") };
    (*key, message.clone())
}

fn granted(ticket: &LockTicket) -> Occurrence {
    Occurrence::Lock(LockNotice { lock: "db".into(), ticket: ticket.clone(), holder: None })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_is_kept_while_the_history_begins_anew_and_given_back_at_the_end() {
    let mut driven = Driven::new("  - {id: a, concurrency: db, run: 'true'}\n");
    let commands = driven.begin();
    let (asked, LockMessage::Acquire(ticket)) = only_message(&commands) else { panic!("{commands:?}") };
    driven.step(Occurrence::Told { key: asked });
    // It waits, and goes on waiting without another message.
    driven.driver.drain();
    assert!(driven.go_on().is_empty());
    let commands = driven.step(granted(&ticket));
    let (key, ..) = driven.only_work(&commands);
    driven.driver.drain();
    driven.step(Occurrence::GraceOver);
    driven.report(key, vec![], true);
    let commands = driven.go_on();
    let (key, _, effect) = driven.only_work(&commands);
    assert!(driven.step(granted(&ticket)).is_empty(), "a grant that comes twice");
    let commands = driven.report(key, vec![ended(&effect)], false);
    let (told, message) = only_message(&commands);
    assert_eq!(message, LockMessage::Release(ticket.clone()));
    assert_eq!(driven.driver.outcome(), None, "the lock has to hear of it first");
    driven.step(Occurrence::Told { key: told });
    assert_eq!(driven.driver.outcome(), Some(RunOutcome::Succeeded));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_that_comes_too_late_is_given_back() {
    let mut driven = Driven::new("  - {id: a, concurrency: db, run: 'true'}\n");
    let commands = driven.begin();
    let (_, LockMessage::Acquire(ticket)) = only_message(&commands) else { panic!("{commands:?}") };
    let commands = driven.step(Occurrence::Cancel("nobody wants it".into()));
    assert_eq!(only_message(&commands).1, LockMessage::Release(ticket.clone()));
    let commands = driven.step(granted(&ticket));
    assert_eq!(only_message(&commands).1, LockMessage::Release(ticket));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_begins_as_recorded_or_not_at_all() {
    let mut driven = Driven::new("  - {id: a, run: 'true'}\n");
    let order = driven.driver.store().unwrap();
    let machine = Machine::new(Arc::clone(&driven.plan), order.run.clone(), JsonObject::new());
    let opening = machine.opening(Moment::from_millis(-5), None);
    for (opening, is_right) in [(opening.clone(), true), ([opening.clone(), opening].concat(), false)] {
        let spec = Arc::new(RunSpec { opening: opening.clone(), ..(*driven.spec).clone() });
        let order = RunOrder { progress: None, ..order.clone() };
        let plan = Arc::clone(&driven.plan);
        driven.driver = RunDriver::open(order, spec, plan, driven.objects.clone()).unwrap();
        let commands = driven.driver.begin(Moment::from_millis(1)).unwrap();
        let [DriverCommand::Work { key, .. }] = commands.as_slice() else { panic!("{commands:?}") };
        let report = Box::new(report_of(vec![begin()], false));
        let reported = Occurrence::Reported { key: *key, report };
        let begun = driven.driver.step(Moment::from_millis(2), reported);
        assert_eq!(begun.is_ok(), is_right);
        if is_right {
            let log: UnstoredLog = driven.driver.news().unwrap().rest.open_now(&driven.objects).unwrap();
            let events: Vec<Event> = log.entries.into_iter().map(|entry| entry.event).collect();
            assert!(events.starts_with(&opening));
            assert_eq!(events.last().unwrap().at, Moment::from_millis(2), "what follows is later");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_is_looked_for_where_its_step_works_and_kept_where_it_was_made() {
    let step = "  - {id: a, run: 'true', runs_on: gpu, cache: {inputs: [], outputs: []}}\n";
    let mut driven = Driven::new(step);
    let commands = driven.begin();
    let (key, queue, effect) = driven.only_work(&commands);
    let Effect::Lookup { task_id, .. } = effect else { panic!("{effect:?}") };
    assert_eq!(queue, "there");
    let commands = driven.report(key, vec![InputKind::Looked { task_id, found: None }], false);
    let (key, _, effect) = driven.only_work(&commands);
    let commands = driven.report(key, vec![ended(&effect)], false);
    let (key, queue, effect) = driven.only_work(&commands);
    assert!(matches!(effect, Effect::Remember { .. }) && queue == "wf-host-w", "{effect:?} {queue}");
    let news = driven.driver.news().unwrap();
    assert!(news.outcome.is_some() && news.is_keeping, "the end is told once the result is kept");
    assert_eq!(driven.driver.outcome(), None);
    driven.step(Occurrence::Lost { key });
    assert!(!driven.driver.news().unwrap().is_keeping);
    assert_eq!(driven.driver.outcome(), Some(RunOutcome::Succeeded));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lookup_whose_worker_is_lost_finds_nothing() {
    let mut driven = Driven::new("  - {id: a, run: 'true', cache: {inputs: [], outputs: []}}\n");
    let commands = driven.begin();
    let (key, ..) = driven.only_work(&commands);
    let commands = driven.step(Occurrence::Lost { key });
    assert!(matches!(driven.only_work(&commands).2, Effect::Start { .. }), "{commands:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_work_may_use_is_set_aside_until_it_is_reported() {
    let steps = "  - {id: a, run: 'true'}\n  - {id: b, run: 'true'}\npolicy: {max_parallel: 2}\nbudget: {max_tokens: 100}\n";
    let mut driven = Driven::new(steps);
    let commands = driven.begin();
    let works = driven.works(&commands);
    let [(one, _, Job::Effect(effect)), (other, ..)] = works.as_slice() else { panic!("{works:?}") };
    let claim = |driven: &mut Driven, key, tokens| {
        let wanted = AttemptUsage { tokens, ..AttemptUsage::default() };
        driven.driver.claim(key, WorkClaim { wanted, own_allows: false })
    };
    assert_eq!(claim(&mut driven, *one, 60), None);
    let refusal = claim(&mut driven, *other, 41).unwrap();
    assert_eq!(refusal.to_string(), "it may use 101 of 100 tokens");
    assert_eq!(claim(&mut driven, *other, 40), None);
    // A claim takes the place of the one before.
    assert_eq!(claim(&mut driven, *one, 50), None);
    assert!(claim(&mut driven, *one, 61).is_some());
    driven.report(*one, vec![ended(effect)], false);
    assert!(!driven.driver.is_under_way(*one) && driven.driver.is_under_way(*other));
    assert_eq!(claim(&mut driven, *other, 100), None);
}
