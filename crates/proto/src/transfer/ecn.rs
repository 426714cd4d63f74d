//! Explicit congestion notification (ECN). Marked packets are echoed to the sender, which reduces the window of their path.
//!
//! Sources: RFC 4960 Appendix A, draft-stewart-tsvwg-sctpecn.
//!
//! ```text
//! sender                        router                        receiver
//!   DATA, ECT(0) ───────────────▶ congestion: CE ───────────────▶ notes path and lowest TSN
//!   finds the path of the TSN  ◀────────────── ECNE, SACK ◀─────── with each SACK
//!   reduces its window once per window of data
//!   CWR ────────────────────────────────────────────────────────▶ stops its ECNEs of this path
//! ```

use anabranch_policy::LossCause;
use anabranch_types::{Ecn, Instant, PathId, Serial as _, Tsn, UnwrappedTsn};
use anabranch_wire::{Chunk, Cwr, Ecne, Packet, PacketBuilder};

use super::Transfer;
use crate::path::Reduced;

impl Transfer {
    /// The ECN bits of a packet: ECN-capable for new data. Routers drop retransmissions, window probes and packets
    /// without data rather than mark them, since their marks would not be reported (RFC 3168 §6.1.4 to §6.1.6).
    #[inline]
    pub(crate) fn codepoint(&self, is_new_data: bool) -> Ecn {
        if self.marks.is_agreed && is_new_data && !self.sender.window_is_shut() {
            Ecn::Capable0
        } else {
            Ecn::NotCapable
        }
    }

    /// Notes that a packet with data arrived marked over `path`.
    #[cold]
    pub(crate) fn packet_marked(&mut self, path: PathId, packet: &Packet<'_>) {
        if !self.marks.is_agreed {
            return;
        }
        let Some(lowest) = lowest_tsn(packet) else { return };
        let machinery = self.paths.path_mut(path);
        machinery.ecn.get_or_insert_default().marked(lowest);
        machinery.counters.rare().marks_received += 1;
        self.marks.echoes = true;
    }

    /// Writes an ECNE for each path with marked packets, before the SACK that acknowledges them.
    #[inline]
    pub(crate) fn write_echoes(&mut self, packet: &mut PacketBuilder<'_>) {
        if self.marks.echoes {
            self.write_all_echoes(packet);
        }
    }

    #[cold]
    fn write_all_echoes(&mut self, packet: &mut PacketBuilder<'_>) {
        let echoes = self.paths.iter().filter_map(|(_, path)| path.ecn.as_ref()?.echo);
        let mut waiting = false;
        for echo in echoes {
            waiting = true;
            let chunk = Ecne {
                lowest: echo.lowest,
                packets: echo.packets,
            };
            if packet.push(&chunk).is_err() {
                break;
            }
        }
        self.marks.echoes = waiting;
    }

    /// Handles a CWR: the peer has reduced the window of `path`, or of all paths if `any_path` is set.
    pub(crate) fn on_cwr(&mut self, path: PathId, chunk: Cwr) {
        if !self.marks.is_agreed {
            return;
        }
        for id in self.paths.ids() {
            if let Some(ecn) = &mut self.paths.path_mut(id).ecn {
                let is_meant =
                    id == path || chunk.any_path || ecn.echo.is_some_and(|echo| echo.lowest == chunk.lowest);
                if is_meant {
                    ecn.reduced_by_peer(chunk.lowest);
                }
            }
        }
    }

    /// Handles an ECNE that arrived over `arrived_on`: reduces the window of the path on which the TSN was sent, once for all data
    /// that is outstanding there, and answers by a CWR.
    ///
    /// An ECNE comes with the first SACK for its TSN. If the TSN is acknowledged already, it repeats an earlier one whose CWR was lost, and
    /// gets a CWR for all paths, because its own is not known any more.
    #[cold]
    pub(crate) fn on_ecne(&mut self, now: Instant, arrived_on: PathId, chunk: Ecne) {
        let tsn = self.sender.cumulative().nearest(chunk.lowest);
        if !self.marks.is_agreed || tsn >= self.sender.next_tsn() {
            return;
        }
        let sent_on = self.sender.path_of(tsn).filter(|path| self.paths.contains(*path));
        if let Some(path) = sent_on {
            self.reduce_marked(path, tsn, now);
        }
        let path = sent_on.unwrap_or(arrived_on);
        let rtt = self.paths.fact(path).srtt().unwrap_or_default();
        let reduced = Reduced {
            lowest: chunk.lowest,
            any_path: sent_on.is_none(),
        };
        let ecn = self.paths.path_mut(path).ecn.get_or_insert_default();
        self.marks.answers |= ecn.answer(reduced, rtt, now);
    }

    /// Reduces the window of `path`, whose chunk `tsn` was marked, unless that has been done since it was sent.
    fn reduce_marked(&mut self, path: PathId, tsn: UnwrappedTsn, now: Instant) {
        let outstanding = self.sender.highest_outstanding(path).unwrap_or(tsn);
        let machinery = self.paths.path_mut(path);
        let in_recovery_to = machinery.sending.recovery.as_ref().map(|recovery| recovery.exit);
        let ecn = machinery.ecn.get_or_insert_default();
        if ecn.is_news(tsn) && in_recovery_to.is_none_or(|exit| tsn > exit) {
            ecn.reduced(outstanding.max(tsn));
            machinery.counters.rare().ecn_reductions += 1;
            self.begin_recovery(path, LossCause::Mark, (tsn, 0), now);
            self.publish(now);
        }
    }

    /// The first path on which a CWR is due.
    #[inline]
    pub(crate) fn cwr_due(&self) -> Option<PathId> {
        if !self.marks.answers {
            return None;
        }
        let is_due = |path: &crate::path::Path| path.ecn.as_ref().is_some_and(|ecn| ecn.cwr.is_some());
        let mut due = self.paths.iter().filter(|(_, path)| is_due(path));
        due.next().map(|(facts, _)| facts.id)
    }

    /// Writes the CWR that is due on `path`.
    #[inline]
    pub(crate) fn write_cwr(&mut self, path: PathId, packet: &mut PacketBuilder<'_>, now: Instant) {
        if self.marks.answers {
            self.write_due_cwr(path, packet, now);
        }
    }

    #[cold]
    fn write_due_cwr(&mut self, path: PathId, packet: &mut PacketBuilder<'_>, now: Instant) {
        let due = self.paths.path_mut(path).ecn.as_mut();
        if let Some(reduced) = due.and_then(|ecn| ecn.take_cwr(now)) {
            // If it does not fit, the peer repeats its ECNE.
            let _ = packet.push(&Cwr {
                lowest: reduced.lowest,
                any_path: reduced.any_path,
            });
        }
        self.marks.answers = self.cwr_due().is_some();
    }
}

/// The lowest TSN of the DATA, I-DATA and PART chunks of a packet.
fn lowest_tsn(packet: &Packet<'_>) -> Option<Tsn> {
    let tsn = |chunk| match chunk {
        Chunk::Data(data) => Some(data.tsn),
        Chunk::IData(data) => Some(data.tsn),
        Chunk::Part(part) => Some(part.tsn),
        _ => None,
    };
    let tsns = packet
        .chunks()
        .map_while(Result::ok)
        .filter_map(|raw| tsn(raw.decode().ok()?));
    tsns.reduce(|lowest, tsn| if tsn.precedes(lowest) { tsn } else { lowest })
}
