//! Flows that this end has begun. Which numbers do they have, and who gets the datagrams that come back?

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;

use crate::datagram::Datagram;

/// Flows at the same time. The exit of the peer may permit fewer.
const MAX_FLOWS: usize = 8_192;

/// The flows to a peer, over all its tunnels. Clones are the same flows.
#[derive(Clone, Default, Debug)]
pub struct Flows(Arc<Mutex<Numbers>>);

#[derive(Default, Debug)]
struct Numbers {
    /// Where the search for an unused number begins, so that a number rests for long after its flow has ended.
    next: u16,
    receivers: HashMap<u16, mpsc::Sender<Datagram>>,
}

/// A flow. Its number is free again when this is dropped.
#[derive(Debug)]
pub struct Flow {
    flows: Flows,
    number: u16,
}

impl Flows {
    /// A new flow. The datagrams of its peers go to `receiver`; those for which it has no room are lost. `None` if there are too many flows.
    #[must_use]
    pub fn begin(&self, receiver: mpsc::Sender<Datagram>) -> Option<Flow> {
        let mut numbers = self.numbers();
        if numbers.receivers.len() >= MAX_FLOWS {
            return None;
        }
        // The lowest bit of a flow's number on the wire says who has begun it.
        let next = |number: u16| (number + 1) & (u16::MAX >> 1);
        while numbers.receivers.contains_key(&numbers.next) {
            numbers.next = next(numbers.next);
        }
        let number = numbers.next;
        numbers.next = next(number);
        numbers.receivers.insert(number, receiver);
        Some(Flow {
            flows: self.clone(),
            number,
        })
    }

    /// Passes on what has come back. Datagrams of flows that have ended, or whose receiver has no room, are lost, as those of UDP are.
    pub fn deliver(&self, datagram: Datagram) {
        let receiver = self.numbers().receivers.get(&(datagram.flow >> 1)).cloned();
        if let Some(receiver) = receiver {
            let _ = receiver.try_send(datagram);
        }
    }

    fn numbers(&self) -> MutexGuard<'_, Numbers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Flow {
    /// Its number among the flows of this end.
    #[must_use]
    pub const fn number(&self) -> u16 {
        self.number
    }
}

impl Drop for Flow {
    fn drop(&mut self) {
        self.flows.numbers().receivers.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::datagram::DatagramKind;

    #[test]
    fn datagrams_go_to_the_flow_of_their_number() {
        let flows = Flows::default();
        let (sender, mut receiver) = mpsc::channel(1);
        let (other, mut others) = mpsc::channel(1);
        let (first, second) = (flows.begin(sender).unwrap(), flows.begin(other).unwrap());
        let datagram = |number: u16, payload: &'static str| Datagram {
            flow: number << 1,
            kind: DatagramKind::Udp,
            host: "192.0.2.1".parse().unwrap(),
            port: 53,
            class: None,
            redundant: false,
            payload: Bytes::from_static(payload.as_bytes()),
        };
        flows.deliver(datagram(second.number(), "for the second"));
        flows.deliver(datagram(first.number(), "for the first"));
        // There is no room for this one.
        flows.deliver(datagram(first.number(), "lost"));
        assert_eq!(receiver.try_recv().unwrap().payload, "for the first");
        assert_eq!(others.try_recv().unwrap().payload, "for the second");
        assert!(receiver.try_recv().is_err());
        let number = first.number();
        drop(first);
        flows.deliver(datagram(number, "lost"));
        assert!(receiver.try_recv().is_err());
    }

    #[test]
    fn numbers_rest_before_they_are_used_again_and_are_limited() {
        let flows = Flows::default();
        let (sender, _receiver) = mpsc::channel(1);
        let number = flows.begin(sender.clone()).unwrap().number();
        assert_ne!(flows.begin(sender.clone()).unwrap().number(), number);
        let all: Vec<Flow> = std::iter::from_fn(|| flows.begin(sender.clone())).collect();
        assert_eq!(all.len(), MAX_FLOWS);
        drop(all);
        // All numbers are used once in a while.
        let numbers = (0..1 << 15).map(|_| flows.begin(sender.clone()).unwrap().number());
        let numbers: std::collections::BTreeSet<u16> = numbers.collect();
        assert_eq!(numbers.len(), 1 << 15);
    }
}
