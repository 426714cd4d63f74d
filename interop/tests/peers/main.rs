//! Interoperability with usrsctp, pion and aiortc over real sockets; every packet is captured and checked.

mod conversation;
mod multihomed;
mod usrsctp;
mod webrtc;
