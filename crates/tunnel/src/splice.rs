//! Splice: passes bytes between a socket and a connection, in both directions, without holding more than one frame each.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::time::Duration;

use anabranch::Bytes;
use bytes::{BufMut as _, BytesMut};
use rustix::net::sockopt;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::time::sleep;

use crate::frame::{LONGEST_DATA, Reason};
use crate::tunnel::Connection;

/// Reads that would get less room take a new buffer.
const SMALLEST_READ: usize = 4 << 10;

/// How long the program at the socket has to take what came before a reset.
const PATIENCE_AFTER_RESET: Duration = Duration::from_secs(10);

/// How long a socket is silent before the system asks whether its other end is still there, and how long until it asks again. A tunnel lives
/// for weeks, and connections without another end would fill it.
const KEEPALIVE: [Duration; 2] = [Duration::from_secs(600), Duration::from_secs(60)];

/// Why a direction has stopped early.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stop {
    /// The connection is over.
    Connection(Reason),
    /// The socket was reset.
    Socket(io::ErrorKind),
}

/// Passes bytes on until both directions have finished, or one end is reset; then the other is, after what was sent before. `early` was read
/// from the socket already.
///
/// # Errors
///
/// Why it ended early.
pub async fn splice(mut socket: TcpStream, connection: Connection, early: Bytes) -> Result<(), Reason> {
    // Frames are messages of SCTP: what was received is there in whole.
    let _ = socket.set_nodelay(true);
    // If it ends early, also with this program, the program at the socket must not take that for the end of the data.
    let _ = socket.set_zero_linger();
    // Without it, the connection is as good as others.
    let _ = keep_alive(&socket);
    let (reader, writer) = socket.split();
    let sends = send_all(reader, &connection, early);
    let ended = both(sends, receive_all(writer, &connection), &connection).await;
    if ended.is_ok() {
        // What is in the send buffer of the socket is delivered still.
        let _ = sockopt::set_socket_linger(&socket, None);
    }
    ended.map_err(|stop| match stop {
        Stop::Connection(reason) => reason,
        Stop::Socket(_) => Reason::Reset,
    })
}

fn keep_alive(socket: &TcpStream) -> rustix::io::Result<()> {
    let [idle, interval] = KEEPALIVE;
    sockopt::set_tcp_keepidle(socket, idle)?;
    sockopt::set_tcp_keepintvl(socket, interval)?;
    sockopt::set_socket_keepalive(socket, true)
}

/// Both directions, to the end of each.
async fn both(
    sends: impl Future<Output = Result<(), Stop>>,
    receives: impl Future<Output = Result<(), Stop>>,
    connection: &Connection,
) -> Result<(), Stop> {
    let sends = async {
        tokio::select! {
            sent = sends => sent,
            reason = connection.broken() => Err(Stop::Connection(reason)),
        }
    };
    let receives = async {
        tokio::select! {
            received = receives => received,
            reason = broken_for_long(connection) => Err(Stop::Connection(reason)),
        }
    };
    let (mut sends, mut receives) = (pin!(sends), pin!(receives));
    tokio::select! {
        sent = &mut sends => match sent {
            Ok(()) => {
                connection.finish();
                receives.await
            }
            // What the peer has sent before the reset is delivered.
            Err(stop @ Stop::Connection(_)) => receives.await.and(Err(stop)),
            Err(stop @ Stop::Socket(_)) => Err(stop),
        },
        received = &mut receives => match received {
            Ok(()) => {
                sends.await?;
                connection.finish();
                Ok(())
            }
            // What the program has sent before may say why it reads no more, such as the refusal of an upload.
            Err(stop) => {
                let sent = sends.await;
                // The system tells the reset to the writer alone; but EPIPE means that the program had ended its data in order.
                if sent.is_ok() && stop == Stop::Socket(io::ErrorKind::BrokenPipe) {
                    connection.finish();
                }
                Err(stop)
            }
        },
    }
}

/// Waits until the connection has been reset for so long that nobody will read the rest.
async fn broken_for_long(connection: &Connection) -> Reason {
    let reason = connection.broken().await;
    sleep(PATIENCE_AFTER_RESET).await;
    reason
}

/// From the socket to the peer, until the program has ended its data. The socket is read only when the connection has room.
async fn send_all(mut socket: ReadHalf<'_>, connection: &Connection, mut early: Bytes) -> Result<(), Stop> {
    while !early.is_empty() {
        let room = connection.room().await?;
        connection.send(early.split_to(room.min(early.len())));
    }
    let mut buffer = BytesMut::new();
    loop {
        let room = connection.room().await?;
        if buffer.capacity() < SMALLEST_READ {
            buffer.reserve(LONGEST_DATA);
        }
        if socket.read_buf(&mut (&mut buffer).limit(room)).await? == 0 {
            return Ok(());
        }
        connection.send(buffer.split().freeze());
    }
}

/// From the peer to the socket.
async fn receive_all(mut socket: WriteHalf<'_>, connection: &Connection) -> Result<(), Stop> {
    while let Some(data) = connection.recv().await? {
        socket.write_all(&data).await?;
        connection.read(data.len());
    }
    socket.shutdown().await?;
    Ok(())
}

impl From<Reason> for Stop {
    fn from(reason: Reason) -> Self {
        Self::Connection(reason)
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Socket(error.kind())
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn sockets_are_kept_alive() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let socket = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        keep_alive(&socket).unwrap();
        assert!(sockopt::socket_keepalive(&socket).unwrap());
        assert_eq!(sockopt::tcp_keepidle(&socket).unwrap(), KEEPALIVE[0]);
    }
}
