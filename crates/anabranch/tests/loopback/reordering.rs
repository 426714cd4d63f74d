//! Sealed associations over a link that reorders packets.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use anabranch::io::{Incoming, Outgoing, Socket};
use anabranch::{Endpoint, PathAddr, PrivateKey};

use crate::common::{in_time, join};

/// First byte of Handshake packets (docs/sealed-datagrams.md); that of data packets is below 128.
const HANDSHAKE: u8 = 0x85;

/// A socket whose Handshake packets are overtaken by the data packets that follow them.
#[derive(Debug)]
struct Reordering {
    socket: Arc<dyn Socket>,
    late: Mutex<Vec<(PathAddr, Vec<u8>)>>,
    /// Lengths of the data packets that were sent.
    lengths: Arc<Mutex<Vec<usize>>>,
}

impl Socket for Reordering {
    fn local_addr(&self) -> SocketAddr {
        self.socket.local_addr()
    }

    fn max_segments(&self) -> usize {
        1
    }

    fn try_send(&self, outgoing: &Outgoing<'_>) -> io::Result<()> {
        let first = outgoing.bytes[0];
        if first == HANDSHAKE {
            let late = (outgoing.path, outgoing.bytes.to_vec());
            self.late.lock().unwrap().push(late);
            return Ok(());
        }
        self.socket.try_send(outgoing)?;
        if first < 128 {
            self.lengths.lock().unwrap().push(outgoing.bytes.len());
            for (path, bytes) in self.late.lock().unwrap().drain(..) {
                let bytes = &bytes[..];
                self.socket.try_send(&Outgoing {
                    path,
                    bytes,
                    ..*outgoing
                })?;
            }
        }
        Ok(())
    }

    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket.poll_writable(cx)
    }

    fn poll_receive(&self, cx: &mut Context<'_>, incoming: &mut [Incoming]) -> Poll<io::Result<usize>> {
        self.socket.poll_receive(cx, incoming)
    }
}

#[tokio::test]
async fn init_that_overtakes_the_end_of_the_handshake_is_sent_once() {
    in_time(async {
        let key = PrivateKey::generate().unwrap();
        let server = Endpoint::builder().local("127.0.0.1:0").identity(key.clone());
        let server = server.trust_everyone().listen().bind().await.unwrap();
        let lengths = Arc::default();
        let socket = Reordering {
            socket: anabranch::udp_socket("127.0.0.2:0".parse().unwrap()).unwrap(),
            late: Mutex::default(),
            lengths: Arc::clone(&lengths),
        };
        let client = Endpoint::builder()
            .socket(Arc::new(socket))
            .trust(key.public_key());
        let client = client.bind().await.unwrap();
        join(&client, &server).await;
        let lengths = lengths.lock().unwrap();
        let inits = lengths.iter().filter(|length| **length == lengths[0]).count();
        assert_eq!(inits, 1, "{lengths:?}");
    })
    .await;
}
