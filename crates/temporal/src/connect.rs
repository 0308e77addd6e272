//! The server of a backend: as `wf.yaml` names it, and the connection to it.

use std::path::{Path, PathBuf};

use temporalio_client::{
    Client, ClientOptions, ClientTlsOptions, Connection, ConnectionOptions, TlsOptions,
    errors::{ClientConnectError, ClientNewError},
};

use wf_app::{
    CONFIG, CliExitCode, CommandError, Host,
    config::{Backend, TemporalBackend, TlsFiles},
    load,
};
use wf_base::{diag::Severity, name::Name};
use wf_lang::DiskFiles;

/// Returns a backend by its name in the `wf.yaml` of the workspace.
pub fn configured_backend(host: &Host, name: &str) -> Result<Backend, CommandError> {
    let workspace = host.workspace();
    let usage = |message: String| CommandError::new(CliExitCode::Usage, message);
    let Some((config, checked)) = load::read_config(&DiskFiles::new(&workspace.root), CONFIG) else {
        return Err(usage(format!("there is no {CONFIG} in {}", workspace.root.display()))
            .hint("run it in the workspace, or write `backends` there"));
    };
    if checked.count(Severity::Error) > 0 {
        return Err(usage(format!("{CONFIG} has errors")).hint("`wf check` shows them"));
    }
    let mut declared_backends = config.backends.iter();
    let declared_backend = declared_backends
        .find(|(declared_backends, _)| declared_backends.as_str() == name)
        .map(|(_, backend)| backend.clone());
    declared_backend.ok_or_else(|| {
        let names: Vec<&str> = config.backends.keys().map(Name::as_str).collect();
        let failure = usage(format!("{CONFIG} has no backend `{name}`"));
        failure.hint(match names.as_slice() {
            [] => "add it under `backends`".to_owned(),
            names => format!("it has {}", names.join(", ")),
        })
    })
}

/// The reason why there is no connection.
#[derive(Debug, thiserror::Error)]
#[error("cannot reach the Temporal server at {address}: {fault}")]
pub struct ConnectError {
    pub address: String,
    pub fault: ConnectFault,
}

/// The fault that keeps a connection from being made.
#[derive(Debug, thiserror::Error)]
pub enum ConnectFault {
    #[error("it is no URL: {0}")]
    Address(#[from] url::ParseError),
    /// A file for TLS cannot be read.
    #[error("cannot read {}, which `tls.{key}` names: {cause}", .path.display())]
    TlsFile { key: &'static str, path: PathBuf, cause: std::io::Error },
    #[error(transparent)]
    Connection(#[from] ClientConnectError),
    #[error(transparent)]
    Client(#[from] ClientNewError),
}

/// Connects to the server of a backend, with its key, if it has one. Its files are in a workspace.
pub async fn connect(
    backend: &TemporalBackend,
    root: &Path,
    key: Option<String>,
    identity: String,
) -> Result<Client, ConnectError> {
    let connected = connect_client(backend, root, key, identity).await;
    connected.map_err(|fault| ConnectError { address: backend.address.clone(), fault })
}

async fn connect_client(
    backend: &TemporalBackend,
    root: &Path,
    key: Option<String>,
    identity: String,
) -> Result<Client, ConnectFault> {
    let target = backend.address.parse::<url::Url>()?;
    let tls = tls(&backend.tls, root)?;
    let options = ConnectionOptions::new(target)
        .identity(identity)
        .maybe_api_key(key)
        .maybe_tls_options(tls)
        .connect_timeout(std::time::Duration::from_secs(10))
        .build();
    let connection = Connection::connect(options).await?;
    Ok(Client::new(connection, ClientOptions::new(backend.namespace.clone()).build())?)
}

/// Reads the files for TLS; `None`: there are none.
fn tls(files: &TlsFiles, root: &Path) -> Result<Option<TlsOptions>, ConnectFault> {
    let read = |key: &'static str, file: &Option<String>| {
        let read = |file: &String| {
            let path = root.join(file);
            std::fs::read(&path).map_err(|cause| ConnectFault::TlsFile { key, path, cause })
        };
        file.as_ref().map(read).transpose()
    };
    let (ca, cert, key) = (read("ca", &files.ca)?, read("cert", &files.cert)?, read("key", &files.key)?);
    if *files == TlsFiles::default() {
        return Ok(None);
    }
    let own = cert
        .zip(key)
        .map(|(cert, key)| ClientTlsOptions::builder().client_cert(cert).client_private_key(key).build());
    Ok(Some(TlsOptions::builder().maybe_server_root_ca_cert(ca).maybe_client_tls_options(own).build()))
}
