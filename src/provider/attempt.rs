//! One attempt: a request goes out, and its answer is read to the end, or to what is wrong with it.

use super::Told;
use super::failure::Failure;
use super::fault::Fault;
use super::hints::Hints;
use super::http::Client;
use super::http::PING_IDLES;
use super::input::read_json;
use super::stream;
use super::stream::Broken;
use super::stream::REPLY_LIMIT;
use super::stream::ReplyReader;
use super::tls;
use super::wire::ServiceError;
use crate::clock::Clock;
use crate::message::Reply;
use crate::message::Usage;
use hyper::body::Bytes;
use reqwest::Response;
use reqwest::header::HeaderMap;
use std::cell::Cell;
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::time::Duration;
use std::time::Instant;
use tokio::time::timeout;

/// No error body is read further than this.
const ERROR_LIMIT: usize = 64 << 10;

/// Hears of tokens, and says whether to ask again.
pub(super) type OnTokens<'a> = &'a mut dyn FnMut(Told) -> ControlFlow<()>;

/// What the reply under way has told so far.
pub(super) struct Heard<'a> {
    pub(super) usage: Cell<Usage>,
    on_tokens: RefCell<OnTokens<'a>>,
    /// When the request for it went out.
    pub(super) asked: Cell<Option<Instant>>,
    /// When it last told something of the reply.
    pub(super) at: Cell<Option<Instant>>,
    told: Cell<usize>,
}

impl<'a> Heard<'a> {
    pub(super) fn new(on_tokens: OnTokens<'a>) -> Self {
        Self {
            usage: Cell::default(),
            on_tokens: RefCell::new(on_tokens),
            asked: Cell::default(),
            at: Cell::default(),
            told: Cell::default(),
        }
    }

    /// Hands on what a reply had used that broke or was cut off; says whether to ask again.
    pub(super) fn lost(&self) -> ControlFlow<()> {
        let lost = Some(self.usage.take()).filter(|usage| *usage != Usage::default());
        lost.map_or(ControlFlow::Continue(()), |usage| (self.on_tokens.borrow_mut())(Told::Lost(usage)))
    }

    fn note(&self, reader: &ReplyReader) {
        let before = self.usage.replace(reader.usage());
        if before == Usage::default() && before != self.usage.get() && !reader.is_whole() {
            // At its end it is asked whether to go on.
            let _ = (self.on_tokens.borrow_mut())(Told::UnderWay(self.usage.get()));
        }
        if self.told.replace(reader.told()) != reader.told() {
            self.at.set(Some(Instant::now()));
        }
    }
}

impl Client {
    pub(super) async fn attempt(
        &self,
        body: Bytes,
        headers: HeaderMap,
        limit: Duration,
        heard: &Heard<'_>,
    ) -> Result<Reply, Fault> {
        let request = self.http.post(self.endpoint.clone()).headers(headers).body(body);
        let began = Instant::now();
        let answer = timeout(limit, request.send()).await.map_err(|_| Fault::Silent(limit))?;
        let response = answer.map_err(|error| self.connection_fault(&error))?;
        match response.status().as_u16() {
            200..=299 => self.read_reply(response, limit.saturating_sub(began.elapsed()), heard).await,
            // A network that wants a login sends elsewhere for the moment.
            302 | 303 | 307 => Err(Fault::Foreign(redirected(&response))),
            300..=399 => Err(Fault::Settled(redirected(&response))),
            status => {
                let hints = Hints::read(|name| response.headers().get(name)?.to_str().ok(), Clock::system().now());
                let is_page = media_type(&response).is_some_and(|kind| kind.starts_with("text/html"));
                let body = self.read_body(response, ERROR_LIMIT).await.unwrap_or_default();
                // The service answers in JSON; a proxy or a login on the way does not, and says nothing of the key.
                if is_page && (400..500).contains(&status) && !matches!(status, 408 | 409 | 429) {
                    let page = ServiceError::from_body(&body).message;
                    return Err(not_the_service(format!("the answer is a page, with status {status}: {page}")));
                }
                Err(Fault::Service { status: Some(status), error: ServiceError::from_body(&body), hints })
            }
        }
    }

    async fn read_reply(&self, response: Response, limit: Duration, heard: &Heard<'_>) -> Result<Reply, Fault> {
        match media_type(&response).unwrap_or_else(|| "text/event-stream".to_owned()).as_str() {
            kind if kind.starts_with("text/event-stream") => self.read_stream(response, limit, heard).await,
            kind if kind.starts_with("application/json") => {
                let body = self.read_body(response, REPLY_LIMIT).await?;
                let message =
                    read_json(&body).map_err(|error| Fault::Broken(format!("the answer is no JSON: {error}")))?;
                stream::whole(message).map_err(broken)
            }
            kind => Err(not_the_service(format!("the answer is `{kind}`, neither an event stream nor JSON"))),
        }
    }

    async fn read_stream(&self, mut response: Response, limit: Duration, heard: &Heard<'_>) -> Result<Reply, Fault> {
        let mut reader = ReplyReader::new();
        let began = Instant::now();
        // Whatever follows `message_stop` is not waited for.
        while !reader.is_whole() {
            // Pings and comments alone are no reply.
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
}

fn broken(broken: Broken) -> Fault {
    match broken {
        Broken::Service(error) => Fault::Service { status: None, error, hints: Hints::default() },
        Broken::Damaged(what) => Fault::Broken(what),
        Broken::TooLarge(what) => not_the_service(what),
    }
}

/// Returns the media type of an answer; they have no letter case.
fn media_type(response: &Response) -> Option<String> {
    let kind = response.headers().get("content-type").and_then(|value| value.to_str().ok());
    kind.map(str::to_ascii_lowercase)
}

fn not_the_service(message: String) -> Fault {
    Fault::Foreign(Failure::Refused {
        kind: "not the Messages API".to_owned(),
        message,
        way_out: "check that `[provider] base_url` is the address of a service that speaks the Messages API".to_owned(),
    })
}

fn redirected(response: &Response) -> Failure {
    let target = response.headers().get("location").and_then(|value| value.to_str().ok());
    // Its host alone would be that of the settings where only the path is another.
    let place = target.and_then(|target| response.url().join(target).ok()).map(|url| match url.path() {
        "/" | "" => url.origin().ascii_serialization(),
        path => format!("{}{path}", url.origin().ascii_serialization()),
    });
    Failure::Refused {
        kind: "redirect".to_owned(),
        message: format!(
            "the answer is a redirect ({}) to `{}`, and the key is never sent on",
            response.status().as_u16(),
            place.unwrap_or_else(|| "nowhere".to_owned())
        ),
        way_out: "set `[provider] base_url` to the final address, if you trust it".to_owned(),
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
