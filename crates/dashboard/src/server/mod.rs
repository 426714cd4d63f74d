//! HTTP server of the live view. Who may ask, and how is it answered?
//!
//! | file | question |
//! |---|---|
//! | `access.rs` | is this request from somebody who was given the address of the page? |
//! | `route.rs` | what is asked for? |
//! | `answer.rs` | what do answers consist of? |
//! | `stream.rs` | how do updates reach a browser? |
//!
//! HTTP/1.1 is hyper's. Connections are few, and each has little time to ask.

mod access;
mod answer;
mod route;
mod stream;

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

pub use access::{Token, TokenError, url};

use crate::Dashboard;
use answer::Body;
use route::Route;

/// Connections at a time; further ones wait.
const MAX_CONNECTIONS: usize = 64;

/// How long a client has for a request, also for the next one on its connection.
const REQUEST_TIME: Duration = Duration::from_secs(10);

/// Longest head of a request, in bytes.
const MAX_HEAD: usize = 8_192;

/// How long browsers have to read the end of the stream.
const FAREWELL: Duration = Duration::from_millis(300);

/// Pause after a failure to accept, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// What is served.
#[derive(Clone)]
struct Service {
    dashboard: Dashboard,
    token: Token,
    status: Arc<dyn Fn() -> String + Send + Sync>,
    closing: Closing,
}

/// The end of the program, which is awaited.
#[derive(Clone)]
struct Closing(watch::Receiver<bool>);

impl Closing {
    async fn wait(&mut self) {
        // Without its sender, the server is gone.
        let _ = self.0.wait_for(|is_closing| *is_closing).await;
    }
}

/// A running server; it ends when this is dropped.
pub struct Server {
    address: SocketAddr,
    closing: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Server {
    /// Serves `dashboard` at `address` to those who know `token`. `status` returns what `/status.json` is to be.
    ///
    /// # Errors
    ///
    /// Fails if the address cannot be listened at.
    pub async fn start(
        address: SocketAddr,
        dashboard: Dashboard,
        token: Token,
        status: impl Fn() -> String + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let (closing, closed) = watch::channel(false);
        let service = Service {
            dashboard,
            token,
            status: Arc::new(status),
            closing: Closing(closed),
        };
        let task = tokio::spawn(serve(listener, service));
        Ok(Self {
            address,
            closing,
            task,
        })
    }

    /// The address at which it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Tells browsers that this is the end, and ends.
    pub async fn close(mut self) {
        self.closing.send_replace(true);
        // A browser that does not read does not hold up the program.
        let _ = timeout(FAREWELL, &mut self.task).await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Server")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

/// Serves until the end of the program has come, and all connections have ended.
async fn serve(listener: TcpListener, service: Service) {
    let (places, mut connections) = (Arc::new(Semaphore::new(MAX_CONNECTIONS)), JoinSet::new());
    let mut closing = service.closing.clone();
    loop {
        tokio::select! {
            accepted = accept(&listener, &places) => match accepted {
                Ok((socket, place)) => {
                    let service = service.clone();
                    connections.spawn(async move { connection(socket, service, place).await });
                }
                Err(_) => sleep(ACCEPT_PAUSE).await,
            },
            Some(_) = connections.join_next() => {}
            () = closing.wait() => break,
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> io::Result<(TcpStream, OwnedSemaphorePermit)> {
    let place = Arc::clone(places).acquire_owned().await;
    let place = place.map_err(io::Error::other)?;
    let (socket, _) = listener.accept().await?;
    Ok((socket, place))
}

/// Serves one connection.
async fn connection(socket: TcpStream, service: Service, _place: OwnedSemaphorePermit) {
    // Updates are small, and each is wanted at once.
    let _ = socket.set_nodelay(true);
    let mut closing = service.closing.clone();
    let answer = service_fn(move |request: Request<Incoming>| {
        let response = service.answer(&request);
        async move { Ok::<_, Infallible>(response) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST_TIME)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(socket), answer);
    tokio::pin!(served);
    tokio::select! {
        // A client that breaks off or speaks no HTTP is not our concern.
        _ = served.as_mut() => return,
        () = closing.wait() => served.as_mut().graceful_shutdown(),
    }
    let _ = served.await;
}

impl Service {
    fn answer(&self, request: &Request<Incoming>) -> Response<Body> {
        let (method, uri, headers) = (request.method(), request.uri(), request.headers());
        match route::route(method, uri, headers, &self.token) {
            Route::Refused(status, text) => answer::refusal(status, text),
            Route::Asset(asset) => answer::asset(asset),
            Route::Metrics => answer::text(crate::metrics::MEDIA_TYPE, self.dashboard.metrics()),
            Route::Status => answer::text("application/json", (self.status)()),
            Route::Events => answer::events(stream::open(&self.dashboard, self.closing.clone())),
        }
    }
}
