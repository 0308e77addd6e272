use std::process::ExitCode;

/// The exit code of `wf`. Part of the interface: a code keeps its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum CliExitCode {
    /// Success; the run succeeded.
    Ok = 0,
    /// The run failed, or a verification failed.
    RunFailed = 1,
    /// The command line or the given parameters are wrong, or name something unknown.
    Usage = 2,
    /// A spec or the configuration is invalid, or uses an unimplemented feature.
    Invalid = 3,
    /// An approval is missing or invalid.
    Approval = 4,
    /// The run waits for an approval.
    Waiting = 5,
    /// The state cannot be read or written.
    State = 6,
    /// The run was accepted although some checks failed.
    Accepted = 7,
    /// A bug in `wf`.
    Bug = 70,
    /// The run was interrupted or cancelled.
    Interrupted = 130,
}

impl CliExitCode {
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

    /// The meaning, in a few words.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Ok => "success",
            Self::RunFailed => "the run or a check failed",
            Self::Usage => "invalid command line or parameter",
            Self::Invalid => "invalid spec, or it uses an unimplemented feature",
            Self::Approval => "an approval is missing or invalid",
            Self::Waiting => "the run waits for approval",
            Self::State => "cannot read or write the state",
            Self::Accepted => "the run was accepted although some criteria failed",
            Self::Bug => "a bug in wf",
            Self::Interrupted => "the run was interrupted or cancelled",
        }
    }

    /// The number.
    pub fn code(self) -> u8 {
        self as u8
    }
}

impl From<CliExitCode> for ExitCode {
    fn from(exit: CliExitCode) -> Self {
        Self::from(exit.code())
    }
}
