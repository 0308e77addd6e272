use super::{DstSpec, ExclusionSpec, JobSpec, MissedTimesSpec, NotifySpec, RepairSpec, ScheduleRuleSpec};
use crate::{
    ast::{
        checks::{CheckSpec, EscalationSpec, GateRef, check},
        parts::{BudgetSpec, ParamSpec, SecretSpec, foreign, sound},
        plans::{PlanKind, PlanSpec, PlannerSpec, PolicySpec, ReplanSpec, planner},
    },
    decode::{DurationText, MappingFields, OneOrMany, OrderedEntries, PathGlob, SpecDecoder, record, words},
};
use wf_base::{
    diag::{Code, Diagnostic},
    keyword::Keyword,
    keywords,
    name::{EnvName, Name, PlanId, SkillName},
    source::Spanned,
};
use wf_model::{GoalApproval, GoalOverlapPolicy, GoalParam, OnStuck, OnUnmet, TaintLevel, expr::Template};

record! {
    /// A goal: a desired state, checked on a schedule, and repaired within an approval.
    pub struct GoalSpec as "a goal" {
        /// The kind of the file.
        required kind: GoalKind,
        /// The id of the goal, unique in the workspace: lower-case words joined by hyphens.
        expected id: Spanned<PlanId>,
        /// A title of one line.
        optional title: String,
        /// A description of a few lines.
        optional description: String,
        /// The schedule: one rule, or several.
        expected schedule: Spanned<OneOrMany<ScheduleRuleSpec>>,
        /// The zone in which times without one are read, by its IANA name: `UTC` if absent.
        optional timezone: Spanned<String>,
        /// The rules for changes of the clock.
        optional dst: DstSpec,
        /// Days and times of the day without reconciliation.
        default exclude: Vec<ExclusionSpec>,
        /// The start of the schedule: a date, a time in the goal's zone, or an instant.
        optional active_from: Spanned<String>,
        /// The end of the schedule: a date, which is a whole day, a time in the goal's zone, or an
        /// instant.
        optional active_until: Spanned<String>,
        /// The spread of scheduled times: each goal has its own part of it, always the same.
        optional splay: Spanned<DurationText>,
        /// The delay with which a start still counts as on time: `1m` if absent.
        optional window: Spanned<DurationText>,
        /// The treatment of scheduled times that were missed because the engine did not run.
        optional missed: MissedTimesSpec,
        /// The treatment of a scheduled time during a reconciliation: `skip` if absent.
        optional overlap: Spanned<GoalOverlapPolicy>,
        /// The number of consecutive failed reconciliations until it pauses: never if absent.
        optional auto_pause_after: Spanned<u32>,
        /// The backend where its runs go, by its name in `wf.yaml`: this machine if absent.
        optional backend: Spanned<Name>,
        /// The desired state.
        optional verify: Spanned<Vec<CheckSpec>>,
        /// Instead of checks and a repair: the plan that runs at each scheduled time.
        optional run: JobSpec,
        /// The reaction to an unmet state: `report` if absent.
        optional on_failure: Spanned<OnUnmet>,
        /// The remediation that restores the state.
        optional repair: RepairSpec,
        /// The approval that a repair needs: `standing` if absent.
        optional approval: Spanned<GoalApproval>,
        /// The notifications.
        default notify: Vec<NotifySpec>,
        /// Typed inputs, each with a default: a JSON Schema each.
        default params: OrderedEntries<Name, ParamSpec>,
        /// Environment variables for every step.
        default env: OrderedEntries<EnvName, Template>,
        /// Secrets and their sources.
        default secrets: OrderedEntries<EnvName, SecretSpec>,
        /// The skills that its repair may use; those that it names if absent.
        optional skills: Vec<Spanned<SkillName>>,
        /// The files of the workspace that are data, as globs: neither its acceptance nor an approval binds their content.
        default data: Vec<Spanned<PathGlob>>,
        /// The concurrency of steps and the effect of a failure.
        optional policy: PolicySpec,
        /// The time limit of a check of the goal, and that of a repair.
        optional timeout: Spanned<DurationText>,
        /// The budget of a check of the goal, and that of a repair: attempts, time, tokens, money.
        optional budget: Box<BudgetSpec>,
        /// Rules at trigger points, for checks of the goal, for repairs and for every step: names
        /// of files in `gates/`, or gates.
        default gates: Vec<GateRef>,
        /// The escalations for blocks of gates, by name.
        default escalation: OrderedEntries<Name, EscalationSpec>,
        /// The replanning after a failed repair; none if absent.
        optional replan: ReplanSpec,
        /// A program that is asked for another alternative if no declared one is left.
        optional planner: Box<PlannerSpec>,
        /// The reaction when no declared alternative is left: `consult_planner` if there is a
        /// planner, else `abandon`.
        optional on_stuck: OnStuck,
    }
    instead {
        "steps" => "steps go into the repair: write `repair: {steps: […]}`",
        "finally" => "put `finally` into the plan used by the repair: `repair: {uses: PLAN.md}`",
        "inspect" => "a goal has one list of checks: put them under `verify`",
        "test" => "a goal has one list of checks: put them under `verify`",
        "outputs" => "a goal cannot be used by a plan, so its outputs could never be read",
        "cron" => "write `schedule: \"0 6 * * *\"`",
        "at" => "write `schedule: {at: 2026-12-01T09:00}`",
    }
    foreign foreign::GOAL;
    aside {
        /// The parameters that every goal has besides its own.
        goal_params: OrderedEntries<Name, ParamSpec>,
    }
    finish check_goal;
}

