//! One request over HTTP, asked again while that can help.

use super::Request;
use super::Settings;
use super::context::Asked;
use super::failure::Failure;
use super::retry::Fault;
use super::retry::Hints;
use super::retry::Outage;
use super::stream;
use super::stream::Broken;
use super::stream::REPLY_LIMIT;
use super::stream::ReplyReader;
use super::tls;
use super::tls::Roots;
use super::wire::Body;
use super::wire::ServiceError;
use crate::clock::Clock;
use crate::message::Reply;
use crate::message::Usage;
use crate::process::Interrupt;
use anyhow::Context;
use anyhow::Result;
use anyhow::bail;
use anyhow::ensure;
use hyper::body::Bytes;
use reqwest::Response;
use reqwest::Url;
use reqwest::header::HeaderMap;
use reqwest::header::HeaderValue;
use reqwest::redirect::Policy;
use std::cell::Cell;
use std::collections::hash_map::RandomState;
use std::future::pending;
use std::hash::BuildHasher;
use std::hash::Hasher;
use std::io;
use std::net::IpAddr;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use std::time::Instant;
use tokio::time::sleep_until;
use tokio::time::timeout;

const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// The head of an answer may take this many times the idle limit: a gateway that does not stream is silent until the
/// reply is whole.
const HEAD_IDLES: u32 = 4;

/// Nothing but pings may come for as long: they tell of a service that is there, and thinking takes its time.
const PING_IDLES: u32 = HEAD_IDLES;

/// A whole answer may take this many times the idle limit, though bytes keep dripping.
const ANSWER_IDLES: u32 = 40;

/// No error body is read further than this.
const ERROR_LIMIT: usize = 64 << 10;

const BETAS: &str = "anthropic-beta";

/// Sent to a loopback endpoint when there is no key, since some local services want the header.
const NO_KEY: &str = "no-key";

/// A connection to the model service.
#[derive(Debug)]
pub struct Client {
    settings: Settings,
    pub(super) http: reqwest::Client,
    pub(super) endpoint: Url,
    headers: HeaderMap,
    /// What this endpoint has not refused so far.
    asked: Mutex<Asked>,
    /// This endpoint counts tokens, as far as is known.
    pub(super) counts: AtomicBool,
}

impl Client {
    /// Checks the settings and makes a client; no connection is made yet.
    pub fn new(settings: Settings) -> Result<Self> {
        let (endpoint, loopback) = endpoint(&settings.base_url)?;
        let headers = headers(&settings, loopback)?;
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
        Ok(Self { settings, http, endpoint, headers, asked, counts: AtomicBool::new(true) })
    }

    /// Sends a request and returns the whole reply. Blocks, and ends at once when interrupted or at the request's deadline.
    ///
    /// `on_retry` hears why an attempt failed and how long the wait before the next one is. Must not be called from
    /// within an asynchronous runtime. What dropped replies cost is not told; see [`Client::send_paying`].
    pub fn send(
        &self,
        request: &Request,
        interrupt: &Interrupt,
        on_retry: &mut dyn FnMut(&str, Duration),
    ) -> Result<Reply, Failure> {
        self.send_paying(request, interrupt, on_retry, &mut |_| ControlFlow::Continue(()))
    }

    /// As [`Client::send`]; `on_lost` hears what a reply had used that broke or was cut off, since the service bills that
    /// too, and says whether to ask again.
    pub fn send_paying(
        &self,
        request: &Request,
        interrupt: &Interrupt,
        on_retry: &mut dyn FnMut(&str, Duration),
        on_lost: &mut dyn FnMut(&Usage) -> ControlFlow<()>,
    ) -> Result<Reply, Failure> {
        let heard = Heard::default();
        let mut lost = || {
            Some(heard.usage.take())
                .filter(|usage| *usage != Usage::default())
                .map_or(ControlFlow::Continue(()), |usage| on_lost(&usage))
        };
        let sent = self.block_on(async {
            tokio::select! {
                biased;
                () = interrupt.wait() => Err(Failure::Interrupted),
                result = self.ask(request, &heard, on_retry, &mut lost) => result,
                () = passed(request.deadline) => Err(Failure::OutOfTime),
            }
        });
        // The deadline or an interrupt may have cut one off; there is no further attempt to forbid.
        let _ = lost();
        sent.unwrap_or_else(|error| Err(Failure::Unavailable { tried: format!("could not start a request: {error}") }))
    }

