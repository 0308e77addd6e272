use crate::machine::Exit;
use crate::model::Class;

/// Why a piece of work could not begin, or what it gave is not usable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Unable {
    /// One sentence.
    pub why: String,
    /// Whose fault.
    pub class: Class,
}

impl Unable {
    /// The author's fault.
    pub fn logical(why: impl Into<String>) -> Self {
        Self {
            why: why.into(),
            class: Class::Logical,
        }
    }

    /// The world's fault.
    pub fn environmental(why: impl Into<String>) -> Self {
        Self {
            why: why.into(),
            class: Class::Environmental,
        }
    }
}

impl From<Unable> for Exit {
    fn from(unable: Unable) -> Self {
        Self::Unable {
            why: unable.why,
            class: unable.class,
        }
    }
}
