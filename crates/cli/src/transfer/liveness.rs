//! Liveness detection. Is the peer still reachable? It is as long as packets of any kind arrive.
//!
//! SCTP itself gives up only after many retransmission timeouts with exponential backoff, which can take minutes, and a
//! receiver that sends nothing would wait forever. The sending side therefore sends [`Control::Alive`] when it has
//! nothing else to send. Each side then receives a packet at least every [`PULSE`], even if only an acknowledgement. If
//! a full send buffer prevents this, heartbeats probe the peer.

use std::convert::Infallible;
use std::time::Duration;

use anabranch::Association;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use super::control::Control;
use super::error::Lost;

/// Interval between keep-alive messages of the sender.
pub(super) const PULSE: Duration = Duration::from_secs(1);

/// Returns when no packet has arrived from the peer for `patience`.
pub(super) async fn silence(association: &Association, patience: Duration) -> Lost {
    let mut look = interval((patience / 8).min(PULSE));
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut heard = (Instant::now(), packets_received(association));
    let mut asked = 0;
    loop {
        look.tick().await;
        let silent_for = heard.0.elapsed();
        match packets_received(association) {
            packets if packets != heard.1 => {
                heard = (Instant::now(), packets);
                asked = 0;
            }
            _ if silent_for >= patience => return Lost::Silent(patience),
            // Probe at one half and at three quarters of `patience`.
            _ if asked < 2 && silent_for >= patience * (2 + asked) / 4 => {
                ask(association);
                asked += 1;
            }
            _ => {}
        }
    }
}

fn ask(association: &Association) {
    for path in association.statistics().paths {
        association.request_heartbeat(path.id);
    }
}

/// Sends keep-alive messages until the association ends.
pub(super) async fn pulse(association: &Association) -> Result<Infallible, Lost> {
    loop {
        sleep(PULSE).await;
        Control::Alive.send(association).await?;
    }
}

fn packets_received(association: &Association) -> u64 {
    association
        .statistics()
        .paths
        .iter()
        .map(|path| path.counters.packets_received)
        .sum()
}
