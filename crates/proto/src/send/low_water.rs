//! Low-water marks of streams: which streams have fallen to their marks?

use alloc::collections::BTreeMap;

use anabranch_types::StreamId;

use crate::on_demand::Idle;

/// The marks of the streams that have one.
#[derive(Debug, Default)]
pub(super) struct LowWater {
    marks: BTreeMap<StreamId, Mark>,
    /// Number of streams that have fallen and are not reported yet.
    fallen: u16,
}

impl Idle for LowWater {
    const IDLE: &'static Self = &Self {
        marks: BTreeMap::new(),
        fallen: 0,
    };

    fn is_idle(&self) -> bool {
        self.marks.is_empty()
    }
}

#[derive(Clone, Copy, Debug)]
struct Mark {
    bytes: u64,
    level: Level,
}

/// State of a queue relative to its mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Level {
    Above,
    /// It has fallen to the mark, and this is not reported yet.
    Fallen,
    Below,
}

impl LowWater {
    /// Sets the mark of `stream`, on which `queued` bytes are queued; [`u64::MAX`] removes it.
    pub(super) fn set(&mut self, stream: StreamId, bytes: u64, queued: u64) {
        let before = if bytes == u64::MAX {
            self.marks.remove(&stream)
        } else {
            let level = if queued > bytes {
                Level::Above
            } else {
                Level::Below
            };
            self.marks.insert(stream, Mark { bytes, level })
        };
        self.fallen -= u16::from(before.is_some_and(|mark| mark.level == Level::Fallen));
    }

    /// A copy of the marks for empty queues: streams that were above their marks have fallen to them. `None` if there are no marks.
    pub(super) fn for_empty_queues(&self) -> Option<Self> {
        if self.is_idle() {
            return None;
        }
        let mut copy = Self {
            marks: self.marks.clone(),
            fallen: self.fallen,
        };
        for stream in self.marks.keys() {
            copy.fell_to(*stream, 0);
        }
        Some(copy)
    }

    /// Whether `stream` has a mark.
    pub(super) fn watches(&self, stream: StreamId) -> bool {
        !self.marks.is_empty() && self.marks.contains_key(&stream)
    }

    /// Notes that the queue of `stream` has grown to `queued` bytes.
    pub(super) fn rose_to(&mut self, stream: StreamId, queued: u64) {
        if let Some(mark) = self.marks.get_mut(&stream)
            && queued > mark.bytes
        {
            self.fallen -= u16::from(mark.level == Level::Fallen);
            mark.level = Level::Above;
        }
    }

    /// Notes that the queue of `stream` has shrunk to `queued` bytes.
    pub(super) fn fell_to(&mut self, stream: StreamId, queued: u64) {
        if let Some(mark) = self.marks.get_mut(&stream)
            && queued <= mark.bytes
            && mark.level == Level::Above
        {
            mark.level = Level::Fallen;
            self.fallen += 1;
        }
    }

    /// Takes a stream that has fallen to its mark; each fall is reported once.
    pub(super) fn next_fallen(&mut self) -> Option<StreamId> {
        if self.fallen == 0 {
            return None;
        }
        let mut marks = self.marks.iter_mut();
        let (stream, mark) = marks.find(|(_, mark)| mark.level == Level::Fallen)?;
        mark.level = Level::Below;
        self.fallen -= 1;
        Some(*stream)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: StreamId = StreamId(3);

    #[test]
    fn stream_is_reported_once_each_time_it_falls() {
        let mut marks = LowWater::default();
        marks.set(STREAM, 100, 0);
        assert_eq!(marks.next_fallen(), None, "it has always been low");
        marks.rose_to(STREAM, 200);
        marks.fell_to(STREAM, 101);
        assert_eq!(marks.next_fallen(), None);
        marks.fell_to(STREAM, 100);
        marks.fell_to(STREAM, 50);
        assert_eq!(marks.next_fallen(), Some(STREAM));
        assert_eq!(marks.next_fallen(), None);
    }

    #[test]
    fn low_water_is_reported_after_a_restart() {
        let mut marks = LowWater::default();
        marks.set(STREAM, 100, 200);
        let mut restarted = marks.for_empty_queues().expect("a mark is set");
        assert_eq!(restarted.next_fallen(), Some(STREAM));
        assert_eq!((restarted.next_fallen(), restarted.fallen), (None, 0));
    }

    #[test]
    fn stream_that_rose_again_or_lost_its_mark_is_not_reported() {
        let mut marks = LowWater::default();
        for change in [
            |marks: &mut LowWater| marks.rose_to(STREAM, 150),
            |marks: &mut LowWater| marks.set(STREAM, u64::MAX, 0),
        ] {
            marks.set(STREAM, 100, 200);
            marks.fell_to(STREAM, 0);
            change(&mut marks);
            assert_eq!((marks.next_fallen(), marks.fallen), (None, 0));
        }
    }
}
