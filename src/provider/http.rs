//! One request over HTTP, asked again while that can help.

use super::Request;
use super::Settings;
use super::Told;
use super::address;
use super::attempt::Heard;
use super::context::Asked;
use super::failure::Failure;
use super::fault::Fault;
use super::fault::Met;
use super::outage::Outage;
use super::outage::Unended;
use super::tls;
use super::tls::Roots;
use super::wire::Body;
use crate::message::Reply;
use crate::process::Interrupt;
use anyhow::Context;
use anyhow::Result;
use hyper::body::Bytes;
use reqwest::Url;
use reqwest::header::HeaderMap;
use reqwest::header::HeaderValue;
use reqwest::redirect::Policy;
use std::collections::hash_map::RandomState;
use std::future::pending;
use std::hash::BuildHasher;
use std::hash::Hasher;
use std::io;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::time::Duration;
use std::time::Instant;
use tokio::time::sleep_until;
use tokio::time::timeout;

const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// The head of an answer may take this many times the idle limit: a gateway that does not stream is silent until the
/// reply is whole.
const HEAD_IDLES: u32 = 4;

/// Nothing but pings may come for as long: they tell of a service that is there, and thinking takes its time.
pub(super) const PING_IDLES: u32 = HEAD_IDLES;

/// A whole answer may take this many times the idle limit, though bytes keep dripping.
const ANSWER_IDLES: u32 = 40;

pub(super) const BETAS: &str = "anthropic-beta";

/// A connection to the model service.
#[derive(Debug)]
pub struct Client {
    pub(super) settings: Settings,
    pub(super) http: reqwest::Client,
    pub(super) endpoint: Url,
    headers: HeaderMap,
    /// What this endpoint has not refused so far.
    asked: Mutex<Asked>,
    /// The outage that the newest request to a model did not see the end of.
    outage: Mutex<Option<(String, Unended)>>,
    /// The service has given a whole reply.
    answered: AtomicBool,
    /// This endpoint counts tokens, as far as is known.
    pub(super) counts: AtomicBool,
}

impl Client {
    /// Checks the settings and makes a client; no connection is made yet.
    pub fn new(settings: Settings) -> Result<Self> {
        let (endpoint, loopback) = address::endpoint(&settings.base_url)?;
        let headers = address::headers(&settings, loopback)?;
        let roots = if endpoint.scheme() == "https" { Roots::WithMachine } else { Roots::BuiltIn };
        let builder = reqwest::Client::builder()
            .use_preconfigured_tls(tls::config(roots)?)
            // A redirect would carry the key to another host.
            .redirect(Policy::none())
            .connect_timeout(CONNECT_LIMIT)
            // Tools run for minutes between two requests: a kept connection is often dead by then.
            .pool_max_idle_per_host(0)
            .user_agent(concat!("longhaul/", env!("CARGO_PKG_VERSION")))
            .gzip(true);
        let builder = if loopback { builder.no_proxy() } else { builder };
        let http = builder.build().context("could not set up the connection to the model service")?;
        let asked = Mutex::new(Asked::of(&settings));
        let (outage, answered, counts) = (Mutex::default(), AtomicBool::new(false), AtomicBool::new(true));
        Ok(Self { settings, http, endpoint, headers, asked, outage, answered, counts })
    }

    /// Sends a request and returns the whole reply. Blocks, and ends at once when interrupted or at the request's deadline.
    ///
    /// `on_retry` hears why an attempt failed and how long the wait before the next one is. `on_tokens` hears what a reply has
    /// used that has begun, and that broke or was cut off; of such a one it says whether to ask again. Must not be called
    /// from within an asynchronous runtime.
    pub fn send(
        &self,
        request: &Request,
        interrupt: &Interrupt,
        on_retry: &mut dyn FnMut(&str, Duration),
        on_tokens: &mut dyn FnMut(Told) -> ControlFlow<()>,
    ) -> Result<Reply, Failure> {
        let heard = Heard::new(on_tokens);
        let earlier = self.unended(&request.model);
        let mut outage = Outage::new(&self.settings, request.deadline).goes_on(earlier, Instant::now());
        let sent = self.block_on(async {
            tokio::select! {
                biased;
                () = interrupt.wait() => Err(Failure::Interrupted),
                result = self.ask(request, &mut outage, &heard, on_retry) => result,
                () = passed(request.deadline) => Err(Failure::OutOfTime),
            }
        });
        // The deadline or an interrupt may have cut one off; there is no further attempt to forbid.
        let _ = heard.lost();
        let sent = match sent {
            // A reply under way that tells something is no outage.
            Ok(Err(Failure::OutOfTime)) if heard.at.get().is_none() => {
                Ok(Err(outage.out_of_time(heard.asked.get(), Instant::now())))
            }
            sent => sent,
        };
        if matches!(sent, Ok(Err(Failure::Away { .. }))) {
            self.keep(&request.model, outage);
        }
        let sent = sent.map(|result| result.map_err(|failure| self.cleaned(failure)));
        sent.unwrap_or_else(|error| Err(Failure::Unavailable { tried: format!("could not start a request: {error}") }))
    }

