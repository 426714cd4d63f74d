//! Sender of a test. How does one stream send its messages? At the times of its traffic, with a short queue before the association.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anabranch::{Association, Bytes, Message, SendError, SendStream, StreamId};
use tokio::time::{Instant as Deadline, sleep_until, timeout_at};

use super::clock;
use super::meter::Meter;
use super::task::Task;
use super::traffic::{Schedule, seed};

/// Bytes that all streams of an association may have queued before their first transmission. More would only add to the delays.
const QUEUE: u64 = 128 << 10;

/// What is queued may take this long at the rate of late, if that is more than [`QUEUE`].
const QUEUED_TIME: Duration = Duration::from_millis(25);

/// Interval in which the rate of late is measured.
const RATE_TIME: Duration = Duration::from_millis(100);

/// One stream that sends.
#[derive(Debug)]
pub(super) struct Sending {
    pub(super) association: Association,
    pub(super) is_client: bool,
    /// Number of the association.
    pub(super) number: u16,
    pub(super) stream: u16,
    pub(super) task: Arc<Task>,
    pub(super) meter: Arc<Meter>,
}

impl Sending {
    /// Sends until the time or the bytes of the task are used up.
    pub(super) async fn run(self) -> Result<(), SendError> {
        let began = Deadline::now();
        match self.task.duration() {
            Some(duration) => timeout_at(began + duration, self.send_all(began))
                .await
                .unwrap_or(Ok(())),
            None => self.send_all(began).await,
        }
    }

    async fn send_all(&self, began: Deadline) -> Result<(), SendError> {
        let index = usize::from(self.number) * usize::from(self.task.streams) + usize::from(self.stream);
        let seed = seed(self.is_client, index);
        let mut schedule = Schedule::new(&self.task, seed);
        let mut queue = Queue::new(self.task.streams);
        let stream = StreamId(self.stream + 1);
        let handle = self.association.stream(stream);
        let mut content = vec![0; self.task.length as usize];
        seed.split("content").rng().fill(&mut content);
        loop {
            let now = began.elapsed();
            let due = schedule.next(now);
            if due > now {
                match began.checked_add(due) {
                    Some(at) => sleep_until(at).await,
                    // Later than clocks count.
                    None => std::future::pending().await,
                }
            }
            queue.wait(&handle).await?;
            let length = self.meter.take(content.len() as u64);
            if length == 0 {
                return Ok(());
            }
            let content = &mut content[..length as usize];
            if let Some(stamp) = content.first_chunk_mut() {
                *stamp = clock::now().to_be_bytes();
            }
            self.association
                .send(message(&self.task, stream, content))
                .await?;
            self.meter.on_sent(index, length);
            queue.sent += length;
        }
    }
}

/// A message as the task wants it.
fn message(task: &Task, stream: StreamId, content: &[u8]) -> Message {
    let message = Message {
        unordered: task.unordered,
        ..Message::new(stream, Bytes::copy_from_slice(content))
    };
    message.with_reliability(task.reliability())
}

/// Limit of what is queued before its first transmission.
#[derive(Debug)]
struct Queue {
    limit: u64,
    least: u64,
    /// Bytes sent since `since`.
    sent: u64,
    since: Instant,
}

impl Queue {
    fn new(streams: u16) -> Self {
        let least = QUEUE / u64::from(streams);
        Self {
            limit: least,
            least,
            sent: 0,
            since: Instant::now(),
        }
    }

    /// Waits until there is room.
    async fn wait(&mut self, stream: &SendStream) -> Result<(), SendError> {
        let elapsed = self.since.elapsed();
        if elapsed >= RATE_TIME {
            let share = QUEUED_TIME.as_secs_f64() / elapsed.as_secs_f64();
            self.limit = ((self.sent as f64 * share) as u64).max(self.least);
            (self.sent, self.since) = (0, Instant::now());
        }
        stream.low_water(self.limit).await
    }
}

#[cfg(test)]
mod tests {
    use anabranch::Reliability;

    use super::super::task::tests::example;
    use super::*;

    #[test]
    fn messages_are_as_ordered_and_reliable_as_the_task_says() {
        let task = Task {
            unordered: true,
            retransmissions: Some(2),
            ..example()
        };
        let unreliable = message(&task, StreamId(3), b"content");
        assert!(unreliable.unordered);
        assert_eq!(unreliable.reliability, Reliability::Retransmissions(2));
        assert_eq!(
            (unreliable.stream, &unreliable.payload[..]),
            (StreamId(3), &b"content"[..])
        );
        let reliable = message(&example(), StreamId(1), b"");
        assert!(!reliable.unordered);
        assert_eq!(reliable.reliability, Reliability::Reliable);
    }
}
