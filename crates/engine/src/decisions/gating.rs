//! Gates at a point of a run: the machine chooses the gates to ask, and judges the results. One of their providers is a
//! judging model.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Value, json};
use tokio::sync::watch;

use wf_base::{digest::Sha256Digest, exact_json, name::Name};
use wf_core::{
    gate::{
        GateAnswer, GateContext, GateOutcome, GatePass,
        llm::{ANSWER_TIMEOUT, JUDGE_ROLE, question, read},
    },
    machine::{AskedModel, Attempt, GatePoint, GateQuestion, InputKind, ShownContent, gates_at},
};
use wf_exec::{
    StopLevel, WorkError, check,
    gate::{self, GateEnvironment},
};
use wf_model::{
    EngineFailure, GateProvider, JsonObject, LlmJudge, ModelChoice, Step, StepWork, expr::EvalError,
};

use crate::{
    agent::{answer_exchange, put_exchange, tool_call},
    files::{copies, worktrees},
    models::asker::ModelAsker,
    run::{
        RunContext,
        attempt_task::{PlanStep, step_of},
        scope::{TemplateValues, secrets_read},
    },
    session::UnitResult,
};

/// The placeholder for a secret in the input of gates.
const SECRET_PLACEHOLDER: &str = "[secret]";

/// The evaluation of gates.
pub(crate) struct GateEvaluation {
    pub(crate) run: Arc<RunContext>,
    pub(crate) question: GateQuestion,
}

/// Returns the site at which the programs of gates of a task, or of the run, and planners run.
pub(crate) async fn site(
    run: &Arc<RunContext>,
    attempt: Option<&Attempt>,
) -> Result<GateEnvironment, WorkError> {
    let place = attempt.map(|attempt| attempt.task_id.clone());
    let copies = copies::of_checks_of(run, place, Vec::new()).await?;
    let worktree = attempt.and_then(|attempt| worktrees::worktree_of(run, attempt));
    // Before the work of an attempt there is none.
    let worktree = worktree.filter(|worktree| worktree.folder().exists());
    let ground = check::CheckEnvironment { copies, ..run.check_environment(worktree.as_ref()).await };
    Ok(GateEnvironment { environment: ground, view: run.view.clone() })
}

impl GateEvaluation {
    /// Asks the gates and reports their results.
    pub(crate) async fn ask(self, stop: watch::Receiver<StopLevel>) -> UnitResult {
        let mut arguments = None;
        let gated = match self.context() {
            Ok(mut context) => {
                arguments = self.put_tool_call(&mut context).await;
                match self.put_exchange(&mut context).await {
                    Ok(()) => self.evaluate(context, stop).await,
                    Err(unable) => self.unevaluable(&unable.reason),
                }
            }
            Err(error) => self.unevaluable(&error.to_string()),
        };
        self.run.session.executor.ensure_supervised()?;
        let GateQuestion { task_id, point, tool_call, exchange, .. } = self.question;
        let exchange = match exchange {
            Some(question) => Some(answer_exchange(&self.run, *question, &gated).await?),
            None => None,
        };
        let exchange = exchange.map(Box::new);
        Ok(Some(InputKind::Gated { task_id, point, gated, tool_call, arguments, exchange }))
    }

    /// Adds the part of an agent's conversation the gates are about.
    async fn put_exchange(&self, context: &mut GateContext) -> Result<(), WorkError> {
        match &self.question.exchange {
            Some(question) => put_exchange(&self.run, question, context).await,
            None => Ok(()),
        }
    }

    /// Adds the tool call of an agent that is to begin. Returns its arguments, for approvers.
    async fn put_tool_call(&self, context: &mut GateContext) -> Option<Box<ShownContent>> {
        let id = self.question.tool_call.as_ref()?;
        let call = tool_call(&self.run, id).await?;
        let digest = Sha256Digest::of_bytes(call.arguments.as_bytes());
        let args = exact_json::read(&call.arguments).unwrap_or(Value::String(call.arguments));
        let mut shown = args.clone();
        self.run.mask().await.value(&mut shown);
        context.insert("tool_name".into(), json!(call.tool));
        context.insert("tool_args".into(), args);
        Some(Box::new(ShownContent { digest, shown }))
    }

    async fn evaluate(&self, context: GateContext, stop: watch::Receiver<StopLevel>) -> GateOutcome {
        let site = match site(&self.run, self.question.attempt().as_ref()).await {
            Ok(site) => site,
            Err(unable) => return self.unevaluable(&unable.reason),
        };
        let clock = Arc::clone(&self.run.session.clock);
        let mut pass = GatePass::new(self.gates(), self.question.point.triggers(), context);
        while let Some((gate, context)) = pass.next_gate() {
            let began = clock.now();
            let mut asked_model = None;
            let answer = match &gate.provider {
                _ if *stop.borrow() != StopLevel::No => {
                    let reason = "not evaluated: the run is being cancelled";
                    Err(WorkError::engine(EngineFailure::Cancelled, reason))
                }
                GateProvider::Llm(judge) => {
                    let judged = ModelJudgement::ask(&self.run, judge, context).await;
                    asked_model = judged.asked_model;
                    judged.answer
                }
                _ => gate::ask(&gate, context, &site, stop.clone()).await,
            };
            let took = clock.now().since(began).as_millis();
            let answer = answer.map_err(|unable| unable.reason);
            pass.take_answer(answer, u64::try_from(took).unwrap_or(u64::MAX));
            if let Some(model_call) = asked_model {
                pass.note_call(model_call);
            }
        }
        pass.into_outcome()
    }

