//! Interoperability with usrsctp, pion and aiortc over real sockets; every packet is captured and checked.

mod conversation;
mod data_channels;
mod multihomed;
mod usrsctp;
mod webrtc;
