use std::{sync::Arc, time::Duration};

use crate::{InMemoryFiles, PlanDefaults, load, lower};
use wf_model::{
    CheckCertainty, CheckProbe, FailureClass, Gate, GateLane, GatePredicate, GateProvider, ModelChoice,
    OnStepError, OnStepFailure, Plan, PlanPolicy, ReplanSettings, ResourceLimits, RetryPolicy,
    SandboxPermissions, SecretSource, StepRepetition, StepWork, SuggestionLimits, WaitCondition,
    expr::Template,
};

pub(super) fn defaults() -> PlanDefaults {
    let retry = Arc::new(RetryPolicy { max: 1, ..RetryPolicy::default() });
    let policy =
        PlanPolicy { max_parallel: 7, on_failure: OnStepFailure::Stop, grace: Duration::from_secs(3) };
    let replan = ReplanSettings { epsilon: 0.25, ..ReplanSettings::default() };
    PlanDefaults { policy, retry, replan, suggestions: SuggestionLimits::default() }
}

fn model(files: &[(&str, &str)]) -> std::sync::Arc<Plan> {
    let files = files.iter();
    let files = InMemoryFiles(files.map(|(path, text)| ((*path).into(), text.as_bytes().to_vec())).collect());
    let loaded = load(&files, "plan.md");
    assert_eq!(loaded.diagnostics, []);
    lower(&loaded, &defaults()).unwrap()
}

fn plan(steps: &str) -> std::sync::Arc<Plan> {
    let text = format!("---\nkind: plan\nid: p\nsteps:\n{steps}\n---\n## body\n\n```bash\nx\n```\nWords.\n");
    model(&[("plan.md", &text)])
}

#[test]
fn shells_are_programs_with_arguments() {
    for (step, shell) in [
        ("{id: a, run: x}", "sh -eu -c"),
        ("{id: a, run: x, shell: sh}", "sh -eu -c"),
        ("{id: a, run: x, shell: bash}", "bash -euo pipefail -c"),
        ("{id: a, run: x, shell: python}", "python3 -c"),
        ("{id: a, run: x, shell: [node, -e]}", "node -e"),
        ("{id: body}", "bash -euo pipefail -c"),
        ("{id: body, shell: sh}", "sh -eu -c"),
    ] {
        let plan = plan(&format!("  - {step}"));
        let StepWork::Run(script) = &plan.steps()[0].work else {
            panic!("{step} runs a script");
        };
        assert_eq!(script.shell.join(" "), shell, "{step}");
        assert_eq!(script.text.trim_end(), "x", "{step}");
    }
}

#[test]
fn a_section_is_the_briefing_of_its_step() {
    let plan = plan("  - {id: body}\n  - {id: other, run: x}");
    assert_eq!(plan.steps()[0].briefing.as_deref(), Some("Words."));
    assert_eq!(plan.steps()[1].briefing, None);
}

#[test]
fn a_plan_without_steps_is_one_agent() {
    let plan = model(&[(
        "plan.md",
        "---\nkind: plan\nid: fix-it\ndescription: D\nallow: {write: [src]}\nretry: {max: 2}\n\
         verify: [{name: v, run: x}]\noutputs: {o: {type: string}}\n---\n# Fix it\n\nSoon.\n\n## fix_it\n",
    )]);
    let ([step], parts) = (plan.steps(), plan.parts()) else { panic!("one step") };
    assert_eq!(step.id.as_str(), "fix_it");
    assert_eq!(step.briefing.as_deref(), Some("# Fix it\n\nSoon.\n\n## fix_it"));
    let StepWork::Agent(agent) = &step.work else { panic!("an agent") };
    assert_eq!((agent.briefing.as_str(), agent.tools.len()), ("# Fix it\n\nSoon.\n\n## fix_it", 0));
    assert!(matches!(&agent.model, ModelChoice::Role(role) if role.as_str() == "executor"));
    assert_eq!((step.retry.max, step.outputs[0].name.as_str(), step.verify.len()), (2, "o", 1));
    assert_eq!(step.allow.as_ref().map(|allow| allow.write.len()), Some(1));
    assert_eq!((parts.briefing.as_str(), parts.main, parts.verify.len()), ("D", 1, 0));
    assert_eq!(parts.outputs[0].value.source(), "{{ steps.fix_it.outputs.o }}");
}

