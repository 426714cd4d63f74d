// How does pion behave as a peer? One association over UDP, messages in both directions, and a report as one line of
// JSON. Options, messages and report are those of all third-party peers: see README.md one folder up.
//
// pion knows the SCTP port 5000 only, and only one address.
package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pion/logging"
	"github.com/pion/sctp"
)

const (
	longestMessage = 1 << 20
	// Bytes that may wait to be sent: the stack itself has no limit.
	backlog  = 1 << 20
	patience = 30 * time.Second
)

type plan struct {
	toSend, toReceive uint
	lengths           []int
	streams           uint
	oddUnordered      bool
	retransmissions   int
}

func (p plan) length(number uint32) int { return p.lengths[int(number)%len(p.lengths)] }

func (p plan) stream(number uint32) uint16 { return uint16(uint(number) % p.streams) }

func (p plan) unordered(stream uint16) bool { return p.oddUnordered && stream%2 == 1 }

// Whether chunks on this stream have a limit of retransmissions.
func (p plan) unreliable(stream uint16) bool { return p.retransmissions >= 0 && stream%4 >= 2 }

// The number, then bytes that count up from it.
func (p plan) message(number uint32) []byte {
	message := make([]byte, p.length(number))
	for at := range message {
		message[at] = byte(int(number) + at)
	}
	binary.BigEndian.PutUint32(message, number)

	return message
}

func (p plan) check(message []byte, stream uint16) (uint32, error) {
	if len(message) < 4 {
		return 0, errors.New("a message of less than 4 bytes")
	}
	number := binary.BigEndian.Uint32(message)
	if stream != p.stream(number) || string(message) != string(p.message(number)) {
		return number, fmt.Errorf("message %d is not what it should be", number)
	}

	return number, nil
}

type report struct {
	Event     string  `json:"event"`
	Stack     string  `json:"stack"`
	Connected bool    `json:"connected"`
	Ended     string  `json:"ended"`
	Sent      uint    `json:"sent"`
	Received  uint    `json:"received"`
	Bytes     uint64  `json:"bytes"`
	Seconds   float64 `json:"seconds"`
	Goodput   float64 `json:"goodput_bit_per_second"`
	Paths     int     `json:"paths"`
	Error     string  `json:"error"`
}

type peer struct {
	plan
	association *sctp.Association
	mutex       sync.Mutex
	report      report
	reading     map[uint16]bool
	readers     sync.WaitGroup
	first, last time.Time
	receivedAll chan struct{}
}

func (p *peer) fail(err error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.report.Error == "" {
		p.report.Error = err.Error()
	}
}

func (p *peer) received(message []byte) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.last = time.Now()
	if p.report.Received == 0 {
		p.first = p.last
	}
	p.report.Received++
	p.report.Bytes += uint64(len(message))
	if p.report.Received == p.toReceive {
		close(p.receivedAll)
	}
}

// Reads a stream to its end, which is that of the association.
func (p *peer) read(stream *sctp.Stream) {
	id := stream.StreamIdentifier()
	p.mutex.Lock()
	known := p.reading[id]
	p.reading[id] = true
	p.mutex.Unlock()
	if known {
		return
	}
	p.readers.Add(1)
	go func() {
		defer p.readers.Done()
		buffer := make([]byte, longestMessage)
		next := uint32(id)
		for {
			length, _, err := stream.ReadSCTP(buffer)
			if err != nil {
				// If the peer has reset the stream, this resets ours (RFC 8831 section 6.7).
				_ = stream.Close()
				p.end(err)

				return
			}
			number, err := p.check(buffer[:length], id)
			inOrder := number == next || p.unreliable(id) && number > next
			if err == nil && !p.unordered(id) && !inOrder {
				err = fmt.Errorf("message %d came before %d", number, next)
			}
			if err != nil {
				p.fail(err)
			}
			next = number + uint32(p.streams)
			p.received(buffer[:length])
		}
	}()
}

// A stream ended, and how tells how the association did.
func (p *peer) end(err error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	switch {
	case p.report.Ended != "":
	// It closes the socket when both are done.
	case errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed):
		p.report.Ended = "finished"
	case strings.Contains(strings.ToLower(err.Error()), "abort"):
		p.report.Ended = "aborted"
	default:
		p.report.Ended = "failed: " + err.Error()
	}
}

func (p *peer) speak() error {
	for number := uint32(0); uint(number) < p.toSend; number++ {
		id := p.stream(number)
		stream, err := p.association.OpenStream(id, sctp.PayloadTypeWebRTCBinary)
		if err != nil {
			return err
		}
		p.read(stream)
		if p.unreliable(id) {
			stream.SetReliabilityParams(p.unordered(id), sctp.ReliabilityTypeRexmit, uint32(p.retransmissions))
		} else {
			stream.SetReliabilityParams(p.unordered(id), sctp.ReliabilityTypeReliable, 0)
		}
		for p.association.BufferedAmount() > backlog {
			time.Sleep(100 * time.Microsecond)
		}
		if _, err := stream.WriteSCTP(p.message(number), sctp.PayloadTypeWebRTCBinary); err != nil {
			return err
		}
		p.report.Sent++
	}

	return nil
}

