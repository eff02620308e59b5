//! The scripted model behind a real HTTP server on loopback.
//!
//! It speaks the Messages API as the client sees it and checks each request; what it says comes from a [`Script`].

use super::error_type::kind_of_status;
use super::played;
use super::played::Ids;
use super::script::Asker;
use super::script::Place;
use super::script::Script;
use super::script::Step;
use super::script::StepFault;
use super::validate;
use super::validate::Facts;
use anyhow::Context;
use anyhow::Result;
use http_body_util::BodyExt;
use http_body_util::Limited;
use http_body_util::StreamBody;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::Request;
use hyper::Response;
use hyper::body::Bytes;
use hyper::body::Frame;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use serde_json::json;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::Condvar;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::oneshot;

/// The largest request the service takes.
const REQUEST_LIMIT: usize = 32 << 20;

type Body = UnsyncBoxBody<Bytes, io::Error>;

/// A running scripted model; dropping it stops it.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    script: Script,
    /// What is said beside the sessions.
    aside: Script,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    place: Place,
    place_aside: Place,
    ids: Ids,
    /// Size in tokens of the newest prompt of this session.
    before: u64,
    requests: Vec<Value>,
    rejected: Vec<String>,
    exhausted: bool,
    /// Numbers of the requests whose reply fell silent, in order.
    held: Vec<usize>,
}

impl Server {
    /// Starts to play a script on a free port.
    pub fn start(script: Script) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").context("could not open a port on loopback")?;
        listener.set_nonblocking(true).context("could not set up the port on loopback")?;
        let address = listener.local_addr().context("could not read the port on loopback")?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("could not start the scripted model")?;
        let ids = Ids::new(std::process::id() ^ u32::from(address.port()) << 16);
        let aside = script.aside();
        let shared = Arc::new(Shared { script, aside, state: Mutex::new(State::new(ids)), changed: Condvar::new() });
        let (stop, stopped) = oneshot::channel();
        let serving = serve(listener, shared.clone());
        let thread = std::thread::Builder::new().name("scripted model".to_owned()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = stopped => {}
                    () = serving => {}
                }
            });
        });
        let thread = thread.context("could not start the scripted model")?;
        Ok(Self { address, shared, stop: Some(stop), thread: Some(thread) })
    }

    /// Returns the address a client is given as `base_url`.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the bodies of all requests for a reply, in order, the rejected ones too.
    pub fn requests(&self) -> Vec<Value> {
        self.shared.state().requests.clone()
    }

    /// Returns what was wrong with requests.
    pub fn rejected(&self) -> Vec<String> {
        self.shared.state().rejected.clone()
    }

    /// Tells whether a request found no reply left.
    pub fn exhausted(&self) -> bool {
        self.shared.state().exhausted
    }

    /// Counts the replies nobody asked for.
    pub fn unplayed(&self) -> usize {
        self.shared.state().place.unplayed(&self.shared.script)
    }

    /// Waits until this many replies have fallen silent, at most as long as given. Returns the number of the request
    /// that waits in the newest of these silences, counted from 1.
    pub fn wait_until_held(&self, count: usize, limit: Duration) -> Option<usize> {
        let waiting = |state: &mut State| state.held.len() < count;
        let waited = self.shared.changed.wait_timeout_while(self.shared.state(), limit, waiting);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.held.get(count.checked_sub(1)?).copied()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            stop.send(()).ok();
        }
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

impl State {
    fn new(ids: Ids) -> Self {
        Self {
            place: Place::default(),
            place_aside: Place::default(),
            ids,
            before: 0,
            requests: Vec::new(),
            rejected: Vec::new(),
            exhausted: false,
            held: Vec::new(),
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stays silent, and lets those who wait for it know.
    async fn hold(&self, (number, asker): (usize, Asker), silence: Duration) {
        if silence.is_zero() {
            return;
        }
        self.state().held.push(number);
        self.changed.notify_all();
        tokio::time::sleep(silence).await;
        match asker {
            Asker::Agent => self.state().place.silence_ended(),
            Asker::Side => self.state().place_aside.silence_ended(),
        }
    }
}

async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
        return;
    };
    loop {
        let Ok((connection, _)) = listener.accept().await else {
            // Out of descriptors: some are free again in a moment.
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        let shared = shared.clone();
        let service = service_fn(move |request| answer(request, shared.clone()));
        tokio::spawn(hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(connection), service));
    }
}

async fn answer(request: Request<Incoming>, shared: Arc<Shared>) -> Result<Response<Body>, Infallible> {
    Ok(match respond(request, &shared).await {
        Ok(response) => response,
        Err(refusal) => {
            shared.state().rejected.push(refusal.message.clone());
            refusal.response()
        }
    })
}

/// An answer with an error.
struct Refusal {
    status: u16,
    kind: String,
    message: String,
    code: Option<String>,
    headers: Vec<(String, String)>,
}

impl Refusal {
    fn new(status: u16, message: impl Into<String>) -> Self {
        let kind = kind_of_status(status).to_owned();
        Self { status, kind, message: message.into(), code: None, headers: Vec::new() }
    }

    fn response(self) -> Response<Body> {
        let mut body =
            json!({"type": "error", "error": {"type": self.kind, "message": self.message}, "request_id": null});
        if let Some(code) = &self.code {
            body["error"]["details"] = json!({"error_code": code});
        }
        let mut response = Response::builder().status(self.status).header("content-type", "application/json");
        for (name, value) in &self.headers {
            response = response.header(name, value);
        }
        // Status and headers were checked when the script was read.
        response.body(whole(&body)).unwrap_or_default()
    }
}

