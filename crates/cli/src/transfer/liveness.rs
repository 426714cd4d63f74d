//! Liveness detection. Is the peer still there? It is while packets come, whatever is in them.
//!
//! SCTP itself gives up only after many doubled timeouts, which can take minutes, and a receiver that sends
//! nothing would wait for ever. Here the side that sends says [`Control::Alive`] when it has nothing else to
//! say; each side then hears the other at least every [`PULSE`], be it only an acknowledgement. Where a full buffer lets
//! nothing be said, heartbeats ask.

use std::convert::Infallible;
use std::time::Duration;

use anabranch::Association;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use super::control::Control;
use super::error::Lost;

/// How often the sender says that it is there.
pub(super) const PULSE: Duration = Duration::from_secs(1);

/// Ends when nothing came from the peer for `patience`.
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
            // At a half and at three quarters.
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

/// Says that we are there, until the association ends.
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
