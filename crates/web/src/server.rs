use std::{collections::BTreeSet, convert::Infallible, io, net::SocketAddr, sync::Arc, time::Duration};

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
    login_table::{LoginAccess, MAX_TIME, ServedSite, SharedLogins},
    logins::{LOGIN_FILE, LinkError, Logins},
    own_name::find_own_name,
    site::{Site, SiteOptions},
    workspaces::{NamedWorkspace, ServedWorkspace},
};
use wf_app::{Caller as _, Host, PrivateFile, keys::default_key_name, plan_start::remove_left_starts};
use wf_base::{digest::Sha256Digest, time::Moment};

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
    let Some((site, file)) = find_served(host) else {
        return Ok(None);
    };
    let logins = |file: &PrivateFile| Logins::new(None, Some(file.clone()));
    let key = logins(&file).add_link(access, name, host.now())?;
    let is_written = logins(&file).is_link(&key, host.now());
    Ok(is_written.then(|| link_address(&site.origin, &key)))
}

/// Returns the address of the pages of a workspace, if a server of them answers.
pub fn served_address(host: &Host) -> Option<String> {
    find_served(host).map(|(site, _)| site.address())
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
    let now = host.now();
    let Some((site, file)) = find_served(host) else {
        return Ok(None);
    };
    let logins = |file: &PrivateFile| Logins::new(None, Some(file.clone()));
    let token = logins(&file).add_login(access, name, now)?;
    let is_written = logins(&file).is_open(&token, now);
    Ok(is_written.then(|| ProgramToken { url: site.address(), token, ends: now.after(MAX_TIME) }))
}

/// Returns the ids of the logins to a workspace that have not ended, in all places where its sites keep them.
pub fn open_logins(host: &Host) -> BTreeSet<String> {
    let own_file = PrivateFile::new(&host.workspace(), LOGIN_FILE);
    let own = Logins::new(None, Some(own_file));
    let shared = own.sites().into_iter().filter_map(|site| site.logins);
    let others = shared.map(|shared| Logins::new(None, Some(shared.file())));
    let mut ids = own.open_ids(host.now());
    others.for_each(|logins| ids.extend(logins.open_ids(host.now())));
    ids
}

/// Returns the site of a workspace that was opened last, of those whose server answers on this machine, and the file with its
/// logins. A proxy before it may be out of reach from here.
fn find_served(host: &Host) -> Option<(ServedSite, PrivateFile)> {
    let is_served =
        |site: &ServedSite| std::net::TcpStream::connect_timeout(&site.listen, CONNECT_TIMEOUT).is_ok();
    let own_file = PrivateFile::new(&host.workspace(), LOGIN_FILE);
    let sites = Logins::new(None, Some(own_file.clone())).sites();
    let site = sites.into_iter().find(is_served)?;
    let Some(shared) = &site.logins else {
        return Some((site, own_file));
    };
    let file = shared.file();
    // What a folder says of another one counts if that says the same: the folder may come from elsewhere.
    let is_same = |known: &ServedSite| known.origin == site.origin && known.listen == site.listen;
    let is_confirmed = Logins::new(None, Some(file.clone())).sites().iter().any(is_same);
    is_confirmed.then_some((site, file))
}

/// Returns the address of the page of a link.
pub(crate) fn link_address(origin: &str, key: &str) -> String {
    format!("{origin}/login?key={key}")
}

/// A server of the pages of workspaces.
pub struct WebServer {
    listener: TcpListener,
    /// The site with the logins in its state.
    site: Site,
    router: Router,
}

impl WebServer {
    /// Listens for browsers of a workspace; needs a Tokio runtime with I/O and time.
    pub async fn bind(host: Host, options: SiteOptions) -> Result<Self, BindError> {
        Self::bind_all(vec![NamedWorkspace::alone(host)], options).await
    }

    /// Listens for browsers of some workspaces. The logins are in the state of the first that can be opened.
    pub async fn bind_all(workspaces: Vec<NamedWorkspace>, options: SiteOptions) -> Result<Self, BindError> {
        let workspaces = ServedWorkspace::all(workspaces, options.action_words);
        let opened = workspaces.iter().position(ServedWorkspace::is_open).unwrap_or(0);
        let address = options.address.clone();
        let failed = |error| BindError { address: address.listen, error };
        let Some(first) = workspaces.get(opened) else {
            return Err(failed(io::ErrorKind::InvalidInput.into()));
        };
        let listener = TcpListener::bind(address.listen).await.map_err(failed)?;
        let bound = listener.local_addr().map_err(failed)?;
        let digest = first.caller.host().workspace().digest();
        let own_name = if address.may_have_own_name() { find_own_name(digest).await } else { None };
        let address = address.at(bound).with_own_name(own_name);
        let is_alone = workspaces.len() == 1;
        let shared = (!is_alone).then(|| shared_logins(&workspaces, first));
        let login_file = match &shared {
            Some(shared) => shared.file(),
            None => PrivateFile::new(&first.caller.host().workspace(), LOGIN_FILE),
        };
        let options = SiteOptions { address, ..options };
        let site = Site::new(Arc::clone(&workspaces), first, login_file, options);
        let sites = workspaces
            .iter()
            .enumerate()
            .map(|(at, workspace)| if at == opened { site.clone() } else { site.beside(workspace) });
        let sites: Vec<Site> = sites.collect();
        for one in &sites {
            note_site(one, shared.as_ref());
        }
        if shared.is_some() {
            let (origin, listen) = (site.address.origin(), site.address.listen);
            site.logins.add_site(ServedSite { origin, listen, base: String::new(), logins: None });
        }
        let router = if is_alone {
            site.clone().router()
        } else {
            let entrance = site.entrance(&sites);
            Site::router_of_all(sites, entrance)
        };
        Ok(Self { listener, site, router })
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
        let router = self.router;
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

/// Returns the place of the logins to several workspaces, in the state of one of them.
fn shared_logins(workspaces: &[ServedWorkspace], keeper: &ServedWorkspace) -> SharedLogins {
    let digests = workspaces.iter().map(|one| one.caller.host().workspace().digest());
    let digests: BTreeSet<Sha256Digest> = digests.collect();
    let workspaces = Sha256Digest::of_parts(digests.iter().map(|digest| digest.bytes().as_slice()));
    SharedLogins { state: keeper.caller.host().workspace().state, workspaces }
}

/// Notes a site where commands in its workspace look for it.
fn note_site(site: &Site, shared: Option<&SharedLogins>) {
    if site.check_folder().is_err() {
        return;
    }
    let workspace = site.host().workspace();
    // A start with them is not under way any more: they hold back nothing, and are removed by the next start at the latest.
    let _ = remove_left_starts(site.host());
    let (origin, listen) = (site.address.origin(), site.address.listen);
    let file = PrivateFile::new(&workspace, LOGIN_FILE);
    let served = ServedSite { origin, listen, base: site.page(""), logins: shared.cloned() };
    Logins::new(None, Some(file)).add_site(served);
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
