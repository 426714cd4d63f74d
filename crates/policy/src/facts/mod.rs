//! Facts and decisions. What may a policy know, and what can it decide?

mod ack;
mod arrival;
mod buffer;
mod choice;
mod loss;
mod path;
mod stream;

pub use ack::{AckSample, PathAck, SentOnce};
pub use arrival::{AckWhen, Arrival};
pub use buffer::{
    BufferFacts, ChunkInFlight, Reschedule, RescheduleExtent, ReschedulePenalty, Rescheduled, StuckChunk,
};
pub use choice::{last_resort, may_carry_data, path_facts};
pub use loss::{Eligible, Late, LossCause, LossEvent, LossThreshold, LostChunk, LostPackets};
pub use path::{PathFacts, Reachability, SendAllowance, SentPacket};
pub use stream::{Backlog, PathUse, Pick, StreamFacts};
