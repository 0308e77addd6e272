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
    login_table::{LoginAccess, MAX_TIME, ServedSite},
    logins::{LOGIN_FILE, LinkError, Logins},
    own_name::find_own_name,
    site::{Site, SiteOptions},
};
use wf_app::{Host, PrivateFile, keys::default_key_name, plan_start::remove_left_starts};
use wf_base::time::Moment;

/// The most connections at once; more wait.
const MAX_CONNECTIONS: usize = 512;

/// The longest time for the head of a request to arrive, and for a connection to have no request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(20);

/// The longest head of a request, in bytes, and the most headers in it.
const MAX_HEAD_SIZE: usize = 16 * 1024;
const MAX_HEADERS: usize = 100;

/// The longest time for a server of this machine to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// The pause after a connection could not be accepted, for lack of file descriptors for example.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// An address at which a site cannot listen.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}: {error}")]
pub struct BindError {
    address: SocketAddr,
    error: io::Error,
}

/// Returns the address of a page that lets a browser of somebody with a name in, with an access, to a site of the workspace that
/// another process serves; `None`: no server answers, or the link cannot be written for it.
pub fn add_link(host: &Host, access: LoginAccess, name: &str) -> Result<Option<String>, LinkError> {
    let file = || Some(PrivateFile::new(&host.workspace(), LOGIN_FILE));
    let logins = Logins::new(None, file());
    let Some(origin) = served_origin(&logins) else {
        return Ok(None);
    };
    let key = logins.add_link(access, name, host.now())?;
    let is_written = Logins::new(None, file()).is_link(&key, host.now());
    Ok(is_written.then(|| link_address(&origin, &key)))
}

/// Returns the address of the pages of a workspace, if a server of them answers.
pub fn served_address(host: &Host) -> Option<String> {
    let logins = Logins::new(None, Some(PrivateFile::new(&host.workspace(), LOGIN_FILE)));
    served_origin(&logins)
}

/// A key with which a program reaches a site, and the address of that.
#[derive(Clone, Debug, serde::Serialize)]
pub struct ProgramToken {
    pub url: String,
    pub token: String,
    /// The moment at which it ends, however it is used.
    pub ends: Moment,
}

/// Returns the key of a new login for a program, by the same rules.
pub fn add_token(host: &Host, access: LoginAccess, name: &str) -> Result<Option<ProgramToken>, LinkError> {
    let file = || Some(PrivateFile::new(&host.workspace(), LOGIN_FILE));
    let (logins, now) = (Logins::new(None, file()), host.now());
    let Some(url) = served_origin(&logins) else {
        return Ok(None);
    };
    let token = logins.add_login(access, name, now)?;
    let is_written = Logins::new(None, file()).is_open(&token, now);
    Ok(is_written.then(|| ProgramToken { url, token, ends: now.after(MAX_TIME) }))
}

/// Returns the address of the site that was opened last, of those whose server answers on this machine. A proxy before it may be
/// out of reach from here.
fn served_origin(logins: &Logins) -> Option<String> {
    let is_served =
        |site: &ServedSite| std::net::TcpStream::connect_timeout(&site.listen, CONNECT_TIMEOUT).is_ok();
    logins.sites().into_iter().find(is_served).map(|site| site.origin)
}

/// Returns the address of the page of a link.
pub(crate) fn link_address(origin: &str, key: &str) -> String {
    format!("{origin}/login?key={key}")
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
            if address.may_have_own_name() { find_own_name(host.workspace().digest()).await } else { None };
        let address = address.at(bound).with_own_name(own_name);
        let site = Site::new(host, SiteOptions { address, ..options });
        // A start with them is not under way any more: they hold back nothing, and are removed by the next start at the latest.
        let _ = remove_left_starts(site.host());
        let (origin, listen) = (site.address.origin(), site.address.listen);
        site.logins.add_site(ServedSite { origin, listen });
        Ok(Self { listener, site })
    }

    /// Returns the address of a page that lets the browser opening it in, to start runs, once and within some minutes.
    pub fn add_link(&self) -> Result<String, LinkError> {
        self.site.add_link(LoginAccess::Start, &default_key_name(self.site.host()))
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
