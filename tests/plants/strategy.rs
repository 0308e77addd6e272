//! The strategies that are compared.

/// What is done about failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strategy {
    /// The same again after 5 seconds, as long as there is budget.
    Fixed,
    /// The same again, each time after twice as long, varied by half.
    BackOff,
    /// The next declared way, whatever failed; no controller.
    InOrder,
    /// The controller with its default numbers.
    Ggs,
    /// The same, with more retries of what the world prevented.
    Patient,
    /// The same as `Ggs`, where each failure is taken for one of the other class.
    Misread,
    /// The same as `Ggs`, where a tool with another parameter has another name.
    Named,
    /// The same as `Ggs`, where what is within δ is accepted.
    Loose,
}

impl Strategy {
    /// Those that are compared.
    pub const ALL: [Self; 6] =
        [Self::Fixed, Self::BackOff, Self::InOrder, Self::Ggs, Self::Patient, Self::Misread];

    pub fn name(self) -> &'static str {
        match self {
            Self::Fixed => "fixed retry",
            Self::BackOff => "back-off",
            Self::InOrder => "in order",
            Self::Ggs => "GGS",
            Self::Patient => "GGS, patient",
            Self::Misread => "GGS, misread",
            Self::Named => "GGS, named",
            Self::Loose => "GGS, not strict",
        }
    }

    /// How attempts are repeated in the same way, as a plan says it.
    pub fn retry(self) -> &'static str {
        match self {
            Self::Fixed => "{max: 11, backoff: 5s, factor: 1}",
            Self::BackOff => "{max: 11, backoff: 2s, factor: 2, max_delay: 1m, jitter: 0.5}",
            Self::Patient => "{max: 3, backoff: 5s, factor: 2, on: [environmental]}",
            Self::InOrder | Self::Ggs | Self::Misread | Self::Named | Self::Loose => {
                "{max: 1, backoff: 2s, on: [environmental]}"
            }
        }
    }

    /// The numbers of the controller, as a plan says it; `None`: there is none.
    pub fn replan(self) -> Option<&'static str> {
        match self {
            Self::Fixed | Self::BackOff | Self::InOrder => None,
            Self::Ggs | Self::Patient | Self::Misread | Self::Named => Some("{strict: true}"),
            Self::Loose => Some("{strict: false}"),
        }
    }
}
