//! Remedies: what a person can do about an error, apart from the words of a face for it.
//!
//! A use case knows the act, such as to resume a run; the command line names the command for it, and a page may name a
//! button. **Invariant:** the text of a [`Remedy`] names no command.

use crate::name::{PlanId, RunId, SessionName};

/// An act of a person by means of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserAction {
    /// Starts a run of some plan.
    StartRun,
    /// Starts a run anew.
    StartRunAgain,
    /// Starts a run of some plan, and records the replies of its models.
    RecordRun,
    /// Starts a run of the plan in a file.
    RunFile(String),
    /// Checks a file.
    CheckFile(String),
    ListPlans,
    InitWorkspace,
    /// Has a model draft a plan.
    DraftPlan,
    /// Has a model change the plan in a file.
    RevisePlan(String),
    ResumeRun(RunId),
    ResumeLatestRun,
    /// Resumes some run.
    ResumeSomeRun,
    /// Takes over what runs without an engine.
    TakeOver,
    /// Stops what runs without an engine.
    StopWork,
    CancelRun(RunId),
    /// Cancels some run.
    CancelSomeRun,
    RetryRun(RunId),
    /// Runs a step of a run again, and its dependents.
    RetryFrom {
        run: RunId,
        step: String,
    },
    ShowRun(RunId),
    /// Shows the run that this is about.
    ShowThatRun,
    ShowCalls(RunId),
    /// Shows the output of a step of a run.
    ShowLogs {
        run: RunId,
        step: String,
    },
    ReplayRun(RunId),
    UndoRun(RunId),
    AttestRun(RunId),
    ListPrunedRuns,
    ListSessionRuns(SessionName),
    /// Answers a request of a run, in the form of that request.
    AnswerRequest {
        run: RunId,
        step: Option<String>,
        form: RequestAnswerForm,
    },
    DenyRequest {
        run: RunId,
        step: Option<String>,
        with_reason: bool,
    },
    /// Approves the plan or the goal in a file.
    ApprovePlan(String),
    /// Approves many runs of the plan or the goal in a file.
    ApproveRuns(String),
    /// Approves so many repairs of the goal in a file, for so long.
    ApproveRepairs {
        file: String,
        executions: u32,
        validity: String,
    },
    AcceptGoal(PlanId),
    /// Reconciles a goal, by its id or its file.
    RunGoal(String),
    ListGoals,
    /// Shows the history of a goal, by its id or its file.
    ShowGoalHistory(String),
    ShowSomeGoalHistory,
    /// Shows the history of the goal that this is about.
    ShowThatGoalHistory,
    /// Shows the autonomy of a goal, by its id or its file.
    ShowAutonomy(String),
    PauseGoal(PlanId),
    ResumeGoal(PlanId),
    SyncGoal(PlanId),
    RecallGoal(PlanId),
    /// Takes the goal back that this is about.
    RecallThatGoal,
    /// Deploys a goal, by its id or its file.
    DeployGoal(String),
    TightenGoal(PlanId),
    StartDaemon,
    ListMegrams,
    SearchNotes,
    SearchSessionNotes(SessionName),
    SignMemory,
    ListSessions,
    BeginSession,
    SwitchSession(SessionName),
    ListSuggestions,
    AcceptSuggestion(u32),
    /// Lists the suggestions that were decided, too.
    ListAllSuggestions,
    ResumeSession(SessionName),
    SuspendSession(SessionName),
    /// Sets a connection up; `None`: by some skill.
    AddConnection {
        name: PlanId,
        skill: Option<String>,
    },
    RemoveConnection(PlanId),
    CheckConnection(PlanId),
    ApproveConnection {
        name: PlanId,
        skill: String,
        permissions: Vec<String>,
    },
    ListSkills,
    InstallSkill,
    /// Installs the skill in a folder.
    InstallSkillFrom(String),
    LockSkill(String),
    /// Locks some skill.
    LockSomeSkill,
    /// Chooses the skill to lock.
    ChooseLock,
    /// Locks a skill with a danger that is accepted.
    AcceptDanger(String),
    ApproveSkill(String),
    ListLocks,
    CreateKey,
    /// Adds a key to the approvers.
    EnrolKey,
    ListKeys,
    RotateKey,
    Examine,
    ExamineEverything,
    RestoreBackup,
    BackUp,
    VerifyHistory,
    RebuildTables,
    ServePages,
    ListQueue,
    /// Tries an entry of the queue again.
    Requeue(String),
    /// Evaluates the gate in a file.
    TestGate(String),
    /// Reconciles the goal in a file.
    RunGoalFile(String),
}

/// The form in which a request of a run is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestAnswerForm {
    /// A yes.
    Approval,
    /// One of the words to choose from.
    Choice,
    /// A text in place of the draft.
    Text,
    /// Some entries of the list.
    Selection,
    /// The reply to a question.
    Reply,
}

/// A remedy: a text, and the acts in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remedy(Vec<RemedyPart>);

/// A part of a remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
enum RemedyPart {
    Text(String),
    Action(UserAction),
}

impl Remedy {
    /// Adds an act.
    #[must_use]
    pub fn action(mut self, action: UserAction) -> Self {
        self.0.push(RemedyPart::Action(action));
        self
    }

    /// Adds a text.
    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.0.push(RemedyPart::Text(text.into()));
        self
    }

    /// Adds an act between backquotes.
    #[must_use]
    pub fn quoted(self, action: UserAction) -> Self {
        self.text("`").action(action).text("`")
    }

    /// True if nothing is advised.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the whole text, with the words of a face for the acts.
    pub fn render(&self, words: &dyn Fn(&UserAction) -> String) -> String {
        let parts = self.0.iter().map(|part| match part {
            RemedyPart::Text(text) => text.clone(),
            RemedyPart::Action(action) => words(action),
        });
        parts.collect()
    }
}

impl From<&str> for Remedy {
    fn from(text: &str) -> Self {
        Self::default().text(text)
    }
}

impl From<String> for Remedy {
    fn from(text: String) -> Self {
        Self::default().text(text)
    }
}

impl From<UserAction> for Remedy {
    fn from(action: UserAction) -> Self {
        Self::default().action(action)
    }
}

#[cfg(test)]
mod tests {
    use super::{Remedy, UserAction};

    #[test]
    fn a_face_has_its_own_words_for_acts() {
        let remedy = Remedy::from("list plans with `").action(UserAction::ListPlans).text("`");
        assert_eq!(remedy.render(&|action| format!("<{action:?}>")), "list plans with `<ListPlans>`");
    }
}
