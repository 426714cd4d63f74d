//! WebRTC data channels of an association (RFC 8831, RFC 8832): open, accept, send, receive, close.

use std::sync::Arc;

use anabranch_datachannel::{
    self as datachannel, ChannelOptions, ChannelState, CloseCause, Limits, OpenError, Payload, Role,
};
use anabranch_types::StreamId;
use bytes::Bytes;
use thiserror::Error;
use tokio::sync::Notify;

use crate::association::Association;
use crate::driver::{ChannelParts, NextMessage, NotSent, until};
use crate::error::SendError;

/// The data channels of an association.
///
/// Both ends use them, with [`EndpointBuilder::webrtc`](crate::EndpointBuilder::webrtc) or another configuration that offers
/// [`reconfiguration`](crate::AssociationConfig::reconfiguration) and
/// [`partial_reliability`](crate::AssociationConfig::partial_reliability). All messages of the association go to its channels:
/// [`Association::recv`] returns none.
///
/// ```
/// # use anabranch::{Association, ChannelOptions, DataChannels, Payload, Role};
/// # async fn example(association: Association) -> Result<(), Box<dyn std::error::Error>> {
/// let channels = DataChannels::new(association, Role::Client);
/// let chat = channels.open(ChannelOptions::new("chat"))?;
/// chat.send_text("hello").await?;
/// while let Some(message) = chat.recv().await {
///     match message {
///         Payload::Text(text) => println!("{text}"),
///         Payload::Binary(bytes) => println!("{} bytes", bytes.len()),
///     }
/// }
/// # Ok(())
/// # }
/// ```
///
/// At most 1 MiB of messages wait for their channels to be read. Then everything else, new channels included, stays in the receive
/// buffer of the association: accept and read all channels, or drop those that you do not need.
#[derive(Clone, Debug)]
pub struct DataChannels {
    association: Association,
    acceptable: Arc<Notify>,
}

impl DataChannels {
    /// The data channels of `association`. `role` is that of the DTLS connection below; without DTLS, one end is the client.
    #[must_use]
    pub fn new(association: Association, role: Role) -> Self {
        Self::with_limits(association, role, Limits::default())
    }

    /// As [`DataChannels::new`], with limits. A further call for the same association refers to the same channels; its role and limits
    /// are ignored.
    #[must_use]
    pub fn with_limits(association: Association, role: Role, limits: Limits) -> Self {
        let acceptable = association.attach_channels(role, limits);
        Self {
            association,
            acceptable,
        }
    }

    /// Opens a channel. Messages can be sent at once; [`DataChannel::opened`] waits for the peer's answer.
    ///
    /// # Errors
    ///
    /// See [`OpenError`].
    pub fn open(&self, options: ChannelOptions) -> Result<DataChannel, OpenError> {
        let opened = self.association.with_channels(|controller, association| {
            controller.open(options, association, datachannel::DataChannels::open)
        });
        self.handle(opened.unwrap_or(Err(OpenError::NoStream)))
    }

    /// Opens a channel on `stream` that both applications have agreed on by other means (RFC 8831 §6.5). The peer has to do the same.
    ///
    /// # Errors
    ///
    /// [`OpenError::StreamInUse`].
    pub fn open_negotiated(
        &self,
        stream: StreamId,
        options: ChannelOptions,
    ) -> Result<DataChannel, OpenError> {
        let opened = self.association.with_channels(|controller, association| {
            controller.open(options, association, |channels, options| {
                channels.open_negotiated(stream, options)
            })
        });
        self.handle(opened.unwrap_or(Err(OpenError::StreamInUse)))
    }

    /// The next channel that the peer has opened; `None` when the association has ended.
    pub async fn accept(&self) -> Option<DataChannel> {
        let accepted = until(&self.acceptable, || {
            let accepted = self
                .association
                .with_channels(|controller, association| controller.accept(association));
            match accepted {
                Some(Ok(Some(parts))) => Some(Some(parts)),
                Some(Ok(None)) => None,
                Some(Err(())) | None => Some(None),
            }
        });
        let parts = accepted.await?;
        Some(DataChannel::new(self.association.clone(), parts))
    }

    /// Sets the length of the longest message to send in bytes, as the session description of the peer says (RFC 8841 §6.1). 65,536
    /// by default.
    pub fn set_max_message(&self, bytes: usize) {
        self.association
            .with_channels(|controller, _| controller.set_max_sent(bytes));
    }

    /// The association.
    #[must_use]
    pub const fn association(&self) -> &Association {
        &self.association
    }

    fn handle(&self, opened: Result<ChannelParts, OpenError>) -> Result<DataChannel, OpenError> {
        opened.map(|parts| DataChannel::new(self.association.clone(), parts))
    }
}

/// A handle of a data channel. Clones refer to the same channel. Dropping the last one closes the channel.
#[derive(Clone, Debug)]
pub struct DataChannel(Arc<Handle>);

#[derive(Debug)]
struct Handle {
    association: Association,
    parts: ChannelParts,
}

/// Why a message was not sent.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ChannelSendError {
    /// The channel is closing or closed.
    #[error("the channel is closed")]
    Closed,
    /// The message is longer than the peer accepts; see [`DataChannels::set_max_message`].
    #[error("the message is longer than {max} bytes")]
    TooLong {
        /// Length of the longest message in bytes.
        max: usize,
    },
    /// The send buffer is full now. Only [`DataChannel::try_send`] fails so.
    #[error("the send buffer is full")]
    Full,
    /// The association refuses the message.
    #[error(transparent)]
    Association(#[from] SendError),
}

impl DataChannel {
    fn new(association: Association, parts: ChannelParts) -> Self {
        Self(Arc::new(Handle { association, parts }))
    }

