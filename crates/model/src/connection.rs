use std::time::Duration;

use serde::{Deserialize, Serialize};
use wf_base::keywords;

/// The declaration of a connection skill, under `connection` in its `metadata.wf`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionDeclaration {
    /// The method by which the user authenticates to the service.
    pub auth: AuthMethod,
    /// The permissions the first setup requests from the service.
    pub initial: Vec<String>,
    /// The permissions that can be requested later; one in neither list is never requested.
    pub available: Vec<String>,
    /// The interval between health checks; `None`: only on request.
    pub check_every: Option<Duration>,
}

keywords! {
    listed
    /// The method by which a user authenticates to a service (Silas 5.10.1).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum AuthMethod {
        /// The user types a code into a page of the service.
        DeviceCode = "device_code",
        /// The user agrees on a page of the service, which redirects the browser to the script.
        BrowserRedirect = "browser_redirect",
        /// The user gives wf a secret issued by the service.
        SecureInput = "secure_input",
    }
}
