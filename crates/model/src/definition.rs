//! Compares the meaning of a step in two versions of a plan.

use serde_json::{Value, json};

use crate::expr::{Expr, Template};
use crate::{
    Check, CheckPhase, CheckProbe, EnvVar, HttpCall, Plan, SecretSource, ShellScript, SkillCall, Step,
    StepCache, StepRepetition, StepWork, WaitCondition,
};

/// The respects in which a step means the same as the earlier step of that name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepEquality {
    /// The whole step means the same.
    pub whole_step: bool,
    /// Each item by itself means the same, whatever the list is.
    pub each_item: bool,
    /// The step means the same apart from the contents of the plan that it uses.
    pub except_nested_plan: bool,
}

/// Equal in all respects.
const SAME: StepEquality = StepEquality { whole_step: true, each_item: true, except_nested_plan: true };

/// Compares a step with the earlier step of that name; `None` if there was none.
pub fn compare(before: &Plan, now: &Plan, step: &Step) -> Option<StepEquality> {
    let old = before.find(step.id.as_str()).map(|ix| before.step(ix))?;
    if std::ptr::eq(old, step) {
        return Some(SAME);
    }
    let (mut then, mut this) = (meaning(before, old), meaning(now, step));
    if then == this {
        return Some(SAME);
    }
    // An item may read its position in the list.
    let counts = [&then, &this].map(|meaning| meaning.to_string().to_uppercase());
    let counts = counts.iter().any(|text| text.contains("ITEM_INDEX"));
    let repeated = |step: &Step| !matches!(step.fan, StepRepetition::Once);
    let both = repeated(old) && repeated(step);
    let item = both && !counts && without_part(&then, "/fan") == without_part(&this, "/fan");
    for inner in ["steps", "verify"] {
        for meaning in [&mut then, &mut this] {
            if let Some(Value::Object(work)) = meaning.get_mut("work") {
                work.remove(inner);
            }
        }
    }
    let around = then == this;
    Some(StepEquality { whole_step: false, each_item: item, except_nested_plan: around })
}

/// True if the plan as a whole has the same criteria and outputs.
pub fn same_plan_meaning(before: &Plan, now: &Plan) -> bool {
    if std::ptr::eq(before, now) {
        return true;
    }
    let whole = |plan: &Plan| {
        let outputs = plan.parts().outputs.iter();
        let outputs = outputs.map(|output| json!([output.name, output.schema.text(), output.value.source()]));
        json!([plan.parts().verify.iter().map(check).collect::<Vec<_>>(), outputs.collect::<Vec<_>>()])
    };
    whole(before) == whole(now)
}

fn without_part(meaning: &Value, pointer: &str) -> Value {
    let mut meaning = meaning.clone();
    if let Some(part) = meaning.pointer_mut(pointer) {
        *part = Value::Null;
    }
    meaning
}

/// Returns the definition of a step, as far as it affects its result, whatever its wording.
pub fn of_step(plan: &Plan, step: &Step) -> Value {
    meaning(plan, step)
}

/// Returns everything in a step that affects its result, without source positions.
fn meaning(plan: &Plan, step: &Step) -> Value {
    #[rustfmt::skip]
    let Step {
        // These name it, order it, limit its attempts or judge its failure, and say nothing of its result.
        id: _, title: _, briefing: _, max_parallel: _, timeout: _, queue_timeout: _, retry: _, idempotent: _,
        loops: _, concurrency: _, on_error: _, classify: _, gates: _, tool: _, target: _, external: _,
        depends_on, when, fan, work: own, container, env: variables, cwd, allow, limits, verify, outputs, artifacts,
        writes, cache, alternatives,
    } = step;
    let needs = depends_on.iter().map(|ix| plan.step(*ix).id.as_str());
    let mut said = json!({
        "needs": needs.collect::<Vec<_>>(),
        "when": when.as_deref().map(Expr::source),
        "fan": fan_meaning(fan),
        "work": work(own),
        "env": [env(&plan.parts().env), env(variables)],
        "secrets": secrets(plan),
        "cwd": cwd.as_ref().map(Template::source),
        "sandbox": allow.as_ref().map(|allow| json!([allow, limits])),
        "verify": verify.iter().map(check).collect::<Vec<_>>(),
        "outputs": outputs.iter().map(|o| json!([o.name, o.schema.text()])).collect::<Vec<_>>(),
        "artifacts": artifacts.iter().map(Template::source).collect::<Vec<_>>(),
        "cache": cache.as_deref().map(|StepCache { inputs, outputs }| {
            json!([inputs, outputs.iter().map(Template::source).collect::<Vec<_>>()])
        }),
    });
    if let Some(image) = container {
        said["container"] = json!(image);
    }
    if !writes.is_empty() {
        let globs = writes.iter().map(Template::source);
        said["writes"] = json!(globs.collect::<Vec<_>>());
    }
    if !alternatives.is_empty() {
        let ways = alternatives.iter();
        let ways = ways.map(|other| json!([other.id, meaning(plan, &other.step)]));
        said["alternatives"] = ways.collect();
    }
    said
}