    /// Returns the result of gates that cannot be asked, since their subject is unknown.
    fn unevaluable(&self, reason: &str) -> GateOutcome {
        let mut pass = GatePass::new(self.gates(), self.question.point.triggers(), GateContext::new());
        while pass.next_gate().is_some() {
            pass.take_answer(Err(reason.to_owned()), 0);
        }
        pass.into_outcome()
    }

    fn gates(&self) -> impl Iterator<Item = &Arc<wf_model::Gate>> {
        let step = self.step().map(|(ix, _)| ix);
        gates_at(&self.run.plan, step, self.question.point)
    }

    fn step(&self) -> Option<(wf_model::StepIx, PlanStep)> {
        let place = self.question.task_id.as_ref()?;
        let ix = self.run.plan.find(place.step.as_str())?;
        Some((ix, step_of(&self.run, place)))
    }

    /// Returns the subject of the gates.
    fn context(&self) -> Result<GateContext, EvalError> {
        let run = &self.run;
        let mut context = GateContext::new();
        let mut put = |name: &str, value: Value| drop(context.insert(name.into(), value));
        put("run", json!(run.run_ref.id));
        put("plan", json!(run.run_ref.plan));
        put("params", Value::Object(run.params().clone()));
        put("steps", Value::Object(self.question.steps.clone()));
        if let Some(place) = &self.question.task_id {
            put("step", json!(place.step));
            put("attempt", json!(self.question.next.unwrap_or(self.question.attempt)));
        }
        if let Some(item) = &self.question.item_value {
            put("item", item.value.clone());
        }
        match self.question.point {
            GatePoint::Start => put("message", Value::Object(run.params().clone())),
            GatePoint::Leave | GatePoint::Publish => {
                put("response", Value::Object(self.question.outputs.clone()));
            }
            GatePoint::Call | GatePoint::Request | GatePoint::Reply | GatePoint::Result => {}
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

    /// Returns the tool and arguments to be executed, without secrets; `None` if there are none.
    fn tool(&self, step: &Step) -> Result<Option<(String, Value)>, EvalError> {
        let run = &self.run;
        let secrets = secrets_read(step).into_iter();
        let secrets: BTreeMap<String, String> =
            secrets.map(|name| (name.to_owned(), SECRET_PLACEHOLDER.to_owned())).collect();
        let known = TemplateValues {
            run: &run.run_ref,
            params: run.params(),
            reads: &self.question.reads,
            item: self.question.item_value.as_ref(),
            index: self.question.task_id.as_ref().and_then(|place| place.item),
            secrets: &secrets,
        };
        Ok(match &step.work {
            StepWork::Run(script) => {
                let args = json!({ "shell": script.shell, "script": script.text });
                Some(("run".into(), args))
            }
            StepWork::Exec(words) => {
                let words = words.iter().map(|word| word.render(&known));
                let words = words.collect::<Result<Vec<String>, _>>()?;
                let name = words.first().cloned().unwrap_or_default();
                Some((name, json!(words)))
            }
            StepWork::Skill(call) => {
                // Values that cannot be given are reported by the attempt itself.
                let values = call.values(&known).unwrap_or_default();
                let values = values.into_iter();
                let args: JsonObject = values.map(|(arg, value)| (arg.name.to_string(), value)).collect();
                Some((format!("{}/{}", call.skill, call.script), json!(args)))
            }
            StepWork::Http(http) => {
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
            StepWork::Uses(uses) => {
                let with = uses.with.iter();
                let with = with.map(|(name, value)| Ok((name.to_string(), value.value(&known)?)));
                let with: JsonObject = with.collect::<Result<_, EvalError>>()?;
                Some(("uses".into(), json!({ "plan": uses.path, "with": with })))
            }
            StepWork::Generated(made) => {
                let with = made.with.iter();
                let with = with.map(|(name, value)| Ok((name.to_string(), value.value(&known)?)));
                let with: JsonObject = with.collect::<Result<_, EvalError>>()?;
                let text = made.text.as_ref().map(|text| text.render(&known)).transpose()?;
                Some(("uses".into(), json!({ "text": text, "with": with })))
            }
            // The tool calls of an agent are asked about one by one.
            StepWork::Agent(_) | StepWork::Wait(_) | StepWork::Approve(_) => None,
        })
    }
}

/// The answer of a model to a gate, and its call.
pub(super) struct ModelJudgement {
    pub(crate) answer: Result<GateAnswer, WorkError>,
    /// The call; `None`: none was made.
    pub(crate) asked_model: Option<AskedModel>,
}

impl ModelJudgement {
    /// Asks the model with the role of a judge. Whatever keeps it from answering is a reason, never a pass.
    pub(crate) async fn ask(run: &RunContext, judge: &LlmJudge, context: &GateContext) -> Self {
        let role = Name::parse(JUDGE_ROLE).ok().map(ModelChoice::Role);
        let Some(model) = role.and_then(|role| run.session.models.find(&role)) else {
            let reason = format!("wf.yaml gives no model the role `{JUDGE_ROLE}`: add it under `roles`");
            return Self { answer: Err(WorkError::engine(EngineFailure::Sensor, reason)), asked_model: None };
        };
        let request = question(judge, context);
        let mut asker = ModelAsker::new(run, model);
        let answer = match tokio::time::timeout(ANSWER_TIMEOUT, asker.ask(&request)).await {
            Ok(Ok(reply)) => {
                read(&reply.text, judge.promote_to_policy).map_err(|mistake| mistake.to_string())
            }
            Ok(Err(unasked)) => Err(unasked.reason),
            Err(_) => Err(format!("model `{}` did not answer within {ANSWER_TIMEOUT:?}", model.name)),
        };
        let answer = answer.map_err(|reason| WorkError::engine(EngineFailure::Sensor, reason));
        Self { answer, asked_model: asker.asked_models.pop() }
    }
}
