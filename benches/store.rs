//! What the store costs: `cargo bench --bench store`. For reading by people, not for gates.

use std::{
    io::Write,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use wf_base::{
    name::{Name, PlanId, RunId},
    time::{Moment, SystemClock},
};
use wf_core::{
    goal::{GoalOutcome, ReconciliationCause, ReconciliationHealth},
    machine::{
        Attempt, Event, EventKind, RunOffers, RunOutcome, Standing, StepCounts, StepState, TaskId, WorkExit,
    },
    memory::{Megram, MegramOrigin, MegramState, MegramTags},
};
use wf_model::JsonObject;
use wf_store::{
    EventBatch, FencingToken, NewRun, ReconciliationClaim, ReconciliationEnd, RunFilter, Store,
    StoreDurability, StoreReader, verify_chain,
};

const STEPS: u32 = 10_000;
const NOW: Moment = Moment::from_millis(1_800_000_000_000);

fn main() {
    for durability in [StoreDurability::Full, StoreDurability::Normal] {
        let say = |what: &str, (wall, cpu): (Duration, Duration)| {
            let mut out = std::io::stdout();
            let _ = writeln!(out, "{durability:?} {what}: {wall:?}, cpu {cpu:?}");
        };
        let dir = tempfile::tempdir().expect("there is a folder for temporary files");
        for what in ["cold start, one run, end", "start, one run, end"] {
            let took = timed(|| drop(begun(dir.path(), durability)));
            say(what, took);
        }
        for steps_of_batch in [100, 8, 1] {
            let (store, run) = begun(dir.path(), durability);
            let (wall, cpu) = timed(|| fill(&store, &run, STEPS, steps_of_batch));
            let each = (wall / STEPS, cpu / STEPS);
            say(&format!("a step, {steps_of_batch} in a batch"), each);
        }
        let (store, run) = begun(dir.path(), durability);
        say("rebuild, all", timed(|| drop(store.rebuild().wait())));
        let reader = store.reader().expect("the store can be read");
        say("verify, all", timed(|| drop(verify_chain(&reader))));
        drop((store, run));
    }
    large();
}

/// A large state: what it costs to decide by it, and to forget something.
fn large() {
    let dir = tempfile::tempdir().expect("there is a folder for temporary files");
    let dir = dir.path();
    let reader = || StoreReader::from_log(dir).expect("the log can be read");
    let (store, long) = begun(dir, StoreDurability::Normal);
    fill(&store, &long, STEPS * 10 / 3, 100);
    let open = reader();
    let read = || drop(open.events().of_run(&long, 0).expect("the events are sound"));
    report("one run of 100,000 events, folded and read", read);
    report("the same, read again", read);
    for _ in 0..2_000 {
        let run = record(&store, None);
        fill(&store, &run, 16, 16);
    }
    report("2,000 more runs of 50 events, opened", || drop(reader()));
    report("the same, all folded", || drop(reader().runs().list(usize::MAX, &RunFilter::default())));
    for _ in 0..3 {
        report("1,000 reconciliations with repairs", || (0..1_000).for_each(|_| reconcile(&store)));
    }
    report("one more, by a new process", || reconcile(&begun(dir, StoreDurability::Normal).0));
    fill(&store, &record(&store, None), STEPS * 20 / 3, 100);
    let origin = MegramOrigin { at: NOW, from: "bench" };
    let lesson = Megram::new(MegramState::Refine, MegramTags::tool("curl", "any"), "a lesson".into(), origin);
    let id = lesson.id;
    store.memory().remember(vec![lesson]).wait().expect("it is remembered");
    let size = store.reader().and_then(|reader| reader.size()).unwrap_or_default() / 1_000_000;
    report(&format!("forget, {size} MB, in the log"), || drop(store.memory().forget(vec![id]).wait()));
    report("the same, in the files", || drop(store.scrub()));
}

/// Measures work on a large state.
fn report(what: &str, work: impl FnOnce()) {
    let (wall, cpu) = timed(work);
    let mut out = std::io::stdout();
    let _ = writeln!(out, "large {what}: {wall:?}, cpu {cpu:?}");
}

/// A reconciliation whose repair ends it.
fn reconcile(store: &Store) {
    let (goal, cause) = (PlanId::parse("bench").expect("a name"), ReconciliationCause::Person);
    let look = record(
        store,
        Some(ReconciliationClaim::Look { goal, slot: None, cause, token: None, by_backend: false }),
    );
    let repair = record(store, Some(ReconciliationClaim::Repair { cycle: look.clone(), by_backend: false }));
    append(store, &repair, vec![run_ended()]);
    let verdict = GoalOutcome { health: ReconciliationHealth::Repaired, reason: String::new() };
    let end = ReconciliationEnd { run: look, outcome: verdict, at: NOW, pause: None, notices: vec![] };
    store.reconciliations().end(end).wait().expect("the end is recorded");
}

/// The time on the wall and of the processors, of all threads.
#[expect(clippy::disallowed_methods, reason = "this measures")]
fn timed(work: impl FnOnce()) -> (Duration, Duration) {
    let (begin, before) = (Instant::now(), processors());
    work();
    (begin.elapsed(), processors().saturating_sub(before))
}

/// The processor time of this process, in steps of 10 ms; Linux only.
fn processors() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks = stat
        .rsplit(')')
        .next()
        .into_iter()
        .flat_map(|fields| fields.split_whitespace().skip(11).take(2))
        .filter_map(|ticks| ticks.parse::<u64>().ok());
    Duration::from_millis(10 * ticks.sum::<u64>())
}

