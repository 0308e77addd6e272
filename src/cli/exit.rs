use std::process::ExitCode;

/// What `wf` tells the program that started it. Part of the interface: a code keeps its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Exit {
    /// What was asked for was done; a run succeeded.
    Ok = 0,
    /// The run failed, or what is asked about does not hold.
    RunFailed = 1,
    /// The command line or the given parameters are wrong, or what they name does not exist.
    Usage = 2,
    /// A spec or the configuration is wrong, or uses what is not built yet.
    Invalid = 3,
    /// An approval is missing or does not hold.
    Approval = 4,
    /// The run waits for a person.
    Waiting = 5,
    /// The state cannot be read or written.
    State = 6,
    /// The run was accepted though not all of its criteria hold.
    Accepted = 7,
    /// A bug in `wf`.
    Bug = 70,
    /// The run was interrupted or cancelled.
    Interrupted = 130,
}

impl Exit {
    /// Every code.
    pub const ALL: [Self; 10] = [
        Self::Ok,
        Self::RunFailed,
        Self::Usage,
        Self::Invalid,
        Self::Approval,
        Self::Waiting,
        Self::State,
        Self::Accepted,
        Self::Bug,
        Self::Interrupted,
    ];

    /// What it means, in a few words.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Ok => "done; the run succeeded",
            Self::RunFailed => "the run failed, or what was asked about does not hold",
            Self::Usage => "the command line or a parameter is wrong",
            Self::Invalid => "a spec is wrong, or uses what is not built yet",
            Self::Approval => "an approval is missing or does not hold",
            Self::Waiting => "the run waits for a person",
            Self::State => "the state cannot be read or written",
            Self::Accepted => "the run was accepted, but not all of its criteria hold",
            Self::Bug => "a bug in wf",
            Self::Interrupted => "the run was interrupted or cancelled",
        }
    }

    /// The number.
    pub fn code(self) -> u8 {
        self as u8
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
