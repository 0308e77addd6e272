use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What a connection skill declares of itself, under `connection` in its `metadata.wf`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionSpec {
    /// How somebody proves to the service who they are.
    pub auth: Auth,
    /// What the first setup asks the service for.
    pub initial: Vec<String>,
    /// What can be asked for later; what is in neither list is never asked for.
    pub available: Vec<String>,
    /// How often its health is looked at; `None`: when somebody asks.
    pub check_every: Option<Duration>,
}

/// How somebody proves to a service who they are (Silas 5.10.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Auth {
    /// They type a code into a page of the service.
    DeviceCode,
    /// They agree on a page of the service, which leads their browser back to the script.
    BrowserRedirect,
    /// They give wf a secret that the service gave them.
    SecureInput,
}

impl Auth {
    /// As the protocol and the database write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::DeviceCode => "device_code",
            Self::BrowserRedirect => "browser_redirect",
            Self::SecureInput => "secure_input",
        }
    }
}