func (p *peer) finish(how string) {
	if p.toReceive > 0 {
		select {
		case <-p.receivedAll:
		case <-time.After(patience):
			p.fail(errors.New("not everything was received"))
		}
	}
	switch how {
	case "shutdown":
		context, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := p.association.Shutdown(context); err != nil {
			p.fail(err)
		}
	case "abort":
		for p.association.BufferedAmount() > 0 {
			time.Sleep(time.Millisecond)
		}
		// Before the streams end, which is otherwise reported as the end of the association.
		p.mutex.Lock()
		p.report.Ended = "aborted"
		p.mutex.Unlock()
		p.association.Abort("enough")
	}
}

func (p *peer) converse(how string) {
	accepted := make(chan struct{})
	go func() {
		defer close(accepted)
		for {
			stream, err := p.association.AcceptStream()
			if err != nil {
				return
			}
			p.read(stream)
		}
	}()
	if err := p.speak(); err != nil {
		p.fail(err)
	}
	if how != "wait" {
		p.finish(how)
	}
	select {
	case <-accepted:
	case <-time.After(patience):
		p.fail(errors.New("no end"))
	}
	p.readers.Wait()
	if p.report.Ended == "" {
		p.report.Ended = "finished"
	}
}

func lengths(text string) ([]int, error) {
	var all []int
	for _, one := range strings.Split(text, ",") {
		length, err := strconv.Atoi(one)
		if err != nil || length < 4 {
			return nil, fmt.Errorf("lengths of 4 bytes or more, not %s", one)
		}
		all = append(all, length)
	}

	return all, nil
}

func run() error {
	p := &peer{reading: map[uint16]bool{}, receivedAll: make(chan struct{})}
	connect := flag.Bool("connect", false, "begin the association instead of waiting for it")
	remote := flag.String("peer", "127.0.0.1", "address of the peer")
	ownUDP := flag.Int("own-udp", 0, "own UDP port")
	peerUDP := flag.Int("peer-udp", 0, "UDP port of the peer")
	flag.UintVar(&p.toSend, "send", 0, "messages to send")
	flag.UintVar(&p.toReceive, "receive", 0, "messages to expect")
	list := flag.String("lengths", "1000", "lengths of messages in bytes, in turn")
	flag.UintVar(&p.streams, "streams", 1, "streams, in turn")
	flag.BoolVar(&p.oddUnordered, "odd-unordered", false, "messages on odd streams are unordered")
	flag.IntVar(&p.retransmissions, "retransmissions", -1, "limit for streams 2, 3, 6, 7 and so on; none if negative")
	how := flag.String("end", "wait", "shutdown, abort or wait")
	interleave := flag.Bool("interleaving", false, "offer I-DATA")
	channels := flag.Int("channels", 0, "open so many data channels, and echo what arrives on those of the other end")
	client := flag.Bool("client", false, "the DTLS role: open channels on even streams")
	zeroChecksum := flag.Bool("zero-checksum", false, "accept packets with a checksum of zero")
	fingerprint := flag.String("dtls", "", "use DTLS with the peer of this fingerprint, as in sha-256 4A:AD:…")
	flag.Parse()
	var err error
	if p.lengths, err = lengths(*list); err != nil {
		return err
	}
	var connection net.Conn
	connection, err = net.DialUDP("udp", &net.UDPAddr{Port: *ownUDP},
		&net.UDPAddr{IP: net.ParseIP(*remote), Port: *peerUDP})
	if err != nil {
		return err
	}
	if *fingerprint == "" {
		fmt.Println(`{"event":"listening"}`)
	} else {
		certificate, own, err := newCertificate()
		if err != nil {
			return err
		}
		fmt.Printf("{\"event\":\"listening\",\"fingerprint\":%q}\n", own)
		if connection, err = secure(connection, certificate, *fingerprint, *client); err != nil {
			return err
		}
	}
	silent := logging.NewDefaultLoggerFactory()
	silent.DefaultLogLevel = logging.LogLevelDisabled
	config := []sctp.AssociationOption{
		sctp.WithNetConn(connection), sctp.WithLoggerFactory(silent), sctp.WithMaxMessageSize(longestMessage),
		sctp.WithMaxReceiveBufferSize(2 * longestMessage), sctp.WithEnableInterleaving(*interleave),
		sctp.WithEnableZeroChecksum(*zeroChecksum),
	}
	if *connect {
		options := make([]sctp.ClientOption, 0, len(config))
		for _, option := range config {
			options = append(options, option)
		}
		p.association, err = sctp.ClientWithOptions(options...)
	} else {
		options := make([]sctp.ServerOption, 0, len(config))
		for _, option := range config {
			options = append(options, option)
		}
		p.association, err = sctp.ServerWithOptions(options...)
	}
	p.report = report{Event: "report", Stack: "pion", Connected: err == nil, Paths: 1}
	switch {
	case err != nil:
		p.fail(err)
	case *channels > 0:
		p.converseOnChannels(*channels, *client)
	default:
		p.converse(*how)
	}
	p.report.Seconds = p.last.Sub(p.first).Seconds()
	if p.report.Seconds > 0 {
		p.report.Goodput = float64(p.report.Bytes) * 8 / p.report.Seconds
	}

	return json.NewEncoder(os.Stdout).Encode(p.report)
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}
