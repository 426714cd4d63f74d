//! Sockets for asyncio. How does an event loop of Python wait for an endpoint and its associations?
//!
//! The library runs on a tokio runtime of its own; pyo3-async-runtimes settles the event loop's futures. A task may be cancelled when the
//! library has answered already. So futures only tell that something has arrived, and Python fetches it by a call that does not wait.

use std::net::{AddrParseError, SocketAddr};
use std::num::NonZeroU64;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use anabranch::{
    Association, BindError, Bytes, ConnectError, Endpoint, Message, PathPreference, PathStatistics, Ppid,
    PrivateKey, PublicKey, ReceivedMessage, SendError, StreamId,
};
use pyo3::exceptions::{PyConnectionError, PyOSError, PyTimeoutError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use pyo3_async_runtimes::tokio::future_into_py;
use tokio::sync::Mutex;

use crate::scheduler::name_of;

/// An endpoint: local sockets, and who is trusted.
#[pyclass(frozen, module = "anabranch._native")]
pub(crate) struct NativeEndpoint {
    endpoint: Endpoint,
    accepted: Arrived<Association>,
}

/// An association between two hosts.
#[pyclass(frozen, module = "anabranch._native")]
pub(crate) struct NativeAssociation {
    association: Association,
    received: Arrived<ReceivedMessage>,
}

/// What has arrived for Python and was not fetched yet: at most one, and the others stay in the library.
struct Arrived<T>(Arc<Mutex<Option<T>>>);

/// A message that was received.
#[pyclass(frozen, get_all, module = "anabranch", name = "Message")]
pub(crate) struct MessageOfPeer {
    /// Number of the stream on which it was sent.
    stream: u16,
    /// Payload protocol identifier, a number of the application.
    ppid: u32,
    /// Whether it may have overtaken earlier messages of its stream.
    unordered: bool,
    /// The data.
    payload: Py<PyBytes>,
}

/// The state of a path of an association.
#[pyclass(frozen, get_all, module = "anabranch")]
pub(crate) struct PathStatus {
    /// Number of the path.
    id: usize,
    /// Local address, ``host:port``.
    local: String,
    /// Address of the peer, ``host:port``.
    remote: String,
    /// ``unconfirmed``, ``active``, ``potentially-failed`` or ``inactive``.
    reachability: &'static str,
    /// Whether it is active and rests: it takes no data, because a path with a smaller cost is active.
    resting: bool,
    /// What it costs, from 0 to 255: the larger one of both ends.
    cost: u8,
    /// Bytes per second that it carries at most in each direction; ``None`` without a limit.
    limit: Option<u64>,
    /// Whether it is the primary path.
    primary: bool,
    /// Smoothed round-trip time in seconds; ``None`` before the first sample.
    srtt: Option<f64>,
    /// Congestion window in bytes.
    cwnd: u64,
    /// Bytes sent and neither acknowledged nor declared lost.
    in_flight: u64,
    /// Chunks sent in total.
    sent_chunks: u64,
    /// Chunks declared lost in total.
    lost_chunks: u64,
}

/// Makes a new private key, as base64. Whoever has it can claim to be this host.
#[pyfunction]
pub(crate) fn generate_key() -> PyResult<String> {
    let key = PrivateKey::generate().map_err(|error| PyOSError::new_err(error.to_string()))?;
    Ok(key.to_base64())
}

/// The public key of a private key, both as base64.
#[pyfunction]
pub(crate) fn public_key(private_key: &str) -> PyResult<String> {
    Ok(parsed::<PrivateKey>(private_key)?.public_key().to_string())
}

/// Opens an endpoint at `local`. `trusted` has public keys; `None` trusts everyone.
#[pyfunction]
#[pyo3(signature = (local, *, identity, trusted, insecure, listens))]
pub(crate) fn bind<'py>(
    py: Python<'py>,
    local: Vec<String>,
    identity: Option<&str>,
    trusted: Option<Vec<String>>,
    insecure: bool,
    listens: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let mut builder = Endpoint::builder();
    for address in local {
        builder = builder.local(address);
    }
    if let Some(key) = identity {
        builder = builder.identity(parsed(key)?);
    }
    builder = match (insecure, trusted) {
        (true, _) => builder.insecure(),
        (false, None) => builder.trust_everyone(),
        (false, Some(keys)) => {
            let keys: Vec<PublicKey> = keys.iter().map(|key| parsed(key)).collect::<PyResult<_>>()?;
            keys.into_iter().fold(builder, |builder, key| builder.trust(key))
        }
    };
    if listens {
        builder = builder.listen();
    }
    future_into_py(py, async move {
        let bound = builder.bind().await;
        bound
            .map(NativeEndpoint::new)
            .map_err(|error: BindError| PyOSError::new_err(error.to_string()))
    })
}

