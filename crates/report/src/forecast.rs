use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;

use wf_base::untrusted::{BOLD, DIM, NAME, WARN, paint, styled_line, untrusted};
use wf_model::{
    Check, CheckPhase, JsonObject, ModelChoice, Plan, Step, StepIx, StepRepetition, StepWork,
    expr::{ExprReference, ExprScope, StatusFunction, truthy},
};

/// The widest column of names.
const MAX_NAME_WIDTH: usize = 32;

/// The expected course of a run, as far as it can be known before.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Forecast {
    /// The version of the format.
    pub v: u32,
    pub plan: String,
    /// Its path, relative to the workspace.
    pub path: String,
    /// Its resolved parameters.
    pub params: JsonObject,
    /// Its steps, in a possible order of execution.
    pub steps: Vec<StepForecast>,
    /// The plan's own checks of the phase `inspect`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inspect: Vec<String>,
    /// The plan's own checks of the phase `test`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub test: Vec<String>,
    /// The plan's own criteria.
    pub verify: Vec<String>,
}

/// The expected course of a step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepForecast {
    pub step: String,
    pub work: String,
    /// The steps that must end first.
    pub depends_on: Vec<String>,
    /// True if it runs whatever happens.
    pub finally: bool,
    /// The reason why it will certainly not run.
    pub skipped: Option<String>,
    /// The condition that can be evaluated only in the run.
    pub when: Option<String>,
    /// The list or the axes over which it is repeated.
    pub repeated: Option<String>,
    /// The maximum number of retries.
    pub retries: u32,
    /// True if an earlier result may be reused.
    pub cached: bool,
    /// Its checks of the phase `inspect`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inspect: Vec<String>,
    /// Its checks of the phase `test`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub test: Vec<String>,
    /// Its criteria; without any check, its success is unverified.
    pub verify: Vec<String>,
}

impl Forecast {
    /// Computes the forecast.
    pub fn from_plan(plan: &Plan, path: &str, params: JsonObject) -> Self {
        let mut skipped = vec![None; plan.steps().len()];
        let mut steps = Vec::new();
        for ix in plan.order() {
            let step = plan.step(ix);
            let reason = skip_reason(plan, step, &params, &skipped);
            if let Some(slot) = skipped.get_mut(ix.index()) {
                slot.clone_from(&reason);
            }
            steps.push(forecast_step(plan, ix, reason));
        }
        let own = &plan.parts().verify;
        Self {
            v: 1,
            plan: plan.id().to_string(),
            path: path.to_owned(),
            params,
            steps,
            inspect: named(own, CheckPhase::Inspect),
            test: named(own, CheckPhase::Test),
            verify: named(own, CheckPhase::Verify),
        }
    }

    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    pub fn render(&self) -> String {
        let mut text = format!("{} · {} · ", paint(BOLD, &self.plan), untrusted(&self.path));
        text.push_str("dry run: nothing is executed\n");
        if !self.params.is_empty() {
            let _ = writeln!(text, "\n{}", paint(DIM, "parameters"));
        }
        for (name, value) in &self.params {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let _ = writeln!(text, "  {name} = {}", untrusted(&value));
        }
        let names = self.steps.iter().map(|step| step.step.chars().count());
        let width = names.max().unwrap_or(0).min(MAX_NAME_WIDTH);
        for (title, finally) in [("steps", false), ("finally", true)] {
            let own = self.steps.iter().filter(|step| step.finally == finally);
            let lines: String = own.map(|step| step.line(width)).collect();
            if !lines.is_empty() {
                let _ = write!(text, "\n{}\n{lines}", paint(DIM, title));
            }
        }
        let phases = checks([&self.inspect, &self.test, &self.verify]);
        if !phases.is_empty() {
            let _ = writeln!(text, "\n{}\n  {}", paint(DIM, "then"), phases.join(" · "));
        }
        text
    }
}

impl StepForecast {
    fn line(&self, width: usize) -> String {
        let mut parts = vec![self.work.clone()];
        if !self.depends_on.is_empty() {
            parts.push(format!("after {}", self.depends_on.join(", ")));
        }
        parts.extend(self.when.as_ref().map(|when| format!("when {when}")));
        parts.extend(self.repeated.clone());
        if self.retries > 0 {
            parts.push(format!("up to {} attempts", u64::from(self.retries) + 1));
        }
        if self.cached {
            parts.push("reused if nothing changed".into());
        }
        parts.extend(checks([&self.inspect, &self.test, &self.verify]));
        let about = paint(DIM, &styled_line(&parts.join(" · ")));
        let name = format!("{:<width$}", self.step);
        match &self.skipped {
            None => format!("  {}  {about}\n", paint(NAME, &name)),
            Some(reason) => {
                let reason = paint(WARN, &format!("skipped: {}", untrusted(reason)));
                format!("  {}  {reason}\n", paint(DIM, &name))
            }
        }
    }
}

/// The checks of the phases that have any, in their order.
fn checks(phases: [&Vec<String>; 3]) -> Vec<String> {
    let words = ["inspects", "tests", "checks"];
    let phases = words.into_iter().zip(phases);
    let some = phases.filter(|(_, names)| !names.is_empty());
    some.map(|(word, names)| format!("{word} {}", names.join(", "))).collect()
}

