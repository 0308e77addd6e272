use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use wf_base::name::{RunId, SessionName};

fn owner(run: u8, session: Option<&str>, lane: PermitLane) -> PermitOwner {
    let session = session.map(|name| SessionName::parse(name).unwrap());
    PermitOwner { run: RunId::from_bytes([run; 16]), session, lane }
}

fn person(run: u8) -> PermitOwner {
    owner(run, None, PermitLane::Interactive)
}

fn most(in_workspace: u32) -> PermitQueue {
    let limits = ParallelLimits { in_workspace: Some(in_workspace), ..ParallelLimits::default() };
    PermitQueue { limits, ..PermitQueue::default() }
}

impl PermitQueue {
    fn ask(&mut self, owner: PermitOwner) {
        let wait = self.wait_of(owner);
        self.waits.push(wait);
    }

    /// Gives the next permit, and returns the first byte of the run that got it.
    fn serve(&mut self) -> Option<u8> {
        let next = self.next()?;
        self.admit(next);
        let run = &self.owners.last().unwrap().run;
        (0..=u8::MAX).find(|byte| *run == RunId::from_bytes([*byte; 16]))
    }

    /// Serves the queue one by one, each until it has ended.
    fn serve_all(&mut self) -> Vec<u8> {
        let mut served = Vec::new();
        while let Some(run) = self.serve() {
            self.owners.clear();
            served.push(run);
        }
        served
    }
}

#[test]
fn runs_take_turns_however_many_steps_wait() {
    let mut queue = most(1);
    (0..5).for_each(|_| queue.ask(person(1)));
    (0..3).for_each(|_| queue.ask(person(2)));
    queue.ask(person(3));
    assert_eq!(queue.serve_all(), [1, 2, 3, 1, 2, 1, 2, 1, 1]);
}

#[test]
fn sessions_take_turns_and_then_their_runs() {
    let mut queue = most(1);
    for run in [1, 2, 3] {
        (0..2).for_each(|_| queue.ask(owner(run, Some("hot"), PermitLane::Interactive)));
    }
    (0..3).for_each(|_| queue.ask(owner(9, Some("cold"), PermitLane::Interactive)));
    assert_eq!(queue.serve_all(), [1, 9, 2, 9, 3, 9, 1, 2, 3]);
}

#[test]
fn every_fourth_permit_is_for_schedules() {
    let mut queue = most(1);
    (0..2).for_each(|_| queue.ask(owner(8, None, PermitLane::Scheduled)));
    (0..7).for_each(|_| queue.ask(person(1)));
    assert_eq!(queue.serve_all(), [1, 1, 1, 8, 1, 1, 1, 8, 1]);
}

#[test]
fn limits_of_runs_and_sessions_keep_back_only_theirs() {
    let limits = ParallelLimits { in_run: Some(1), in_session: Some(2), in_workspace: Some(4) };
    let mut queue = PermitQueue { limits, ..PermitQueue::default() };
    for run in [1, 1, 2, 3] {
        queue.ask(owner(run, Some("hot"), PermitLane::Interactive));
    }
    queue.ask(person(4));
    assert_eq!(
        [queue.serve(), queue.serve(), queue.serve(), queue.serve()],
        [Some(1), Some(4), Some(2), None]
    );
    let kept = |run| queue.limit_on(&owner(run, Some("hot"), PermitLane::Interactive));
    assert_eq!([kept(1), kept(3)], [Some(ParallelLimit::Session); 2]);
    assert_eq!(queue.limit_on(&person(4)), Some(ParallelLimit::Run));
    assert_eq!(queue.limit_on(&person(5)), None);
}

/// The runs of the worlds below: two sessions, one of which has a run in each lane, and two runs alone.
fn runs() -> [PermitOwner; 6] {
    use PermitLane::{Interactive, Scheduled};
    [
        owner(1, Some("hot"), Interactive),
        owner(2, Some("hot"), Interactive),
        owner(3, Some("hot"), Scheduled),
        owner(4, Some("cold"), Interactive),
        owner(5, None, Interactive),
        owner(6, None, Scheduled),
    ]
}

