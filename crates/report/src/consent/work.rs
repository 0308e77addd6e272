use super::check::argv;
use super::exact::{exact_duration, json, shell_words};
use super::plan::{child_plans, uses};
use super::view::RecordView;
use super::{RiskDirection, SummaryBuilder, SummaryLineKind, gate};
use wf_model::expr::Template;
use wf_model::{
    AgentDispatch, AgentInteraction, AgentTool, AgentWork, AgentWorkspace, ConversationUse, HttpCall,
    ModelChoice, SkillArg, SkillCall, StepWork, WaitCondition,
};

impl RecordView for StepWork {
    fn view(&self, sheet: &mut SummaryBuilder) {
        match self {
            Self::Run(own) => own.view(sheet),
            Self::Exec(own) => argv(own, sheet),
            Self::Skill(call) => sheet.below("skill", |sheet| call.view(sheet)),
            Self::Agent(own) => sheet.below("agent", |sheet| own.view(sheet)),
            Self::Http(request) => sheet.below("http", |sheet| request.view(sheet)),
            Self::Uses(nested) => uses(nested, sheet),
            Self::Generated(made) => made.view(sheet),
            Self::Wait(what) => sheet.below("wait", |sheet| what.view(sheet)),
            Self::Approve(decision) => gate::approve(decision, sheet),
        }
    }
}

// A script of a skill, its interpreter and its arguments. Its folder is in the path.
view! { call: SkillCall in Work {
    plain skill as "name",
    plain script = call.path(),
    plain head as "program" = argv_text(head),
    own args = arguments,
    plain words in Data as "args" = argv_text(&words.iter().map(Template::source).collect::<Vec<_>>()),
} aside folder }

/// Words in one text, if there are any.
fn argv_text(words: &[impl AsRef<str>]) -> Option<String> {
    (!words.is_empty()).then(|| shell_words(words))
}

fn arguments(args: &[SkillArg], sheet: &mut SummaryBuilder) {
    for SkillArg { name, schema, value, position } in args {
        let key = format!("args.{name}");
        sheet.add(SummaryLineKind::Data, |_| RiskDirection::Plain, &key, value, false);
        sheet.below(&key, |sheet| {
            lines!(sheet in Work { plain "position" = position, guard "schema" in Proof = schema });
        });
    }
}

// The model, its tools and its briefing; then its reach.
view! { work: AgentWork in Reach {
    own model = RecordView::view,
    plain engine in Work = engine.as_str(),
    plain command in Work = argv_text(command),
    plain briefing in Work,
    plain with in Data,
    plain recall in Data,
    plain max_turns in Effort,
    plain max_questions in Effort = tools.contains(&AgentTool::Ask).then_some(max_questions),
    below interaction,
    plain persona in Work = persona.as_ref().map(|persona| json(&serde_json::json!(persona))),
    own conversation = RecordView::view,
    guard workspace = in_worktree(work).then(|| workspace.as_str()),
    guard merge = in_worktree(work).then(|| merge.as_str()),
    own untrusted = untrusted_paths,
    guard when_untrusted =
        &when_untrusted.iter().map(|(tool, rule)| (tool, rule.to_string())).collect::<Vec<_>>(),
    grant tools,
    grant skills = &skills.iter().map(|skill| skill.name.to_string()).collect::<Vec<_>>(),
    grant fetch,
    grant mcp,
    below dispatch,
} }

impl RecordView for ModelChoice {
    fn view(&self, sheet: &mut SummaryBuilder) {
        match self {
            Self::Model(name) => lines!(sheet in Work { plain "model" = name }),
            Self::Role(name) => lines!(sheet in Work { plain "role" = name }),
        }
    }
}

fn in_worktree(work: &AgentWork) -> bool {
    work.workspace != AgentWorkspace::default()
}

view! { interaction: AgentInteraction in Effort {
    plain register,
    plain proxy,
    plain planner,
} }

view! { conversation: ConversationUse in Data {
    plain name as "conversation",
    plain idle as "conversation_idle",
} }

fn untrusted_paths(paths: &[String], sheet: &mut SummaryBuilder) {
    for path in paths {
        lines!(sheet in Reach { guard "untrusted" = path });
    }
}

view! { dispatch: AgentDispatch in Effort {
    own plans = child_plans,
    plain max,
    plain max_parallel,
} }

view! { request: HttpCall in Work {
    plain method,
    plain url,
    plain headers,
    plain body,
    plain outputs,
    plain expect in Proof as "expect.status" =
        if expect.is_empty() { "200 to 299".to_owned() } else { json(&expect.clone().into()) },
} }

impl RecordView for WaitCondition {
    fn view(&self, sheet: &mut SummaryBuilder) {
        let (key, text) = match self {
            Self::For(time) => ("duration", exact_duration(*time)),
            Self::Until(moment) => ("until", moment.to_string()),
            Self::File(path) => ("file", path.source().to_owned()),
        };
        sheet.add(SummaryLineKind::Work, |_| RiskDirection::Plain, key, text, false);
    }
}
