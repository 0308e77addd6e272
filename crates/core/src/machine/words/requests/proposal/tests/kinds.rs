//! Proposals for steps that are no processes.

use super::{ProposalMistake, plan, proposed};
use serde_json::{Value, json};
use wf_base::name::{ArgName, Name, SkillName};
use wf_model::{
    AgentEngine, AgentTool, AgentWork, AgentWorkspace, Alternative, ApprovalRequirement, ApprovalStep,
    GeneratedPlan, HttpCall, ModelChoice, NestedPlan, PlanEnvelope, PlanParam, SkillArg, SkillCall, Step,
    StepWork, TaintLevel, ValueSchema, WaitCondition, WorktreeMerge, expr::Template,
};

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

fn template(text: &str) -> Template {
    Template::read(text).unwrap()
}

fn schema(kind: &str) -> ValueSchema {
    ValueSchema::new(json!({ "type": kind })).unwrap()
}

fn agent(id: &str, role: &str, max_turns: u32) -> Step {
    let work = AgentWork {
        model: ModelChoice::Role(name(role)),
        engine: AgentEngine::Builtin,
        command: Vec::new(),
        briefing: "Mend it.".into(),
        with: vec![(name("day"), template("{{ params.day }}"))],
        recall: None,
        tools: vec![AgentTool::Read],
        mcp: Vec::new(),
        skills: Vec::new(),
        fetch: Vec::new(),
        max_turns,
        max_questions: AgentWork::MAX_QUESTIONS,
        untrusted: Vec::new(),
        when_untrusted: std::collections::BTreeMap::new(),
        dispatch: None,
        workspace: AgentWorkspace::Shared,
        merge: WorktreeMerge::Automatic,
        conversation: None,
        persona: None,
        interaction: None,
    };
    Step::new(name(id), StepWork::Agent(Box::new(work)))
}

fn request(id: &str, url: &str, header: &str) -> Step {
    let call = HttpCall {
        method: "POST".into(),
        url: template(url),
        headers: vec![("authorization".into(), template(header))],
        body: Some(template("day={{ params.day }}")),
        expect: Vec::new(),
        outputs: Vec::new(),
    };
    Step::new(name(id), StepWork::Http(Box::new(call)))
}

fn nested(path: &str) -> StepWork {
    let mut parts = plan(vec![agent("inner", "small", 5)]).parts().clone();
    parts.params.push(PlanParam {
        name: name("size"),
        schema: schema("integer"),
        default: None,
        taint: TaintLevel::Owner,
        description: None,
    });
    let with = vec![(name("size"), template("{{ params.size }}"))];
    let plan = wf_model::Plan::new(parts).unwrap();
    StepWork::Uses(Box::new(NestedPlan { plan, path: path.into(), with }))
}

fn uses() -> Step {
    let mut step = Step::new(name("nest"), nested("a.md"));
    let way = Step::new(name("nest"), nested("b.md"));
    step.alternatives.push(Alternative { id: name("b"), replaces: true, step: way.into() });
    step
}

fn script(words: &[&str]) -> Step {
    let arg = |id: &str| SkillArg {
        name: ArgName::parse(id).unwrap(),
        schema: schema("integer"),
        value: Some(template("{{ params.size }}")),
        position: None,
    };
    let call = SkillCall {
        skill: SkillName::parse("pdf").unwrap(),
        folder: "skills/pdf".into(),
        script: "a.sh".into(),
        head: Vec::new(),
        args: if words.is_empty() { vec![arg("dry-run")] } else { Vec::new() },
        words: words.iter().map(|word| template(word)).collect(),
    };
    Step::new(name("script"), StepWork::Skill(Box::new(call)))
}

/// The work of the way that a proposal makes of the first step, with everything else of it unchanged.
fn way(steps: Vec<Step>, mut value: Value) -> Result<StepWork, ProposalMistake> {
    value["id"] = json!("other");
    let written = steps[0].clone();
    let way = proposed(steps, &value)?;
    assert_eq!(format!("{:?}", way.allow), format!("{:?}", written.allow));
    assert_eq!(format!("{:?}", way.verify), format!("{:?}", written.verify));
    assert_eq!(format!("{:?}", way.outputs), format!("{:?}", written.outputs));
    Ok(way.work)
}

fn refused(steps: &[Step], value: &Value, why: &str) {
    let reason = way(steps.to_vec(), value.clone()).unwrap_err().to_string();
    assert!(reason.contains(why), "{value}: {reason}");
}