keywords! {
    listed
    /// The kind of a goal.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum GoalKind {
        /// `goal`
        Goal = "goal",
    }
}

words!(GoalKind, GoalOverlapPolicy, OnUnmet, GoalApproval);

fn check_goal(goal: &mut GoalSpec, fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    sound::check_nonzero_duration(goal.timeout.as_ref(), decoder);
    sound::check_reserved_names(&goal.env, decoder);
    sound::check_data(&goal.data, decoder);
    planner::is_asked(goal.on_stuck, planner::StuckAgents::default(), fields, decoder);
    if let Some(budget) = &goal.budget {
        budget.check_main_attempts(0, decoder);
    }
    check::refuse_before(goal.verify.iter().flat_map(|checks| &checks.value), decoder);
    let mut wrong = |at, message: &str, help: &str| {
        decoder.emit(Diagnostic::new(Code::ValueWrong, at, message).with_help(help));
    };
    if let Some(count) = goal.auto_pause_after.as_ref().filter(|c| c.value == 0) {
        let message = "with 0 failed reconciliations, the goal would never start";
        wrong(count.span, message, "write 1 or more, or remove it to never pause automatically");
    }
    let short = |window: &&Spanned<DurationText>| window.value.0 < std::time::Duration::from_secs(1);
    if let Some(window) = goal.window.as_ref().filter(short) {
        let message = "the window is too short: every slot would be missed";
        wrong(window.span, message, "write 1s or more");
    }
    check_conflicts(goal, fields, decoder);
    add_goal_params(goal, decoder);
}

/// Notes keys that contradict each other, or have no effect together.
fn check_conflicts(goal: &GoalSpec, fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    if goal.run.is_some() {
        check_job(fields, decoder);
    } else if !fields.has("verify") && !fields.has("run") {
        let message = "a goal requires the key `verify`";
        let mistake = Diagnostic::new(Code::KeyMissing, fields.head(), message);
        decoder.emit(
            mistake.with_help("add checks, or `run: PLAN.md` if a plan is to run whatever the state is"),
        );
    }
    let spawns = goal.on_unmet() == OnUnmet::SpawnPlan && goal.run.is_none();
    // A value that could not be read has been reported, and contradicts nothing.
    let is_read = |key: &str, read: bool| read || !fields.has(key);
    if spawns && !fields.has("repair") {
        let message = "`on_failure: spawn_plan` has no repair to run";
        let mistake = Diagnostic::new(Code::KeyMissing, fields.key("on_failure"), message);
        decoder.emit(mistake.with_help("add `repair: {uses: PLAN.md}` or `repair: {steps: […]}`"));
    }
    if fields.has("repair") && !spawns && is_read("on_failure", goal.on_failure.is_some()) {
        let message = "the repair would never run";
        let mistake = Diagnostic::new(Code::KeyMissing, fields.key("repair"), message);
        decoder.emit(mistake.with_help("write `on_failure: spawn_plan`, or remove it"));
    }
    for key in ["approval", "replan"] {
        if fields.has(key) && !fields.has("repair") && !fields.has("run") {
            let message = format!("`{key}` has no effect without `repair`");
            let mistake = Diagnostic::new(Code::KeyMissing, fields.key(key), message);
            decoder.emit(mistake.with_help("add `repair`, or remove it"));
        }
    }
    let overlap = goal.overlap.as_ref().map(|word| word.value);
    let overlap = overlap.unwrap_or_default();
    let keeps_all = matches!(overlap, GoalOverlapPolicy::QueueAll | GoalOverlapPolicy::Allow);
    if let Some(span) = goal.missed.as_ref().and_then(MissedTimesSpec::all_missed_span)
        && !keeps_all
        && is_read("overlap", goal.overlap.is_some())
    {
        let word = overlap.as_str();
        let message =
            format!("`run: all` starts several slots, but `overlap: {word}` keeps only one of them");
        let mistake = Diagnostic::new(Code::ValueWrong, span, message);
        decoder.emit(mistake.with_help("write `overlap: queue_all`, or `run: latest`"));
    }
}

