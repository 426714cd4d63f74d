//! What is a conversation asked, whoever has it?

use std::io;

use crate::run::record::Record;

/// Two real stacks, one of which sends to the other all that it can. The conversation ends when this is dropped.
pub(super) trait Talk {
    /// Whether the two ends have found each other.
    fn is_connected(&mut self) -> io::Result<bool>;

    /// Bytes that the far application has read.
    fn bytes(&mut self) -> io::Result<u64>;

    /// Everything that is counted.
    fn tally(&mut self) -> io::Result<Tally>;
}

/// What was counted up to a moment. What a stack does not tell is missing.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    /// Bytes that the far application has read.
    pub(super) bytes: u64,
    /// Messages of them.
    pub(super) messages: u64,
    /// Messages that were not what they should have been.
    pub(super) damaged: u64,
    /// Of the sender.
    pub(super) repeats: Repeats,
    /// Of each of its paths.
    pub(super) paths: Vec<(String, Repeats)>,
}

/// What was sent again.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Repeats {
    /// Expiries of retransmission timers.
    pub(super) timeouts: Option<u64>,
    /// Found lost because later data were acknowledged.
    pub(super) fast: Option<u64>,
    /// Bytes, chunks or segments sent, those sent again included.
    pub(super) sent: Option<u64>,
    /// Those that were sent again.
    pub(super) again: Option<u64>,
}

impl Tally {
    /// Writes what came after `before`.
    pub(super) fn write(&self, before: &Self, seconds: f64, record: &mut Record) {
        record.set("goodput", (self.bytes - before.bytes) as f64 * 8e-6 / seconds);
        record.set("messages", (self.messages - before.messages) as f64);
        record.set("testbed.integrity-errors", (self.damaged - before.damaged) as f64);
        self.repeats.write(&before.repeats, "", record);
        for (name, repeats) in &self.paths {
            let before = before.paths.iter().find(|(known, _)| known == name);
            let before = before.map(|(_, repeats)| *repeats).unwrap_or_default();
            repeats.write(&before, &format!("path.{name}."), record);
        }
    }
}

impl Repeats {
    fn write(&self, before: &Self, group: &str, record: &mut Record) {
        let grown = |after: Option<u64>, before: Option<u64>| {
            after.map(|after| after.saturating_sub(before.unwrap_or(0)) as f64)
        };
        record.set(format!("{group}timeouts"), grown(self.timeouts, before.timeouts));
        record.set(format!("{group}fast-retransmits"), grown(self.fast, before.fast));
        if let (Some(sent), Some(again)) = (grown(self.sent, before.sent), grown(self.again, before.again)) {
            record.set(format!("{group}retransmitted"), again / sent);
        }
    }
}
