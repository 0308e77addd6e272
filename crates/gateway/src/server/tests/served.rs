use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::Semaphore, task::JoinSet};
use wf_core::agent::{Message, ModelReply, StopReason};
use wf_model::TokenUsage;

use crate::server::{
    CallRefusal, ClientCallFuture, ClientCalls, ClientRequest, ClientToken, answer::ClientService,
    serve::serve_with,
};

/// The time between two keep-alive events in these tests.
pub(super) const KEEP_ALIVE: Duration = Duration::from_millis(50);

/// Calls that end when a test lets them: with the next refusal, else with the text of the last message.
pub(super) struct HeldCalls {
    pub(super) begun: AtomicUsize,
    pub(super) dropped: Arc<AtomicUsize>,
    pub(super) asked: Mutex<Vec<ClientRequest>>,
    pub(super) refusals: Mutex<VecDeque<CallRefusal>>,
    pub(super) permits: Semaphore,
}

/// Counts the calls that were dropped before their end.
struct CallGuard(Option<Arc<AtomicUsize>>);

impl Drop for CallGuard {
    fn drop(&mut self) {
        if let Some(dropped) = &self.0 {
            dropped.fetch_add(1, Ordering::SeqCst);
        }
    }
}

impl ClientCalls for HeldCalls {
    fn call(&self, request: ClientRequest) -> ClientCallFuture<'_> {
        Box::pin(async move {
            self.begun.fetch_add(1, Ordering::SeqCst);
            let mut guard = CallGuard(Some(Arc::clone(&self.dropped)));
            self.permits.acquire().await.unwrap().forget();
            guard.0 = None;
            self.asked.lock().unwrap().push(request.clone());
            if let Some(refusal) = self.refusals.lock().unwrap().pop_front() {
                return Err(refusal);
            }
            let Some(Message::User { text }) = request.request.messages.last() else { panic!() };
            Ok(ModelReply {
                text: text.clone(),
                tool_calls: Vec::new(),
                stop: StopReason::EndTurn,
                usage: TokenUsage { input: 5, cached_input: 2, cache_write: 0, output: 3 },
            })
        })
    }
}

/// A server for a test, and a client.
pub(super) struct ServedCalls {
    pub(super) calls: Arc<HeldCalls>,
    pub(super) token: String,
    pub(super) base_url: String,
    pub(super) client: reqwest::Client,
    /// The server ends with this.
    pub(super) task: JoinSet<()>,
}

impl ServedCalls {
    /// Starts a server that lets some calls end at once.
    pub(super) async fn start(permits: usize) -> Self {
        Self::start_with(permits, KEEP_ALIVE).await
    }

    pub(super) async fn start_with(permits: usize, keep_alive: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}", listener.local_addr().unwrap());
        let calls = Arc::new(HeldCalls {
            begun: AtomicUsize::new(0),
            dropped: Arc::default(),
            asked: Mutex::default(),
            refusals: Mutex::default(),
            permits: Semaphore::new(permits),
        });
        let token = ClientToken::random().unwrap();
        let service = ClientService { token: token.clone(), calls: calls.clone(), keep_alive };
        let mut task = JoinSet::new();
        task.spawn(async move { match serve_with(listener, service).await {} });
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { calls, token: token.expose().to_owned(), base_url, client, task }
    }

    pub(super) fn post(&self, path: &str, body: impl Into<reqwest::Body>) -> reqwest::RequestBuilder {
        let url = format!("{}{path}", self.base_url);
        self.client.post(url).header("x-api-key", &self.token).body(body)
    }

    /// Waits until a number of calls has begun.
    pub(super) async fn wait_for(&self, count: &AtomicUsize, wanted: usize) {
        for _ in 0..500 {
            if count.load(Ordering::SeqCst) == wanted {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{} and not {wanted}", count.load(Ordering::SeqCst));
    }
}

/// Returns a request that each format understands.
pub(super) fn body(text: &str, stream: bool) -> String {
    let messages: Value = json!([{"role": "user", "content": text}]);
    json!({"model": "m", "messages": messages, "input": messages, "stream": stream}).to_string()
}
