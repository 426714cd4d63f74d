//! What travels on an emulated link? A datagram, and the real socket that it leaves through at the far end.

use std::sync::Arc;

use anabranch_io::{Outgoing, Socket};
use anabranch_netsim::Datagram;
use anabranch_netsim::link::Packet;
use anabranch_types::Rng;

/// A datagram on its way to `exit`.
#[derive(Clone, Debug)]
pub(crate) struct Parcel {
    pub(crate) datagram: Datagram,
    pub(crate) exit: Arc<dyn Socket>,
}

impl Parcel {
    /// Leaves the emulated network; `false` if the real one did not take the packet.
    pub(crate) fn leave(self) -> bool {
        let Datagram {
            path,
            ecn,
            may_fragment,
            payload,
            ..
        } = &self.datagram;
        self.exit
            .try_send(&Outgoing {
                path: *path,
                ecn: *ecn,
                bytes: payload,
                segment_size: None,
                may_fragment: *may_fragment,
            })
            .is_ok()
    }
}

impl Packet for Parcel {
    fn corrupt(&mut self, rng: &mut Rng) {
        self.datagram.corrupt(rng);
    }

    fn may_fragment(&self) -> bool {
        self.datagram.may_fragment
    }

    fn mark_congestion(&mut self) -> bool {
        self.datagram.mark_congestion()
    }
}
