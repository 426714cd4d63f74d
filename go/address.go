package sctp

import (
	"encoding/binary"
	"fmt"
	"net"
	"strconv"
	"strings"
	"syscall"
)

const (
	sizeOf4 = syscall.SizeofSockaddrInet4
	sizeOf6 = syscall.SizeofSockaddrInet6
)

// SCTPAddr is the addresses of an endpoint, which have one port.
type SCTPAddr struct {
	IPAddrs []net.IPAddr
	Port    int
}

// Network is "sctp".
func (a *SCTPAddr) Network() string { return "sctp" }

// String writes the addresses as ResolveSCTPAddr reads them, such as "192.0.2.1/198.51.100.1:5000".
func (a *SCTPAddr) String() string {
	names := make([]string, 0, len(a.IPAddrs))
	for _, ip := range a.IPAddrs {
		switch {
		case ip.IP.To4() != nil:
			names = append(names, ip.String())
		case ip.IP.To16() != nil:
			names = append(names, "["+ip.String()+"]")
		default:
			names = append(names, "")
		}
	}
	return strings.Join(names, "/") + ":" + strconv.Itoa(a.Port)
}

// ResolveSCTPAddr reads addresses that are separated by slashes, the last one with a port. The network is "sctp", "sctp4" or "sctp6".
func ResolveSCTPAddr(network, addrs string) (*SCTPAddr, error) {
	tcp, known := map[string]string{"": "tcp", "sctp": "tcp", "sctp4": "tcp4", "sctp6": "tcp6"}[network]
	if !known {
		return nil, fmt.Errorf("invalid net: %s", network)
	}
	names := strings.Split(addrs, "/")
	last := len(names) - 1
	for at := range names[:last] {
		names[at] += ":"
	}
	resolved := &SCTPAddr{}
	for at, name := range names {
		one, err := net.ResolveTCPAddr(tcp, name)
		if err != nil {
			return nil, err
		}
		if one.IP != nil {
			resolved.IPAddrs = append(resolved.IPAddrs, net.IPAddr{IP: one.IP, Zone: one.Zone})
		}
		if at == last {
			resolved.Port = one.Port
			if one.IP == nil {
				resolved.IPAddrs = nil
			}
		}
	}
	return resolved, nil
}

// ToRawSockAddrBuf writes the addresses one behind another, as sctp_bindx takes them. Without any, it is 0.0.0.0.
func (a *SCTPAddr) ToRawSockAddrBuf() []byte {
	ips := a.IPAddrs
	if len(ips) == 0 {
		ips = []net.IPAddr{{IP: net.IPv4zero}}
	}
	var all []byte
	for _, ip := range ips {
		all = append(all, writeAddress(ip, a.Port)...)
	}
	return all
}

func writeAddress(ip net.IPAddr, port int) []byte {
	v4 := ip.IP.To4()
	if len(ip.IP) == 0 {
		v4 = net.IPv4zero.To4()
	}
	size, family := sizeOf6, uint16(syscall.AF_INET6)
	if v4 != nil {
		size, family = sizeOf4, syscall.AF_INET
	}
	written := make([]byte, size)
	copy(written, bytesOf(&family))
	binary.BigEndian.PutUint16(written[2:], uint16(port))
	if v4 != nil {
		copy(written[4:], v4)
		return written
	}
	copy(written[8:], ip.IP.To16())
	if inter, err := net.InterfaceByName(ip.Zone); err == nil {
		scope := uint32(inter.Index)
		copy(written[24:], bytesOf(&scope))
	}
	return written
}

// readAddresses reads count addresses, one behind another.
func readAddresses(from []byte, count int) (*SCTPAddr, error) {
	read := &SCTPAddr{}
	for ; count > 0; count-- {
		var family uint16
		copy(bytesOf(&family), from)
		switch {
		case family == syscall.AF_INET && len(from) >= sizeOf4:
			read.IPAddrs = append(read.IPAddrs, net.IPAddr{IP: append(net.IP(nil), from[4:8]...)})
		case family == syscall.AF_INET6 && len(from) >= sizeOf6:
			var scope uint32
			copy(bytesOf(&scope), from[24:28])
			ip := net.IPAddr{IP: append(net.IP(nil), from[8:24]...)}
			if inter, err := net.InterfaceByIndex(int(scope)); scope != 0 && err == nil {
				ip.Zone = inter.Name
			}
			read.IPAddrs = append(read.IPAddrs, ip)
		default:
			return nil, fmt.Errorf("unknown address family: %d", family)
		}
		read.Port = int(binary.BigEndian.Uint16(from[2:]))
		if family == syscall.AF_INET {
			from = from[sizeOf4:]
		} else {
			from = from[sizeOf6:]
		}
	}
	return read, nil
}

// family is that of a socket for these addresses: IPv6 if one of them is.
func (a *SCTPAddr) family() int {
	if a != nil {
		for _, ip := range a.IPAddrs {
			if len(ip.IP) != 0 && ip.IP.To4() == nil {
				return syscall.AF_INET6
			}
		}
	}
	return syscall.AF_INET
}

func (a *SCTPAddr) isWildcard() bool {
	return a == nil || len(a.IPAddrs) == 0 || a.IPAddrs[0].IP.IsUnspecified()
}