/// Notes keys of checks in a goal with none.
fn check_job(fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    for key in ["verify", "on_failure", "repair"] {
        if fields.has(key) {
            let message = format!("`{key}` contradicts `run`: a plan that runs at each slot is no repair");
            let mistake = Diagnostic::new(Code::ValueWrong, fields.key(key), message);
            decoder.emit(mistake.with_help(
                "keep `run` for work that is done at each slot, or write `verify`, `on_failure: spawn_plan` and `repair` for a state",
            ));
        }
    }
}

/// Adds the parameters every goal has. No goal may declare them.
fn add_goal_params(goal: &mut GoalSpec, decoder: &mut SpecDecoder<'_>) {
    for &goal_param in GoalParam::ALL {
        let name = goal_param.as_str();
        let mut own = goal.params.iter().map(|(own, _)| own);
        if let Some(own) = own.find(|own| own.value.as_str() == name) {
            let message = format!("the parameter `{name}` is built in for every goal");
            let mistake = Diagnostic::new(Code::DuplicateId, own.span, message);
            decoder.emit(mistake.with_help("remove the declaration; the parameter can be read without it"));
            continue;
        }
        let Ok(param_name) = Name::parse(name) else {
            continue;
        };
        let at = wf_base::source::Span::default();
        let Some(schema) = decoder.schema(serde_json::json!({ "type": "string" }), at) else {
            continue;
        };
        let taint = match goal_param {
            GoalParam::FailedChecks => TaintLevel::External,
            GoalParam::Slot | GoalParam::PrevSlot => TaintLevel::Owner,
        };
        let param = ParamSpec {
            schema,
            default: Some(Spanned::new(goal_param.default_value().into(), at)),
            taint,
            description: None,
        };
        goal.goal_params.0.push((Spanned::new(param_name, at), param));
    }
}

impl GoalSpec {
    /// Returns the plan of the goal: its checks as criteria, and its repair as steps.
    pub fn plan(&self) -> PlanSpec {
        let mut params = self.params.clone();
        params.0.extend(self.goal_params.iter().cloned());
        let repair = self.repair.as_ref().map(RepairSpec::to_steps);
        let steps = self.run.as_ref().map(JobSpec::to_steps).or(repair);
        PlanSpec {
            kind: PlanKind::Plan,
            id: self.id.clone(),
            title: self.title.clone(),
            description: self.description.clone(),
            intent: None,
            params,
            env: self.env.clone(),
            secrets: self.secrets.clone(),
            skills: self.skills.clone(),
            data: self.data.clone(),
            policy: self.policy.clone(),
            timeout: self.timeout.clone(),
            budget: self.budget.clone(),
            steps,
            agent: None,
            allow: None,
            retry: None,
            finally: Vec::new(),
            inspect: Vec::new(),
            test: Vec::new(),
            verify: self.verify.as_ref().map_or_else(Vec::new, |checks| checks.value.clone()),
            outputs: OrderedEntries::default(),
            gates: self.gates.clone(),
            escalation: self.escalation.clone(),
            replan: self.replan.clone(),
            planner: self.planner.clone(),
            on_stuck: self.on_stuck,
            resume: None,
            undo: None,
            suggests: None,
            r#type: None,
            interaction_mode: None,
            layers: None,
            briefing: String::new(),
            is_single_agent: false,
        }
    }

    /// Returns the reaction to an unmet state.
    pub fn on_unmet(&self) -> OnUnmet {
        let word = self.on_failure.as_ref().map(|word| word.value);
        let usual = if self.run.is_some() { OnUnmet::SpawnPlan } else { OnUnmet::default() };
        word.unwrap_or(usual)
    }

    /// Returns the secrets used by the goal's notifications.
    pub fn notification_secrets(&self) -> impl Iterator<Item = &Spanned<EnvName>> {
        let hooks = self.notify.iter().filter_map(|notify| notify.webhook.as_ref());
        hooks.flat_map(|hook| hook.url_secret.iter().chain(&hook.secret))
    }
}
