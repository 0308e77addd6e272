use std::{collections::BTreeMap, fmt, path::PathBuf, sync::Arc, time::Duration};

use tokio::time::{Instant, sleep, timeout};
use wf_base::{name::Name, time::Clock};
use wf_core::{
    agent::{ModelReply, ModelRequest},
    health::{BreakerNote, CallEnd, CallTarget, OpenBreaker},
    machine::AttemptUsage,
};
use wf_model::{ModelApi, ModelDefinition, ModelTable, Money, SecretSource, TokenUsage};

use super::{
    CallHealth, FailedModelCall, ModelCallError, ModelCallResult, ModelKeyError, ModelKeyResolver,
    ProcessHealth, TryAllowance, TryRefusal, UnlimitedTries,
};
use crate::{
    cassette::{Cassette, CassetteError, RecordedExchange, from_portable, to_portable},
    client::{ClientLimits, FailedSend, ModelKey, ProviderAddress, ProviderCall, ProviderClient},
    estimate::estimate_usage,
    retry::{CallFailureClass, ModelFailure, ModelFailureKind, RetryDelays},
    scripted,
};

/// The maximum time for reading a key.
const KEY_TIME: Duration = Duration::from_mins(1);

/// The way to the models of a workspace.
pub struct Gateway {
    table: ModelTable,
    key_resolver: Arc<dyn ModelKeyResolver>,
    root: PathBuf,
    clock: Arc<dyn Clock>,
    client: ProviderClient,
    delays: RetryDelays,
    health: Arc<dyn CallHealth>,
    cassette: Option<Arc<Cassette>>,
}

/// The sums over the tries of a call, and whoever pays for them.
struct CallTally<'a> {
    allowance: &'a mut dyn TryAllowance,
    tries: u32,
    usage: TokenUsage,
    cost: Money,
    breakers: Vec<BreakerNote>,
}

impl<'a> CallTally<'a> {
    fn of(allowance: &'a mut dyn TryAllowance) -> Self {
        let (usage, cost) = (TokenUsage::default(), Money::default());
        Self { allowance, tries: 0, usage, cost, breakers: Vec::new() }
    }

    /// Returns the reason why no further try is paid. As long as none has used anything, what was set aside for the first
    /// one is there.
    async fn refusal(&mut self) -> Option<TryRefusal> {
        let used = AttemptUsage { attempts: 0, tokens: self.usage.total(), cost: self.cost };
        if used == AttemptUsage::default() {
            return None;
        }
        self.allowance.allow(used).await.err()
    }

    fn add(&mut self, model: &ModelDefinition, usage: TokenUsage) {
        let price = model.price.unwrap_or_default();
        self.cost = self.cost.plus(price.cost(usage));
        self.usage = self.usage.plus(usage);
    }
}

impl Gateway {
    /// Creates a gateway to the models of a table. `root` is the workspace, where scripts are.
    pub fn new(
        table: ModelTable,
        key_resolver: Arc<dyn ModelKeyResolver>,
        root: PathBuf,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let (client, delays) = (ProviderClient::default(), RetryDelays::default());
        let health = Arc::new(ProcessHealth::new(Arc::clone(&clock)));
        Self { table, key_resolver, root, clock, client, delays, health, cassette: None }
    }

    /// Returns the same gateway with other limits, and with the proxies of an environment.
    #[must_use]
    pub fn with_client(mut self, environment: &BTreeMap<String, String>, limits: ClientLimits) -> Self {
        self.client = ProviderClient::new(environment, limits);
        self
    }

    /// Returns the same gateway with other delays between tries.
    #[must_use]
    pub fn with_delays(mut self, delays: RetryDelays) -> Self {
        self.delays = delays;
        self
    }

    /// Returns the same gateway with a cassette, which answers all calls or takes their exchanges.
    #[must_use]
    pub fn with_cassette(mut self, cassette: Option<Arc<Cassette>>) -> Self {
        self.cassette = cassette;
        self
    }

    /// Returns the same gateway, which shares the health of models with others.
    #[must_use]
    pub fn with_health(self, health: Arc<dyn CallHealth>) -> Self {
        Self { health, ..self }
    }

    pub fn table(&self) -> &ModelTable {
        &self.table
    }

    /// Calls a model, again where that may help, and then its fallbacks. Each try has the `timeout` of its model.
    /// If a cassette is replayed, it alone answers.
    pub async fn call(&self, model: &ModelDefinition, request: &ModelRequest) -> ModelCallResult {
        self.call_within(model, request, &mut UnlimitedTries).await
    }

    /// Does the same for a call somebody pays for: the first try is paid, and each further one only follows if its
    /// payer allows it, where those before it have used something.
    pub async fn call_within(
        &self,
        model: &ModelDefinition,
        request: &ModelRequest,
        allowance: &mut dyn TryAllowance,
    ) -> ModelCallResult {
        match &self.cassette {
            Some(cassette) if cassette.is_replay() => self.replay(Arc::clone(cassette), model, request).await,
            _ => self.call_models(model, request, allowance).await,
        }
    }

