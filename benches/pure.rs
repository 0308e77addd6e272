//! What the pure parts cost, with criterion: `cargo bench --bench pure`, and `-- NAME` for some.
//!
//! What is measured at several sizes is shown for each element (a step, an event, a byte), so
//! that a cost that grows faster than its input is seen at once. The rest are in benches of their
//! own: masking beside its floor in `mask.rs`, thirty years of goals in `goals.rs`.

#[path = "pure/plans.rs"]
mod plans;
#[path = "pure/play.rs"]
mod play;

use std::{hint::black_box, time::Duration};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use wf_base::{digest::Sha256Digest, redact::SecretMask, time::Moment};
use wf_core::{
    ggs::{PreviousRound, RoundMeasures, solve},
    machine::Event,
};
use wf_model::{
    ReplanSettings,
    graph::StepGraph,
    schedule::{CronExpression, DstPolicy, GoalSchedule, ScheduleZone, TimingRule},
};
use wf_sign::canonical;

use plans::{Layout, Style};

criterion_group! {
    name = pure;
    config = Criterion::default().warm_up_time(Duration::from_secs(1)).sample_size(10);
    targets = language, graph, machine, seal, mask, schedule, ggs
}
criterion_main!(pure);

/// From the text of a plan to what may run: reading, checking, lowering, each alone.
fn language(criterion: &mut Criterion) {
    for (style, name) in [(Style::Flow, "flow"), (Style::Block, "block")] {
        let mut group = criterion.benchmark_group(format!("language/{name}"));
        for steps in [100, 10_000] {
            let files = plans::files(&plans::text(style, steps));
            group.throughput(Throughput::Elements(steps as u64));
            group.bench_function(BenchmarkId::new("parse", steps), |bench| {
                bench.iter_with_large_drop(|| plans::loaded(&files));
            });
            group.bench_function(BenchmarkId::new("check", steps), |bench| {
                let mut loaded = plans::loaded(&files);
                bench.iter(|| wf_lang::check::check(&mut loaded));
                assert!(loaded.diagnostics.is_empty());
            });
            group.bench_function(BenchmarkId::new("lower", steps), |bench| {
                let loaded = plans::loaded(&files);
                bench.iter_with_large_drop(|| plans::lowered(&loaded));
            });
        }
        group.finish();
    }
}

/// Circles and layers of a graph, and who comes after whom.
fn graph(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("graph");
    for steps in [100, 10_000] {
        let needs = plans::needs(Layout::Layers, steps);
        group.throughput(Throughput::Elements(steps as u64));
        group.bench_function(BenchmarkId::new("order and layers", steps), |bench| {
            bench.iter(|| StepGraph::new(needs.clone()).layers());
        });
        group.bench_function(BenchmarkId::new("a question a step", steps), |bench| {
            let graph = StepGraph::new(needs.clone());
            let asked: Vec<_> = (0..steps).map(|step| (step, step / 2)).collect();
            bench.iter(|| graph.reaches(black_box(&asked)));
        });
    }
    group.finish();
}

/// A whole run without a world, per step: two attempts at a time, each ends well.
fn machine(criterion: &mut Criterion) {
    for (layout, name) in [(Layout::Chain, "chain"), (Layout::Fan, "fan"), (Layout::Layers, "layers")] {
        let mut group = criterion.benchmark_group(format!("machine/{name}"));
        for steps in [100, 1_000, 10_000] {
            let plan = plans::plan(layout, steps);
            group.throughput(Throughput::Elements(steps as u64));
            group.bench_function(BenchmarkId::new("turns", steps), |bench| {
                bench.iter(|| play::run(&plan, |_| ()));
            });
            let mut events = Vec::new();
            play::run(&plan, |event| events.push(event.clone()));
            group.bench_function(BenchmarkId::new("replay", steps), |bench| {
                bench.iter(|| play::replayed(&plan, &events));
            });
        }
        group.finish();
    }
}

/// The one text of an event, and its digest.
fn seal(criterion: &mut Criterion) {
    let mut events: Vec<Event> = Vec::new();
    play::run(&plans::plan(Layout::Chain, 1_000), |event| {
        events.push(event.clone());
    });
    let values: Vec<_> =
        events.iter().map(|event| serde_json::to_value(event).expect("an event is JSON")).collect();
    let mut group = criterion.benchmark_group("seal");
    group.throughput(Throughput::Elements(values.len() as u64));
    group.bench_function("canonical and digest of events", |bench| {
        bench.iter(|| {
            for value in &values {
                black_box(Sha256Digest::of_bytes(canonical(value).as_bytes()));
            }
        });
    });
    let text = vec![b'x'; 1 << 20];
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("digest of 1 MiB", |bench| {
        bench.iter(|| Sha256Digest::of_bytes(black_box(&text)));
    });
    group.finish();
}

/// Log lines with ten secrets to look for.
fn mask(criterion: &mut Criterion) {
    let secrets: Vec<String> =
        (0..10_u64).map(|at| Sha256Digest::of_bytes(&at.to_be_bytes()).to_string()).collect();
    let mask = SecretMask::new(secrets.iter().map(String::as_str));
    let line = "2026-11-21T10:00:00Z level=info GET /api/v1/orders 200 OK in 12 ms\n";
    let mut text = line.repeat((1 << 20) / line.len());
    text += &secrets.concat();
    let mut group = criterion.benchmark_group("mask");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("1 MiB of log lines", |bench| {
        bench.iter(|| {
            let mut stream = mask.stream();
            let chunks = text.as_bytes().chunks(64 << 10);
            let shown: usize = chunks.map(|chunk| stream.feed(chunk).len()).sum();
            shown + stream.finish().len()
        });
    });
    group.finish();
}

/// Every slot of a year, five minutes apart, in a zone whose clocks are changed.
fn schedule(criterion: &mut Criterion) {
    let timing = GoalSchedule::of(TimingRule::Cron {
        expression: CronExpression::parse("*/5 * * * *").expect("a schedule"),
        zone: ScheduleZone::parse("Europe/Berlin").expect("a zone"),
        dst: DstPolicy::default(),
    });
    let moment = |text: &str| Moment::parse(text).expect("an instant");
    let from = moment("2026-01-01T00:00:00Z");
    let to = moment("2027-01-01T00:00:00Z");
    let count = timing.slots(from, to).count() as u64;
    let mut group = criterion.benchmark_group("schedule");
    group.throughput(Throughput::Elements(count));
    group.bench_function("a year of */5", |bench| {
        bench.iter(|| timing.slots(from, black_box(to)).count());
    });
    group.finish();
}

/// A thousand rounds, each measured differently.
fn ggs(criterion: &mut Criterion) {
    let replan = ReplanSettings::default();
    let measures: Vec<RoundMeasures> = (0..1_000_u32)
        .map(|at| RoundMeasures {
            d: f64::from(at % 10) / 10.0,
            p: f64::from(at / 10 % 10) / 10.0,
            omega: f64::from(at / 100) / 10.0,
        })
        .collect();
    let mut group = criterion.benchmark_group("ggs");
    group.throughput(Throughput::Elements(measures.len() as u64));
    group.bench_function("rounds", |bench| {
        bench.iter(|| {
            let next = |past: PreviousRound, measures: &RoundMeasures| solve(&replan, *measures, past).past();
            measures.iter().fold(PreviousRound::default(), next)
        });
    });
    group.finish();
}
