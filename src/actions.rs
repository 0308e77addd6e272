//! The commands for the acts of a person. Use cases name acts in their remedies; the commands are named here alone.

use wf_base::{
    name::RunId,
    remedy::{RequestAnswerForm, UserAction as Act},
    untrusted::shell_word,
};

/// Returns the command for an act.
pub fn command_text(action: &Act) -> String {
    let words = run_words(action)
        .or_else(|| request_words(action))
        .or_else(|| goal_words(action))
        .or_else(|| memory_words(action))
        .or_else(|| skill_words(action))
        .unwrap_or_else(|| workspace_words(action));
    format!("wf {words}")
}

fn run_words(action: &Act) -> Option<String> {
    Some(match action {
        Act::StartRun => "run PLAN".into(),
        Act::StartRunAgain => "run".into(),
        Act::RecordRun => "run PLAN --record DIR".into(),
        Act::RunFile(file) => format!("run {}", shell_word(file)),
        Act::ResumeRun(run) => format!("resume {}", run.short()),
        Act::ResumeLatestRun => "resume --last".into(),
        Act::ResumeSomeRun => "resume RUN".into(),
        Act::TakeOver => "resume".into(),
        Act::StopWork => "cancel".into(),
        Act::CancelRun(run) => format!("cancel {}", run.short()),
        Act::CancelSomeRun => "cancel RUN".into(),
        Act::RetryRun(run) => format!("retry {}", run.short()),
        Act::RetryFrom { run, step } => format!("retry {} --from {step}", run.short()),
        Act::ShowThatRun => "show".into(),
        Act::ShowRun(run) => format!("show {}", run.short()),
        Act::ShowLogs { run, step } => format!("logs {} {}", run.short(), shell_word(step)),
        Act::ShowCalls(run) => format!("logs {} --calls", run.short()),
        Act::ReplayRun(run) => format!("replay {}", run.short()),
        Act::UndoRun(run) => format!("undo {}", run.short()),
        Act::AttestRun(run) => format!("attest {}", run.short()),
        Act::ListPrunedRuns => "runs --pruned".into(),
        Act::ListSessionRuns(session) => format!("runs --session {session}"),
        _ => return None,
    })
}

fn request_words(action: &Act) -> Option<String> {
    Some(match action {
        Act::AnswerRequest { run, step, form } => {
            let (command, option) = match form {
                RequestAnswerForm::Approval => ("approve", ""),
                RequestAnswerForm::Choice => ("approve", " --choose WORD"),
                RequestAnswerForm::Text => ("approve", " --text-file FILE"),
                RequestAnswerForm::Selection => ("approve", " --select 1,3"),
                RequestAnswerForm::Reply => ("answer", " --text TEXT"),
            };
            format!("{command} {}{option}", request_name(run, step.as_deref()))
        }
        Act::DenyRequest { run, step, with_reason } => {
            let reason = if *with_reason { " --reason WHY" } else { "" };
            format!("deny {}{reason}", request_name(run, step.as_deref()))
        }
        Act::ApprovePlan(file) => format!("approve {}", shell_word(file)),
        Act::ApproveRepairs { file, executions, validity } => {
            format!("approve {} --executions {executions} --expires {validity}", shell_word(file))
        }
        Act::ApproveRuns(file) => format!("approve {} --executions N --expires TIME", shell_word(file)),
        _ => return None,
    })
}

/// Returns a request on a command line: its run, and the step if that is needed.
fn request_name(run: &RunId, step: Option<&str>) -> String {
    let step = step.map(|step| format!(" {}", shell_word(step))).unwrap_or_default();
    format!("{}{step}", run.short())
}

fn goal_words(action: &Act) -> Option<String> {
    Some(match action {
        Act::AcceptGoal(goal) => format!("goal accept {goal}"),
        Act::RunGoal(goal) => format!("goal run {goal}"),
        Act::RunGoalFile(file) => format!("goal run {}", shell_word(file)),
        Act::ListGoals => "goal list".into(),
        Act::ShowGoalHistory(goal) => format!("goal history {goal}"),
        Act::ShowThatGoalHistory => "goal history".into(),
        Act::RecallThatGoal => "goal recall".into(),
        Act::ShowSomeGoalHistory => "goal history GOAL".into(),
        Act::ShowAutonomy(goal) => format!("goal autonomy {goal}"),
        Act::PauseGoal(goal) => format!("goal pause {goal}"),
        Act::ResumeGoal(goal) => format!("goal resume {goal}"),
        Act::SyncGoal(goal) => format!("goal sync {goal}"),
        Act::RecallGoal(goal) => format!("goal recall {goal}"),
        Act::DeployGoal(goal) => format!("goal deploy {goal}"),
        Act::TightenGoal(goal) => format!("goal tighten {goal}"),
        Act::StartDaemon => "daemon".into(),
        _ => return None,
    })
}