    /// Returns for what, and for how long from now on, the service asked to be left alone with requests to this model.
    pub fn asked_wait(&self, model: &str) -> Option<(String, Duration)> {
        let kept = self.outage.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, unended) = kept.as_ref().filter(|(of, _)| of == model)?;
        let (fault, wait) = unended.wait(Instant::now())?;
        Some((self.without_key(fault), wait))
    }

    /// Takes out the outage that a request to this model has to go on with.
    fn unended(&self, model: &str) -> Option<Unended> {
        let mut kept = self.outage.lock().unwrap_or_else(PoisonError::into_inner);
        kept.take_if(|(of, _)| of == model).map(|(_, unended)| unended)
    }

    fn keep(&self, model: &str, outage: Outage) {
        let unended = outage.unended(Instant::now()).map(|unended| (model.to_owned(), unended));
        *self.outage.lock().unwrap_or_else(PoisonError::into_inner) = unended;
    }

    /// Runs one exchange to its end.
    pub(super) fn block_on<T>(&self, exchange: impl Future<Output = T>) -> io::Result<T> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let result = runtime.block_on(exchange);
        // A name lookup under way cannot be stopped, and nobody waits for it.
        runtime.shutdown_background();
        Ok(result)
    }

    /// Asks until a whole reply comes; `heard` is what the reply under way has told.
    async fn ask(
        &self,
        request: &Request,
        outage: &mut Outage<'_>,
        heard: &Heard<'_>,
        on_retry: &mut dyn FnMut(&str, Duration),
    ) -> Result<Reply, Failure> {
        let (mut body, mut headers) = self.rendered(request);
        if request.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(Failure::OutOfTime);
        }
        if let Some((fault, wait)) = outage.first_wait(Instant::now())? {
            on_retry(&self.without_key(&fault), wait);
            tokio::time::sleep(wait).await;
        }
        loop {
            let (began, limit) = (Instant::now(), self.head_limit(outage));
            heard.at.take();
            heard.asked.set(Some(began));
            let fault = match timeout(
                self.settings.idle * ANSWER_IDLES,
                self.attempt(body.clone(), headers.clone(), limit, heard),
            )
            .await
            {
                Ok(Ok(reply)) => {
                    self.answered.store(true, Ordering::Relaxed);
                    heard.usage.take();
                    return Ok(reply);
                }
                Ok(Err(fault)) => fault,
                Err(_) => Fault::Broken(format!("no end after {:?}", self.settings.idle * ANSWER_IDLES)),
            };
            if heard.lost().is_break() {
                return Err(Failure::Spent);
            }
            if let Some(told) = self.leave_out(&fault, request) {
                on_retry(&self.without_key(&told), Duration::ZERO);
                (body, headers) = self.rendered(request);
                continue;
            }
            let met = if self.answered.load(Ordering::Relaxed) { Met::Before } else { Met::Never };
            if !fault.passes(met) {
                return Err(self.settled(fault, request));
            }
            let wait = outage.next_wait(&fault, heard.at.take().unwrap_or(began), Instant::now(), random())?;
            on_retry(&self.without_key(&fault.to_string()), wait);
            tokio::time::sleep(wait).await;
        }
    }

    fn rendered(&self, request: &Request) -> (Bytes, HeaderMap) {
        let (body, headers) = self.prepared(request);
        (Bytes::from(body.json()), headers)
    }

    /// Makes body and headers, with the edits that this endpoint may still take.
    pub(super) fn prepared<'a>(&self, request: &'a Request) -> (Body<'a>, HeaderMap) {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let mut body = Body::of(request);
        let mut headers = self.headers.clone();
        if let Some(edits) = asked.render(request.window) {
            body.context_management = Some(edits);
            let betas = self.settings.betas.iter().chain(asked.betas());
            let betas = betas.cloned().collect::<Vec<_>>().join(",");
            // The names were looked at when the client was made. An empty header is refused by some.
            if let Ok(betas) = HeaderValue::from_str(&betas)
                && !betas.is_empty()
            {
                headers.insert(BETAS, betas);
            }
        }
        (body, headers)
    }

    /// Leaves out what the service refuses to do with the conversation, and says so; none when it refuses something else.
    fn leave_out(&self, fault: &Fault, request: &Request) -> Option<String> {
        let Fault::Service { status: Some(400..=499), error, .. } = fault else { return None };
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let named = asked.leave_out(&error.message, request.window)?;
        Some(format!("the service does not take {named}, which is left out from now on: {fault}"))
    }

    /// Returns how long an attempt may be silent before it has told anything: no longer than the outage may still last.
    fn head_limit(&self, outage: &Outage) -> Duration {
        let usual = self.settings.idle * HEAD_IDLES;
        outage.left(Instant::now()).map_or(usual, |left| left.min(usual))
    }

    fn settled(&self, fault: Fault, request: &Request) -> Failure {
        match fault {
            Fault::Foreign(failure) | Fault::Settled(failure) => failure,
            Fault::Service { status, error, .. } => Failure::of_service(status, &error, &self.settings, request),
            other => Failure::Unavailable { tried: other.to_string() },
        }
    }

    /// Takes the key out of a failure: services and proxies echo what they refuse.
    fn cleaned(&self, failure: Failure) -> Failure {
        match failure {
            Failure::Unavailable { tried } => Failure::Unavailable { tried: self.without_key(&tried) },
            Failure::Refused { kind, message, way_out } => {
                Failure::Refused { kind: self.without_key(&kind), message: self.without_key(&message), way_out }
            }
            Failure::Away { fault } => Failure::Away { fault: self.without_key(&fault) },
            Failure::TooLong { message } => Failure::TooLong { message: self.without_key(&message) },
            other => other,
        }
    }

    fn without_key(&self, text: &str) -> String {
        match &self.settings.key {
            Some(key) if !key.reveal().is_empty() => text.replace(key.reveal(), "[key]"),
            _ => text.to_owned(),
        }
    }
}

/// Waits for a moment; without one, for ever.
async fn passed(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline.into()).await,
        None => pending().await,
    }
}

/// Returns a number in 0..1, from the randomness the standard library seeds its maps with.
fn random() -> f64 {
    let bits = RandomState::new().build_hasher().finish() >> 11;
    bits as f64 / (1_u64 << 53) as f64
}
