use std::sync::Arc;

use proptest::prelude::*;

use super::{OutputProducer, PlanFlow, StepFlow, TaintLevel, TaintSummary};
use crate::expr::ExprReference;

fn step(id: &str, made: OutputProducer, reads: &[ExprReference]) -> StepFlow {
    StepFlow { id: id.into(), each: Vec::new(), reads: reads.to_vec(), producer: made, external: Vec::new() }
}

fn out(step: &str) -> ExprReference {
    ExprReference::Output { step: step.into(), output: "o".into() }
}

/// Returns the taint of the last step's output, and its source.
fn last(params: &[(&str, TaintLevel)], steps: Vec<StepFlow>) -> (TaintLevel, Option<String>) {
    let id = steps.last().unwrap().id.clone();
    let params = params.iter().map(|(name, taint)| ((*name).to_owned(), *taint));
    let flow = PlanFlow { params: params.collect(), steps, outputs: Vec::new() };
    let made = TaintSummary::from_flow(&flow).steps[&id].output("o").clone();
    (made.taint, made.from.map(|from| from.to_string()))
}

const CONFINED: OutputProducer = OutputProducer::Confined { net: false };

fn check(steps: Vec<StepFlow>, taint: TaintLevel, from: Option<&str>) {
    assert_eq!(last(&[], steps), (taint, from.map(str::to_owned)));
}

#[test]
fn a_request_gives_what_is_external() {
    check(vec![step("get", OutputProducer::Request, &[])], TaintLevel::External, Some("the http step `get`"));
}

#[test]
fn a_program_makes_what_it_gives_of_what_it_is_given() {
    check(vec![step("a", CONFINED, &[])], TaintLevel::Owner, None);
    let free = Some("step `a`, which runs without a sandbox, and so with network access");
    check(vec![step("a", OutputProducer::Free, &[])], TaintLevel::External, free);
    check(
        vec![step("a", OutputProducer::Free, &[]), step("b", CONFINED, &[out("a")])],
        TaintLevel::External,
        free,
    );
    for made in [CONFINED, OutputProducer::Free] {
        let steps = vec![step("get", OutputProducer::Request, &[]), step("b", made, &[out("get")])];
        check(steps, TaintLevel::External, Some("the http step `get`"));
    }
}

#[test]
fn a_network_gives_what_is_external() {
    let net = OutputProducer::Confined { net: true };
    check(vec![step("a", net, &[])], TaintLevel::External, Some("step `a`, which has network access"));
}

#[test]
fn an_agent_that_reads_untrusted_files_gives_what_is_external() {
    let from = "step `a`, whose agent reads untrusted text";
    check(vec![step("a", OutputProducer::ExposedAgent, &[])], TaintLevel::External, Some(from));
}

#[test]
fn the_item_of_an_external_list_is_external() {
    let mut each = step("b", CONFINED, &[]);
    each.each = vec![out("get")];
    let steps = vec![step("get", OutputProducer::Request, &[]), each];
    check(steps, TaintLevel::External, Some("the http step `get`"));
}

#[test]
fn every_parameter_is_given_to_every_program() {
    let external = last(&[("x", TaintLevel::External)], vec![step("a", CONFINED, &[])]);
    assert_eq!(external, (TaintLevel::External, Some("the parameter `x`, which is external".into())));
}

#[test]
fn what_is_declared_external_is_so_whatever_makes_it() {
    let mut declared = step("a", CONFINED, &[]);
    declared.external = vec!["o".into()];
    let from = "output `o` of step `a`, which is declared external";
    check(vec![declared], TaintLevel::External, Some(from));
}

#[test]
fn only_a_decision_makes_it_trusted_again() {
    let get = || step("get", OutputProducer::Request, &[]);
    for made in [CONFINED, OutputProducer::Free, OutputProducer::Request] {
        let steps = vec![get(), step("b", made, &[out("get")])];
        assert_eq!(last(&[], steps).0, TaintLevel::External);
    }
    check(vec![get(), step("ok", OutputProducer::Decided, &[out("get")])], TaintLevel::Owner, None);
}

#[test]
fn trust_goes_through_a_plan_that_is_used() {
    let inner = PlanFlow {
        params: vec![("p".into(), TaintLevel::Owner)],
        steps: vec![step("get", OutputProducer::Request, &[]), step("echo", CONFINED, &[])],
        outputs: vec![
            ("o".into(), vec![ExprReference::Param("p".into())]),
            ("body".into(), vec![out("get")]),
        ],
    };
    let summary = Arc::new(TaintSummary::from_flow(&inner));
    let nested = |reads: &[ExprReference]| OutputProducer::Nested {
        path: "inner.md".into(),
        summary: Arc::clone(&summary),
        with: vec![("p".into(), reads.to_vec())],
    };
    check(vec![step("use", nested(&[]), &[])], TaintLevel::Owner, None);
    let steps = vec![step("get", OutputProducer::Request, &[]), step("use", nested(&[out("get")]), &[])];
    check(steps, TaintLevel::External, Some("the http step `get`"));
    let flow = PlanFlow { steps: vec![step("use", nested(&[]), &[])], ..PlanFlow::default() };
    let body = TaintSummary::from_flow(&flow).steps["use"].output("body").clone();
    assert_eq!(body.from.as_deref(), Some("the http step `get` of inner.md"));
}

fn made() -> impl Strategy<Value = OutputProducer> {
    prop_oneof![
        Just(CONFINED),
        Just(OutputProducer::Free),
        Just(OutputProducer::Request),
        Just(OutputProducer::Decided),
        Just(OutputProducer::Nothing),
        Just(OutputProducer::ExposedAgent),
        Just(OutputProducer::Confined { net: true }),
    ]
}

/// Plans of a few steps; each reads from those before it, and from a parameter.
fn flows() -> impl Strategy<Value = PlanFlow> {
    let parts = (made(), prop::collection::vec(0..8_usize, 0..4), any::<bool>());
    prop::collection::vec(parts, 1..8).prop_map(|steps| {
        let steps = steps.into_iter().enumerate().map(|(at, (made, reads, each))| {
            let earlier = reads.into_iter().filter(|read| *read < at);
            let reads: Vec<ExprReference> = earlier.map(|read| out(&format!("s{read}"))).collect();
            let mut own = step(&format!("s{at}"), made, &reads);
            own.each = if each { reads } else { vec![ExprReference::Param("p".into())] };
            own
        });
        PlanFlow {
            params: vec![("p".into(), TaintLevel::Owner)],
            steps: steps.collect(),
            outputs: Vec::new(),
        }
    })
}

proptest! {
    #[test]
    fn one_more_external_source_makes_nothing_more_trusted(flow in flows(), at in 0..9_usize) {
        let before = TaintSummary::from_flow(&flow);
        let mut worse = flow.clone();
        match worse.steps.get_mut(at) {
            Some(step) => step.external.push("o".into()),
            None => worse.params[0].1 = TaintLevel::External,
        }
        let after = TaintSummary::from_flow(&worse);
        for (id, step) in &before.steps {
            prop_assert!(after.steps[id].output("o").taint >= step.output("o").taint, "{id}");
            prop_assert!(after.steps[id].inputs_taint.taint >= step.inputs_taint.taint, "{id}");
        }
    }
}