impl<T> Arrived<T> {
    fn new() -> Self {
        Self(Arc::default())
    }

    /// Waits for `next` if nothing is here. Returns whether there is something to fetch; without an error that is false at the end only.
    async fn wait<E>(self, next: impl Future<Output = Result<Option<T>, E>>) -> Result<bool, E> {
        let mut place = self.0.lock().await;
        if place.is_none() {
            *place = next.await?;
        }
        Ok(place.is_some())
    }

    /// Fetches what is here. While a task waits, there is nothing.
    fn fetch(&self) -> Option<T> {
        self.0.try_lock().ok()?.take()
    }
}

impl<T> Clone for Arrived<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl NativeEndpoint {
    fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            accepted: Arrived::new(),
        }
    }
}

impl NativeAssociation {
    fn new(association: Association) -> Self {
        Self {
            association,
            received: Arrived::new(),
        }
    }
}

#[pymethods]
impl NativeEndpoint {
    #[getter]
    fn addresses(&self) -> Vec<String> {
        let addresses = self.endpoint.local_addrs();
        addresses.iter().map(SocketAddr::to_string).collect()
    }

    fn connect<'py>(&self, py: Python<'py>, peer: Vec<String>) -> PyResult<Bound<'py, PyAny>> {
        let endpoint = self.endpoint.clone();
        future_into_py(py, async move {
            let mut addresses = Vec::new();
            for name in &peer {
                let found = tokio::net::lookup_host(name).await;
                addresses.extend(found.map_err(|error| PyOSError::new_err(format!("{name}: {error}")))?);
            }
            let connected = endpoint.connect(&addresses[..]).await;
            connected
                .map(NativeAssociation::new)
                .map_err(|error| match error {
                    ConnectError::NoAnswer => PyTimeoutError::new_err(error.to_string()),
                    ConnectError::Config(_) => PyValueError::new_err(error.to_string()),
                    _ => PyConnectionError::new_err(error.to_string()),
                })
        })
    }

    /// Waits for an association to fetch; false when the endpoint is closed.
    fn wait<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (endpoint, accepted) = (self.endpoint.clone(), self.accepted.clone());
        let next = async move { Ok::<_, PyErr>(endpoint.accept().await) };
        future_into_py(py, accepted.wait(next))
    }

    /// The association that was waited for; `None` if another task has fetched it.
    fn fetch(&self) -> Option<NativeAssociation> {
        self.accepted.fetch().map(NativeAssociation::new)
    }

    fn close<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let endpoint = self.endpoint.clone();
        future_into_py(py, async move {
            endpoint.close().await;
            Ok(())
        })
    }
}

