use wf_base::keywords;

keywords! {
    listed
    /// The kind of work that a plan is (Silas 5.2, 7.2). It is checked, and decides nothing at run time.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum WorkItemType {
        /// It does its work itself.
        Task = "task",
        /// It has children: plans that its steps use or start.
        Project = "project",
        /// It has a schedule; then its file is a goal.
        Goal = "goal",
        /// It works without people.
        System = "system",
    }
}

keywords! {
    listed
    /// The way in which the agents of a plan deal with people (Silas 0.5.7).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum InteractionMode {
        /// They take the best default and name the alternatives.
        DefaultAndOffer = "default_and_offer",
        /// They act inside what is approved, and report.
        ActAndReport = "act_and_report",
        /// People confirm where the plan asks for it, and nowhere else.
        ConfirmOnlyWhenRequired = "confirm_only_when_required",
    }
}

impl InteractionMode {
    /// Returns the sentences that an agent is told.
    pub fn directive(self) -> &'static str {
        match self {
            Self::DefaultAndOffer => {
                "If several ways are good, take the best one without asking, go on, and name the others in your answer. \
                 Ask only if the missing decision changes the result."
            }
            Self::ActAndReport => {
                "Do not ask: act inside what you are allowed to do, and report in your answer what you did and decided."
            }
            Self::ConfirmOnlyWhenRequired => {
                "Do not ask by yourself: where a confirmation is required, it is requested for you. What was refused \
                 stays undone; report it in your answer."
            }
        }
    }
}