#[test]
fn what_is_not_said_is_the_default() {
    let plan = plan("  - {id: a, run: x}\n  - {id: b, run: x, retry: {max: 3, backoff: 2s}}");
    let [a, b] = plan.steps() else { panic!("two steps") };
    assert_eq!(a.retry, defaults().retry);
    assert_eq!((b.retry.max, b.retry.backoff), (3, Duration::from_secs(2)));
    assert_eq!(b.retry.on, defaults().retry.on);
    assert_eq!(plan.parts().policy, defaults().policy);
    assert!(matches!(a.fan, StepRepetition::Once));
    assert_eq!(a.on_error, OnStepError::Fail);
}

#[test]
fn what_is_said_arrives() {
    let plan = model(&[(
        "plan.md",
        "---\nkind: plan\nid: p\ntitle: T\ndescription: D\ntimeout: 1h\nenv: {A: 1}\n\
         secrets: {S: {from: file, path: x}}\npolicy: {on_failure: continue, grace: 1s}\n\
         params: {n: {type: integer, default: 3, description: N}}\nsteps:\n\
         \x20 - {id: a, exec: [echo, 1], env: {B: '{{ params.n }}{{ secrets.S }}'}, cwd: d}\n\
         \x20 - {id: b, wait: {duration: 5s}, depends_on: [a, a]}\n\
         finally: [{id: c, run: x, on_error: continue}]\n\
         verify: [{name: v, exec: [test], expect: {regex: ^a, file_exists: f}}]\n\
         outputs: {o: {type: string, value: '{{ run.id }}'}}\n---\nBody.\n",
    )]);
    let parts = plan.parts();
    assert_eq!((parts.title.as_deref(), parts.main), (Some("T"), 2));
    assert_eq!(parts.briefing, "D\n\nBody.");
    assert_eq!(parts.timeout, Some(Duration::from_hours(1)));
    assert_eq!(parts.policy.on_failure, OnStepFailure::Continue);
    assert_eq!(parts.policy.max_parallel, 7);
    assert_eq!(parts.secrets[0].source, SecretSource::File("x".into()));
    assert_eq!(parts.params[0].default, Some(3.into()));
    assert_eq!(parts.env[0].value.source(), "1");
    let [a, b, c] = plan.steps() else { panic!("three steps") };
    assert!(matches!(&a.work, StepWork::Exec(argv) if argv[1].source() == "1"));
    assert_eq!(a.cwd.as_ref().map(Template::source), Some("d"));
    assert!(matches!(b.work, StepWork::Wait(WaitCondition::For(wait)) if wait.as_secs() == 5));
    assert_eq!(b.depends_on.len(), 1);
    assert!(plan.is_finally(plan.find("c").unwrap()));
    assert_eq!(c.on_error, OnStepError::Continue);
    let check = &parts.verify[0];
    assert!(matches!(&check.probe, Some(CheckProbe::Exec(argv)) if argv.len() == 1));
    assert_eq!(check.timeout, Duration::from_mins(1));
    assert_eq!(check.expect.file_exists, ["f"]);
    assert_eq!(parts.outputs[0].value.source(), "{{ run.id }}");
}

/// The replan settings of a plan with these lines in its front matter.
fn replan(lines: &str) -> Option<ReplanSettings> {
    let text = format!("---\nkind: plan\nid: p\n{lines}steps: [{{id: a, run: x}}]\n---\n");
    model(&[("plan.md", &text)]).parts().replan.clone()
}

#[test]
fn agents_that_are_stuck_are_replanned_twice_if_their_plan_names_the_planner() {
    let stuck = |lines: &str| {
        let step = "{id: a, agent: {role: executor}, retry: {max: 2}, on_stuck: consult_planner}";
        let text = format!("---\nkind: plan\nid: p\n{lines}steps: [{step}]\n---\n\n## a\n\nDo it.\n");
        model(&[("plan.md", &text)]).parts().replan.clone()
    };
    let implied = ReplanSettings { max_replans: 2, strict: true, ..defaults().replan };
    assert_eq!(stuck("planner: {role: planner}\n"), Some(implied));
    assert_eq!(stuck(""), None);
    assert_eq!(stuck("planner: {role: planner}\non_stuck: abandon\n"), None);
    let said = stuck("planner: {role: planner}\nreplan: {max_replans: 5}\n");
    assert_eq!(said.map(|said| said.max_replans), Some(5));
}

