package sctp

import (
	"net"
	"os"
	"syscall"
)

const errInvalid = syscall.EINVAL

// SCTPListener accepts associations.
type SCTPListener struct {
	socket              *socket
	notificationHandler NotificationHandler
}

// SocketConfig says how sockets are set up.
type SocketConfig struct {
	// Control is called before the socket is bound or connected. It may use Setsockopt of NewSCTPConn's result, see SyscallConn.
	Control func(network, address string, c syscall.RawConn) error
	// NotificationHandler gets the notifications of associations.
	NotificationHandler NotificationHandler
	// InitMsg has the numbers of streams and the limits of the handshake.
	InitMsg InitMsg
}

// Listen accepts associations at an address; without one, at all addresses and a free port.
func (cfg *SocketConfig) Listen(network string, laddr *SCTPAddr) (*SCTPListener, error) {
	family, only := familyOf(network, laddr, nil, true)
	s, err := cfg.open(network, family, only, laddr, nil)
	if err != nil {
		return nil, err
	}
	if err := s.listen(); err != nil {
		s.close(0)
		return nil, os.NewSyscallError("listen", err)
	}
	return &SCTPListener{socket: s, notificationHandler: cfg.NotificationHandler}, nil
}

// Dial sets an association up, from an address if one is given.
func (cfg *SocketConfig) Dial(network string, laddr, raddr *SCTPAddr) (*SCTPConn, error) {
	family, only := familyOf(network, laddr, raddr, false)
	s, err := cfg.open(network, family, only, laddr, raddr)
	if err != nil {
		return nil, err
	}
	_, err = SCTPConnect(int(s.fd), raddr)
	if err == syscall.EINPROGRESS {
		err = s.awaitConnected()
	}
	if err != nil {
		s.close(0)
		return nil, err
	}
	return &SCTPConn{socket: s, notificationHandler: cfg.NotificationHandler}, nil
}

// open creates a socket, which is bound if there is a local address.
func (cfg *SocketConfig) open(network string, family int, only bool, laddr, raddr *SCTPAddr) (*socket, error) {
	s, err := newSocket(family, only)
	if err != nil {
		return nil, err
	}
	if err := cfg.prepare(s, network, family, laddr, raddr); err != nil {
		s.close(0)
		return nil, err
	}
	return s, nil
}

func (cfg *SocketConfig) prepare(s *socket, network string, family int, laddr, raddr *SCTPAddr) error {
	if cfg.Control != nil {
		shown := ""
		if laddr != nil {
			shown = laddr.String()
		}
		if err := cfg.Control(network, shown, rawConn{int(s.fd)}); err != nil {
			return err
		}
	}
	if err := setInit(int(s.fd), cfg.InitMsg); err != nil {
		return os.NewSyscallError("setsockopt", err)
	}
	if laddr == nil {
		return nil
	}
	if len(laddr.IPAddrs) == 0 {
		any := net.IPv4zero
		if family == syscall.AF_INET6 {
			any = net.IPv6zero
		}
		laddr.IPAddrs = []net.IPAddr{{IP: any}}
	}
	return SCTPBind(int(s.fd), laddr, SCTP_BINDX_ADD_ADDR)
}

// familyOf is the family of the socket, and whether it is for IPv6 only. A listener at a wildcard is for both versions.
func familyOf(network string, laddr, raddr *SCTPAddr, listens bool) (int, bool) {
	switch {
	case network == "sctp4":
		return syscall.AF_INET, false
	case network == "sctp6":
		return syscall.AF_INET6, true
	case listens && laddr.isWildcard() && hasIPv6():
		return syscall.AF_INET6, false
	case laddr.family() == syscall.AF_INET6 || raddr.family() == syscall.AF_INET6:
		return syscall.AF_INET6, false
	default:
		return syscall.AF_INET, false
	}
}

func hasIPv6() bool {
	probe, err := net.ListenPacket("udp6", "[::1]:0")
	if err != nil {
		return false
	}
	probe.Close()
	return true
}

// ListenSCTP accepts associations at an address.
func ListenSCTP(network string, laddr *SCTPAddr) (*SCTPListener, error) {
	return ListenSCTPExt(network, laddr, InitMsg{NumOstreams: SCTP_MAX_STREAM})
}

// ListenSCTPExt accepts associations at an address.
func ListenSCTPExt(network string, laddr *SCTPAddr, options InitMsg) (*SCTPListener, error) {
	return (&SocketConfig{InitMsg: options}).Listen(network, laddr)
}

// DialSCTP sets an association up.
func DialSCTP(network string, laddr, raddr *SCTPAddr) (*SCTPConn, error) {
	return DialSCTPExt(network, laddr, raddr, InitMsg{NumOstreams: SCTP_MAX_STREAM})
}

// DialSCTPExt sets an association up.
func DialSCTPExt(network string, laddr, raddr *SCTPAddr, options InitMsg) (*SCTPConn, error) {
	return (&SocketConfig{InitMsg: options}).Dial(network, laddr, raddr)
}

// FileListener is a listener with a duplicate of a descriptor of the sockets library.
func FileListener(file *os.File) (*SCTPListener, error) {
	fd, err := duplicate(int(file.Fd()))
	if err != nil {
		return nil, err
	}
	s, err := adopt(fd)
	if err != nil {
		return nil, err
	}
	return &SCTPListener{socket: s}, nil
}

// AcceptSCTP waits for an association.
func (ln *SCTPListener) AcceptSCTP() (*SCTPConn, error) {
	s, err := ln.socket.accept()
	if err != nil {
		return nil, err
	}
	return &SCTPConn{socket: s, notificationHandler: ln.notificationHandler}, nil
}

// Accept waits for an association.
func (ln *SCTPListener) Accept() (net.Conn, error) {
	conn, err := ln.AcceptSCTP()
	if err != nil {
		return nil, err
	}
	return conn, nil
}

// Close refuses further associations. Calls that wait for one end with an error.
func (ln *SCTPListener) Close() error { return ln.socket.close(0) }

// Addr is the addresses at which it listens; nil if it is closed.
func (ln *SCTPListener) Addr() net.Addr {
	return orNil(addresses(ln.socket.number(), 0, SCTP_GET_LOCAL_ADDRS))
}

// SyscallConn is as that of associations.
func (ln *SCTPListener) SyscallConn() (syscall.RawConn, error) { return rawConnOf(ln.socket.number()) }