    /// Runs one exchange to its end.
    pub(super) fn block_on<T>(&self, exchange: impl Future<Output = T>) -> io::Result<T> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let result = runtime.block_on(exchange);
        // A name lookup under way cannot be stopped, and nobody waits for it.
        runtime.shutdown_background();
        Ok(result)
    }

    /// Asks until a whole reply comes; `heard` is what the reply under way has told, `lost` takes its tokens.
    async fn ask(
        &self,
        request: &Request,
        heard: &Heard,
        on_retry: &mut dyn FnMut(&str, Duration),
        lost: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<Reply, Failure> {
        let (mut body, mut headers) = self.rendered(request);
        let mut outage = Outage::new(&self.settings, request.deadline);
        if request.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(Failure::OutOfTime);
        }
        loop {
            let (began, limit) = (Instant::now(), self.head_limit(&outage));
            heard.at.take();
            let fault = match timeout(
                self.settings.idle * ANSWER_IDLES,
                self.attempt(body.clone(), headers.clone(), limit, heard),
            )
            .await
            {
                Ok(Ok(reply)) => {
                    heard.usage.take();
                    return Ok(reply);
                }
                Ok(Err(fault)) => fault,
                Err(_) => Fault::Broken(format!("no end after {:?}", self.settings.idle * ANSWER_IDLES)),
            };
            if lost().is_break() {
                return Err(Failure::Spent);
            }
            if let Some(told) = self.leave_out(&fault, request) {
                on_retry(&self.without_key(&told), Duration::ZERO);
                (body, headers) = self.rendered(request);
                continue;
            }
            if !fault.passes() {
                return Err(self.settled(fault, &request.model));
            }
            let wait = outage
                .next_wait(&fault, heard.at.get().unwrap_or(began), Instant::now(), random())
                .map_err(|failure| self.cleaned(failure))?;
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
            // The names were looked at when the client was made.
            if let Ok(betas) = HeaderValue::from_str(&betas) {
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

    async fn attempt(&self, body: Bytes, headers: HeaderMap, limit: Duration, heard: &Heard) -> Result<Reply, Fault> {
        let request = self.http.post(self.endpoint.clone()).headers(headers).body(body);
        let began = Instant::now();
        let answer = timeout(limit, request.send()).await.map_err(|_| Fault::Silent(limit))?;
        let response = answer.map_err(|error| self.connection_fault(&error))?;
        match response.status().as_u16() {
            200..=299 => self.read_reply(response, limit.saturating_sub(began.elapsed()), heard).await,
            300..=399 => Err(redirected(&response)),
            status => {
                let hints = Hints::read(|name| response.headers().get(name)?.to_str().ok(), Clock::system().now());
                let body = self.read_body(response, ERROR_LIMIT).await.unwrap_or_default();
                Err(Fault::Service { status: Some(status), error: ServiceError::from_body(&body), hints })
            }
        }
    }

    async fn read_reply(&self, response: Response, limit: Duration, heard: &Heard) -> Result<Reply, Fault> {
        let content_type = response.headers().get("content-type").and_then(|value| value.to_str().ok());
        match content_type.unwrap_or("text/event-stream") {
            kind if kind.starts_with("text/event-stream") => self.read_stream(response, limit, heard).await,
            kind if kind.starts_with("application/json") => {
                let body = self.read_body(response, REPLY_LIMIT).await?;
                let message = serde_json::from_slice(&body)
                    .map_err(|error| Fault::Broken(format!("the answer is no JSON: {error}")))?;
                stream::whole(message).map_err(broken)
            }
            kind => Err(not_the_service(format!("the answer is `{kind}`, neither an event stream nor JSON"))),
        }
    }

    async fn read_stream(&self, mut response: Response, limit: Duration, heard: &Heard) -> Result<Reply, Fault> {
        let mut reader = ReplyReader::new();
        let began = Instant::now();
        // Whatever follows `message_stop` is not waited for.
        while !reader.is_whole() {
            // Pings alone are no reply.
            let (since, limit) = match heard.at.get() {
                Some(at) => (at, self.settings.idle * PING_IDLES),
                None => (began, limit),
            };
            let chunk = timeout(limit.saturating_sub(since.elapsed()), self.chunk(&mut response)).await;
            let told_nothing =
                |_| Fault::Connection(format!("nothing of a reply came for {:.1} s", limit.as_secs_f64()));
            let chunk = chunk.map_err(told_nothing)?;
            match chunk? {
                Some(bytes) => {
                    let fed = reader.feed(&bytes);
                    heard.note(&reader);
                    fed.map_err(broken)?;
                }
                None => break,
            }
        }
        reader.finish().map_err(broken)
    }

    pub(super) async fn read_body(&self, mut response: Response, limit: usize) -> Result<Vec<u8>, Fault> {
        let mut body = Vec::new();
        while let Some(bytes) = self.chunk(&mut response).await? {
            body.extend_from_slice(&bytes);
            if body.len() > limit {
                return Err(broken(Broken::TooLarge(format!("an answer larger than {limit} bytes"))));
            }
        }
        Ok(body)
    }

    async fn chunk(&self, response: &mut Response) -> Result<Option<Bytes>, Fault> {
        let idle = self.settings.idle;
        let chunk = timeout(idle, response.chunk()).await.map_err(|_| Fault::Silent(idle))?;
        chunk.map_err(|error| Fault::Connection(format!("the connection broke within the answer: {}", cause(&error))))
    }

    fn connection_fault(&self, error: &reqwest::Error) -> Fault {
        let place = &self.settings.base_url;
        match tls::certificate_problem(error) {
            Some(problem) => Fault::Settled(Failure::Refused {
                kind: "certificate".to_owned(),
                message: format!("the certificate of `{place}` is not trusted: {problem}"),
                way_out: "check `[provider] base_url` and the machine's clock and root certificates \
                          (`SSL_CERT_FILE` names a file with more)"
                    .to_owned(),
            }),
            None if error.is_connect() => Fault::Connection(format!("could not reach `{place}`: {}", cause(error))),
            None => Fault::Connection(format!("the connection to `{place}` broke: {}", cause(error))),
        }
    }

    fn settled(&self, fault: Fault, model: &str) -> Failure {
        self.cleaned(match fault {
            Fault::Settled(failure) => failure,
            Fault::Service { status, error, .. } => Failure::of_service(status, &error, &self.settings, model),
            other => Failure::Unavailable { tried: other.to_string() },
        })
    }

    /// Takes the key out of a failure: services and proxies echo what they refuse.
    fn cleaned(&self, failure: Failure) -> Failure {
        match failure {
            Failure::Unavailable { tried } => Failure::Unavailable { tried: self.without_key(&tried) },
            Failure::Refused { kind, message, way_out } => {
                Failure::Refused { kind: self.without_key(&kind), message: self.without_key(&message), way_out }
            }
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

/// What the reply under way has told so far.
#[derive(Debug, Default)]
struct Heard {
    usage: Cell<Usage>,
    /// When it last told something that is no ping.
    at: Cell<Option<Instant>>,
    told: Cell<usize>,
}

impl Heard {
    fn note(&self, reader: &ReplyReader) {
        self.usage.set(reader.usage());
        if self.told.replace(reader.told()) != reader.told() {
            self.at.set(Some(Instant::now()));
        }
    }
}

/// Returns the address requests go to, and whether it is a loopback one.
fn endpoint(base_url: &str) -> Result<(Url, bool)> {
    let mut url = Url::parse(base_url.trim()).with_context(|| {
        format!("`[provider] base_url` is no address, such as `https://api.anthropic.com`: `{base_url}`")
    })?;
    ensure!(
        url.username().is_empty() && url.password().is_none() && url.query().is_none() && url.fragment().is_none(),
        "`[provider] base_url` must hold a host and at most a path; the key belongs into the variable `[provider] key_env` names"
    );
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let named = host == "localhost" || host.ends_with(".localhost");
    let loopback = named || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    match url.scheme() {
        "https" => {}
        "http" if loopback => {}
        "http" => bail!(
            "`[provider] base_url` would send the key unencrypted to another machine: `{base_url}`; use `https://`, \
             or a tunnel that ends at `http://127.0.0.1`"
        ),
        _ => bail!("`[provider] base_url` must begin with `https://`: `{base_url}`"),
    }
    let path = url.path().trim_end_matches('/');
    // Some gateways give their address with the version, as other clients want it.
    let path = path.strip_suffix("/v1").unwrap_or(path);
    let path = format!("{path}/v1/messages");
    url.set_path(&path);
    Ok((url, loopback))
}

fn headers(settings: &Settings, loopback: bool) -> Result<HeaderMap> {
    let variable = &settings.key_env;
    let key = match &settings.key {
        Some(key) if !key.reveal().is_empty() => key.reveal(),
        _ if loopback => NO_KEY,
        _ => bail!(
            "no key for the model service: `{variable}` is not set; set it, or see how a run looks without one by \
             `longhaul demo` or `longhaul rehearse`"
        ),
    };
    let mut key = HeaderValue::from_str(key)
        .with_context(|| format!("the key in `{variable}` holds characters that no key has; set it again"))?;
    key.set_sensitive(true);
    let value = |name: &str, value: &str| {
        HeaderValue::from_str(value)
            .with_context(|| format!("`[provider] {name}` cannot be sent as a header: `{value}`"))
    };
    let mut headers = HeaderMap::new();
    headers.insert("x-api-key", key);
    headers.insert("anthropic-version", value("version", &settings.version)?);
    if !settings.betas.is_empty() {
        headers.insert(BETAS, value("betas", &settings.betas.join(","))?);
    }
    HeaderValue::from_str(&settings.edit_betas.join(","))
        .with_context(|| format!("`[context] betas` cannot be sent as a header: {:?}", settings.edit_betas))?;
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    headers.insert("accept", HeaderValue::from_static("application/json"));
    Ok(headers)
}

fn broken(broken: Broken) -> Fault {
    match broken {
        Broken::Service(error) => Fault::Service { status: None, error, hints: Hints::default() },
        Broken::Damaged(what) => Fault::Broken(what),
        Broken::TooLarge(what) => not_the_service(what),
    }
}

fn not_the_service(message: String) -> Fault {
    Fault::Settled(Failure::Refused {
        kind: "not the Messages API".to_owned(),
        message,
        way_out: "check that `[provider] base_url` is the address of a service that speaks the Messages API".to_owned(),
    })
}

fn redirected(response: &Response) -> Fault {
    let target = response.headers().get("location").and_then(|value| value.to_str().ok());
    let host = target.and_then(|target| response.url().join(target).ok()).map(|url| url.origin().ascii_serialization());
    Fault::Settled(Failure::Refused {
        kind: "redirect".to_owned(),
        message: format!(
            "the answer is a redirect ({}) to `{}`, and the key is never sent on",
            response.status().as_u16(),
            host.unwrap_or_else(|| "nowhere".to_owned())
        ),
        way_out: "set `[provider] base_url` to the final address, if you trust it".to_owned(),
    })
}

/// Waits for a moment; without one, for ever.
async fn passed(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline.into()).await,
        None => pending().await,
    }
}

/// Returns the innermost reason, which names what the system said.
fn cause(error: &reqwest::Error) -> String {
    let mut innermost: &dyn std::error::Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

/// Returns a number in 0..1, from the randomness the standard library seeds its maps with.
fn random() -> f64 {
    let bits = RandomState::new().build_hasher().finish() >> 11;
    bits as f64 / (1_u64 << 53) as f64
}
