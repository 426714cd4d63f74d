// Package sctp is SCTP in user space, with the interface of the module github.com/ishidawataru/sctp.
//
// Programs of that module take this one by a line in their go.mod:
//
//	replace github.com/ishidawataru/sctp => /path/to/anabranch/go
//
// It calls the sockets library libanabranch_sctp (docs/sockets.md) through cgo, so that has to be installed where the C compiler
// and the dynamic linker find it (make install-sockets). No LD_PRELOAD is needed, nor SCTP in the kernel.
//
// Differences to the other module: a goroutine that waits occupies no thread, and deadlines work. Close waits until the peer has
// everything, for at most 10 seconds unless SO_LINGER says otherwise, because a Go program does not run the exit handlers of C
// libraries. Descriptors of SyscallConn are for Setsockopt and Getsockopt of this package, not for those of package syscall.
package sctp