fn shares(one: &PermitOwner, other: &PermitOwner) -> bool {
    one.lane == other.lane && (one.run == other.run || one.session.is_some() && one.session == other.session)
}

/// What was served while a run waited that no limit kept back.
#[derive(Default)]
struct Bypasses {
    /// By run, since its own was served.
    runs: BTreeMap<usize, u32>,
    /// By the first run of a session, since its own session was served.
    sessions: BTreeMap<usize, u32>,
    /// Permits of persons, since its own lane was served.
    interactive: u32,
}

/// Notes that a run was served: `waits` are the runs that were free to be.
fn note(bypasses: &mut [Bypasses], waits: &[bool], by: usize) {
    let runs = runs();
    let session = runs.iter().position(|run| shares(run, &runs[by])).unwrap();
    for (run, bypass) in bypasses.iter_mut().enumerate() {
        if !waits[run] {
            *bypass = Bypasses::default();
            continue;
        }
        if runs[run].lane != runs[by].lane {
            bypass.interactive += u32::from(runs[by].lane == PermitLane::Interactive);
            continue;
        }
        bypass.interactive = 0;
        if run == by {
            bypass.runs.clear();
        } else if shares(&runs[run], &runs[by]) {
            *bypass.runs.entry(by).or_default() += 1;
        }
        if shares(&runs[run], &runs[by]) {
            bypass.sessions.clear();
        } else {
            *bypass.sessions.entry(session).or_default() += 1;
        }
    }
}

proptest! {
    /// In any order of requests and ends: the limits hold, nobody waits beside a free permit, and what passes by a run is
    /// bounded.
    #[test]
    fn whatever_happens_the_limits_hold_and_nobody_starves(
        acts in prop::collection::vec((0_usize..6, 0_usize..8, any::<bool>()), 1..300),
        limits in (1_u32..5, 1_u32..4, 1_u32..3),
    ) {
        let limits = ParallelLimits {
            in_workspace: Some(limits.0), in_session: Some(limits.1), in_run: Some(limits.2),
        };
        let mut queue = PermitQueue { limits, ..PermitQueue::default() };
        let runs = runs();
        let mut bypasses: Vec<Bypasses> = runs.iter().map(|_| Bypasses::default()).collect();
        for (run, end, asks) in acts {
            if asks {
                queue.ask(runs[run].clone());
            } else if end < queue.owners.len() {
                queue.owners.remove(end);
            }
            loop {
                let free = |owner: &PermitOwner| {
                    queue.waits.iter().any(|wait| wait.owner == *owner) && queue.limit_on(owner).is_none()
                };
                let waits: Vec<bool> = runs.iter().map(free).collect();
                let Some(next) = queue.next() else {
                    prop_assert!(!waits.contains(&true), "somebody waits beside a free permit");
                    break;
                };
                prop_assert_eq!(queue.clone().next(), Some(next));
                let by = runs.iter().position(|run| *run == queue.waits[next].owner).unwrap();
                queue.admit(next);
                note(&mut bypasses, &waits, by);
                for bypass in &bypasses {
                    let mut twice = bypass.runs.values().chain(bypass.sessions.values());
                    prop_assert!(twice.all(|times| *times == 1), "somebody was served twice before");
                    prop_assert!(bypass.interactive <= SCHEDULED_SHARE, "schedules got no share");
                }
                let most = |limit: Option<u32>| limit.unwrap() as usize;
                prop_assert!(queue.owners.len() <= most(limits.in_workspace));
                for owner in &runs {
                    let of_run = queue.owners.iter().filter(|held| held.run == owner.run).count();
                    let of_session = queue.owners.iter().filter(|held| held.session == owner.session).count();
                    prop_assert!(of_run <= most(limits.in_run));
                    prop_assert!(owner.session.is_none() || of_session <= most(limits.in_session));
                }
            }
        }
    }
}
