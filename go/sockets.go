package sctp

/*
#cgo LDFLAGS: -lanabranch_sctp
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

// The sockets library comes before the C library, so these functions are its own.

static ssize_t anabranch_send(int fd, const void *from, size_t length, void *control, size_t size) {
	struct iovec data = {(void *)from, length};
	struct msghdr message;
	memset(&message, 0, sizeof message);
	message.msg_iov = &data;
	message.msg_iovlen = 1;
	message.msg_control = size == 0 ? NULL : control;
	message.msg_controllen = size;
	return sendmsg(fd, &message, MSG_NOSIGNAL);
}

static ssize_t anabranch_receive(int fd, void *to, size_t room, void *control, size_t *size, int *flags) {
	struct iovec data = {to, room};
	struct msghdr message;
	memset(&message, 0, sizeof message);
	message.msg_iov = &data;
	message.msg_iovlen = 1;
	message.msg_control = control;
	message.msg_controllen = *size;
	ssize_t received = recvmsg(fd, &message, 0);
	*size = message.msg_controllen;
	*flags = message.msg_flags;
	return received;
}

static int anabranch_is_writable(int fd) {
	struct pollfd watched = {fd, POLLOUT, 0};
	return poll(&watched, 1, 0) > 0;
}

static int anabranch_duplicate(int fd) { return fcntl(fd, F_DUPFD_CLOEXEC, 0); }

static int anabranch_unblock(int fd) {
	int flags = fcntl(fd, F_GETFL, 0);
	return flags < 0 ? flags : fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

static int anabranch_accept(int fd) { return accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK); }
*/
import "C"

import (
	"errors"
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// socket is a descriptor of the sockets library, and a duplicate of it that only the kernel knows: Go's runtime waits on that one.
type socket struct {
	fd     C.int
	file   *os.File
	wait   syscall.RawConn
	closed atomic.Bool
}

func newSocket(family int, ipv6only bool) (*socket, error) {
	fd, err := C.socket(C.int(family), syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, syscall.IPPROTO_SCTP)
	if err != nil && fd < 0 {
		return nil, os.NewSyscallError("socket", err)
	}
	s, err := take(int(fd))
	if err != nil {
		return nil, err
	}
	if family == syscall.AF_INET6 {
		only := C.int(0)
		if ipv6only {
			only = 1
		}
		C.setsockopt(fd, syscall.IPPROTO_IPV6, syscall.IPV6_V6ONLY, unsafe.Pointer(&only), 4)
	}
	return s, nil
}

// adopt takes a descriptor of the program over, and closes it after a failure.
func adopt(fd int) (*socket, error) {
	result, err := C.anabranch_unblock(C.int(fd))
	if result < 0 {
		C.close(C.int(fd))
		return nil, os.NewSyscallError("fcntl", err)
	}
	return take(fd)
}

// take makes a socket of a descriptor that does not block, and closes it after a failure.
func take(fd int) (*socket, error) {
	s := &socket{fd: C.int(fd)}
	duplicate, _, number := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_DUPFD_CLOEXEC, 0)
	if number != 0 {
		C.close(s.fd)
		return nil, os.NewSyscallError("fcntl", number)
	}
	s.file = os.NewFile(duplicate, "sctp")
	var err error
	s.wait, err = s.file.SyscallConn()
	if err != nil {
		s.close(0)
		return nil, err
	}
	return s, nil
}

// duplicate is another descriptor of the same socket.
func duplicate(fd int) (int, error) {
	result, err := C.anabranch_duplicate(C.int(fd))
	if result < 0 {
		return -1, os.NewSyscallError("fcntl", err)
	}
	return int(result), nil
}

// number is the descriptor; -1 once it is closed, because another file may have its number then.
func (s *socket) number() int {
	if s == nil || s.closed.Load() {
		return -1
	}
	return int(s.fd)
}

// close ends calls that wait. With a limit, it waits for the peer.
func (s *socket) close(limit time.Duration) error {
	if s.closed.Swap(true) {
		return syscall.EBADF
	}
	if limit > 0 {
		s.lingers(limit)
	}
	err := s.file.Close()
	result, failed := C.close(s.fd)
	if result < 0 && err == nil {
		err = failed
	}
	return err
}

// again is whether a call has to wait.
func again(err error) bool { return err == syscall.EAGAIN || err == syscall.EINTR }

// whenReadable makes a call until it does not fail for want of something to receive.
func (s *socket) whenReadable(call func() error) error {
	var failed error
	err := s.wait.Read(func(uintptr) bool {
		failed = call()
		return !again(failed)
	})
	if err != nil {
		return s.ofWait(err)
	}
	return failed
}