fn begun(dir: &Path, durability: StoreDurability) -> (Store, RunId) {
    let store = Store::open(dir, durability, Arc::new(SystemClock)).expect("the store opens");
    let run = record(&store, None);
    (store, run)
}

/// Records a run.
fn record(store: &Store, claim: Option<ReconciliationClaim>) -> RunId {
    let mut random = [0; 16];
    getrandom::fill(&mut random).expect("there is randomness");
    let run = RunId::from_bytes(random);
    let new = NewRun {
        plan: PlanId::parse("bench").expect("a name"),
        path: "bench.md".into(),
        params: JsonObject::new(),
        parent: None,
        retry_of: None,
        session: None,
        sources: vec![("bench.md".into(), "# Bench".into())],
        created: NOW,
        config: serde_json::Value::Null,
        claim,
    };
    let batch =
        EventBatch { run: run.clone(), token: untaken(&run), after: Some(0), new: Some(new), events: vec![] };
    store.append(batch).wait().expect("the run is recorded");
    run
}

/// The token of a run that nobody took.
fn untaken(run: &RunId) -> FencingToken {
    FencingToken { run: run.clone(), number: 0 }
}

/// Runs steps: each begins in one batch and ends in the next.
fn fill(store: &Store, run: &RunId, steps: u32, steps_of_batch: u32) {
    for batch in 0..steps / steps_of_batch {
        let ends = |number| ended(number).into_iter();
        let numbers = batch * steps_of_batch..(batch + 1) * steps_of_batch;
        let begins = numbers.clone().map(|number| EventKind::AttemptStarted(attempt(number)));
        append(store, run, begins.collect());
        append(store, run, numbers.flat_map(ends).collect());
    }
}

fn append(store: &Store, run: &RunId, facts: Vec<EventKind>) {
    let event = |fact| Event { at: NOW, fact };
    let batch = EventBatch {
        run: run.clone(),
        token: untaken(run),
        after: None,
        new: None,
        events: facts.into_iter().map(event).collect(),
    };
    store.append(batch).wait().expect("the events are recorded");
}

fn run_ended() -> EventKind {
    EventKind::RunEnded {
        outcome: RunOutcome::Succeeded,
        reason: String::new(),
        failed_step: None,
        failures: wf_core::machine::FailureTally::default(),
        standing: Standing::Verified,
        counts: StepCounts::default(),
        stale: vec![],
        outputs: JsonObject::new(),
        accepted: None,
        offers: RunOffers::default(),
    }
}

fn attempt(number: u32) -> Attempt {
    let step = Name::parse(&format!("step_{number}")).expect("a name");
    Attempt { task_id: TaskId { step, item: None }, attempt: 1 }
}

fn ended(number: u32) -> [EventKind; 2] {
    let attempt = attempt(number);
    let task_id = attempt.task_id.clone();
    let answered = EventKind::AttemptEnded {
        attempt,
        how: WorkExit::Code { code: 0 },
        failure_class: None,
        findings: wf_core::machine::NestedFindings::default(),
        outputs: JsonObject::new(),
        artifacts: vec![],
        standing: None,
        swapped_file: None,
        usage: wf_core::machine::AttemptUsage::default(),
        left: wf_core::machine::LeftProcesses::default(),
        log: None,
        breakers: Vec::new(),
    };
    let ended = EventKind::StepEnded {
        task_id,
        state: StepState::Succeeded,
        standing: Standing::Reported,
        reason: String::new(),
        failure_class: None,
        allowed_to_fail: false,
        cache_key: None,
        outputs: JsonObject::new(),
        reused_from: None,
    };
    [answered, ended]
}
