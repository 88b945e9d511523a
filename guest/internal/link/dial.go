package link

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"time"
)

const (
	firstRetry = 25 * time.Millisecond
	lastRetry  = 250 * time.Millisecond
)

// Dial connects to the host's socket, and again whenever the connection is lost, until the door closes.
func Dial(door *Door, socket string) {
	wait := firstRetry
	for {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			began := time.Now()
			<-door.Enter(conn)
			if time.Since(began) > unclaimedTimeout {
				wait = firstRetry // it was of use
			}
		}
		select {
		case <-door.closed:
			return
		case <-time.After(wait):
			wait = min(2*wait, lastRetry)
		}
	}
}

// Listen makes a socket inside the sandbox. One that an earlier guest left is replaced.
func Listen(door *Door, socket string) error {
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				if errors.Is(err, net.ErrClosed) {
					return
				}
				// Out of descriptors, most likely: connections that time out free some.
				time.Sleep(lastRetry)
				continue
			}
			door.Enter(conn)
		}
	}()
	return nil
}
