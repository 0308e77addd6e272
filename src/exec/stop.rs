/// Whether a piece of work is told to end. Only ever grows.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
)]
pub enum Stop {
    /// It goes on.
    #[default]
    No,
    /// It is asked to end and killed after its grace time.
    Gently,
    /// It is killed.
    AtOnce,
}
