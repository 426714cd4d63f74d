//! Packet on an emulated link: a datagram and the real socket that sends it at the end of the link.

use std::sync::Arc;

use anabranch_io::{Outgoing, Socket};
use anabranch_netsim::Datagram;
use anabranch_netsim::link::Packet;
use anabranch_types::Rng;

/// A datagram on its way to the socket `exit`.
#[derive(Clone, Debug)]
pub(crate) struct EmulatedPacket {
    pub(crate) datagram: Datagram,
    pub(crate) exit: Arc<dyn Socket>,
}

impl EmulatedPacket {
    /// Sends the packet on the real network; `false` if the socket refused it.
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

impl Packet for EmulatedPacket {
    fn corrupt(&mut self, rng: &mut Rng) {
        self.datagram.corrupt(rng);
    }

    fn may_fragment(&self) -> bool {
        self.datagram.may_fragment
    }

    fn flow(&self) -> u64 {
        self.datagram.flow()
    }

    fn mark_congestion(&mut self) -> bool {
        self.datagram.mark_congestion()
    }
}
