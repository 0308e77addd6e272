use crate::machine::WorkExit;

/// The findings of a check's probe, for judgement.
#[derive(Clone, Copy, Debug)]
pub struct ProbeFindings<'a> {
    /// The exit of the probe; `None`: the check has no probe and looks at files alone.
    pub exit: Option<&'a WorkExit>,
    /// The beginning of its standard output, as far as the caller keeps it.
    pub stdout: &'a [u8],
    /// The beginning of its standard error, for the evidence alone.
    pub stderr: &'a [u8],
    /// True if standard output went on after what is given here.
    pub truncated: bool,
    /// The end of its standard output, for the class of a failure.
    pub out_end: &'a [u8],
    /// The end of its standard error.
    pub err_end: &'a [u8],
    /// The result for each path of `file_exists`, in order.
    pub files: &'a [FilePresence],
}

/// The result of looking for a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilePresence {
    /// The path is a file.
    Present,
    /// The path is not a file.
    Absent,
    /// The path may not or cannot be looked at, for this reason.
    Unknown(String),
}
