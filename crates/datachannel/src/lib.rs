//! WebRTC data channels (RFC 8831) and the protocol that opens them (DCEP, RFC 8832), sans-IO.
//!
//! A data channel is a pair of streams with the same identifier, one in each direction. [`DataChannels`] are the channels of one
//! association. They know no association: the driver passes in what it received and reset, and executes the [`Action`]s.
//!
//! ```text
//! application ── open, outgoing, close ──▶ DataChannels ── Action ──▶ association: send, weight, reset
//!             ◀───────── Event ───────────              ◀── message, resets ──
//! ```
//!
//! ```
//! use anabranch_datachannel::{Action, ChannelOptions, DataChannels, Event, Extent, Limits, Payload, Received, Role};
//!
//! let mut client = DataChannels::new(Role::Client, Limits::default());
//! let mut server = DataChannels::new(Role::Server, Limits::default());
//! [&mut client, &mut server].map(|end| end.set_streams(65_535, 65_535));
//!
//! let chat = client.open(ChannelOptions::new("chat"))?;
//! let greeting = client.outgoing(chat, Payload::Text("hello".into()))?;
//! let mut sent = Vec::new();
//! while let Some(action) = client.action() {
//!     if let Action::Send(message) = action {
//!         sent.push(message.clone());
//!     }
//!     client.action_done();
//! }
//! sent.push(greeting);
//! // An association would carry the messages.
//! for message in sent {
//!     let (stream, ppid, unordered, payload) = (message.stream, message.ppid, message.unordered, message.payload);
//!     server.handle_message(Received { stream, ppid, unordered, extent: Extent::Whole, payload });
//! }
//! assert!(matches!(server.poll_event(), Some(Event::Incoming(channel)) if channel.stream() == chat.stream()));
//! assert!(matches!(server.poll_event(), Some(Event::Message { payload: Payload::Text(text), .. }) if text == "hello"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![no_std]

extern crate alloc;

mod channel;
mod dcep;
mod error;
mod options;
mod parts;
mod payload;
mod set;
mod streams;

pub use channel::{ChannelId, ChannelState};
pub use dcep::{DcepMessage, ParseError, ParseErrorKind};
pub use error::{CloseCause, OpenError, SendError, Violation};
pub use options::{ChannelOptions, ChannelReliability, priority};
pub use payload::{Payload, ppid};
pub use set::{Action, DataChannels, Event, Extent, Limits, Outgoing, Received, Role};