    /// The stream of the channel, in both directions: `id` of an `RTCDataChannel`.
    #[must_use]
    pub fn stream(&self) -> StreamId {
        self.0.parts.id.stream()
    }

    /// The name of the channel.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.0.parts.options.label
    }

    /// Its options.
    #[must_use]
    pub fn options(&self) -> &ChannelOptions {
        &self.0.parts.options
    }

    /// Its state.
    #[must_use]
    pub fn state(&self) -> ChannelState {
        let state = self
            .0
            .act(|handle, controller, _| controller.state(handle.parts.id));
        state.unwrap_or(ChannelState::Closed)
    }

    /// Waits until the peer has answered. A channel that the peer has opened, or that both ends have negotiated, is open at once.
    ///
    /// # Errors
    ///
    /// The channel is closed.
    pub async fn opened(&self) -> Result<(), CloseCause> {
        let id = self.0.parts.id;
        until(&self.0.parts.changed, || {
            self.0
                .act(|_, controller, _| match controller.state(id) {
                    ChannelState::Connecting => None,
                    ChannelState::Open => Some(Ok(())),
                    ChannelState::Closing | ChannelState::Closed => {
                        Some(Err(controller.cause(id).unwrap_or(CloseCause::Association)))
                    }
                })
                .unwrap_or(Some(Err(CloseCause::Association)))
        })
        .await
    }

    /// Sends a message, waiting while the send buffer of the association is full.
    ///
    /// If the future is dropped before it is ready, the message was not sent.
    ///
    /// # Errors
    ///
    /// See [`ChannelSendError`].
    pub async fn send(&self, payload: impl Into<Payload>) -> Result<(), ChannelSendError> {
        let mut payload = Some(payload.into());
        until(self.0.association.writable(), || {
            match self.0.send(&mut payload) {
                Err(ChannelSendError::Full) => None,
                done => Some(done),
            }
        })
        .await
    }

    /// Sends a text; see [`DataChannel::send`].
    ///
    /// # Errors
    ///
    /// See [`ChannelSendError`].
    pub async fn send_text(&self, text: impl Into<String>) -> Result<(), ChannelSendError> {
        self.send(Payload::Text(text.into())).await
    }

    /// Sends binary data; see [`DataChannel::send`].
    ///
    /// # Errors
    ///
    /// See [`ChannelSendError`].
    pub async fn send_binary(&self, bytes: impl Into<Bytes>) -> Result<(), ChannelSendError> {
        self.send(Payload::Binary(bytes.into())).await
    }

    /// Sends a message if the send buffer has space for it now.
    ///
    /// # Errors
    ///
    /// See [`ChannelSendError`].
    pub fn try_send(&self, payload: impl Into<Payload>) -> Result<(), ChannelSendError> {
        self.0.send(&mut Some(payload.into()))
    }

    /// The next message; `None` when the channel is closed and all were read. [`DataChannel::closed`] tells why.
    ///
    /// Nothing is lost if the future is dropped before it is ready.
    pub async fn recv(&self) -> Option<Payload> {
        until(&self.0.parts.changed, || {
            let next = self
                .0
                .act(|handle, controller, association| controller.receive(handle.parts.id, association));
            match next {
                Some(NextMessage::Message(payload)) => Some(Some(payload)),
                Some(NextMessage::Wait) => None,
                Some(NextMessage::Over) | None => Some(None),
            }
        })
        .await
    }

    /// Bytes of its messages that have not been sent yet: `bufferedAmount` of an `RTCDataChannel`.
    #[must_use]
    pub fn buffered_amount(&self) -> u64 {
        self.0.association.queued_on(self.stream())
    }

    /// Waits until [`DataChannel::buffered_amount`] is at most `bytes`. One task for each channel should wait.
    ///
    /// # Errors
    ///
    /// The association is closed.
    pub async fn buffered_amount_low(&self, bytes: u64) -> Result<(), SendError> {
        self.0.association.low_water(self.stream(), bytes).await
    }

    /// Closes the channel behind all messages that were sent. Messages that arrive from now on are discarded. Does not wait:
    /// [`DataChannel::closed`] does.
    pub fn close(&self) {
        self.0
            .act(|handle, controller, association| controller.close(handle.parts.id, association));
    }

    /// Waits until the channel is closed, by either end, and tells why.
    pub async fn closed(&self) -> CloseCause {
        let id = self.0.parts.id;
        until(&self.0.parts.changed, || {
            let closed = self.0.act(|_, controller, _| controller.closed(id));
            closed.unwrap_or(Some(CloseCause::Association))
        })
        .await
    }

    /// The association.
    #[must_use]
    pub fn association(&self) -> &Association {
        &self.0.association
    }
}

impl Handle {
    fn act<T>(
        &self,
        act: impl FnOnce(&Self, &mut crate::driver::DataChannelController, &mut anabranch_proto::Association) -> T,
    ) -> Option<T> {
        self.association
            .with_channels(|controller, association| act(self, controller, association))
    }

    /// Sends the message, unless the buffer is full.
    fn send(&self, payload: &mut Option<Payload>) -> Result<(), ChannelSendError> {
        let sent = self
            .act(|handle, controller, association| controller.send(handle.parts.id, payload, association));
        match sent {
            Some(Ok(())) => Ok(()),
            Some(Err(NotSent::Full)) => Err(ChannelSendError::Full),
            Some(Err(NotSent::Channel(datachannel::SendError::TooLong { max }))) => {
                Err(ChannelSendError::TooLong { max })
            }
            Some(Err(NotSent::Association(error))) => {
                Err(SendError::of(error, self.association.ended()).into())
            }
            Some(Err(NotSent::Channel(_))) | None => Err(ChannelSendError::Closed),
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.act(|handle, controller, association| controller.release(handle.parts.id, association));
    }
}