#[test]
fn a_plan_replans_by_its_own_numbers_then_by_those_of_the_workspace() {
    assert_eq!(replan(""), None);
    assert_eq!(replan("replan: {}\n"), Some(defaults().replan));
    let said = replan(
        "replan: {max_replans: 0, time_budget_seconds: 7, alpha: 0.01, beta: 2, lambda: 0.03, \
         w1: 0.04, w2: 0, delta: 1, rho: 0.05, theta: 0.06, strict: true}\n",
    );
    let wanted = ReplanSettings {
        max_replans: 0,
        time_budget: Duration::from_secs(7),
        alpha: 0.01,
        beta: 2.0,
        lambda: 0.03,
        w1: 0.04,
        w2: 0.0,
        epsilon: 0.25,
        delta: 1.0,
        rho: 0.05,
        theta: 0.06,
        strict: true,
    };
    assert_eq!(said, Some(wanted));
    let own = replan("replan: {epsilon: 0.5}\n").map(|own| own.epsilon);
    assert_eq!(own, Some(0.5));
}

#[test]
fn sandboxes_and_rules_arrive() {
    let plan = plan(
        "  - id: a\n    run: x\n    allow: {read: [~/x], write: [out], net: true, env: [A], exec: [sh]}\n\
         \x20   limits: {memory: 1MiB, cpu: 2s, processes: 3, scratch: 4, output: 5KiB}\n\
         \x20   classify: [{exit_code: [1, 2], output: ^a, class: environmental}]\n\
         \x20   verify:\n\
         \x20     - {name: v, run: x, network: true, mode: plausible, allow: {read: [/y]}, fixed: [z],\n\
         \x20        limits: {processes: 6}, classify: [{signal: 9, class: logical}]}\n\
         \x20 - {id: b, run: x, verify: [{name: v, run: x}]}",
    );
    let [a, b] = plan.steps() else { panic!("two steps") };
    let words = |word: &str| vec![word.to_owned()];
    let allow = SandboxPermissions {
        read: words("~/x"),
        write: words("out"),
        net: true,
        env: words("A"),
        exec: Some(words("sh")),
    };
    assert_eq!(a.allow.as_deref(), Some(&allow));
    let limits = ResourceLimits {
        memory: Some(1 << 20),
        cpu: Some(Duration::from_secs(2)),
        processes: Some(3),
        scratch: Some(4),
        output: Some(5 << 10),
    };
    assert_eq!(a.limits, limits);
    let rule = &a.classify[0];
    assert_eq!((rule.exit_code.as_slice(), rule.signal), (&[1, 2][..], None));
    assert_eq!(rule.class, FailureClass::Environmental);
    assert!(rule.output.as_ref().unwrap().is_match("abc"));
    let check = &a.verify[0];
    assert_eq!((check.network, check.mode), (true, CheckCertainty::Plausible));
    assert_eq!((&check.read, &check.fixed), (&words("/y"), &words("z")));
    assert_eq!(check.limits.processes, Some(6));
    assert_eq!(check.classify[0].signal, Some(9));
    assert_eq!((&b.allow, &b.limits), (&None, &ResourceLimits::default()));
    let check = &b.verify[0];
    assert_eq!((check.network, check.mode), (false, CheckCertainty::Verifiable));
    assert!(check.read.is_empty() && check.fixed.is_empty() && check.classify.is_empty());
}

#[test]
fn a_dag_is_a_plan_of_plans() {
    let part = "---\nkind: plan\nid: part\nparams: {n: {type: integer}}\nsteps:\n\
                \x20 - {id: one, run: x, env: {N: '{{ params.n }}'}}\n---\n";
    let dag = "---\nkind: dag\nid: d\npolicy: {fail_fast: false, default_retry: {max: 2}}\nnodes:\n\
               \x20 - {id: a, uses: parts/one.md, with: {n: 1}}\n\
               \x20 - {id: b, uses: ./parts/one.md, with: {n: 2}, retry: {max: 0}}\n---\n";
    let plan = model(&[("plan.md", dag), ("parts/one.md", part)]);
    assert_eq!(plan.parts().policy.on_failure, OnStepFailure::Continue);
    let [a, b] = plan.steps() else { panic!("two nodes") };
    assert_eq!((a.retry.max, b.retry.max), (2, 0));
    let (StepWork::Uses(a), StepWork::Uses(b)) = (&a.work, &b.work) else {
        panic!("nodes use plans");
    };
    assert!(std::sync::Arc::ptr_eq(&a.plan, &b.plan), "a file is lowered once");
    assert_eq!((a.path.as_str(), b.path.as_str()), ("parts/one.md", "parts/one.md"));
    assert_eq!(a.with[0].1.constant(), Some(1.into()));
}

