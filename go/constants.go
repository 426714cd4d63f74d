package sctp

// Option level, flags of SCTPBind, and the flag of notifications.
const (
	SOL_SCTP            = 132
	SCTP_BINDX_ADD_ADDR = 1
	SCTP_BINDX_REM_ADDR = 2
	MSG_NOTIFICATION    = 0x8000
	SCTP_MAX_STREAM     = 0xffff
)

// Socket options, numbered as on Linux.
const (
	SCTP_RTOINFO               = 0
	SCTP_ASSOCINFO             = 1
	SCTP_INITMSG               = 2
	SCTP_NODELAY               = 3
	SCTP_AUTOCLOSE             = 4
	SCTP_SET_PEER_PRIMARY_ADDR = 5
	SCTP_PRIMARY_ADDR          = 6
	SCTP_ADAPTATION_LAYER      = 7
	SCTP_DISABLE_FRAGMENTS     = 8
	SCTP_PEER_ADDR_PARAMS      = 9
	SCTP_DEFAULT_SENT_PARAM    = 10
	SCTP_EVENTS                = 11
	SCTP_I_WANT_MAPPED_V4_ADDR = 12
	SCTP_MAXSEG                = 13
	SCTP_STATUS                = 14
	SCTP_GET_PEER_ADDR_INFO    = 15
	SCTP_DELAYED_ACK_TIME      = 16
	SCTP_DELAYED_ACK           = SCTP_DELAYED_ACK_TIME
	SCTP_DELAYED_SACK          = SCTP_DELAYED_ACK_TIME

	SCTP_SOCKOPT_BINDX_ADD = 100
	SCTP_SOCKOPT_BINDX_REM = 101
	SCTP_SOCKOPT_PEELOFF   = 102
	SCTP_GET_PEER_ADDRS    = 108
	SCTP_GET_LOCAL_ADDRS   = 109
	SCTP_SOCKOPT_CONNECTX  = 110
	SCTP_SOCKOPT_CONNECTX3 = 111
)

// Events to subscribe to, as bits.
const (
	SCTP_EVENT_DATA_IO          = 1 << 0
	SCTP_EVENT_ASSOCIATION      = 1 << 1
	SCTP_EVENT_ADDRESS          = 1 << 2
	SCTP_EVENT_SEND_FAILURE     = 1 << 3
	SCTP_EVENT_PEER_ERROR       = 1 << 4
	SCTP_EVENT_SHUTDOWN         = 1 << 5
	SCTP_EVENT_PARTIAL_DELIVERY = 1 << 6
	SCTP_EVENT_ADAPTATION_LAYER = 1 << 7
	SCTP_EVENT_AUTHENTICATION   = 1 << 8
	SCTP_EVENT_SENDER_DRY       = 1 << 9
	SCTP_EVENT_ALL              = 1<<10 - 1
)

type (
	// SCTPNotificationType is the type of a notification.
	SCTPNotificationType int
	// SCTPAssocID identifies an association of a socket.
	SCTPAssocID int32
	// PeerState is the state of an address of the peer.
	PeerState int32
	// StatusState is the state of an association, as SCTP_STATUS tells it.
	StatusState int32
	// SCTPState is what SCTP_ASSOC_CHANGE tells.
	SCTPState uint16
)

// Types of notifications.
const (
	SCTP_SN_TYPE_BASE SCTPNotificationType = 1<<15 + iota
	SCTP_ASSOC_CHANGE
	SCTP_PEER_ADDR_CHANGE
	SCTP_SEND_FAILED
	SCTP_REMOTE_ERROR
	SCTP_SHUTDOWN_EVENT
	SCTP_PARTIAL_DELIVERY_EVENT
	SCTP_ADAPTATION_INDICATION
	SCTP_AUTHENTICATION_INDICATION
	SCTP_SENDER_DRY_EVENT
)

// Types of ancillary data.
const (
	SCTP_CMSG_INIT = iota
	SCTP_CMSG_SNDRCV
	SCTP_CMSG_SNDINFO
	SCTP_CMSG_RCVINFO
	SCTP_CMSG_NXTINFO
)

// Flags of SndRcvInfo and SndInfo. SCTP_EOF is not the next bit: Linux has the value of MSG_FIN, 0x200.
const (
	SCTP_UNORDERED        = 1 << 0
	SCTP_ADDR_OVER        = 1 << 1
	SCTP_ABORT            = 1 << 2
	SCTP_SACK_IMMEDIATELY = 1 << 3
	SCTP_EOF              = 0x200
)

// States of addresses of the peer.
const (
	SCTP_UNCONFIRMED PeerState = iota
	SCTP_ACTIVE
	SCTP_INACTIVE
)

// States of associations.
const (
	SCTP_CLOSED StatusState = iota
	SCTP_BOUND
	SCTP_LISTEN
	SCTP_COOKIE_WAIT
	SCTP_COOKIE_ECHOED
	SCTP_ESTABLISHED
	SCTP_SHUTDOWN_PENDING
	SCTP_SHUTDOWN_SENT
	SCTP_SHUTDOWN_RECEIVED
	SCTP_SHUTDOWN_ACK_SENT
)

// Changes of associations.
const (
	SCTP_COMM_UP SCTPState = iota
	SCTP_COMM_LOST
	SCTP_RESTART
	SCTP_SHUTDOWN_COMP
	SCTP_CANT_STR_ASSOC
)
