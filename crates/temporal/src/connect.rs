//! The connection to a Temporal server.

use temporalio_client::{Client, ClientOptions, Connection, ConnectionOptions};

use wf_app::config::TemporalBackend;

/// The reason why there is no connection.
#[derive(Debug, thiserror::Error)]
#[error("cannot reach the Temporal server at {address}: {reason}")]
pub struct ConnectError {
    /// The address.
    pub address: String,
    /// The reason.
    pub reason: String,
}

/// Connects to the server of a backend, with its key, if it has one.
pub async fn connect(
    backend: &TemporalBackend,
    key: Option<String>,
    identity: String,
) -> Result<Client, ConnectError> {
    let address = backend.address.clone();
    let failed = |reason: String| ConnectError { address: address.clone(), reason };
    let target = address.parse::<url::Url>().map_err(|error| failed(format!("it is no URL: {error}")))?;
    let options = ConnectionOptions::new(target)
        .identity(identity)
        .maybe_api_key(key)
        .connect_timeout(std::time::Duration::from_secs(10))
        .build();
    let connection = Connection::connect(options).await.map_err(|error| failed(error.to_string()))?;
    let options = ClientOptions::new(backend.namespace.clone()).build();
    Client::new(connection, options).map_err(|error| failed(error.to_string()))
}