#[test]
fn files_with_errors_have_no_model() {
    let files = InMemoryFiles::default();
    assert!(lower(&load(&files, "plan.md"), &defaults()).is_err());
}

#[test]
fn gates_are_those_of_the_workspace_then_of_the_plan_then_of_the_step() {
    let gate = |id: &str| {
        format!(
            "---\nkind: gate\nid: {id}\non: before_step\nprovider: predicate\n\
             check: approval_always\n---\n"
        )
    };
    let script = "---\nkind: gate\nid: counts\non: before_publish\nprovider: script\nrun: wc\n\
                  check: string_match\nextract: $.n\nconfig: {allowed_values: [a]}\n\
                  on_block: mend\nescalation: {mend: {action: report}}\n---\n";
    let plan = "---\nkind: plan\nid: p\ngates: [counts, of-system]\n\
                escalation: {later: {action: retry, fallback: after}, after: {action: spawn_task, plan: mend.md}}\nsteps:\n\
                \x20 - id: a\n    run: x\n    gates:\n      - named\n      - of-system\n\
                \x20     - {id: inline, on: on_output, provider: llm, config: {prompt: y}}\n\
                \x20     - {id: sure, on: on_output, provider: llm, promote_to_policy: true, \
                config: {prompt: y}, on_block: later}\n---\n";
    let mend = "---\nkind: plan\nid: mend\nsteps: [{id: a, run: x}]\n---\n";
    let (named, of_system) = (gate("named"), gate("of-system"));
    let files = InMemoryFiles(
        [
            ("plan.md", plan),
            ("mend.md", mend),
            ("gates/counts.md", script),
            ("gates/named.md", &named),
            ("gates/of-system.md", &of_system),
        ]
        .map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec()))
        .into(),
    );
    let system = [wf_base::name::GateId::parse("of-system").unwrap()];
    let loaded = crate::load_with(&files, "plan.md", &system);
    let plan = lower(&loaded, &defaults()).unwrap();
    let ids = |gates: &[std::sync::Arc<Gate>]| -> Vec<String> {
        gates.iter().map(|gate| gate.id.to_string()).collect()
    };
    // A gate of the workspace that is named again is asked once.
    assert_eq!(ids(&plan.parts().gates), ["of-system", "counts"]);
    let own = &plan.steps()[0].gates;
    assert_eq!(ids(own), ["named", "inline", "sure"]);
    assert_eq!(own[0].path.as_deref(), Some("gates/named.md"));
    assert_eq!((own[1].path.as_deref(), own[1].lane), (None, GateLane::Quality));
    assert_eq!(own[2].lane, GateLane::Policy);
    let counts = &plan.parts().gates[1];
    let GateProvider::Script(script) = &counts.provider else {
        panic!("it is a script");
    };
    assert_eq!(script.timeout, Duration::from_secs(30));
    assert_eq!(script.cwd.as_deref(), Some("gates"));
    assert!(matches!(script.then, Some(GatePredicate::StringMatch { .. })));
    let [later, after] = plan.parts().escalations.as_slice() else { panic!("two escalations") };
    assert_eq!((later.max_retries, after.plan.as_deref()), (1, Some("mend.md")));
    let spawned = plan.steps().last().unwrap();
    assert!(spawned.on_escalation && plan.is_finally(plan.find("after").unwrap()), "{spawned:?}");
    assert!(!plan.has_finally(), "it runs in some cases only");
    // All of their texts are part of what was loaded.
    let sources = loaded.sources.iter();
    let paths: Vec<&str> = sources.map(wf_base::source::SourceText::path).collect();
    let expected = ["plan.md", "gates/of-system.md", "gates/counts.md", "gates/named.md", "mend.md"];
    assert_eq!(paths, expected);
}

#[test]
fn a_gate_of_the_workspace_that_is_not_there_keeps_plans_from_running() {
    let plan = "---\nkind: plan\nid: p\nsteps: [{id: a, run: x}]\n---\n";
    let files = InMemoryFiles([("plan.md".to_owned(), plan.as_bytes().to_vec())].into());
    let system = [wf_base::name::GateId::parse("gone").unwrap()];
    let loaded = crate::load_with(&files, "plan.md", &system);
    assert!(lower(&loaded, &defaults()).is_err());
    let (_, mistake) = &loaded.diagnostics[0];
    assert_eq!(mistake.message, "workspace gate: gate `gone` not found");
}
