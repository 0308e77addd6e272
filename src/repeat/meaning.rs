//! Whether a step means the same in two versions of a plan.

use serde_json::{Value, json};

use crate::expr::{Expr, Template};
use crate::model::{
    Cache, Check, CheckPhase, EnvVar, Fan, Http, Plan, Probe, Script, SecretSource, SkillCall,
    Step, Wait, Work,
};

/// In which respects a step means what the step of that name meant before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Same {
    /// In all.
    pub(super) whole: bool,
    /// For each item by itself, whatever the list is.
    pub(super) item: bool,
    /// Apart from what stands in the plan that it uses.
    pub(super) around: bool,
}

/// In all respects.
const SAME: Same = Same {
    whole: true,
    item: true,
    around: true,
};

/// Compares a step with the step of that name before; `None` if there was none.
pub(super) fn compare(before: &Plan, now: &Plan, step: &Step) -> Option<Same> {
    let old = before.find(step.id.as_str()).map(|ix| before.step(ix))?;
    if std::ptr::eq(old, step) {
        return Some(SAME);
    }
    let (mut then, mut this) = (meaning(before, old), meaning(now, step));
    if then == this {
        return Some(SAME);
    }
    // An item may read its place in the list.
    let counts = [&then, &this].map(|meaning| meaning.to_string().to_uppercase());
    let counts = counts.iter().any(|text| text.contains("ITEM_INDEX"));
    let repeated = |step: &Step| !matches!(step.fan, Fan::Once);
    let both = repeated(old) && repeated(step);
    let item = both && !counts && without(&then, "/fan") == without(&this, "/fan");
    for inner in ["steps", "verify"] {
        for meaning in [&mut then, &mut this] {
            if let Some(Value::Object(work)) = meaning.get_mut("work") {
                work.remove(inner);
            }
        }
    }
    let around = then == this;
    Some(Same {
        whole: false,
        item,
        around,
    })
}

/// Whether the plan as a whole asks for and gives what it did.
pub(super) fn same_whole(before: &Plan, now: &Plan) -> bool {
    if std::ptr::eq(before, now) {
        return true;
    }
    let whole = |plan: &Plan| {
        let outputs = plan.parts().outputs.iter();
        let outputs =
            outputs.map(|output| json!([output.name, output.schema.text(), output.value.source()]));
        json!([
            plan.parts().verify.iter().map(check).collect::<Vec<_>>(),
            outputs.collect::<Vec<_>>()
        ])
    };
    whole(before) == whole(now)
}

fn without(meaning: &Value, pointer: &str) -> Value {
    let mut meaning = meaning.clone();
    if let Some(part) = meaning.pointer_mut(pointer) {
        *part = Value::Null;
    }
    meaning
}

/// What a step says, as far as it bears on its result: the same for texts that mean the same.
pub fn definition(plan: &Plan, step: &Step) -> Value {
    meaning(plan, step)
}

/// Everything of a step that bears on its result, without the places where it is written.
fn meaning(plan: &Plan, step: &Step) -> Value {
    let needs = step.depends_on.iter().map(|ix| plan.step(*ix).id.as_str());
    let mut said = json!({
        "needs": needs.collect::<Vec<_>>(),
        "when": step.when.as_deref().map(Expr::source),
        "fan": fan(&step.fan),
        "work": work(&step.work),
        "env": [env(&plan.parts().env), env(&step.env)],
        "secrets": secrets(plan),
        "cwd": step.cwd.as_ref().map(Template::source),
        "sandbox": step.allow.as_ref().map(|allow| json!([allow, step.limits])),
        "verify": step.verify.iter().map(check).collect::<Vec<_>>(),
        "outputs": step.outputs.iter().map(|o| json!([o.name, o.schema.text()])).collect::<Vec<_>>(),
        "artifacts": step.artifacts.iter().map(Template::source).collect::<Vec<_>>(),
        "cache": step.cache.as_deref().map(|Cache { inputs, outputs }| {
            json!([inputs, outputs.iter().map(Template::source).collect::<Vec<_>>()])
        }),
    });
    if !step.writes.is_empty() {
        let globs = step.writes.iter().map(Template::source);
        said["writes"] = json!(globs.collect::<Vec<_>>());
    }
    if !step.alternatives.is_empty() {
        let ways = step.alternatives.iter();
        let ways = ways.map(|other| json!([other.id, meaning(plan, &other.step)]));
        said["alternatives"] = ways.collect();
    }
    said
}

fn skill(call: &SkillCall) -> Value {
    let args = call.args.iter();
    let args = args.map(|arg| {
        json!([
            arg.name,
            arg.schema.text(),
            arg.value.as_ref().map(Template::source),
            arg.position
        ])
    });
    json!({
        "script": call.path(),
        "program": call.head,
        "args": args.collect::<Vec<_>>(),
        "words": call.words.iter().map(Template::source).collect::<Vec<_>>(),
    })
}

fn fan(fan: &Fan) -> Value {
    match fan {
        Fan::Once => Value::Null,
        Fan::Each(list) => json!({ "each": list.source() }),
        Fan::List(items) => json!({ "list": items }),
        Fan::Matrix(cells) => json!({ "matrix": cells }),
    }
}

fn work(work: &Work) -> Value {
    match work {
        Work::Run(script) => json!({ "run": self::script(script) }),
        Work::Exec(words) => {
            json!({ "exec": words.iter().map(Template::source).collect::<Vec<_>>() })
        }
        Work::Skill(call) => json!({ "skill": self::skill(call) }),
        Work::Http(http) => json!({ "http": self::http(http) }),
        Work::Uses(uses) => {
            let with = uses
                .with
                .iter()
                .map(|(name, value)| json!([name, value.source()]));
            let steps = uses
                .plan
                .steps()
                .iter()
                .map(|step| json!([step.id, meaning(&uses.plan, step)]));
            json!({
                "uses": uses.path,
                "with": with.collect::<Vec<_>>(),
                "steps": steps.collect::<Vec<_>>(),
                "verify": uses.plan.parts().verify.iter().map(check).collect::<Vec<_>>(),
            })
        }
        Work::Wait(Wait::For(time)) => json!({ "for": time.as_millis().to_string() }),
        Work::Wait(Wait::Until(at)) => json!({ "until": at }),
        Work::Wait(Wait::File(path)) => json!({ "file": path.source() }),
        Work::Approve(approve) => {
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

fn script(script: &Script) -> Value {
    json!([script.shell, script.text])
}

fn http(http: &Http) -> Value {
    let headers = http
        .headers
        .iter()
        .map(|(name, value)| json!([name, value.source()]));
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
    vars.iter()
        .map(|var| json!([var.name, var.value.source()]))
        .collect()
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
    secrets
        .map(|secret| json!([secret.name, source(&secret.source), secret.masked]))
        .collect()
}

fn check(check: &Check) -> Value {
    let said = said(check);
    // Of what has no phase of its own nothing more is said, as before there were any.
    match check.phase {
        CheckPhase::Verify => said,
        phase => json!([phase, said]),
    }
}

fn said(check: &Check) -> Value {
    let probe = check.probe.as_ref().map(|probe| match probe {
        Probe::Run(script) => json!({ "run": self::script(script) }),
        Probe::Exec(words) => {
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