fn named(checks: &[Check], phase: CheckPhase) -> Vec<String> {
    let own = checks.iter().filter(|check| check.phase == phase);
    own.map(|check| check.name.to_string()).collect()
}

fn forecast_step(plan: &Plan, ix: StepIx, skipped: Option<String>) -> StepForecast {
    let step = plan.step(ix);
    let needs = step.depends_on.iter().map(|ix| plan.step(*ix).id.to_string());
    let when = step.when.as_ref().filter(|when| when.constant().is_none());
    StepForecast {
        step: step.id.to_string(),
        work: work(&step.work),
        depends_on: needs.collect(),
        finally: plan.is_finally(ix),
        when: when.map(|when| when.source().to_owned()),
        skipped,
        repeated: repeated(&step.fan),
        retries: step.retry.max,
        cached: step.cache.is_some(),
        inspect: named(&step.verify, CheckPhase::Inspect),
        test: named(&step.verify, CheckPhase::Test),
        verify: named(&step.verify, CheckPhase::Verify),
    }
}

fn work(work: &StepWork) -> String {
    match work {
        StepWork::Run(_) => "run".into(),
        StepWork::Exec(_) => "exec".into(),
        StepWork::Skill(call) => format!("skill {}/{}", call.skill, call.script),
        StepWork::Agent(agent) => match &agent.model {
            ModelChoice::Role(role) => format!("agent {role}"),
            ModelChoice::Model(model) => format!("agent with model {model}"),
        },
        StepWork::Http(http) => format!("http {}", http.method),
        StepWork::Uses(uses) => format!("uses {}", uses.path),
        StepWork::Generated(made) if made.text.is_none() => "runs a plan that the planner may write".into(),
        StepWork::Generated(_) => "runs a plan that the run makes".into(),
        StepWork::Wait(_) => "wait".into(),
        StepWork::Approve(decision) => match &decision.answer {
            None => "approve".into(),
            Some(kind) => format!("approve, {} an answer", kind.as_str()),
        },
    }
}

fn repeated(repetition: &StepRepetition) -> Option<String> {
    match repetition {
        StepRepetition::Once => None,
        StepRepetition::Each(list) => Some(format!("for each of {}", list.source())),
        StepRepetition::List(items) => Some(format!("for each of {} items", items.len())),
        StepRepetition::Matrix(cells) => Some(format!("for each of {} combinations", cells.len())),
    }
}

/// Returns why a step will not run, if that is certain already.
fn skip_reason(plan: &Plan, step: &Step, params: &JsonObject, skipped: &[Option<String>]) -> Option<String> {
    let when = step.when.as_deref();
    if !when.is_some_and(wf_model::expr::Expr::asks_status) {
        let gone = |ix: &&StepIx| skipped.get(ix.index()).is_some_and(Option::is_some);
        if let Some(ix) = step.depends_on.iter().find(gone) {
            return Some(format!("depends on `{}`", plan.step(*ix).id));
        }
    }
    let when = when?;
    let is_known = |reference: &ExprReference| matches!(reference, ExprReference::Param(_));
    if !when.refs().iter().all(|reference| is_known(&reference.name)) {
        return None;
    }
    let value = when.eval(&ForecastValues(params)).ok()?;
    (!truthy(&value)).then(|| format!("`{}` is false", when.source()))
}

/// The values known before a run.
struct ForecastValues<'a>(&'a JsonObject);

impl ExprScope for ForecastValues<'_> {
    fn value(&self, reference: &ExprReference) -> Option<Value> {
        match reference {
            ExprReference::Param(name) => self.0.get(name).cloned(),
            _ => None,
        }
    }

    fn test(&self, _function: StatusFunction, _: Option<&str>) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::Forecast;
    use serde_json::json;
    use wf_base::untrusted::plain;
    use wf_lang::{InMemoryFiles, PlanDefaults, load, lower};

    const PLAN: &str = "---
kind: plan
id: demo
params:
  region: {type: string}
steps:
  - {id: fetch, run: 'true', verify: [{name: there, run: 'true'}]}
  - {id: publish, run: 'true', depends_on: [fetch], when: params.region == 'us'}
  - {id: tell, run: 'true', depends_on: [publish]}
  - {id: mourn, run: 'true', depends_on: [publish], when: failed()}
finally:
  - {id: cleanup, run: 'true'}
---
";

    #[test]
    fn what_will_not_run_is_known_before() {
        let files = InMemoryFiles([("a.md".to_owned(), PLAN.into())].into());
        let defaults = PlanDefaults {
            policy: wf_model::PlanPolicy {
                max_parallel: 1,
                on_failure: wf_model::OnStepFailure::Stop,
                grace: std::time::Duration::ZERO,
            },
            retry: std::sync::Arc::default(),
            replan: wf_model::ReplanSettings::default(),
            suggestions: wf_model::SuggestionLimits::default(),
        };
        let plan = lower(&load(&files, "a.md"), &defaults).unwrap();
        let params = json!({"region": "eu"}).as_object().cloned().unwrap();
        let expected = "\
demo · a.md · dry run: nothing is executed

parameters
  region = eu

steps
  fetch    run · checks there
  publish  skipped: `params.region == 'us'` is false
  tell     skipped: depends on `publish`
  mourn    run · after publish · when failed()

finally
  cleanup  run
";
        assert_eq!(plain(&Forecast::from_plan(&plan, "a.md", params).render()), expected);
    }
}
