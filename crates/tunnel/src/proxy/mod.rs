//! Proxies: what programs on this host connect to. Each connection that they accept becomes one of the tunnel.

mod associate;
mod connect;
mod socks5;

use std::convert::Infallible;
use std::io;
use std::time::Duration;

use anabranch::Bytes;
use bytes::BytesMut;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use self::associate::Association;
use crate::class::{Class, Classes, Traffic};
use crate::datagram::{Datagram, DatagramKind};
use crate::flows::{Flow, Flows};
use crate::frame::Reason;
use crate::splice::splice;
use crate::target::{Host, Target};
use crate::tunnel::{Connection, Tunnel};

/// Connections that a proxy serves at the same time; others wait to be accepted.
const MAX_CONNECTIONS: usize = 1_024;

/// How long a program has to say where it wants to, and to take a refusal.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a tunnel that is down has to come up, before a program is told.
const PATIENCE_WITH_TUNNEL: Duration = Duration::from_secs(5);

/// How long the far side has to answer. It gives up a target earlier.
const PATIENCE_WITH_TARGET: Duration = Duration::from_secs(30);

/// Longest request.
const LONGEST_REQUEST: usize = 16 << 10;

/// Pause after the system had no descriptor for another connection.
const PAUSE: Duration = Duration::from_millis(100);

/// How a program says where it wants to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Proxy {
    /// By SOCKS5 (RFC 1928), without authentication.
    Socks5,
    /// By CONNECT of HTTP (RFC 9110 §9.3.6).
    HttpConnect,
    /// Not at all: all connections lead there.
    Forward(Target),
}

/// The way to a peer: its tunnel, whenever there is one.
#[derive(Clone, Debug)]
pub struct Route {
    tunnel: watch::Receiver<Option<Tunnel>>,
    flows: Flows,
    classes: Classes,
}

impl Route {
    /// The way by the tunnel that is there at the time. What comes back of its flows is to be [delivered](Flows::deliver) to `flows`, and
    /// `classes` sorts what begins.
    #[must_use]
    pub const fn new(tunnel: watch::Receiver<Option<Tunnel>>, flows: Flows, classes: Classes) -> Self {
        Self {
            tunnel,
            flows,
            classes,
        }
    }

    /// A new flow; see [`Flows::begin`].
    pub(crate) fn begin(&self, receiver: mpsc::Sender<Datagram>) -> Option<Flow> {
        self.flows.begin(receiver)
    }

    /// Sends a datagram of a flow, which may have had a DSCP. Without a tunnel it is lost.
    pub(crate) fn send(
        &self,
        flow: &Flow,
        (kind, dscp): (DatagramKind, Option<u8>),
        (host, port): (Host, u16),
        payload: Bytes,
    ) {
        let is_tcp = false;
        let (class, redundant) = self
            .classes
            .of_datagram(Traffic { is_tcp, port, dscp }, payload.len());
        let tunnel = self.tunnel.borrow().clone();
        if let Some(tunnel) = tunnel {
            let flow = tunnel.number_of(flow);
            tunnel.send_datagram(&Datagram {
                flow,
                kind,
                host,
                port,
                class,
                redundant,
                payload,
            });
        }
    }

    /// A connection to `target` that the target has accepted. Waits a little for a tunnel if none is up, or if it turns out to be over:
    /// nothing was sent yet. The packet that asked for it may have had a DSCP.
    pub(crate) async fn open(mut self, target: Target, dscp: Option<u8>) -> Result<Connection, Reason> {
        let (is_tcp, port) = (true, target.port);
        let class = self.classes.of(Traffic { is_tcp, port, dscp });
        let until = Instant::now() + PATIENCE_WITH_TUNNEL;
        loop {
            let is_up = |tunnel: &Option<Tunnel>| tunnel.as_ref().is_some_and(|tunnel| !tunnel.is_over());
            let tunnel = match timeout_at(until, self.tunnel.wait_for(is_up)).await {
                Ok(Ok(tunnel)) => tunnel.clone().ok_or(Reason::Down)?,
                Ok(Err(_)) | Err(_) => return Err(Reason::Down),
            };
            match open_through(&tunnel, target.clone(), class).await {
                Err(Reason::Down) if tunnel.is_over() => {}
                opened => return opened,
            }
        }
    }
}

