use serde::{Deserialize, Serialize};

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConnectionState {
    /// Requested, and not set up.
    Proposed,
    /// Working at the last health check.
    Active,
    /// Not working at the last health check.
    Failing,
    /// Its refresh token has expired: only the user can connect it again.
    Expired,
    /// The service revoked its permissions.
    Revoked,
    /// Removed by the user.
    Removed,
}

impl ConnectionState {
    /// Returns the name in the database and in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Proposed => "proposed",
            Self::Active => "active",
            Self::Failing => "failing",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
            Self::Removed => "removed",
        }
    }
}