fn memory_words(action: &Act) -> Option<String> {
    Some(match action {
        Act::ListMegrams => "memory list".into(),
        Act::SearchNotes => "memory search".into(),
        Act::SearchSessionNotes(session) => format!("memory search --session {session}"),
        Act::SignMemory => "memory sign".into(),
        Act::BeginSession => "session new NAME".into(),
        Act::SwitchSession(session) => format!("session switch {session}"),
        Act::ListSuggestions => "suggestion list".into(),
        Act::AcceptSuggestion(number) => format!("suggestion accept {number}"),
        Act::ListAllSuggestions => "suggestion list --all".into(),
        Act::ListSessions => "session list".into(),
        Act::ResumeSession(session) => format!("session resume {session}"),
        Act::SuspendSession(session) => format!("session suspend {session}"),
        _ => return None,
    })
}

fn skill_words(action: &Act) -> Option<String> {
    Some(match action {
        Act::AddConnection { name, skill } => {
            format!("connection add {name} --skill {}", skill.as_deref().unwrap_or("SKILL"))
        }
        Act::RemoveConnection(name) => format!("connection remove {name}"),
        Act::CheckConnection(name) => format!("connection check {name}"),
        Act::ApproveConnection { name, skill, permissions } => {
            let named = permissions.iter().map(|permission| format!(" --permission {permission}"));
            format!("connection approve {name} --skill {skill}{}", named.collect::<String>())
        }
        Act::ListSkills => "skill list".into(),
        Act::InstallSkill => "skill install".into(),
        Act::InstallSkillFrom(folder) => format!("skill install {folder}"),
        Act::LockSkill(name) => format!("skill lock {name}"),
        Act::LockSomeSkill => "skill lock NAME".into(),
        Act::ChooseLock => "skill lock".into(),
        Act::AcceptDanger(name) => format!("skill lock {name} --accept RULE:FILE"),
        Act::ApproveSkill(name) => format!("skill approve {name}"),
        Act::ListLocks => "skill lock --check".into(),
        _ => return None,
    })
}

/// Returns the words for the acts of no other kind.
fn workspace_words(action: &Act) -> String {
    match action {
        Act::CheckFile(file) => format!("check {}", shell_word(file)),
        Act::TestGate(file) => format!("gate test {}", shell_word(file)),
        Act::RevisePlan(file) => format!("plan --revise {} WISH", shell_word(file)),
        Act::DraftPlan => "plan \"sort the invoices by month\"".into(),
        Act::ListPlans => "list".into(),
        Act::InitWorkspace => "init".into(),
        Act::CreateKey => "key init".into(),
        Act::EnrolKey => "key enrol NAME KEY".into(),
        Act::ListKeys => "key list".into(),
        Act::RotateKey => "key rotate".into(),
        Act::Examine => "doctor".into(),
        Act::ExamineEverything => "doctor --full".into(),
        Act::BackUp => "backup".into(),
        Act::VerifyHistory => "audit verify".into(),
        Act::RebuildTables => "doctor --repair".into(),
        Act::RestoreBackup => "restore".into(),
        Act::ServePages => "serve".into(),
        Act::ListQueue => "queue list".into(),
        Act::Requeue(entry) => format!("queue requeue {entry}"),
        // The other kinds have words of their own.
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::command_text;
    use wf_base::{
        name::RunId,
        remedy::{RequestAnswerForm, UserAction},
    };

    #[test]
    fn an_act_is_a_command() {
        let run = RunId::from_stored("1a2b3c4d5e");
        let (step, form) = (Some("each[eu]".to_owned()), RequestAnswerForm::Choice);
        for (action, expected) in [
            (UserAction::ResumeRun(run.clone()), "wf resume 1a2b3c4d"),
            (UserAction::AnswerRequest { run, step, form }, "wf approve 1a2b3c4d 'each[eu]' --choose WORD"),
            (UserAction::AcceptGoal("nightly".parse().unwrap()), "wf goal accept nightly"),
            (UserAction::LockSkill("tables".into()), "wf skill lock tables"),
            (UserAction::RunFile("my plan.md".into()), "wf run 'my plan.md'"),
            (UserAction::Examine, "wf doctor"),
        ] {
            assert_eq!(command_text(&action), expected);
        }
    }
}