    /// Records a call and its result, both without secrets, on the cassette of its run, and on the one for all
    /// exchanges, if there is one. A failure to record is a failure of the call, and keeps its cost: a recording is relied on to be whole.
    pub async fn record(
        &self,
        cassette: Option<&Arc<Cassette>>,
        model: &ModelDefinition,
        request: &ModelRequest,
        result: ModelCallResult,
    ) -> ModelCallResult {
        let recorded = self.record_exchange(cassette, model, request, &result, || false).await;
        result.with_recording(recorded)
    }

    /// Does the same, and returns the error of a cassette. `make_room` is asked when there is no space left: true if there
    /// is more now.
    pub async fn record_exchange(
        &self,
        run_cassette: Option<&Arc<Cassette>>,
        model: &ModelDefinition,
        request: &ModelRequest,
        result: &ModelCallResult,
        make_room: impl Fn() -> bool,
    ) -> Result<(), CassetteError> {
        // A call that a replay could not answer is no exchange.
        let is_unrecorded = |call: &FailedModelCall| call.failure.kind == ModelFailureKind::Unrecorded;
        if result.outcome.as_ref().is_err_and(|error| error.failures.iter().any(is_unrecorded)) {
            return Ok(());
        }
        let exchange = to_portable(&RecordedExchange::from_call(&model.name, request, result), &self.root);
        let own = self.cassette.as_ref().filter(|cassette| !cassette.is_replay());
        for cassette in own.into_iter().chain(run_cassette) {
            loop {
                let (cassette, exchange) = (Arc::clone(cassette), exchange.clone());
                match unblocked(move || cassette.record(&exchange)).await {
                    Err(CassetteError::NoSpace(_)) if make_room() => {}
                    recorded => break recorded?,
                }
            }
        }
        Ok(())
    }

    /// Answers a call from a cassette.
    async fn replay(
        &self,
        cassette: Arc<Cassette>,
        model: &ModelDefinition,
        request: &ModelRequest,
    ) -> ModelCallResult {
        let (name, request) = (model.name.clone(), to_portable(request, &self.root));
        match unblocked(move || cassette.replay(&name, &request)).await {
            Ok(exchange) => from_portable(&exchange, &self.root).into_result(),
            Err(failure) => ModelCallResult {
                model: model.name.clone(),
                outcome: Err(ModelCallError::from_failure(&model.name, failure)),
                failed_calls: Vec::new(),
                tries: 0,
                usage: TokenUsage::default(),
                cost: Money::default(),
                breakers: Vec::new(),
                duration_ms: 0,
            },
        }
    }

    async fn call_models(
        &self,
        model: &ModelDefinition,
        request: &ModelRequest,
        allowance: &mut dyn TryAllowance,
    ) -> ModelCallResult {
        let started = Instant::now();
        let mut tally = CallTally::of(allowance);
        let mut failures: Vec<FailedModelCall> = Vec::new();
        let mut replied = None;
        let mut names = vec![&model.name];
        let mut next = Some(model);
        let mut fallbacks = model.fallback.iter();
        while let Some(current) = next {
            let before = tally.tries;
            match self.call_one(current, request, &mut tally).await {
                Ok(reply) => {
                    replied = Some((current.name.clone(), reply));
                    break;
                }
                Err(failure) => {
                    let tries = tally.tries - before;
                    failures.push(FailedModelCall { model: current.name.clone(), failure, tries });
                }
            }
            next = self.next_fallback(&mut fallbacks, &mut names, &mut failures);
            if next.is_some()
                && let Some(reason) = tally.refusal().await
            {
                next = None;
                if let Some(last) = failures.last_mut() {
                    last.failure.message.push_str(&format!("; no fallback is called: {reason}"));
                }
            }
        }
        let (name, outcome, passed_over) = match replied {
            Some((name, reply)) => (name, Ok(reply), failures),
            None => (model.name.clone(), Err(ModelCallError { failures }), Vec::new()),
        };
        let duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let CallTally { tries, usage, cost, breakers, .. } = tally;
        ModelCallResult {
            model: name,
            outcome,
            failed_calls: passed_over,
            tries,
            usage,
            cost,
            breakers,
            duration_ms,
        }
    }

