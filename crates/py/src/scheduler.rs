//! Path schedulers written in Python. How does the core ask an object of the interpreter?

use core::sync::atomic::{AtomicBool, Ordering};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anabranch::OwnPolicies;
use anabranch::policy::{self, Instant, PathScheduler, Pick, Policy, Reachability, may_carry_data};
use anabranch_types::PathId;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyList;

/// What a scheduler knows of a path. Sizes are in bytes of chunks, times in nanoseconds.
#[pyclass(frozen, get_all, module = "anabranch")]
pub(crate) struct PathFacts {
    /// Number of the path; the primary path of a plan is 0.
    id: usize,
    /// Whether a packet of new data may be sent on it now.
    can_take_data: bool,
    /// Bytes that congestion window, burst limit and buffer share allow to be sent now.
    sendable: u64,
    /// ``unconfirmed``, ``active``, ``potentially-failed`` or ``inactive``.
    reachability: &'static str,
    /// Whether it is the primary path.
    primary: bool,
    /// Whether fast recovery is under way.
    in_recovery: bool,
    /// Number of consecutive errors.
    errors: u16,
    /// Largest DATA chunk that fits a packet, header included.
    max_data_chunk: u16,
    /// Smoothed round-trip time; ``None`` before the first sample.
    srtt: Option<u64>,
    /// Variation of the round-trip time.
    rttvar: u64,
    /// Smallest round-trip time seen; ``None`` before the first sample.
    min_rtt: Option<u64>,
    /// Retransmission timeout.
    rto: u64,
    /// Congestion window.
    cwnd: u64,
    /// Slow-start threshold; ``2**64 - 1`` while unset.
    ssthresh: u64,
    /// Pacing rate in bytes per second; ``None`` without pacing.
    pacing_rate: Option<u64>,
    /// Bytes sent and neither acknowledged nor declared lost.
    in_flight: u64,
    /// Bytes sent and still in the send buffer.
    queued: u64,
    /// Chunks sent in total.
    sent_chunks: u64,
    /// Chunks declared lost in total.
    lost_chunks: u64,
    /// Smoothed loss rate in millionths.
    loss_per_million: u32,
}

impl PathFacts {
    fn of(path: &policy::PathFacts, all: &[policy::PathFacts]) -> Self {
        Self {
            id: path.id.index(),
            can_take_data: path.sendable > 0 && may_carry_data(path, all),
            sendable: path.sendable,
            reachability: name_of(path.reachability),
            primary: path.primary,
            in_recovery: path.in_recovery,
            errors: path.errors,
            max_data_chunk: path.max_data_chunk,
            srtt: path.srtt().map(nanos),
            rttvar: nanos(path.rttvar()),
            min_rtt: path.min_rtt().map(nanos),
            rto: nanos(path.rto()),
            cwnd: path.cwnd,
            ssthresh: path.ssthresh,
            pacing_rate: path.pacing_rate.map(u64::from),
            in_flight: path.in_flight,
            queued: path.queued,
            sent_chunks: path.sent_chunks,
            lost_chunks: path.lost_chunks,
            loss_per_million: path.loss_per_million,
        }
    }
}

