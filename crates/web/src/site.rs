use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    body::HttpBody,
    extract::DefaultBodyLimit,
    http::Response,
    middleware::{from_fn, from_fn_with_state},
    routing::{any, get, post},
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tower_http::compression::{CompressionLayer, DefaultPredicate, Predicate, predicate::NotForContentType};

use crate::{
    address::SiteAddress,
    api, assets,
    caller::{ActionWords, PageCaller},
    changes::LogWatch,
    guard, limits,
    limits::RequestLimits,
    login_table::LoginAccess,
    logins::{LinkError, Logins},
    own_name::cookie_name,
    pages,
    pages::metrics::CountedMetrics,
    respond,
    server::link_address,
    template::{PagePlace, PageTemplates},
    workspaces::{ServedWorkspace, workspace_links},
};
use wf_app::{ActLogin, Caller as _, CliExitCode, CommandError, Host, PrivateFile, views::require_folder};

/// The most views read at once, the most parts of streams, and the most changes. A reader of a large run takes
/// memory.
const MAX_READERS: usize = 4;

/// The most searches in logs at once: fewer than readers.
const MAX_SEARCHES: usize = 2;

/// The longest body of a request, in bytes: an edited text in an answer, twice encoded.
const MAX_BODY_SIZE: usize = 1024 * 1024;

/// The size of the smallest answer to compress, in bytes.
const MIN_COMPRESSED_SIZE: u64 = 1024;

/// Holds for whole answers: a stream would come late, or only at its end.
#[derive(Clone, Copy, Debug)]
struct WholeAnswer;

impl Predicate for WholeAnswer {
    fn should_compress<B: HttpBody>(&self, response: &Response<B>) -> bool {
        response.body().size_hint().exact().is_some_and(|size| size >= MIN_COMPRESSED_SIZE)
    }
}

/// Compresses answers with text for whoever can read that; streams and saved files stay as they are. Another site cannot compare the sizes of
/// answers that have a text of its own: browsers send it no cookie.
fn compression() -> CompressionLayer<impl Predicate> {
    let is_text = DefaultPredicate::new().and(NotForContentType::const_new("application/octet-stream"));
    CompressionLayer::new().compress_when(is_text.and(WholeAnswer))
}

/// The options of a site.
#[derive(Clone, Debug)]
pub struct SiteOptions {
    pub address: SiteAddress,
    /// The token with which a program may read the metrics; `None`: it needs a login.
    pub metrics_token: Option<String>,
    /// The time without an operation after which a browser loses its right to operate; `None`: as long as its login.
    pub operate_for: Option<Duration>,
    /// The words of its pages for what a person can do.
    pub action_words: ActionWords,
}

/// Everything that requests for a workspace share. All but its name, its log and what reads it is of the server.
#[derive(Clone)]
pub(crate) struct Site {
    /// All workspaces of the server.
    pub workspaces: Arc<[ServedWorkspace]>,
    /// The name of this one; empty at the entrance to all of them.
    pub name: Arc<str>,
    /// The beginning of its addresses; empty: those of the server.
    base: Arc<str>,
    pub address: Arc<SiteAddress>,
    /// The name of the cookie with the key of a browser.
    pub cookie: Arc<str>,
    /// The browsers that may look.
    pub logins: Arc<Logins>,
    /// The templates of pages.
    pub templates: Arc<PageTemplates>,
    /// The version of all views.
    pub log: LogWatch,
    /// The page of the metrics.
    pub metrics: Arc<CountedMetrics>,
    pub limits: Arc<RequestLimits>,
    caller: Arc<PageCaller>,
    readers: Arc<Semaphore>,
    searches: Arc<Semaphore>,
    verifications: Arc<Semaphore>,
    stream_readers: Arc<Semaphore>,
    writers: Arc<Semaphore>,
}

impl Site {
    /// Opens the site of a workspace among those of a server, whose logins its state has.
    pub fn new(
        workspaces: Arc<[ServedWorkspace]>,
        workspace: &ServedWorkspace,
        login_file: PrivateFile,
        options: SiteOptions,
    ) -> Self {
        let caller = Arc::clone(&workspace.caller);
        let cookie = cookie_name(&options.address, caller.host().workspace().digest()).into();
        Self {
            workspaces,
            name: workspace.name.as_str().into(),
            base: workspace.base.as_str().into(),
            cookie,
            address: Arc::new(options.address),
            metrics: CountedMetrics::new(options.metrics_token.as_deref()),
            logins: Arc::new(Logins::new(options.operate_for, Some(login_file))),
            templates: Arc::clone(&workspace.templates),
            log: LogWatch::of(Arc::clone(&caller)),
            limits: Arc::new(RequestLimits::new()),
            caller,
            readers: Arc::new(Semaphore::new(MAX_READERS)),
            searches: Arc::new(Semaphore::new(MAX_SEARCHES)),
            verifications: Arc::new(Semaphore::new(1)),
            stream_readers: Arc::new(Semaphore::new(MAX_READERS)),
            writers: Arc::new(Semaphore::new(MAX_READERS)),
        }
    }

