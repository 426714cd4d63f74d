//! Do usrsctp, pion and aiortc and we understand each other? Over real sockets, with everything recorded and judged.

mod conversation;
mod multihomed;
mod usrsctp;
mod webrtc;
