/// How people let wf in to a service. Silas 10.6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Auth {
    /// A code that is typed in on another page.
    DeviceCode,
    /// A page that leads back to this machine.
    BrowserRedirect,
    /// A secret that is typed in here.
    SecureInput,
}
