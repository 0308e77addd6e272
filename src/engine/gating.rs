//! Gates at a point of a run: whom to ask is the machine's to say, what it means too.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::watch;

use crate::exec::gate::{self, Site};
use crate::exec::{Stop, check};
use crate::expr::EvalError;
use crate::gate::{Context, Gated, Pass};
use crate::machine::{Attempt, GatePoint, Happening, Item, Place, gates_at};
use crate::model::{Object, Step, Work};

use super::dispatch::Report;
use super::run::Ongoing;
use super::scope::{Known, secrets_read};

/// What stands for a secret in what gates are shown.
const SECRET: &str = "[secret]";

/// Gates that are to be asked, and about what.
pub(super) struct Asked {
    pub(super) run: Arc<Ongoing>,
    /// The place; `None`: the gates of the run.
    pub(super) place: Option<Place>,
    pub(super) point: GatePoint,
    pub(super) attempt: u32,
    /// The attempt that is about to begin, where it is not the first.
    pub(super) next: Option<u32>,
    pub(super) item: Option<Item>,
    pub(super) reads: Object,
    /// The steps that it depends on, with their outputs.
    pub(super) steps: Object,
    /// The outputs of the attempt, or of the run.
    pub(super) outputs: Object,
}

/// What gates of a place are told to end by.
pub(super) fn name(place: Option<&Place>, attempt: u32) -> Option<Attempt> {
    let place = place?.clone();
    Some(Attempt { place, attempt })
}

/// Where the programs of gates, and planners, run.
pub(super) async fn site(run: &Ongoing) -> Site {
    let session = &run.session;
    let ground = check::Ground {
        hands: session.hands.clone(),
        root: session.root.clone(),
        host: Arc::clone(&session.host),
        mask: run.mask().await,
        clock: Arc::clone(&session.clock),
        grace: run.plan.parts().policy.grace,
        around: session.around.clone(),
        pins: run.pins.clone(),
        whiteouts: Vec::new(),
        params: run.params().clone(),
    };
    Site {
        ground,
        view: run.view.clone(),
    }
}

impl Asked {
    /// Asks them, and says what they said.
    pub(super) async fn ask(self, stop: watch::Receiver<Stop>) -> Report {
        let gated = match self.context() {
            Ok(context) => self.pass(context, stop).await,
            Err(error) => self.refused(&error.to_string()),
        };
        self.run.session.hands.hold()?;
        Ok(Some(Happening::Gated {
            place: self.place,
            point: self.point,
            gated,
        }))
    }

    async fn pass(&self, context: Context, stop: watch::Receiver<Stop>) -> Gated {
        let site = site(&self.run).await;
        let clock = Arc::clone(&self.run.session.clock);
        let mut pass = Pass::new(self.gates(), self.point.triggers(), context);
        while let Some((gate, context)) = pass.ask() {
            let began = clock.now();
            let answer = if *stop.borrow() == Stop::No {
                gate::ask(&gate, context, &site, stop.clone()).await
            } else {
                Err("not asked: the run was told to end".into())
            };
            let took = clock.now().since(began).as_millis();
            pass.take(answer, u64::try_from(took).unwrap_or(u64::MAX));
        }
        pass.end()
    }

    /// What comes of gates that cannot be asked, since nobody can say about what.
    fn refused(&self, why: &str) -> Gated {
        let mut pass = Pass::new(self.gates(), self.point.triggers(), Context::new());
        while pass.ask().is_some() {
            pass.take(Err(why.to_owned()), 0);
        }
        pass.end()
    }

    fn gates(&self) -> impl Iterator<Item = &Arc<crate::model::Gate>> {
        let step = self.step().map(|(ix, _)| ix);
        gates_at(&self.run.plan, step, self.point)
    }

    fn step(&self) -> Option<(crate::model::StepIx, super::steps::StepOf)> {
        let place = self.place.as_ref()?;
        let ix = self.run.plan.find(place.step.as_str())?;
        Some((ix, super::steps::step_of(&self.run, place)))
    }

    /// What the gates are asked about.
    fn context(&self) -> Result<Context, EvalError> {
        let run = &self.run;
        let mut context = Context::new();
        let mut put = |name: &str, value: Value| drop(context.insert(name.into(), value));
        put("run", json!(run.this.id));
        put("plan", json!(run.this.plan));
        put("params", Value::Object(run.params().clone()));
        put("steps", Value::Object(self.steps.clone()));
        if let Some(place) = &self.place {
            put("step", json!(place.step));
            put("attempt", json!(self.next.unwrap_or(self.attempt)));
        }
        if let Some(item) = &self.item {
            put("item", item.value.clone());
        }
        match self.point {
            GatePoint::Start => put("message", Value::Object(run.params().clone())),
            GatePoint::Leave | GatePoint::Publish => {
                put("response", Value::Object(self.outputs.clone()));
            }
            GatePoint::Enter | GatePoint::Again => {
                if let Some((_, step)) = self.step()
                    && let Some((name, args)) = self.tool(&step)?
                {
                    put("tool_name", json!(name));
                    put("tool_args", args);
                }
            }
        }
        Ok(context)
    }

    /// What is to be executed, without secrets; `None` if nothing is.
    fn tool(&self, step: &Step) -> Result<Option<(String, Value)>, EvalError> {
        let run = &self.run;
        let secrets = secrets_read(step).into_iter();
        let secrets: BTreeMap<String, String> = secrets
            .map(|name| (name.to_owned(), SECRET.to_owned()))
            .collect();
        let known = Known {
            run: &run.this.id,
            params: run.params(),
            reads: &self.reads,
            item: self.item.as_ref(),
            index: self.place.as_ref().and_then(|place| place.item),
            secrets: &secrets,
        };
        Ok(match &step.work {
            Work::Run(script) => {
                let args = json!({ "shell": script.shell, "script": script.text });
                Some(("run".into(), args))
            }
            Work::Exec(words) => {
                let words = words.iter().map(|word| word.render(&known));
                let words = words.collect::<Result<Vec<String>, _>>()?;
                let name = words.first().cloned().unwrap_or_default();
                Some((name, json!(words)))
            }
            Work::Skill(call) => {
                // What cannot be given is told by the attempt itself.
                let values = call.values(&known).unwrap_or_default();
                let values = values.into_iter();
                let args: Object = values
                    .map(|(arg, value)| (arg.name.to_string(), value))
                    .collect();
                Some((format!("{}/{}", call.skill, call.script), json!(args)))
            }
            Work::Http(http) => {
                let headers = http.headers.iter();
                let headers = headers.map(|(name, value)| Ok(json!([name, value.render(&known)?])));
                let headers: Vec<Value> = headers.collect::<Result<_, EvalError>>()?;
                let body = http.body.as_ref().map(|body| body.render(&known));
                let args = json!({
                    "method": http.method,
                    "url": http.url.render(&known)?,
                    "headers": headers,
                    "body": body.transpose()?,
                });
                Some(("http".into(), args))
            }
            Work::Uses(uses) => {
                let with = uses.with.iter();
                let with = with.map(|(name, value)| Ok((name.to_string(), value.value(&known)?)));
                let with: Object = with.collect::<Result<_, EvalError>>()?;
                Some(("uses".into(), json!({ "plan": uses.path, "with": with })))
            }
            Work::Wait(_) | Work::Approve(_) => None,
        })
    }
}
