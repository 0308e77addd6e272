use crate::machine::Exit;

/// What the probe of a check left for judgement.
#[derive(Clone, Copy, Debug)]
pub struct Found<'a> {
    /// How the probe ended; `None`: the check has no probe and looks at files alone.
    pub exit: Option<&'a Exit>,
    /// The beginning of its standard output, as far as the caller keeps it.
    pub stdout: &'a [u8],
    /// The beginning of its standard error, for the evidence alone.
    pub stderr: &'a [u8],
    /// Whether standard output went on after what is given here.
    pub truncated: bool,
    /// The end of its standard output, for the class of a failure.
    pub out_end: &'a [u8],
    /// The end of its standard error.
    pub err_end: &'a [u8],
    /// Of each path of `file_exists`, in order, whether it is a file.
    pub files: &'a [FileFound],
}

/// Whether a path is a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileFound {
    /// It is.
    Yes,
    /// It is not.
    No,
    /// It may not or cannot be looked at, for this reason.
    Unable(String),
}
