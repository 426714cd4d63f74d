// Data channels (RFC 8832) by pion's package for them. Each end opens channels, one after the other on the same stream, and the other
// end echoes what it receives: see README.md one folder up.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/pion/datachannel"
	"github.com/pion/logging"
	"github.com/pion/sctp"
)

const (
	longestEcho = 1 << 16
	// pion does not tell when a reset of its own is acknowledged, and does not open a stream again before.
	resetTime = 100 * time.Millisecond
)

type note struct {
	text bool
	data []byte
}

// What is sent on each channel.
func notes(round int) []note {
	return []note{
		{true, []byte(fmt.Sprintf("text %d", round))},
		{false, []byte{byte(round), 0, 255}},
		{true, nil},
		{false, nil},
	}
}

func channelConfig(round int, loggers logging.LoggerFactory) *datachannel.Config {
	config := &datachannel.Config{
		Label: fmt.Sprintf("round %d", round), Protocol: "echo", Priority: 512, LoggerFactory: loggers,
	}
	switch round % 3 {
	case 1:
		config.ChannelType = datachannel.ChannelTypePartialReliableRexmitUnordered
		config.ReliabilityParameter = 3
	case 2:
		config.ChannelType = datachannel.ChannelTypePartialReliableTimed
		config.ReliabilityParameter = 5000
	}

	return config
}

// Opens one channel, sends, waits for the echo and closes, in every second round by the other end.
func (p *peer) round(round int, id uint16, loggers logging.LoggerFactory) error {
	channel, err := datachannel.Dial(p.association, id, channelConfig(round, loggers))
	if err != nil {
		return err
	}
	want := notes(round)
	for _, one := range want {
		if _, err = channel.WriteDataChannel(one.data, one.text); err != nil {
			return err
		}
		p.report.Sent++
	}
	buffer := make([]byte, longestEcho)
	for range want {
		length, text, err := channel.ReadDataChannel(buffer)
		if err != nil {
			return fmt.Errorf("echo in round %d: %w", round, err)
		}
		found := false
		for at, one := range want {
			if one.text == text && bytes.Equal(one.data, buffer[:length]) {
				want = append(append([]note{}, want[:at]...), want[at+1:]...)
				found = true

				break
			}
		}
		if !found {
			return fmt.Errorf("round %d: unexpected echo of %d bytes", round, length)
		}
		p.report.Received++
	}
	if round%2 == 0 {
		err = channel.Close()
	} else {
		_, err = channel.WriteDataChannel([]byte("close"), true)
	}
	if err != nil {
		return err
	}
	if length, _, err := channel.ReadDataChannel(buffer); err == nil {
		return fmt.Errorf("round %d: %d bytes after the end", round, length)
	}
	time.Sleep(resetTime)

	return nil
}

// Echoes what arrives on a channel of the other end, until it says "close" or closes it.
func echo(channel *datachannel.DataChannel) {
	buffer := make([]byte, longestEcho)
	for {
		length, text, err := channel.ReadDataChannel(buffer)
		if err != nil {
			return
		}
		if text && string(buffer[:length]) == "close" {
			_ = channel.Close()

			continue
		}
		if _, err = channel.WriteDataChannel(buffer[:length], text); err != nil {
			return
		}
	}
}

// Runs the rounds, and serves the other end until it ends the association.
func (p *peer) converseOnChannels(rounds int, client bool) {
	silent := logging.NewDefaultLoggerFactory()
	silent.DefaultLogLevel = logging.LogLevelDisabled
	accepted := make(chan struct{})
	go func() {
		defer close(accepted)
		for {
			channel, err := datachannel.Accept(p.association, &datachannel.Config{LoggerFactory: silent})
			if errors.Is(err, datachannel.ErrInvalidPayloadProtocolIdentifier) {
				p.fail(err)

				continue
			}
			if err != nil {
				return
			}
			go echo(channel)
		}
	}()
	var id uint16
	if !client {
		id = 1
	}
	for round := range rounds {
		if err := p.round(round, id, silent); err != nil {
			p.fail(err)

			break
		}
	}
	if stream, err := p.association.OpenStream(id+2, sctp.PayloadTypeWebRTCBinary); err != nil {
		p.fail(err)
	} else if _, err = datachannel.Client(stream, &datachannel.Config{Label: "done", LoggerFactory: silent}); err != nil {
		p.fail(err)
	}
	select {
	case <-accepted:
		p.report.Ended = "finished"
	case <-time.After(patience):
		p.fail(errors.New("no end"))
	}
}
