package sctp

import "unsafe"

// NotificationHandler gets each notification, as the bytes of RFC 6458 §6.1. An error ends the call that received it.
type NotificationHandler func([]byte) error

// EventSubscribe is the structure of SCTP_EVENTS.
type EventSubscribe struct {
	DataIO          uint8
	Association     uint8
	Address         uint8
	SendFailure     uint8
	PeerError       uint8
	Shutdown        uint8
	PartialDelivery uint8
	AdaptationLayer uint8
	Authentication  uint8
	SenderDry       uint8
}

// InitMsg is the structure of SCTP_INITMSG. Zero is the default.
type InitMsg struct {
	NumOstreams    uint16
	MaxInstreams   uint16
	MaxAttempts    uint16
	MaxInitTimeout uint16
}

// SackTimer is the structure of SCTP_DELAYED_SACK (RFC 6458 §8.1.19). The delay is in milliseconds.
type SackTimer struct {
	AssocID       SCTPAssocID
	SackDelay     uint32
	SackFrequency uint32
}

// PeerAddrinfo is the structure of SCTP_GET_PEER_ADDR_INFO (RFC 6458 §8.2.2).
type PeerAddrinfo struct {
	AssocID SCTPAssocID
	Address [128]byte
	State   PeerState
	CWND    uint32
	SRTT    uint32
	RTO     uint32
	MTU     uint32
}

// Status is the structure of SCTP_STATUS (RFC 6458 §8.2.1).
type Status struct {
	AssocID            SCTPAssocID
	State              StatusState
	RWND               uint32
	Unackdata          uint16
	Penddata           uint16
	Instreams          uint16
	Ostreams           uint16
	FragmentationPoint uint32
	PrimaryPeerAddr    PeerAddrinfo
}

// SndRcvInfo is what passes beside a message (RFC 6458 §5.3.2). The PPID is in host byte order; SetDefaultSentParam and
// GetDefaultSentParam have it in network byte order, as the socket option does.
type SndRcvInfo struct {
	Stream  uint16
	SSN     uint16
	Flags   uint16
	_       uint16
	PPID    uint32
	Context uint32
	TTL     uint32
	TSN     uint32
	CumTSN  uint32
	AssocID int32
}

// SndInfo is the structure of SCTP_SNDINFO (RFC 6458 §5.3.4).
type SndInfo struct {
	SID     uint16
	Flags   uint16
	PPID    uint32
	Context uint32
	AssocID int32
}

// GetAddrsOld is the structure of SCTP_SOCKOPT_CONNECTX3.
type GetAddrsOld struct {
	AssocID int32
	AddrNum int32
	Addrs   uintptr
}

// NotificationHeader begins each notification.
type NotificationHeader struct {
	Type   uint16
	Flags  uint16
	Length uint32
}

const sndRcvInfoSize = int(unsafe.Sizeof(SndRcvInfo{}))

// bytesOf is the memory of a structure without pointers.
func bytesOf[T any](value *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(value)), int(unsafe.Sizeof(*value)))
}