async fn respond(request: Request<Incoming>, shared: &Arc<Shared>) -> Result<Response<Body>, Refusal> {
    let counting = match (request.method().as_str(), request.uri().path()) {
        ("POST", "/v1/messages") => false,
        ("POST", "/v1/messages/count_tokens") => true,
        (method, path) => return Err(Refusal::new(404, format!("the scripted model has no {method} {path}"))),
    };
    let key = key(&request).ok_or_else(|| Refusal::new(401, "x-api-key header is required"))?;
    if !request.headers().contains_key("anthropic-version") {
        return Err(Refusal::new(400, "anthropic-version: header is required"));
    }
    let betas = request.headers().contains_key("anthropic-beta");
    let bytes = Limited::new(request.into_body(), REQUEST_LIMIT).collect().await;
    let bytes = bytes.map_err(|_| Refusal::new(413, "Request exceeds the maximum size"))?.to_bytes();
    let body: Value = serde_json::from_slice(&bytes)
        .map_err(|error| Refusal::new(400, format!("The request body is not valid JSON: {error}")))?;
    if !counting {
        shared.state().requests.push(body.clone());
    }
    validate::request(&body, Facts { key: &key, counting, betas }).map_err(|message| Refusal::new(400, message))?;
    if counting {
        return Ok(Response::new(whole(&json!({"input_tokens": played::prompt_tokens(&body)}))));
    }
    play(&body, shared).await
}

fn key(request: &Request<Incoming>) -> Option<String> {
    let header = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok());
    let bearer = header("authorization").and_then(|value| value.strip_prefix("Bearer "));
    header("x-api-key").or(bearer).filter(|key| !key.is_empty()).map(str::to_owned)
}

/// One reply on its way.
struct Playing {
    step: Step,
    message: Value,
    /// The number of the request, from 1, and whose it is.
    request: (usize, Asker),
}

fn begin(body: &Value, shared: &Shared) -> Result<Playing, Refusal> {
    let mut state = shared.state();
    let state = &mut *state;
    let asker = Asker::of(body);
    let (step, before) = match asker {
        Asker::Agent => step(body, shared, state)?,
        // Who has nothing to say there stays silent, since most scripts know nothing of it.
        Asker::Side => {
            let next = state.place_aside.next(&shared.aside, &body["messages"]);
            (next.map(|(step, _)| step.clone()).unwrap_or_default(), 0)
        }
    };
    let message = played::message(&step, body, before, &mut state.ids);
    Ok(Playing { step, message, request: (state.requests.len(), asker) })
}

/// Returns the next reply of a session, and the size in tokens of the prompt before.
fn step(body: &Value, shared: &Shared, state: &mut State) -> Result<(Step, u64), Refusal> {
    let (step, had) = match state.place.next(&shared.script, &body["messages"]) {
        Ok(next) => next,
        Err(message) => {
            state.exhausted = true;
            return Err(Refusal::new(400, message));
        }
    };
    let before = if had == 0 { 0 } else { state.before };
    state.before = played::prompt_tokens(body);
    Ok((step.clone(), before))
}

async fn play(body: &Value, shared: &Arc<Shared>) -> Result<Response<Body>, Refusal> {
    let playing = begin(body, shared)?;
    let silence = playing.step.silence;
    if let Some(StepFault::Status { status, headers, error }) = playing.step.fault {
        shared.hold(playing.request, silence).await;
        let refusal = Refusal {
            status,
            kind: error.kind.unwrap_or_else(|| kind_of_status(status).to_owned()),
            message: error.message.unwrap_or_else(|| "a fault of the script".to_owned()),
            code: error.code,
            headers,
        };
        // It is what the script wants, so it is no rejected request.
        return Ok(refusal.response());
    }
    let streams = body["stream"] == true;
    let mut frames: VecDeque<Bytes> = match streams {
        true => played::events(&playing.message).iter().map(|event| Bytes::from(played::frame(event))).collect(),
        false => [Bytes::from(playing.message.to_string())].into(),
    };
    let cut = match playing.step.fault {
        Some(StepFault::Cut(events)) => {
            // However late the cut, the reply does not become whole.
            frames.truncate(events.min(frames.len() - 1));
            true
        }
        _ => false,
    };
    let kind = if streams { "text/event-stream; charset=utf-8" } else { "application/json" };
    let body = Sending { frames, silence, request: playing.request, cut, began: false, shared: shared.clone() }.body();
    Ok(Response::builder().header("content-type", kind).body(body).unwrap_or_default())
}

/// The frames of a reply that are still to be sent.
struct Sending {
    frames: VecDeque<Bytes>,
    silence: Duration,
    request: (usize, Asker),
    cut: bool,
    began: bool,
    shared: Arc<Shared>,
}

impl Sending {
    fn body(self) -> Body {
        StreamBody::new(futures_util::stream::unfold(self, Self::next)).boxed_unsync()
    }

    async fn next(mut self) -> Option<(io::Result<Frame<Bytes>>, Self)> {
        // Lets the server send what it has, so that a cut comes after the events before it.
        tokio::task::yield_now().await;
        // The silence comes after the first event: the client has begun to read.
        if std::mem::replace(&mut self.began, true) || self.frames.len() < 2 {
            self.shared.hold(self.request, std::mem::take(&mut self.silence)).await;
        }
        match self.frames.pop_front() {
            Some(frame) => Some((Ok(Frame::data(frame)), self)),
            None if std::mem::take(&mut self.cut) => Some((Err(io::Error::other("cut by the script")), self)),
            None => None,
        }
    }
}

fn whole(body: &Value) -> Body {
    let bytes = Bytes::from(body.to_string());
    http_body_util::Full::new(bytes).map_err(|never| match never {}).boxed_unsync()
}
