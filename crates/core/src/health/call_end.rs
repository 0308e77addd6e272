/// The end of a call, as far as it shows how its target is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallEnd {
    /// It was answered.
    Success,
    /// The target is there, as a server that has started; how it answers calls is not known yet.
    Contact,
    /// It failed as the next call may fail, too: the target is down, overloaded, or does not answer in time.
    Outage {
        /// The error, without secrets.
        error: String,
    },
    /// The target refused it for a reason that only this call has, which shows that it works.
    Rejection {
        /// The error, without secrets.
        error: String,
    },
}