#[test]
fn an_agent_gets_guidance_another_model_of_the_plan_and_other_values() {
    let steps = vec![agent("fix", "small", 10), agent("review", "strong", 40)];
    let said = json!({ "agent": {
        "role": "strong", "max_turns": 40, "guidance": " mind\u{7} the sign ", "with": { "day": "mon" },
    }});
    let StepWork::Agent(work) = way(steps.clone(), said).unwrap() else { panic!("an agent") };
    assert_eq!(work.model, ModelChoice::Role(name("strong")));
    assert_eq!((work.max_turns, work.tools.as_slice()), (40, [AgentTool::Read].as_slice()));
    assert_eq!(work.with[0].1.source(), "mon");
    assert_eq!(work.briefing, "Mend it.\n\n## Planner guidance\n\nmind  the sign");
    for (value, why) in [
        (json!({ "agent": { "role": "owner" } }), "`agent.role`: no agent of the plan has the role `owner`"),
        (json!({ "agent": { "model": "strong" } }), "no agent of the plan has the model `strong`"),
        (json!({ "agent": { "model": "a", "role": "b" } }), "mutually exclusive"),
        (json!({ "agent": { "max_turns": 41 } }), "`agent.max_turns` must be from 1 to 40"),
        (json!({ "agent": { "max_turns": 0 } }), "`agent.max_turns` must be from 1 to 40"),
        (
            json!({ "agent": { "with": { "day": "{{ secrets.KEY }}" } } }),
            "reads secrets.KEY, which the step does not",
        ),
        (json!({ "agent": { "with": { "night": 1 } } }), "the step has no value `night`"),
        (json!({ "agent": { "with": { "day": ["{{ params.day }}"] } } }), "inside a list"),
        (json!({ "agent": { "guidance": " " } }), "`agent.guidance` is empty"),
        (json!({ "agent": { "guidance": "x".repeat(4001) } }), "more than 4000"),
        (
            json!({ "agent": { "tools": ["run"], "mcp": [] } }),
            "`agent.tools`, `agent.mcp` can be set only in",
        ),
        (json!({ "run": "true", "tool": "x" }), "`run` can be set only in the plan: the step has `agent`"),
        (json!({ "env": { "PATH": "." } }), "`env` can be set only in the plan: the step has `agent`"),
        (json!({ "agent": {} }), "it does the same as the step as written"),
        // Another name for the same work does not get past a blocked tool.
        (json!({ "tool": "x", "agent": { "max_turns": 9 } }), "under another name"),
    ] {
        refused(&steps, &value, why);
    }
}

#[test]
fn a_request_goes_to_hosts_that_the_plan_names() {
    let steps = vec![
        request("ask", "https://a.example/x", "key {{ params.key }}"),
        request("other", "https://b.example/{{ params.day }}", "x"),
    ];
    let said = json!({ "target": "b", "http": { "url": "https://b.example/y", "body": "{{ params.day }}" } });
    let StepWork::Http(call) = way(steps.clone(), said).unwrap() else { panic!("a request") };
    assert_eq!((call.url.source(), call.method.as_str()), ("https://b.example/y", "POST"));
    assert_eq!(call.body.unwrap().source(), "{{ params.day }}");
    for (value, why) in [
        (
            json!({ "http": { "url": "https://c.example/" } }),
            "`http.url`: the plan names no `https://c.example`",
        ),
        (json!({ "http": { "url": "http://a.example/x" } }), "names no `http://a.example`"),
        (
            json!({ "http": { "url": "https://a.example@c.example/" } }),
            "names no `https://a.example@c.example`",
        ),
        (json!({ "http": { "url": "//a.example/" } }), "must begin with"),
        (
            json!({ "http": { "url": "https://a.example/{{ params.key }}" } }),
            "reads params.key, which the step",
        ),
        (json!({ "http": { "body": "{{ secrets.KEY }}" } }), "reads secrets.KEY, which the step does not"),
        (json!({ "http": { "method": "DELETE" } }), "`http.method` can be set only in the plan"),
        (json!({ "http": { "headers": {}, "expect": {} } }), "`http.headers`, `http.expect` can be set only"),
        (json!({ "exec": ["curl"], "tool": "x" }), "`exec` can be set only in the plan: the step has `http`"),
        (json!({ "target": "b" }), "it does the same as the step as written"),
    ] {
        refused(&steps, &value, why);
    }
    // A secret goes to the hosts of its own step alone.
    let steps = vec![request("ask", "https://a.example/x", "key {{ secrets.KEY }}"), steps[1].clone()];
    refused(&steps, &json!({ "http": { "url": "https://b.example/y" } }), "which sends a secret, names no");
    way(steps, json!({ "http": { "url": "https://a.example/y" } })).unwrap();
}

