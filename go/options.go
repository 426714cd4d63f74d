package sctp

// SetInitMsg sets the numbers of streams and the limits of the handshake, for associations to come.
func (c *SCTPConn) SetInitMsg(numOstreams, maxInstreams, maxAttempts, maxInitTimeout int) error {
	return setInit(c.fd(), InitMsg{
		NumOstreams:    uint16(numOstreams),
		MaxInstreams:   uint16(maxInstreams),
		MaxAttempts:    uint16(maxAttempts),
		MaxInitTimeout: uint16(maxInitTimeout),
	})
}

func setInit(fd int, init InitMsg) error {
	_, err := setOption(fd, SCTP_INITMSG, bytesOf(&init))
	return err
}

// SubscribeEvents selects the events that are received, as a sum of SCTP_EVENT_….
func (c *SCTPConn) SubscribeEvents(flags int) error {
	var events EventSubscribe
	for at := range bytesOf(&events) {
		if flags&(1<<at) != 0 {
			bytesOf(&events)[at] = 1
		}
	}
	_, err := setOption(c.fd(), SCTP_EVENTS, bytesOf(&events))
	return err
}

// SubscribedEvents is the sum of the events that are received.
func (c *SCTPConn) SubscribedEvents() (int, error) {
	var events EventSubscribe
	if _, err := option(c.fd(), SCTP_EVENTS, bytesOf(&events)); err != nil {
		return 0, err
	}
	flags := 0
	for at, field := range bytesOf(&events) {
		if field != 0 {
			flags |= 1 << at
		}
	}
	return flags, nil
}

// SetDefaultSentParam sets what applies to messages without a SndRcvInfo.
func (c *SCTPConn) SetDefaultSentParam(info *SndRcvInfo) error {
	_, err := setOption(c.fd(), SCTP_DEFAULT_SENT_PARAM, bytesOf(info))
	return err
}

// GetDefaultSentParam is what applies to messages without a SndRcvInfo.
func (c *SCTPConn) GetDefaultSentParam() (*SndRcvInfo, error) {
	info := &SndRcvInfo{}
	_, err := option(c.fd(), SCTP_DEFAULT_SENT_PARAM, bytesOf(info))
	return info, err
}

// SetSackTimer sets when packets are acknowledged.
func (c *SCTPConn) SetSackTimer(timer *SackTimer) error {
	_, err := setOption(c.fd(), SCTP_DELAYED_SACK, bytesOf(timer))
	return err
}

// GetSackTimer is when packets are acknowledged.
func (c *SCTPConn) GetSackTimer() (*SackTimer, error) {
	timer := &SackTimer{}
	_, err := option(c.fd(), SCTP_DELAYED_SACK, bytesOf(timer))
	return timer, err
}

// GetStatus is the state of the association.
func (c *SCTPConn) GetStatus() (*Status, error) {
	status := &Status{}
	_, err := option(c.fd(), SCTP_STATUS, bytesOf(status))
	return status, err
}

// SCTPGetPrimaryPeerAddr is the primary address of the peer.
func (c *SCTPConn) SCTPGetPrimaryPeerAddr() (*SCTPAddr, error) {
	var primary struct {
		assoc   int32
		address [128]byte
	}
	if _, err := option(c.fd(), SCTP_PRIMARY_ADDR, bytesOf(&primary)); err != nil {
		return nil, err
	}
	return readAddresses(primary.address[:], 1)
}

// Getsockopt reads an option of SCTP. The second and third argument are addresses of the value and of its length.
func (c *SCTPConn) Getsockopt(optname, optval, optlen uintptr) (uintptr, uintptr, error) {
	length := memoryAt(optlen, 4)
	var room uint32
	copy(bytesOf(&room), length)
	size, err := option(c.fd(), int(optname), memoryAt(optval, int(room)))
	if err != nil {
		return ^uintptr(0), 0, err
	}
	room = uint32(size)
	copy(length, bytesOf(&room))
	return 0, 0, nil
}

// Setsockopt sets an option of SCTP. The second argument is the address of the value, the third one its length.
func (c *SCTPConn) Setsockopt(optname, optval, optlen uintptr) (uintptr, uintptr, error) {
	result, err := setOption(c.fd(), int(optname), memoryAt(optval, int(optlen)))
	return uintptr(result), 0, err
}

// SCTPBind binds a descriptor to addresses, or removes some.
func SCTPBind(fd int, addr *SCTPAddr, flags int) error {
	name, known := map[int]int{
		SCTP_BINDX_ADD_ADDR: SCTP_SOCKOPT_BINDX_ADD,
		SCTP_BINDX_REM_ADDR: SCTP_SOCKOPT_BINDX_REM,
	}[flags]
	if !known {
		return errInvalid
	}
	_, err := setOption(fd, name, addr.ToRawSockAddrBuf())
	return err
}

// SCTPConnect begins an association, or sets it up if the descriptor waits; returns its identifier.
func SCTPConnect(fd int, addr *SCTPAddr) (int, error) {
	return setOption(fd, SCTP_SOCKOPT_CONNECTX, addr.ToRawSockAddrBuf())
}