#[pymethods]
impl NativeAssociation {
    #[pyo3(signature = (payload, stream, ppid, unordered))]
    fn send<'py>(
        &self,
        py: Python<'py>,
        payload: &[u8],
        stream: u16,
        ppid: u32,
        unordered: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let association = self.association.clone();
        let message = Message {
            ppid: Ppid(ppid),
            unordered,
            ..Message::new(StreamId(stream), Bytes::copy_from_slice(payload))
        };
        future_into_py(py, async move {
            let sent = association.send(message).await;
            sent.map(drop).map_err(|error| match error {
                SendError::TooLarge { .. }
                | SendError::Empty
                | SendError::InvalidStream { .. }
                | SendError::ReservedPpid => PyValueError::new_err(error.to_string()),
                _ => PyConnectionError::new_err(error.to_string()),
            })
        })
    }

    /// Waits for a message to fetch; false after the last one.
    fn wait<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (association, received) = (self.association.clone(), self.received.clone());
        let next = async move { association.recv().await.map_err(failed) };
        future_into_py(py, received.wait(next))
    }

    /// The message that was waited for; `None` if another task has fetched it.
    fn fetch(&self, py: Python<'_>) -> Option<MessageOfPeer> {
        let message = self.received.fetch()?;
        Some(MessageOfPeer::of(py, &message))
    }

    /// Waits until everything that was sent has arrived.
    fn flushed<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let association = self.association.clone();
        future_into_py(py, async move { association.flushed().await.map_err(failed) })
    }

    fn shutdown<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let association = self.association.clone();
        future_into_py(py, async move { association.shutdown().await.map_err(failed) })
    }

    fn abort(&self, reason: &str) {
        self.association.abort(reason);
    }

    fn set_path_preference(&self, local: &str, cost: u8, limit: Option<u64>) -> PyResult<()> {
        let refused = |error: AddrParseError| PyValueError::new_err(format!("{local}: {error}"));
        let no_limit = || PyValueError::new_err("limit= is at least 1 byte per second, or None");
        let limit = limit.map(|limit| NonZeroU64::new(limit).ok_or_else(no_limit));
        let preference = PathPreference {
            cost,
            limit: limit.transpose()?,
        };
        let local = local.parse().map_err(refused)?;
        self.association.set_path_preference(local, preference);
        Ok(())
    }

    #[getter]
    fn is_closed(&self) -> bool {
        self.association.is_closed()
    }

    #[getter]
    fn peer_key(&self) -> Option<String> {
        let peer = self.association.peer_identity()?;
        peer.public_key().map(|key| key.to_string())
    }

    #[getter]
    fn paths(&self) -> Vec<PathStatus> {
        let statistics = self.association.statistics();
        statistics.paths.iter().map(PathStatus::of).collect()
    }
}

impl MessageOfPeer {
    fn of(py: Python<'_>, message: &ReceivedMessage) -> Self {
        Self {
            stream: message.stream.0,
            ppid: message.ppid.0,
            unordered: message.unordered,
            payload: PyBytes::new(py, &message.payload).unbind(),
        }
    }
}

#[pymethods]
impl MessageOfPeer {
    fn __repr__(&self, py: Python<'_>) -> String {
        let bytes = self.payload.bind(py).as_bytes().len();
        format!("<anabranch.Message of {bytes} bytes on stream {}>", self.stream)
    }
}

impl PathStatus {
    fn of(path: &PathStatistics) -> Self {
        Self {
            id: path.id.index(),
            local: path.addr.local.to_string(),
            remote: path.addr.remote.to_string(),
            reachability: name_of(path.reachability),
            resting: path.resting,
            cost: path.preference.cost,
            limit: path.preference.limit.map(u64::from),
            primary: path.primary,
            srtt: path.srtt.as_ref().map(Duration::as_secs_f64),
            cwnd: path.cwnd,
            in_flight: path.in_flight,
            sent_chunks: path.sent_chunks,
            lost_chunks: path.lost_chunks,
        }
    }
}

#[pymethods]
impl PathStatus {
    fn __repr__(&self) -> String {
        let Self {
            local,
            remote,
            reachability,
            ..
        } = self;
        format!("<anabranch.PathStatus {local} to {remote}: {reachability}>")
    }
}

/// A key from base64.
fn parsed<K: FromStr<Err: std::fmt::Display>>(text: &str) -> PyResult<K> {
    text.trim()
        .parse()
        .map_err(|error: K::Err| PyValueError::new_err(error.to_string()))
}

fn failed(error: impl std::fmt::Display) -> PyErr {
    PyConnectionError::new_err(error.to_string())
}