async fn open_through(tunnel: &Tunnel, target: Target, class: Option<Class>) -> Result<Connection, Reason> {
    let connection = tunnel.open(target, class)?;
    let opened = timeout(PATIENCE_WITH_TARGET, connection.opened()).await;
    opened.unwrap_or(Err(Reason::TimedOut))?;
    Ok(connection)
}

/// Serves the programs that connect to `listener`, until dropped.
pub async fn serve(listener: TcpListener, proxy: Proxy, route: Route) -> Infallible {
    let mut programs = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept(), if programs.len() < MAX_CONNECTIONS => match accepted {
                Ok((socket, _)) => {
                    let (proxy, route) = (proxy.clone(), route.clone());
                    programs.spawn(async move {
                        // Whatever went wrong, the program was told as far as it listens.
                        let _ = serve_program(socket, proxy, route).await;
                    });
                }
                Err(_) => sleep(PAUSE).await,
            },
            Some(_) = programs.join_next() => {}
        }
    }
}

async fn serve_program(mut socket: TcpStream, proxy: Proxy, route: Route) -> io::Result<()> {
    let wanted = match proxy {
        Proxy::Socks5 => timeout(PATIENCE, socks5::negotiate(&mut socket)).await??,
        Proxy::HttpConnect => {
            let request = timeout(PATIENCE, connect::negotiate(&mut socket)).await??;
            request.map(Wanted::Connection)
        }
        Proxy::Forward(target) => {
            // A program that speaks to the target already is told by a reset, not by the end of the data, if there is no connection.
            socket.set_zero_linger()?;
            Some(Wanted::Connection(Request {
                target,
                early: Bytes::new(),
                answer: |_| Vec::new(),
            }))
        }
    };
    match wanted {
        Some(Wanted::Connection(request)) => connect(socket, request, route).await,
        Some(Wanted::Datagrams(association)) => association.relay(&mut socket, &route).await,
        None => Ok(()),
    }
}

/// Connects a program to the target of its request.
async fn connect(mut socket: TcpStream, request: Request, route: Route) -> io::Result<()> {
    let Request {
        target,
        early,
        answer,
    } = request;
    match route.open(target, None).await {
        Ok(connection) => {
            socket.write_all(&answer(Ok(()))).await?;
            // The program was told by a reset.
            let _ = splice(socket, connection, early).await;
        }
        Err(reason) => match answer(Err(reason)) {
            // A forward. The end of the data, which comes before the reset otherwise, would look like an empty answer of the target.
            text if text.is_empty() => drop(socket),
            text => tell_last(&mut socket, &text).await?,
        },
    }
    Ok(())
}

/// Tells a program `text`, and nothing more. A socket that is closed with something unread is reset, and the program might not get the text.
/// So what it sends still is read, for a while.
async fn tell_last(socket: &mut TcpStream, text: &[u8]) -> io::Result<()> {
    let told = async {
        socket.write_all(text).await?;
        socket.shutdown().await?;
        tokio::io::copy(socket, &mut tokio::io::sink()).await
    };
    timeout(PATIENCE, told).await?.map(drop)
}

/// What a program wants.
#[derive(Debug)]
enum Wanted {
    Connection(Request),
    /// It was told the place already.
    Datagrams(Association),
}

/// A connection that a program wants, and how it is told what became of it.
#[derive(Debug)]
struct Request {
    target: Target,
    /// What it sent after the request.
    early: Bytes,
    answer: fn(Result<(), Reason>) -> Vec<u8>,
}

/// What a program sends at first, as far as it has arrived.
#[derive(Debug, Default)]
struct Head(BytesMut);

impl Head {
    /// Reads until `parse` finds a whole message at the beginning, which it returns with its length.
    async fn read<T, E>(
        &mut self,
        socket: &mut TcpStream,
        parse: impl Fn(&[u8]) -> Result<Option<(T, usize)>, E>,
    ) -> io::Result<Result<T, E>> {
        loop {
            match parse(&self.0) {
                Ok(Some((found, length))) => {
                    let _ = self.0.split_to(length);
                    return Ok(Ok(found));
                }
                Ok(None) if self.0.len() > LONGEST_REQUEST => return Err(io::ErrorKind::InvalidData.into()),
                Ok(None) => {}
                Err(error) => return Ok(Err(error)),
            }
            if socket.read_buf(&mut self.0).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}
