//! Splice: passes bytes between a socket and a connection, in both directions, without holding more than one frame each.

use anabranch::Bytes;
use bytes::{BufMut as _, BytesMut};
use rustix::net::sockopt;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};

use crate::frame::{LONGEST_DATA, Reason};
use crate::tunnel::Connection;

/// Reads that would get less room take a new buffer.
const SMALLEST_READ: usize = 4 << 10;

/// Passes bytes on until both directions have finished, or one end is reset; then the other is. `early` was read from the socket already.
///
/// # Errors
///
/// Why it ended early.
pub async fn splice(mut socket: TcpStream, connection: Connection, early: Bytes) -> Result<(), Reason> {
    // Frames are messages of SCTP: what was received is there in whole.
    let _ = socket.set_nodelay(true);
    // If it ends early, also with this program, the program at the socket must not take that for the end of the data.
    let _ = socket.set_zero_linger();
    let (reader, writer) = socket.split();
    let both = async {
        tokio::try_join!(
            send_all(reader, &connection, early),
            receive_all(writer, &connection)
        )
    };
    let ended = tokio::select! {
        ended = both => ended.map(|_| ()),
        reason = connection.broken() => Err(reason),
    };
    if ended.is_ok() {
        // What is in the send buffer of the socket is delivered still.
        let _ = sockopt::set_socket_linger(&socket, None);
    }
    ended
}

/// From the socket to the peer. It is read only when the connection has room.
async fn send_all(mut socket: ReadHalf<'_>, connection: &Connection, mut early: Bytes) -> Result<(), Reason> {
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
        let read = socket.read_buf(&mut (&mut buffer).limit(room)).await;
        if read.map_err(|_| Reason::Reset)? == 0 {
            connection.finish();
            return Ok(());
        }
        connection.send(buffer.split().freeze());
    }
}

/// From the peer to the socket.
async fn receive_all(mut socket: WriteHalf<'_>, connection: &Connection) -> Result<(), Reason> {
    while let Some(data) = connection.recv().await? {
        socket.write_all(&data).await.map_err(|_| Reason::Reset)?;
        connection.read(data.len());
    }
    socket.shutdown().await.map_err(|_| Reason::Reset)
}
