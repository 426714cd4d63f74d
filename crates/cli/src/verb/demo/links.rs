//! Emulated links of the demo: loopback sockets for each path, with an emulated link in each direction.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anabranch::io::Socket;
use anabranch_emu::netsim::LinkConfig;
use anabranch_emu::netsim::link::QueueConfig;
use anabranch_emu::{Emulator, LinkHandle, ShapedSocket};
use anabranch_types::Seed;

use super::schedule::PACKET;
use crate::failure::Failure;
use crate::network;
use crate::parse::ShapedPath;

/// Minimum queue length in packets, for paths with a small bandwidth-delay product.
const MIN_QUEUE: u64 = 50;

/// The sockets of both ends, and handles of the links.
#[derive(Debug, Default)]
pub(super) struct Links {
    pub(super) sender: Vec<Arc<dyn Socket>>,
    pub(super) receiver: Vec<Arc<dyn Socket>>,
    /// For each path: forward and reverse link.
    handles: Vec<[LinkHandle; 2]>,
}

impl Links {
    pub(super) fn open(paths: &[ShapedPath], over: &[usize]) -> Result<Self, Failure> {
        let emulator = Emulator::start(Seed(over.len() as u64)).map_err(Failure::work)?;
        let mut links = Self::default();
        for index in over {
            let config = link_config(&paths[*index]);
            let forward = emulator.link(config.clone().named(format!("forward {index}")));
            let reverse = emulator.link(config.named(format!("reverse {index}")));
            let address = Ipv4Addr::new(127, 0, 0, *index as u8 + 1);
            links.sender.push(shaped(address, &forward)?);
            links.receiver.push(shaped(address, &reverse)?);
            links.handles.push([forward, reverse]);
        }
        Ok(links)
    }

    /// Cuts both links of a path for good.
    pub(super) fn cut(&self, index: usize) {
        self.handles[index].iter().for_each(LinkHandle::cut);
    }
}

fn shaped(address: Ipv4Addr, link: &LinkHandle) -> Result<Arc<dyn Socket>, Failure> {
    let real = network::open(SocketAddr::from((address, 0)))?;
    Ok(Arc::new(ShapedSocket::new(real, link.clone())))
}

/// Configuration with a drop-tail queue of one bandwidth-delay product.
fn link_config(path: &ShapedPath) -> LinkConfig {
    let round_trip: Duration = path.delay * 2;
    let queue = path.rate.bytes_in(round_trip).max(MIN_QUEUE * PACKET);
    path.link().queue(QueueConfig::Bytes(queue))
}
