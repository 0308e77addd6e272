/// The stop request for a piece of work. It only escalates.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub enum StopLevel {
    /// The work continues.
    #[default]
    No,
    /// The work is asked to terminate and killed after its grace period.
    Gently,
    /// The work is killed.
    AtOnce,
}

impl StopLevel {
    /// Returns the receiver for unstoppable work.
    pub fn never() -> tokio::sync::watch::Receiver<Self> {
        tokio::sync::watch::channel(Self::No).1
    }
}
