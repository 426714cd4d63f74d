package sctp

import (
	"encoding/binary"
	"io"
	"net"
	"os"
	"syscall"
	"time"
	"unsafe"
)

// closeLimit is how long Close waits for the peer.
const closeLimit = 10 * time.Second

// SCTPConn is an association.
type SCTPConn struct {
	socket              *socket
	failed              error
	notificationHandler NotificationHandler
}

// NewSCTPConn takes over a descriptor that the sockets library has given.
func NewSCTPConn(fd int, handler NotificationHandler) *SCTPConn {
	s, err := adopt(fd)
	return &SCTPConn{socket: s, failed: err, notificationHandler: handler}
}

func (c *SCTPConn) fd() int { return c.socket.number() }

// SCTPWrite sends a message. Without info, the defaults of the socket apply.
func (c *SCTPConn) SCTPWrite(b []byte, info *SndRcvInfo) (int, error) {
	if c.failed != nil {
		return 0, c.failed
	}
	var control []byte
	if info != nil {
		sent := *info
		sent.PPID = swapped(info.PPID)
		control = make([]byte, syscall.CmsgSpace(sndRcvInfoSize))
		header := syscall.Cmsghdr{Level: syscall.IPPROTO_SCTP, Type: SCTP_CMSG_SNDRCV}
		header.SetLen(syscall.CmsgLen(sndRcvInfoSize))
		copy(control, bytesOf(&header))
		copy(control[syscall.CmsgLen(0):], bytesOf(&sent))
	}
	return c.socket.send(b, control)
}

// swapped is a PPID of the host in network byte order, or the reverse.
func swapped(ppid uint32) uint32 {
	return binary.BigEndian.Uint32(bytesOf(&ppid))
}

// SCTPRead receives a message, or part of one, and what is beside it if events of data are subscribed to. At the end, it is io.EOF.
func (c *SCTPConn) SCTPRead(b []byte) (int, *SndRcvInfo, error) {
	if c.failed != nil {
		return 0, nil, c.failed
	}
	control := make([]byte, 256)
	for {
		n, size, flags, err := c.socket.receive(b, control)
		if err != nil {
			return 0, nil, err
		}
		if n == 0 && size == 0 {
			return 0, nil, io.EOF
		}
		if flags&MSG_NOTIFICATION == 0 || c.notificationHandler == nil {
			info, err := readInfo(control[:size])
			return n, info, err
		}
		if err := c.notificationHandler(b[:n]); err != nil {
			return 0, nil, err
		}
	}
}

func readInfo(control []byte) (*SndRcvInfo, error) {
	all, err := syscall.ParseSocketControlMessage(control)
	if err != nil {
		return nil, err
	}
	for _, one := range all {
		isInfo := one.Header.Level == syscall.IPPROTO_SCTP && one.Header.Type == SCTP_CMSG_SNDRCV
		if isInfo && len(one.Data) >= sndRcvInfoSize {
			info := &SndRcvInfo{}
			copy(bytesOf(info), one.Data)
			info.PPID = swapped(info.PPID)
			return info, nil
		}
	}
	return nil, nil
}

// Write sends a message with the defaults of the socket.
func (c *SCTPConn) Write(b []byte) (int, error) { return c.SCTPWrite(b, nil) }

// Read receives a message, or part of one.
func (c *SCTPConn) Read(b []byte) (int, error) {
	n, _, err := c.SCTPRead(b)
	return n, err
}

// Close shuts the association down and waits until the peer has everything.
func (c *SCTPConn) Close() error {
	if c == nil || c.fd() < 0 {
		return syscall.EBADF
	}
	return c.socket.close(closeLimit)
}

// SyscallConn is for Setsockopt and Getsockopt: only Control is there.
func (c *SCTPConn) SyscallConn() (syscall.RawConn, error) { return rawConnOf(c.fd()) }

type rawConn struct{ fd int }