fn skill(call: &SkillCall) -> Value {
    let args = call.args.iter();
    let args = args.map(|arg| {
        json!([arg.name, arg.schema.text(), arg.value.as_ref().map(Template::source), arg.position])
    });
    json!({
        "script": call.path(),
        "program": call.head,
        "args": args.collect::<Vec<_>>(),
        "words": call.words.iter().map(Template::source).collect::<Vec<_>>(),
    })
}

fn fan_meaning(fan: &StepRepetition) -> Value {
    match fan {
        StepRepetition::Once => Value::Null,
        StepRepetition::Each(list) => json!({ "each": list.source() }),
        StepRepetition::List(items) => json!({ "list": items }),
        StepRepetition::Matrix(cells) => json!({ "matrix": cells }),
    }
}

fn work(work: &StepWork) -> Value {
    match work {
        StepWork::Run(script) => json!({ "run": self::script(script) }),
        StepWork::Exec(words) => {
            json!({ "exec": words.iter().map(Template::source).collect::<Vec<_>>() })
        }
        StepWork::Skill(call) => json!({ "skill": self::skill(call) }),
        StepWork::Http(http) => json!({ "http": self::http(http) }),
        StepWork::Uses(uses) => {
            let with = uses.with.iter().map(|(name, value)| json!([name, value.source()]));
            let steps = uses.plan.steps().iter().map(|step| json!([step.id, meaning(&uses.plan, step)]));
            json!({
                "uses": uses.path,
                "with": with.collect::<Vec<_>>(),
                "steps": steps.collect::<Vec<_>>(),
                "verify": uses.plan.parts().verify.iter().map(check).collect::<Vec<_>>(),
            })
        }
        StepWork::Wait(WaitCondition::For(time)) => json!({ "for": time.as_millis().to_string() }),
        StepWork::Wait(WaitCondition::Until(at)) => json!({ "until": at }),
        StepWork::Wait(WaitCondition::File(path)) => json!({ "file": path.source() }),
        StepWork::Approve(approve) => {
            let show = approve.show.iter();
            json!({
                "approve": approve.message.source(),
                "show": show.map(|(name, value)| json!([name, value.source()])).collect::<Vec<_>>(),
                "required": approve.needs.required,
                "approvers": approve.needs.approvers,
            })
        }
    }
}

fn script(script: &ShellScript) -> Value {
    json!([script.shell, script.text])
}

fn http(http: &HttpCall) -> Value {
    let headers = http.headers.iter().map(|(name, value)| json!([name, value.source()]));
    json!({
        "method": http.method,
        "url": http.url.source(),
        "headers": headers.collect::<Vec<_>>(),
        "body": http.body.as_ref().map(Template::source),
        "expect": http.expect,
        "outputs": http.outputs,
    })
}

fn env(vars: &[EnvVar]) -> Value {
    vars.iter().map(|var| json!([var.name, var.value.source()])).collect()
}

fn secrets(plan: &Plan) -> Value {
    let source = |source: &SecretSource| match source {
        SecretSource::Env(name) => json!({ "env": name }),
        SecretSource::File(path) => json!({ "file": path }),
        SecretSource::Command(words) => json!({ "command": words }),
        SecretSource::Keyring { service, account } => json!({ "keyring": [service, account] }),
        SecretSource::Connection { name, secret } => json!({ "connection": [name, secret] }),
    };
    let secrets = plan.parts().secrets.iter();
    secrets.map(|secret| json!([secret.name, source(&secret.source), secret.masked])).collect()
}

fn check(check: &Check) -> Value {
    let said = check_meaning(check);
    // A check without a phase of its own records none, as before phases existed.
    match check.phase {
        CheckPhase::Verify => said,
        phase => json!([phase, said]),
    }
}

fn check_meaning(check: &Check) -> Value {
    let probe = check.probe.as_ref().map(|probe| match probe {
        CheckProbe::Run(script) => json!({ "run": self::script(script) }),
        CheckProbe::Exec(words) => {
            json!({ "exec": words.iter().map(Template::source).collect::<Vec<_>>() })
        }
    });
    json!([
        check.name,
        probe,
        format!("{:?}", check.expect),
        env(&check.env),
        check.cwd,
        check.network,
        check.mode,
        check.read,
        check.limits,
        check.fixed,
    ])
}