#[test]
fn a_nested_plan_gets_other_parameters() {
    let steps = vec![uses()];
    for (said, path) in [
        (json!({ "with": { "size": 3 } }), "a.md"),
        (json!({ "uses": "b.md", "with": { "size": 3 } }), "b.md"),
    ] {
        let StepWork::Uses(nested) = way(steps.clone(), said).unwrap() else { panic!("a plan") };
        assert_eq!(nested.path, path);
        assert_eq!(nested.with[0].1.constant(), Some(json!(3)));
    }
    for (value, why) in [
        (json!({ "uses": "c.md" }), "the step does not list the plan c.md"),
        (json!({ "with": { "size": "big" } }), "`with.size`: "),
        (json!({ "with": { "weight": 1 } }), "plan a.md has no such parameter"),
        (json!({ "with": { "size": "{{ params.other }}" } }), "reads params.other, which the step does not"),
        (json!({ "uses": "b.md" }), "it does the same as `b`"),
    ] {
        refused(&steps, &value, why);
    }
}

#[test]
fn a_script_gets_other_arguments() {
    let steps = vec![script(&[])];
    let StepWork::Skill(call) = way(steps.clone(), json!({ "skill": { "args": { "dry-run": 3 } } })).unwrap()
    else {
        panic!("a script")
    };
    assert_eq!(call.args[0].value.as_ref().unwrap().constant(), Some(json!(3)));
    for (value, why) in [
        (json!({ "skill": { "args": { "dry-run": "no" } } }), "`skill.args.dry-run`: "),
        (json!({ "skill": { "args": { "force": 1 } } }), "takes no such argument"),
        (json!({ "skill": { "args": ["x"] } }), "takes its arguments by name"),
        (json!({ "skill": { "script": "b.sh" } }), "`skill.script` can be set only in the plan"),
        (
            json!({ "cwd": "x", "env": { "A": "b" } }),
            "`env`, `cwd` can be set only in the plan: the step has `skill`",
        ),
    ] {
        refused(&steps, &value, why);
    }
    let StepWork::Skill(call) = way(vec![script(&["a"])], json!({ "skill": { "args": ["b"] } })).unwrap()
    else {
        panic!("a script")
    };
    assert_eq!(call.words[0].source(), "b");
}

#[test]
fn an_open_step_gets_a_plan() {
    let open = GeneratedPlan {
        text: None,
        path: "fixes.generated.md".into(),
        with: Vec::new(),
        envelope: PlanEnvelope::default(),
    };
    let steps = vec![Step::new(name("fixes"), StepWork::Generated(Box::new(open)))];
    let text = "---\nkind: plan\nsteps: [{id: a, exec: [echo, '{{ params.x }}']}]\n---\n";
    let StepWork::Generated(made) = way(steps.clone(), json!({ "plan": text })).unwrap() else {
        panic!("a generated plan")
    };
    // Its templates are those of the plan that it is, not of this one.
    assert_eq!(made.text.unwrap().constant(), Some(json!(text)));
    for (value, why) in [
        (json!({ "timeout": "1s" }), "`plan` is missing: the step is open"),
        (json!({ "plan": text, "with": { "x": 1 } }), "`with` can be set only in the plan"),
        (json!({ "plan": text, "outputs": {} }), "`outputs` can be set only in the plan"),
    ] {
        refused(&steps, &value, why);
    }
    refused(
        &[script(&[])],
        &json!({ "plan": text }),
        "`plan` can be set only in the plan: the step has `skill`",
    );
}

#[test]
fn waits_and_decisions_have_no_other_way() {
    let wait = Step::new(name("wait"), StepWork::Wait(WaitCondition::File(template("x"))));
    refused(&[wait], &json!({ "timeout": "1s" }), "a step with `wait` can be done only as it is written");
    let needs = ApprovalRequirement::default();
    let decision = ApprovalStep { message: template("?"), show: Vec::new(), answer: None, needs };
    let approve = Step::new(name("ask"), StepWork::Approve(Box::new(decision)));
    refused(&[approve], &json!({ "timeout": "1s" }), "decided by people alone");
}