    /// Opens the site of another workspace of the same server.
    pub fn beside(&self, workspace: &ServedWorkspace) -> Self {
        Self {
            name: workspace.name.as_str().into(),
            base: workspace.base.as_str().into(),
            templates: Arc::clone(&workspace.templates),
            log: LogWatch::of(Arc::clone(&workspace.caller)),
            metrics: self.metrics.beside(),
            caller: Arc::clone(&workspace.caller),
            ..self.clone()
        }
    }

    /// Returns the entrance to the sites of a server: the pages outside of its workspaces. A change there is recorded
    /// where its logins are.
    pub fn entrance(&self, sites: &[Self]) -> Self {
        let workspaces = workspace_links(&self.workspaces);
        let place = PagePlace { base: String::new(), is_entrance: true, workspaces };
        Self {
            name: "".into(),
            base: "".into(),
            templates: Arc::new(PageTemplates::at(&place)),
            log: LogWatch::of_all(sites.iter().map(|site| &site.log)),
            ..self.clone()
        }
    }

    /// True if it is the entrance to several workspaces.
    pub fn is_entrance(&self) -> bool {
        self.base.is_empty() && self.workspaces.len() > 1
    }

    /// Fails if the folder of a workspace beside others is gone.
    pub fn check_folder(&self) -> Result<(), CommandError> {
        if self.base.is_empty() { Ok(()) } else { require_folder(&*self.caller) }
    }

    /// Returns the address of a page of the workspace.
    pub fn page(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// Returns the text of a failure.
    pub fn failure_text(&self, failure: &CommandError) -> String {
        self.caller.failure_text(failure)
    }

    pub fn caller(&self) -> Arc<PageCaller> {
        Arc::clone(&self.caller)
    }

    /// Returns the environment.
    pub fn host(&self) -> &Host {
        self.caller.host()
    }

    /// Returns the address of a page that lets one browser in, with an access; `name` is that of whoever it is for.
    pub fn add_link(&self, access: LoginAccess, name: &str) -> Result<String, LinkError> {
        let key = self.logins.add_link(access, name, self.host().now())?;
        Ok(link_address(&self.address.origin(), &key))
    }

    /// Returns a place for a search in a log; `None`: all are taken. So searches leave places to other pages.
    pub fn place_for_search(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.searches).try_acquire_owned().ok()
    }

