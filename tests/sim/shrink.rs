//! A failure, made small enough to be read.

use std::fmt;

use wf_model::{Plan, Step, StepRepetition};

use super::{
    faults::{Fault, Faults},
    look::Broken,
    world::{Options, simulate},
};

/// How many other seeds are tried for a shorter story.
const TRIES: u64 = 400;

/// A law that a simulation broke.
pub struct Failure {
    pub options: Options,
    pub broken: Broken,
    pub trace: Vec<String>,
}

/// Whether a simulation breaks a law.
fn fails(options: Options, law: Option<&str>) -> Option<Failure> {
    let told = simulate(&Options { trace: true, ..options });
    let broken = told.broken.filter(|broken| law.is_none_or(|law| broken.law == law))?;
    Some(Failure { options, broken, trace: told.trace })
}

/// The shortest story that could be found of how the law is broken that a simulation breaks:
/// without the trouble that it does not need, with fewer steps, or with another seed.
pub fn smaller(options: Options) -> Option<Failure> {
    let mut best = fails(options, None)?;
    let law = best.broken.law;
    for fault in Fault::ALL {
        let faults = best.options.faults.without(fault);
        if let Some(failure) = fails(Options { faults, ..best.options }, Some(law)) {
            best = failure;
        }
    }
    for steps in 1..=options.steps.min(3) {
        for seed in 0..TRIES {
            let tried = Options { seed, steps, ..best.options };
            let failure = fails(tried, Some(law));
            best = match failure {
                Some(failure) if failure.trace.len() < best.trace.len() => failure,
                _ => best,
            };
        }
    }
    Some(best)
}

/// What is broken, how it came to that, and how to see it again.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.trace {
            writeln!(f, "{line}")?;
        }
        let Options { seed, steps, faults, .. } = self.options;
        writeln!(f, "\nthe law `{}` does not hold for seed {seed}", self.broken.law)?;
        writeln!(f, "  {}", self.broken.reason)?;
        write!(f, "again: cargo bench --bench simulate -- --trace --seed {seed} --steps {steps}")?;
        for fault in Fault::ALL {
            if faults != Faults::ALL && !faults.has(fault) {
                write!(f, " --without {}", fault.name())?;
            }
        }
        writeln!(f)
    }
}

/// A plan, for people: a line for each step.
pub fn outline(plan: &Plan) -> String {
    let policy = &plan.parts().policy;
    let mut text = format!(
        "plan: {} at once, {:?}, timeout {:?}, {} checks",
        policy.max_parallel,
        policy.on_failure,
        plan.parts().timeout,
        plan.parts().verify.len()
    );
    for step in plan.steps() {
        text += &format!("\n  {}", line(plan, step));
    }
    text
}

fn line(plan: &Plan, step: &Step) -> String {
    let needs: Vec<&str> = step.depends_on.iter().map(|ix| plan.step(*ix).id.as_str()).collect();
    let kind = match &step.work {
        wf_model::StepWork::Exec(_) => "exec".to_owned(),
        wf_model::StepWork::Uses(_) => "uses".to_owned(),
        wf_model::StepWork::Agent(work) => format!("agent of {} turns", work.max_turns),
        other => format!("{other:?}"),
    };
    let fan = match &step.fan {
        StepRepetition::Once => String::new(),
        StepRepetition::List(items) => format!(" over {}", items.len()),
        StepRepetition::Matrix(rows) => format!(" over {}", rows.len()),
        StepRepetition::Each(expr) => format!(" over {}", expr.source()),
    };
    let mut text = format!("{} {kind}{fan} needs {needs:?}", step.id);
    let mut more = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            text += &format!(", {name} {value}");
        }
    };
    let retry = &step.retry;
    more("when", step.when.as_ref().map(|when| when.source().to_owned()));
    more("items at once", step.max_parallel.map(|most| most.to_string()));
    more(
        "retries",
        (retry.max > 0).then(|| format!("{} on {:?} after {:?}", retry.max, retry.on, retry.backoff)),
    );
    more("lock", step.concurrency.as_ref().map(|lock| format!("{} {}", lock.name, lock.when_busy)));
    more("checks", (!step.verify.is_empty()).then(|| step.verify.len().to_string()));
    more("cache", step.cache.is_some().then(|| "yes".into()));
    more("idempotent", step.idempotent.then(|| "yes".into()));
    more("timeout", step.timeout.map(|limit| format!("{limit:?}")));
    let gates: Vec<&str> = step.gates.iter().map(|gate| gate.on.as_str()).collect();
    more("gates", (!gates.is_empty()).then(|| gates.join(" ")));
    more("queue_timeout", step.queue_timeout.map(|limit| format!("{limit:?}")));
    more("on_error", (step.on_error == wf_model::OnStepError::Continue).then(|| "continue".into()));
    text
}