func rawConnOf(fd int) (syscall.RawConn, error) {
	if fd < 0 {
		return nil, syscall.EINVAL
	}
	return rawConn{fd}, nil
}

func (r rawConn) Control(f func(fd uintptr)) error {
	f(uintptr(r.fd))
	return nil
}

func (rawConn) Read(func(fd uintptr) bool) error { return syscall.EOPNOTSUPP }

func (rawConn) Write(func(fd uintptr) bool) error { return syscall.EOPNOTSUPP }

// SetDeadline limits calls that read and write.
func (c *SCTPConn) SetDeadline(t time.Time) error { return c.deadline((*os.File).SetDeadline, t) }

// SetReadDeadline limits calls that read.
func (c *SCTPConn) SetReadDeadline(t time.Time) error {
	return c.deadline((*os.File).SetReadDeadline, t)
}

// SetWriteDeadline limits calls that write.
func (c *SCTPConn) SetWriteDeadline(t time.Time) error {
	return c.deadline((*os.File).SetWriteDeadline, t)
}

func (c *SCTPConn) deadline(set func(*os.File, time.Time) error, t time.Time) error {
	if c.failed != nil {
		return c.failed
	}
	return set(c.socket.file, t)
}

func (c *SCTPConn) buffer(name int) (int, error) {
	if c.failed != nil {
		return 0, c.failed
	}
	return c.socket.intOption(syscall.SOL_SOCKET, name)
}

func (c *SCTPConn) setBuffer(name, bytes int) error {
	if c.failed != nil {
		return c.failed
	}
	return c.socket.setIntOption(syscall.SOL_SOCKET, name, bytes)
}

// SetWriteBuffer sets the size of the send buffer; as on Linux, it is twice as large.
func (c *SCTPConn) SetWriteBuffer(bytes int) error { return c.setBuffer(syscall.SO_SNDBUF, bytes) }

// GetWriteBuffer is the size of the send buffer.
func (c *SCTPConn) GetWriteBuffer() (int, error) { return c.buffer(syscall.SO_SNDBUF) }

// SetReadBuffer sets the size of the receive buffer; as on Linux, it is twice as large.
func (c *SCTPConn) SetReadBuffer(bytes int) error { return c.setBuffer(syscall.SO_RCVBUF, bytes) }

// GetReadBuffer is the size of the receive buffer.
func (c *SCTPConn) GetReadBuffer() (int, error) { return c.buffer(syscall.SO_RCVBUF) }

// SCTPLocalAddr is our addresses.
func (c *SCTPConn) SCTPLocalAddr(id int) (*SCTPAddr, error) {
	return addresses(c.fd(), id, SCTP_GET_LOCAL_ADDRS)
}

// SCTPRemoteAddr is the peer's addresses.
func (c *SCTPConn) SCTPRemoteAddr(id int) (*SCTPAddr, error) {
	return addresses(c.fd(), id, SCTP_GET_PEER_ADDRS)
}

// LocalAddr is our addresses; nil if there are none.
func (c *SCTPConn) LocalAddr() net.Addr { return orNil(c.SCTPLocalAddr(0)) }

// RemoteAddr is the peer's addresses; nil if there are none.
func (c *SCTPConn) RemoteAddr() net.Addr { return orNil(c.SCTPRemoteAddr(0)) }

func orNil(a *SCTPAddr, err error) net.Addr {
	if err != nil {
		return nil
	}
	return a
}

func addresses(fd, id, name int) (*SCTPAddr, error) {
	var all struct {
		assoc int32
		count uint32
		list  [4096]byte
	}
	all.assoc = int32(id)
	if _, err := option(fd, name, bytesOf(&all)); err != nil {
		return nil, err
	}
	return readAddresses(all.list[:], int(all.count))
}

