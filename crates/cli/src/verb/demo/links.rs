//! What do the two ends of a run see? Loopback sockets of their own for each path, with an emulated link in each
//! direction.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anabranch::io::Socket;
use anabranch_emu::netsim::link::{Loss, QueueConfig};
use anabranch_emu::netsim::{LinkConfig, Probability};
use anabranch_emu::{Emulator, LinkHandle, ShapedSocket};
use anabranch_types::Seed;

use super::plan::PACKET;
use crate::failure::Failure;
use crate::network;
use crate::parse::ShapedPath;

/// Packets that at least find room in a queue: short paths have routers too.
const SHORTEST_QUEUE: u64 = 50;

/// The sockets of both ends, and a handle on each link.
#[derive(Debug, Default)]
pub(super) struct Links {
    pub(super) sender: Vec<Arc<dyn Socket>>,
    pub(super) receiver: Vec<Arc<dyn Socket>>,
    /// By path: there and back.
    handles: Vec<[LinkHandle; 2]>,
}

impl Links {
    pub(super) fn open(paths: &[ShapedPath], over: &[usize]) -> Result<Self, Failure> {
        let emulator = Emulator::start(Seed(over.len() as u64)).map_err(Failure::work)?;
        let mut links = Self::default();
        for index in over {
            let config = link_config(&paths[*index]);
            let there = emulator.link(config.clone().named(format!("there {index}")));
            let back = emulator.link(config.named(format!("back {index}")));
            let address = Ipv4Addr::new(127, 0, 0, *index as u8 + 1);
            links.sender.push(shaped(address, &there)?);
            links.receiver.push(shaped(address, &back)?);
            links.handles.push([there, back]);
        }
        Ok(links)
    }

    /// Pulls the cable of one path, for good.
    pub(super) fn cut(&self, index: usize) {
        self.handles[index].iter().for_each(LinkHandle::cut);
    }
}

fn shaped(address: Ipv4Addr, link: &LinkHandle) -> Result<Arc<dyn Socket>, Failure> {
    let real = network::open(SocketAddr::from((address, 0)))?;
    Ok(Arc::new(ShapedSocket::new(real, link.clone())))
}

/// A drop-tail queue of one bandwidth-delay product, the classic size for a router.
fn link_config(path: &ShapedPath) -> LinkConfig {
    let round_trip: Duration = path.delay * 2;
    let queue = path.rate.bytes_in(round_trip).max(SHORTEST_QUEUE * PACKET);
    LinkConfig::new(path.rate, path.delay)
        .queue(QueueConfig::Bytes(queue))
        .loss(if path.loss > 0.0 {
            Loss::Bernoulli(Probability::of(path.loss))
        } else {
            Loss::None
        })
}