    /// Returns the place for a verification of the logs; `None`: another one is under way.
    pub fn place_for_verification(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.verifications).try_acquire_owned().ok()
    }

    /// Reads a view, away from the answering thread.
    pub async fn read<T: Send + 'static>(
        &self,
        view: impl FnOnce(&PageCaller) -> Result<T, CommandError> + Send + 'static,
    ) -> Result<T, CommandError> {
        Self::work(self.caller(), &self.readers, view).await
    }

    /// Reads a part of a stream in the same way. It does not wait for pages, however long they take.
    pub async fn read_stream<T: Send + 'static>(
        &self,
        part: impl FnOnce(&PageCaller) -> Result<T, CommandError> + Send + 'static,
    ) -> Result<T, CommandError> {
        Self::work(self.caller(), &self.stream_readers, part).await
    }

    /// Drafts, records or changes something in the same way, for a login. It does not wait for pages either.
    pub async fn change<T: Send + 'static>(
        &self,
        login: &ActLogin,
        act: impl FnOnce(&PageCaller) -> Result<T, CommandError> + Send + 'static,
    ) -> Result<T, CommandError> {
        Self::work(Arc::new(self.caller.with_login(login)), &self.writers, act).await
    }

    /// Does some work when there is a place for it, and keeps the place until it is done, even if nobody waits any more.
    async fn work<T: Send + 'static>(
        caller: Arc<PageCaller>,
        places: &Arc<Semaphore>,
        work: impl FnOnce(&PageCaller) -> Result<T, CommandError> + Send + 'static,
    ) -> Result<T, CommandError> {
        let place = Arc::clone(places).acquire_owned().await;
        let done = tokio::task::spawn_blocking(move || {
            let _place = place;
            work(&caller)
        });
        done.await.unwrap_or_else(|_| Err(CommandError::new(CliExitCode::Bug, "the view ended early")))
    }

    /// Carries out a request of a login with a longer duration than a view, so no view waits for it.
    pub async fn execute<T: Send + 'static>(
        &self,
        login: &ActLogin,
        act: impl FnOnce(&PageCaller) -> Result<T, CommandError> + Send + 'static,
    ) -> Result<T, CommandError> {
        let caller = self.caller.with_login(login);
        let done = tokio::task::spawn_blocking(move || act(&caller));
        done.await.unwrap_or_else(|_| Err(CommandError::new(CliExitCode::Bug, "the act ended early")))
    }

    /// Returns the pages of the only workspace of a server.
    pub fn router(self) -> Router {
        let pages = self.pages().merge(Self::door());
        self.guarded(pages)
    }

    /// Returns the pages of the workspaces of a server, each nested at its base, and those of the entrance to them.
    pub fn router_of_all(sites: Vec<Self>, entrance: Self) -> Router {
        let own = entrance
            .limited(
                Self::login_pages()
                    .route("/", get(pages::workspaces::home))
                    .route("/search", get(pages::workspaces::search)),
            )
            .merge(Self::login_changes().layer(from_fn_with_state(entrance.clone(), limits::limit_posts)))
            .route("/events", get(pages::events))
            .route("/w", any(pages::workspaces::unknown))
            .route("/w/{*rest}", any(pages::workspaces::unknown))
            .merge(api::server_router(&entrance))
            .layer(from_fn_with_state(entrance.clone(), guard::require_login));
        let own = entrance.guarded(own.merge(Self::door()));
        sites.into_iter().fold(own, |router, site| {
            let (base, pages) = (site.page(""), site.pages());
            router.nest_service(&base, site.guarded(pages))
        })
    }

    /// Returns the pages of the workspace.
    fn pages(&self) -> Router<Self> {
        let behind_login = self
            .views()
            .merge(self.changes())
            .route("/runs/{run}/steps/{step}/log", get(pages::log::stream))
            .route("/events", get(pages::events))
            .merge(api::router(self))
            .layer(from_fn_with_state(self.clone(), guard::require_folder))
            .layer(from_fn_with_state(self.clone(), guard::require_login));
        Router::new()
            .route("/review", get(pages::inbox::moved))
            .route("/review/{*rest}", get(pages::inbox::moved))
            // It says nothing of the workspace: whoever makes a client reads it without a key.
            .route(&format!("{}/openapi.json", api::PREFIX), get(api::document))
            .merge(behind_login)
            .merge(self.limited(Router::new().route("/metrics", get(pages::metrics::metrics))))
    }

    /// Returns the pages of a server without a login.
    fn door() -> Router<Self> {
        Router::new()
            .route("/login", get(pages::login::link).post(pages::login::login))
            .merge(assets::router())
    }

    /// Puts the guards of every request before pages.
    fn guarded(self, pages: Router<Self>) -> Router {
        pages
            .fallback(respond::no_page)
            .layer(DefaultBodyLimit::max(MAX_BODY_SIZE))
            .layer(from_fn_with_state(self.clone(), guard::check_origin))
            .layer(from_fn(respond::answer_programs))
            .layer(from_fn(guard::add_headers))
            .layer(compression())
            .with_state(self)
    }

    /// Returns pages of which only so many are made at once.
    fn limited(&self, pages: Router<Self>) -> Router<Self> {
        let pages = pages.layer(from_fn(respond::answer_unchanged));
        pages.layer(from_fn_with_state(self.clone(), limits::limit_pages))
    }

    /// Returns the pages of a browser in all workspaces.
    fn login_pages() -> Router<Self> {
        Router::new()
            .route("/keys", get(pages::keys::key))
            .route("/keys/enrol", get(pages::enrol::page))
            .route("/me", get(pages::login::own))
    }

    /// Returns the changes of a browser to its login, and to others.
    fn login_changes() -> Router<Self> {
        Router::new()
            .route("/links", post(pages::login::add_link))
            .route("/me/name", post(pages::login::rename))
            .route("/keys", post(pages::keys::ask))
            .route("/keys/enrol", post(pages::enrol::enrol))
            .route("/keys/enrol/draft", post(pages::enrol::draft))
            .route("/logins/{id}/end", post(pages::login::end))
            .route("/logout", post(pages::login::logout))
    }

    /// Returns the pages with content.
    fn views(&self) -> Router<Self> {
        let pages = Self::login_pages()
            .route("/", get(pages::home::home))
            .route("/search", get(pages::home::search))
            .route("/more", get(pages::home::more))
            .route("/inbox", get(pages::inbox::requests))
            .route("/inbox/{run}/{number}", get(pages::inbox::request))
            .route("/runs", get(pages::runs::runs))
            .route("/runs/selected", get(pages::runs::selected))
            .route("/runs/{run}", get(pages::run::run))
            .route("/runs/{run}/log/lines", get(pages::log::run_lines))
            .route("/runs/{run}/log/search", get(pages::log::run_search))
            .route("/runs/{run}/diff", get(pages::run::diff))
            .route("/runs/{run}/steps/{step}", get(pages::run::step))
            .route("/runs/{run}/steps/{step}/attempts/{attempt}/agent", get(pages::exchange::conversation))
            .route("/runs/{run}/steps/{step}/log.txt", get(pages::log::whole))
            .route("/runs/{run}/steps/{step}/log/lines", get(pages::log::lines))
            .route("/runs/{run}/steps/{step}/log/search", get(pages::log::search))
            .route("/runs/{run}/steps/{step}/output", get(pages::log::output))
            .route("/runs/{run}/files/{digest}/{name}", get(pages::files::file))
            .route("/plans", get(pages::plans::plans))
            .route("/plans/{plan}", get(pages::plans::plan))
            .route("/plans/{plan}/source", get(pages::plans::source))
            .route("/plans/{plan}/start", get(pages::plans::form))
            .route("/goals", get(pages::goals::goals))
            .route("/goals/{goal}", get(pages::goals::goal))
            .route("/schedule", get(pages::goals::schedule))
            .route("/activity", get(pages::audit::activity))
            .route("/memory", get(pages::memory::memory))
            .route("/memory/{item}", get(pages::memory::item))
            .route("/skills", get(pages::memory::skills))
            .route("/skills/{skill}", get(pages::memory::skill))
            .route("/connections", get(pages::secrets::connections))
            .route("/secrets", get(pages::secrets::secrets))
            .route("/audit", get(pages::audit::records))
            .route("/audit/verify", get(pages::audit::verification))
            .route("/audit/{number}", get(pages::audit::record));
        self.limited(pages)
    }

    /// Returns what a browser sends to change something.
    fn changes(&self) -> Router<Self> {
        let secret_size = DefaultBodyLimit::max(pages::secrets::MAX_FORM_SIZE);
        let operations = Router::new()
            .route("/runs/selected/cancel", post(pages::runs::cancel_selected))
            .route("/runs/{run}/undo", post(pages::run::undo))
            .route("/runs/{run}/cancel", post(pages::run::cancel))
            .route("/runs/{run}/resume", post(pages::run::resume))
            .route("/suggestions/{number}/dismiss", post(pages::goals::post_dismissal))
            .route("/goals/{goal}/pause", post(pages::goals::pause))
            .route("/goals/{goal}/tighten", post(pages::goals::tighten))
            .route("/goals/{goal}/resume", post(pages::goals::resume))
            .route("/goals/{goal}/run", post(pages::goals::run_now))
            .route("/secrets/{connection}/{ref_id}", post(pages::secrets::enter).layer(secret_size))
            .layer(from_fn_with_state(self.clone(), guard::require_operator));
        let starts = Router::new()
            .route("/plans/{plan}/start", post(pages::plans::start))
            .route("/plans/{plan}/start/draft", post(pages::plans::draft))
            .route("/runs/selected/retry", post(pages::runs::retry_selected))
            .route("/runs/{run}/retry", post(pages::run::retry))
            .route("/suggestions/{number}/accept", post(pages::goals::post_acceptance))
            .layer(from_fn_with_state(self.clone(), guard::require_starter));
        Router::new()
            .merge(operations)
            .merge(starts)
            .merge(Self::login_changes())
            .route("/goals/{goal}/signature/draft", post(pages::goals::draft))
            .route("/goals/{goal}/signature", post(pages::goals::sign))
            .route("/inbox/{run}/{number}/draft", post(pages::inbox::draft))
            .route("/inbox/{run}/{number}/answer", post(pages::inbox::answer))
            .layer(from_fn_with_state(self.clone(), limits::limit_posts))
    }
}