/// The name of a path's state.
pub(crate) const fn name_of(reachability: Reachability) -> &'static str {
    match reachability {
        Reachability::Unconfirmed => "unconfirmed",
        Reachability::Active => "active",
        Reachability::PotentiallyFailed => "potentially-failed",
        Reachability::Inactive => "inactive",
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[pymethods]
impl PathFacts {
    fn __repr__(&self) -> String {
        let Self {
            id, sendable, cwnd, ..
        } = self;
        format!("<anabranch.PathFacts of path {id}: {sendable} of {cwnd} bytes can be sent>")
    }
}

/// Data queued for its first transmission. Sizes are in bytes.
#[pyclass(frozen, get_all, module = "anabranch")]
pub(crate) struct Backlog {
    /// Payload not yet sent.
    unsent_bytes: u64,
    /// Bytes that the peer's receive window takes now.
    peer_window: u64,
    /// Bytes that may be outstanding above the cumulative TSN.
    send_window: u64,
}

/// What a scheduler raised, and the request to stop that follows.
#[derive(Clone, Debug)]
pub(crate) struct Raised {
    error: Arc<Mutex<Option<PyErr>>>,
    stop: Arc<AtomicBool>,
}

impl Raised {
    pub(crate) fn new(stop: Arc<AtomicBool>) -> Self {
        let error = Arc::default();
        Self { error, stop }
    }

    /// The first error, once.
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn set(&self, error: PyErr) {
        let mut first = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        // The runs end soon; what they still raise says nothing new.
        if !self.stop.swap(true, Ordering::Relaxed) {
            *first = Some(error);
        }
    }
}

/// The schedulers of some series: functions that make one for each end of each association.
pub(crate) fn own_policies(
    schedulers: BTreeMap<String, Py<PyAny>>,
    raised: &Raised,
) -> BTreeMap<String, OwnPolicies> {
    let own = |(series, make): (String, Py<PyAny>)| {
        let raised = raised.clone();
        let replace = OwnPolicies::new(move |policies| {
            let made = Python::attach(|py| PythonScheduler::new(&make.call0(py)?.into_bound(py), &raised));
            match made {
                Ok(scheduler) => policies.path_scheduler = Box::new(scheduler),
                Err(error) => raised.set(error),
            }
        });
        (series, replace)
    };
    schedulers.into_iter().map(own).collect()
}

/// A Python object with `pick(paths, backlog, now)`, and perhaps `on_sent(path, size, now)`.
#[derive(Debug)]
struct PythonScheduler {
    pick: Py<PyAny>,
    on_sent: Option<Py<PyAny>>,
    raised: Raised,
}

impl PythonScheduler {
    fn new(object: &Bound<'_, PyAny>, raised: &Raised) -> PyResult<Self> {
        let on_sent = object.getattr_opt("on_sent")?;
        Ok(Self {
            pick: object.getattr("pick")?.unbind(),
            on_sent: on_sent.map(Bound::unbind),
            raised: raised.clone(),
        })
    }

    fn ask(&self, paths: &[policy::PathFacts], backlog: &policy::Backlog, now: Instant) -> PyResult<Pick> {
        Python::attach(|py| {
            let facts = paths
                .iter()
                .map(|path| Bound::new(py, PathFacts::of(path, paths)));
            let facts = PyList::new(py, facts.collect::<PyResult<Vec<_>>>()?)?;
            let backlog = Backlog {
                unsent_bytes: backlog.unsent_bytes,
                peer_window: backlog.peer_window,
                send_window: backlog.send_window,
            };
            let picked: Option<usize> = self
                .pick
                .bind(py)
                .call1((facts, backlog, now.as_nanos()))?
                .extract()?;
            match picked {
                None => Ok(Pick::Wait { until: None }),
                Some(id) => paths
                    .iter()
                    .find(|path| path.id.index() == id)
                    .map(|path| Pick::On(path.id))
                    .ok_or_else(|| {
                        PyValueError::new_err(format!("pick() returned {id}, which is not the id of a path"))
                    }),
            }
        })
    }
}

impl Policy for PythonScheduler {
    fn name(&self) -> &'static str {
        "python"
    }
}

impl PathScheduler for PythonScheduler {
    fn pick(&mut self, paths: &[policy::PathFacts], backlog: &policy::Backlog, now: Instant) -> Pick {
        self.ask(paths, backlog, now).unwrap_or_else(|error| {
            self.raised.set(error);
            Pick::Wait { until: None }
        })
    }

    fn on_sent(&mut self, path: PathId, bytes: u64, now: Instant) {
        let Some(on_sent) = &self.on_sent else {
            return;
        };
        let told = Python::attach(|py| on_sent.call1(py, (path.index(), bytes, now.as_nanos())).map(drop));
        if let Err(error) = told {
            self.raised.set(error);
        }
    }
}
