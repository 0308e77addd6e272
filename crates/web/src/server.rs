use std::{convert::Infallible, io, net::SocketAddr, time::Duration};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

use crate::{
    logins::{LinkError, LoginAccess},
    own_name::find_own_name,
    site::{Site, SiteOptions},
};
use wf_app::Host;

/// The most connections at once; more wait.
const MAX_CONNECTIONS: usize = 512;

/// The longest time for the head of a request to arrive, and for a connection to have no request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(20);

/// The longest head of a request, in bytes, and the most headers in it.
const MAX_HEAD_SIZE: usize = 16 * 1024;
const MAX_HEADERS: usize = 100;

/// The pause after a connection could not be accepted, for lack of file descriptors for example.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// An address at which a site cannot listen.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}: {error}")]
pub struct BindError {
    address: SocketAddr,
    error: io::Error,
}

/// A server of the pages of a workspace.
pub struct WebServer {
    listener: TcpListener,
    site: Site,
}

impl WebServer {
    /// Listens for browsers; needs a Tokio runtime with I/O and time.
    pub async fn bind(host: Host, options: SiteOptions) -> Result<Self, BindError> {
        let address = options.address.clone();
        let failed = |error| BindError { address: address.listen, error };
        let listener = TcpListener::bind(address.listen).await.map_err(failed)?;
        let bound = listener.local_addr().map_err(failed)?;
        let own_name =
            if address.may_have_own_name() { find_own_name(&host.workspace().root).await } else { None };
        let address = address.at(bound).with_own_name(own_name);
        Ok(Self { listener, site: Site::new(host, SiteOptions { address, ..options }) })
    }

    /// Returns the address of a page that lets the browser opening it in, to operate, once and within some minutes.
    pub fn add_link(&self) -> Result<String, LinkError> {
        self.site.add_link(LoginAccess::Operate)
    }

    /// Returns the address of the site.
    pub fn origin(&self) -> String {
        self.site.address.origin()
    }

    /// Answers forever. When dropped, it closes all connections.
    pub async fn serve(self) -> Infallible {
        let router = self.site.router();
        let mut open = JoinSet::new();
        loop {
            tokio::select! {
                _ = open.join_next(), if !open.is_empty() => {}
                taken = self.listener.accept(), if open.len() < MAX_CONNECTIONS => match taken {
                    Ok((stream, _)) => {
                        open.spawn(handle_connection(stream, router.clone()));
                    }
                    Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
                },
            }
        }
    }
}

/// Handles the requests of a connection.
async fn handle_connection(stream: TcpStream, router: Router) {
    let conversation = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(MAX_HEAD_SIZE)
        .max_headers(MAX_HEADERS)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let _ = conversation.await;
}
