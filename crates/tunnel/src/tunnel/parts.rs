//! Messages that arrive in parts, because the receive buffer is full of incomplete ones of many streams (RFC 9260 §6.9).

use std::collections::BTreeMap;

use anabranch::{Extent, ReceivedMessage};
use bytes::BytesMut;

use crate::datagram::{DATAGRAM, Datagram};
use crate::frame::{CONTROL, DATA, Frame, FrameError, LONGEST_CONTROL};

/// What a message is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Received {
    Frame(Frame),
    Datagram(Datagram),
}

/// Control frames whose ends have not arrived, by stream.
#[derive(Debug, Default)]
pub(super) struct Parts(BTreeMap<u16, BytesMut>);

impl Parts {
    /// What is complete with `message`. A part of a data frame is as good as a frame. Datagrams in parts, which come only while the receive
    /// buffer is full, and abandoned ones are lost.
    pub(super) fn join(&mut self, message: ReceivedMessage) -> Result<Option<Received>, FrameError> {
        if message.ppid == DATAGRAM {
            if message.extent != Extent::Whole {
                return Ok(None);
            }
            let datagram = Datagram {
                class: Datagram::class_of(message.stream),
                redundant: Datagram::is_redundant_on(message.stream),
                ..Datagram::parse(message.payload)?
            };
            return Ok(Some(Received::Datagram(datagram)));
        }
        if message.unordered {
            return Err(FrameError::Unordered);
        }
        Ok(self.join_frame(message)?.map(Received::Frame))
    }

    fn join_frame(&mut self, message: ReceivedMessage) -> Result<Option<Frame>, FrameError> {
        let (ppid, payload, stream) = (message.ppid, message.payload, message.stream.0);
        match message.extent {
            Extent::Aborted => Err(FrameError::Abandoned),
            Extent::Whole => Frame::parse(ppid, payload).map(Some),
            _ if ppid == DATA => Frame::parse(ppid, payload).map(Some),
            _ if ppid != CONTROL => Err(FrameError::Ppid(ppid.0)),
            extent => {
                let known = self.0.entry(stream).or_default();
                known.extend_from_slice(&payload);
                if known.len() > LONGEST_CONTROL {
                    return Err(FrameError::TooLong(known.len()));
                }
                if extent != Extent::End {
                    return Ok(None);
                }
                let whole = self.0.remove(&stream).unwrap_or_default();
                Frame::parse(ppid, whole.freeze()).map(Some)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use anabranch::{Bytes, Ppid, StreamId};

    use super::*;
    use crate::class::Class;
    use crate::target::Target;

    fn part(stream: u16, extent: Extent, (ppid, payload): (Ppid, Bytes)) -> ReceivedMessage {
        ReceivedMessage {
            stream: StreamId(stream),
            ppid,
            unordered: false,
            extent,
            payload,
        }
    }

    #[test]
    fn control_frames_are_joined_stream_by_stream() {
        let target: Target = "example.org:443".parse().unwrap();
        let (ppid, payload) = Frame::Open(target.clone(), Some(Class::Bulk)).encode();
        let mut parts = Parts::default();
        for stream in [0, 2] {
            let begun = parts.join(part(stream, Extent::Beginning, (ppid, payload.slice(..5))));
            assert_eq!(begun, Ok(None));
        }
        for stream in [2, 0] {
            let ended = parts.join(part(stream, Extent::End, (ppid, payload.slice(5..))));
            assert_eq!(
                ended,
                Ok(Some(Received::Frame(Frame::Open(
                    target.clone(),
                    Some(Class::Bulk)
                ))))
            );
        }
        assert!(parts.0.is_empty());
    }

    #[test]
    fn parts_of_data_are_data_and_endless_control_is_refused() {
        let mut parts = Parts::default();
        let data = (DATA, Bytes::from_static(b"part"));
        let joined = parts.join(part(1, Extent::Middle, data));
        assert_eq!(joined, Ok(Some(Received::Frame(Frame::Data("part".into())))));
        let long = (CONTROL, Bytes::from(vec![0; 200]));
        assert_eq!(parts.join(part(1, Extent::Beginning, long.clone())), Ok(None));
        assert_eq!(
            parts.join(part(1, Extent::Middle, long)),
            Err(FrameError::TooLong(400))
        );
        let other = (Ppid(7), Bytes::from_static(b"x"));
        assert_eq!(
            parts.join(part(1, Extent::Middle, other)),
            Err(FrameError::Ppid(7))
        );
    }

    #[test]
    fn datagrams_in_parts_are_lost() {
        let mut parts = Parts::default();
        let bytes = Bytes::from_static(&[0, 2, 17, 1, 192, 0, 2, 1, 0, 53, 7]);
        let message = |extent, unordered| ReceivedMessage {
            unordered,
            ..part(1_024, extent, (DATAGRAM, bytes.clone()))
        };
        let datagram = Datagram::parse(bytes.clone()).unwrap();
        for unordered in [true, false] {
            let whole = parts.join(message(Extent::Whole, unordered));
            assert_eq!(whole, Ok(Some(Received::Datagram(datagram.clone()))));
            for extent in [Extent::Beginning, Extent::Middle, Extent::End, Extent::Aborted] {
                assert_eq!(parts.join(message(extent, unordered)), Ok(None));
            }
        }
        assert!(parts.0.is_empty());
    }

    #[test]
    fn frames_out_of_order_are_refused() {
        let frame = ReceivedMessage {
            unordered: true,
            ..part(1, Extent::Whole, (DATA, Bytes::from_static(b"data")))
        };
        assert_eq!(Parts::default().join(frame), Err(FrameError::Unordered));
    }
}