// PeelOff moves an association of a one-to-many style socket to a socket of its own.
func (c *SCTPConn) PeelOff(id int) (*SCTPConn, error) {
	argument := [2]int32{int32(id), 0}
	if _, err := option(c.fd(), SCTP_SOCKOPT_PEELOFF, bytesOf(&argument)); err != nil {
		return nil, err
	}
	peeled := NewSCTPConn(int(argument[1]), nil)
	return peeled, peeled.failed
}

// SCTPSndRcvInfoWrappedConn reads and writes messages with a SndRcvInfo before the data.
type SCTPSndRcvInfoWrappedConn struct{ conn *SCTPConn }

// NewSCTPSndRcvInfoWrappedConn subscribes to events of data.
func NewSCTPSndRcvInfoWrappedConn(conn *SCTPConn) *SCTPSndRcvInfoWrappedConn {
	_ = conn.SubscribeEvents(SCTP_EVENT_DATA_IO)
	return &SCTPSndRcvInfoWrappedConn{conn}
}

// Write sends what follows the SndRcvInfo.
func (c *SCTPSndRcvInfoWrappedConn) Write(b []byte) (int, error) {
	if len(b) < sndRcvInfoSize {
		return 0, syscall.EINVAL
	}
	var info SndRcvInfo
	copy(bytesOf(&info), b)
	n, err := c.conn.SCTPWrite(b[sndRcvInfoSize:], &info)
	return n + sndRcvInfoSize, err
}

// Read receives a message behind its SndRcvInfo.
func (c *SCTPSndRcvInfoWrappedConn) Read(b []byte) (int, error) {
	if len(b) < sndRcvInfoSize {
		return 0, syscall.EINVAL
	}
	n, info, err := c.conn.SCTPRead(b[sndRcvInfoSize:])
	if err != nil {
		return n, err
	}
	if info == nil {
		info = &SndRcvInfo{}
	}
	copy(b, bytesOf(info))
	return n + sndRcvInfoSize, nil
}

// Close is that of the association.
func (c *SCTPSndRcvInfoWrappedConn) Close() error { return c.conn.Close() }

// LocalAddr is that of the association.
func (c *SCTPSndRcvInfoWrappedConn) LocalAddr() net.Addr { return c.conn.LocalAddr() }

// RemoteAddr is that of the association.
func (c *SCTPSndRcvInfoWrappedConn) RemoteAddr() net.Addr { return c.conn.RemoteAddr() }

// SetDeadline is that of the association.
func (c *SCTPSndRcvInfoWrappedConn) SetDeadline(t time.Time) error { return c.conn.SetDeadline(t) }

// SetReadDeadline is that of the association.
func (c *SCTPSndRcvInfoWrappedConn) SetReadDeadline(t time.Time) error {
	return c.conn.SetReadDeadline(t)
}

// SetWriteDeadline is that of the association.
func (c *SCTPSndRcvInfoWrappedConn) SetWriteDeadline(t time.Time) error {
	return c.conn.SetWriteDeadline(t)
}

// SetWriteBuffer is that of the association.
func (c *SCTPSndRcvInfoWrappedConn) SetWriteBuffer(bytes int) error {
	return c.conn.SetWriteBuffer(bytes)
}

// GetWriteBuffer is that of the association.
func (c *SCTPSndRcvInfoWrappedConn) GetWriteBuffer() (int, error) { return c.conn.GetWriteBuffer() }

// SetReadBuffer is that of the association.
func (c *SCTPSndRcvInfoWrappedConn) SetReadBuffer(bytes int) error {
	return c.conn.SetReadBuffer(bytes)
}

// GetReadBuffer is that of the association.
func (c *SCTPSndRcvInfoWrappedConn) GetReadBuffer() (int, error) { return c.conn.GetReadBuffer() }

// memoryAt is memory whose address the program gives as a number.
func memoryAt(at uintptr, length int) []byte {
	if at == 0 || length <= 0 {
		return nil
	}
	return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&at))), length)
}