    /// Returns the next fallback that is defined and was not called yet.
    fn next_fallback<'m>(
        &'m self,
        fallbacks: &mut impl Iterator<Item = &'m Name>,
        names: &mut Vec<&'m Name>,
        failures: &mut Vec<FailedModelCall>,
    ) -> Option<&'m ModelDefinition> {
        for name in fallbacks {
            if names.contains(&name) {
                continue;
            }
            names.push(name);
            if let Some(model) = self.table.models.get(name) {
                return Some(model);
            }
            let failure =
                ModelFailure::misconfigured("the fallback is not defined: add it to `models` in wf.yaml");
            failures.push(FailedModelCall { model: name.clone(), failure, tries: 0 });
        }
        None
    }

    /// Calls one model, again where that may help. Its tries are one call: together they are one failure, or none.
    async fn call_one(
        &self,
        model: &ModelDefinition,
        request: &ModelRequest,
        tally: &mut CallTally<'_>,
    ) -> Result<ModelReply, ModelFailure> {
        if let Err(open) = self.health.admit(CallTarget::model(&model.name)).await {
            return Err(self.left_alone(&open));
        }
        let ended = self.try_model(model, request, tally).await;
        tally.breakers.extend(self.note(&model.name, ended.as_ref().err()).await);
        ended
    }

    async fn try_model(
        &self,
        model: &ModelDefinition,
        request: &ModelRequest,
        tally: &mut CallTally<'_>,
    ) -> Result<ModelReply, ModelFailure> {
        let mut tries = 0;
        loop {
            tries += 1;
            tally.tries = tally.tries.saturating_add(1);
            let FailedSend { mut failure, usage } = match self.send(model, request).await {
                Ok(reply) => {
                    tally.add(model, reply.usage);
                    return Ok(reply);
                }
                Err(failed) => failed,
            };
            tally.add(model, usage);
            let Some(delay) = self.delays.before_next(tries, &failure) else {
                return Err(failure);
            };
            if let Some(reason) = tally.refusal().await {
                failure.message.push_str(&format!("; not tried again: {reason}"));
                return Err(failure);
            }
            sleep(delay).await;
            // A probe has one try, and so has a call whose model others found failing meanwhile.
            if self.health.admit(CallTarget::model(&model.name)).await.is_err() {
                return Err(failure);
            }
        }
    }

    /// Makes one try.
    async fn send(&self, model: &ModelDefinition, request: &ModelRequest) -> Result<ModelReply, FailedSend> {
        let mut reply = if model.api == ModelApi::Scripted {
            let script = scripted::load_script(&self.root, &model.model);
            script.map_err(ModelFailure::misconfigured)?.reply(request)?
        } else {
            let address = ProviderAddress::new(model.api, model.base_url.as_deref());
            let address = address.map_err(ModelFailure::misconfigured)?;
            let key = match &model.key {
                None => None,
                Some(source) => Some(self.key(source).await?),
            };
            let call = ProviderCall {
                api: model.api,
                address: &address,
                model: &model.model,
                key: key.as_ref(),
                request,
                max_output: request.max_output.min(model.max_output),
                timeout: model.timeout,
                now: self.clock.now(),
            };
            self.client.send(&call).await?
        };
        // A provider that does not count must not make a budget endless.
        if reply.usage == TokenUsage::default() {
            reply.usage = estimate_usage(request, &reply);
        }
        Ok(reply)
    }

    async fn key(&self, source: &SecretSource) -> Result<ModelKey, ModelFailure> {
        let late = |_| ModelKeyError(format!("not within {} s", KEY_TIME.as_secs()));
        let read = timeout(KEY_TIME, self.key_resolver.resolve(source)).await.map_err(late).flatten();
        read.map_err(|error| ModelFailure::misconfigured(format!("cannot read the key: {error}")))
    }

    /// Notes the end of a call. Returns what it did to the breaker.
    async fn note(&self, name: &Name, failure: Option<&ModelFailure>) -> Option<BreakerNote> {
        let end = match failure {
            None => CallEnd::Success,
            // Without a request, nothing is known about the provider.
            Some(failure) if failure.kind == ModelFailureKind::Misconfigured => return None,
            Some(failure) => {
                let error = failure.message.clone();
                match failure.class() {
                    CallFailureClass::Transient => CallEnd::Outage { error },
                    CallFailureClass::Permanent => CallEnd::Rejection { error },
                }
            }
        };
        let target = CallTarget::model(name);
        let change = self.health.note(target.clone(), end).await;
        change.map(|change| BreakerNote { target, change })
    }

    /// Returns the failure of a call that was not made. It has a duration and no time: it may be recorded.
    fn left_alone(&self, open: &OpenBreaker) -> ModelFailure {
        let OpenBreaker { until, failures, .. } = open;
        let seconds = until.since(self.clock.now()).as_millis().div_ceil(1_000);
        let message = format!("its last {failures} calls failed, so it is called again in {seconds} s");
        ModelFailure::new(ModelFailureKind::LeftAlone, message)
    }
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway").field("root", &self.root).finish_non_exhaustive()
    }
}

/// Reads or writes files without holding up others.
async fn unblocked<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|stopped| std::panic::resume_unwind(stopped.into_panic()))
}