// whenWritable makes a call until it does not fail for want of room.
func (s *socket) whenWritable(call func() error) error {
	var failed error
	err := s.wait.Write(func(uintptr) bool {
		failed = call()
		return !again(failed)
	})
	if err != nil {
		return s.ofWait(err)
	}
	return failed
}

// ofWait is the error of a wait: of one that a close has ended, what the kernel's calls return then.
func (s *socket) ofWait(err error) error {
	if s.closed.Load() {
		return syscall.EBADF
	}
	return err
}

func pointer(b []byte) unsafe.Pointer {
	if len(b) == 0 {
		return nil
	}
	return unsafe.Pointer(&b[0])
}

func (s *socket) send(data, control []byte) (sent int, err error) {
	err = s.whenWritable(func() error {
		n, failed := C.anabranch_send(s.fd, pointer(data), C.size_t(len(data)), pointer(control), C.size_t(len(control)))
		sent = int(n)
		return ifNegative(sent, failed)
	})
	if err != nil {
		sent = 0
	}
	return sent, err
}

func (s *socket) receive(data, control []byte) (n, size, flags int, err error) {
	err = s.whenReadable(func() error {
		room, told := C.size_t(len(control)), C.int(0)
		received, failed := C.anabranch_receive(s.fd, pointer(data), C.size_t(len(data)), pointer(control), &room, &told)
		n, size, flags = int(received), int(room), int(told)
		return ifNegative(n, failed)
	})
	if err != nil {
		n, size = 0, 0
	}
	return n, size, flags, err
}

func (s *socket) accept() (*socket, error) {
	var fd int
	err := s.whenReadable(func() error {
		result, failed := C.anabranch_accept(s.fd)
		fd = int(result)
		return ifNegative(fd, failed)
	})
	if err != nil {
		return nil, err
	}
	return take(fd)
}

func (s *socket) listen() error {
	result, err := C.listen(s.fd, syscall.SOMAXCONN)
	return ifNegative(int(result), err)
}

// awaitConnected waits until the handshake is over.
func (s *socket) awaitConnected() error {
	err := s.wait.Write(func(uintptr) bool { return C.anabranch_is_writable(s.fd) != 0 })
	if err != nil {
		return s.ofWait(err)
	}
	number, err := s.intOption(syscall.SOL_SOCKET, syscall.SO_ERROR)
	if err == nil && number != 0 {
		err = syscall.Errno(number)
	}
	return err
}

// lingers has the descriptor wait for the peer when it is closed, unless the program has decided.
func (s *socket) lingers(limit time.Duration) {
	linger, size := syscall.Linger{}, C.socklen_t(8)
	C.getsockopt(s.fd, syscall.SOL_SOCKET, syscall.SO_LINGER, unsafe.Pointer(&linger), &size)
	if linger.Onoff == 0 {
		linger = syscall.Linger{Onoff: 1, Linger: int32(limit / time.Second)}
		C.setsockopt(s.fd, syscall.SOL_SOCKET, syscall.SO_LINGER, unsafe.Pointer(&linger), size)
	}
}

func (s *socket) intOption(level, name int) (int, error) {
	value, size := C.int(0), C.socklen_t(4)
	result, err := C.getsockopt(s.fd, C.int(level), C.int(name), unsafe.Pointer(&value), &size)
	return int(value), ifNegative(int(result), err)
}

func (s *socket) setIntOption(level, name, value int) error {
	given := C.int(value)
	result, err := C.setsockopt(s.fd, C.int(level), C.int(name), unsafe.Pointer(&given), 4)
	return ifNegative(int(result), err)
}

// ifNegative is the error of a call that has failed. Others leave errno as it was.
func ifNegative(result int, err error) error {
	if result >= 0 {
		return nil
	}
	if err == nil {
		return errors.New("unknown error")
	}
	return err
}

// option reads an option of SCTP into value, which names the association; returns the length.
func option(fd int, name int, value []byte) (int, error) {
	size := C.socklen_t(len(value))
	result, err := C.getsockopt(C.int(fd), SOL_SCTP, C.int(name), pointer(value), &size)
	return int(size), ifNegative(int(result), err)
}

// setOption sets an option of SCTP; returns the result of the call.
func setOption(fd int, name int, value []byte) (int, error) {
	result, err := C.setsockopt(C.int(fd), SOL_SCTP, C.int(name), pointer(value), C.socklen_t(len(value)))
	return int(result), ifNegative(int(result), err)
}
