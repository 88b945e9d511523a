package link

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// maxUnclaimed is how many connections may wait for their handshake. In a sandbox that listens anyone inside
// may connect; beyond this the oldest has to go, so that a flood cannot keep the host out for long.
const maxUnclaimed = 16

// A Door is where connections come in, whichever side made them. It is the HTTP server's listener.
type Door struct {
	arrivals chan *connection
	closed   chan struct{}
	close    sync.Once
	ended    func(*connection)

	mu        sync.Mutex
	unclaimed []*connection
}

// NewDoor makes an open door.
func NewDoor() *Door {
	return &Door{arrivals: make(chan *connection), closed: make(chan struct{})}
}

// A connection is worth nothing until it is claimed.
type connection struct {
	net.Conn
	door  *Door
	timer *time.Timer
	once  sync.Once
	gone  chan struct{}

	claimed atomic.Bool
	mu      sync.Mutex
	// challenge is what the host has to answer; "" before hello and after a claim.
	challenge string
	greeted   bool
}

// Enter accepts a connection and returns a channel that is closed when the connection has ended.
func (d *Door) Enter(conn net.Conn) <-chan struct{} {
	c := &connection{Conn: conn, door: d, gone: make(chan struct{})}
	c.timer = time.AfterFunc(unclaimedTimeout, func() {
		if !c.claimed.Load() {
			c.Close()
		}
	})
	var oldest *connection
	d.mu.Lock()
	d.unclaimed = append(d.unclaimed, c)
	if len(d.unclaimed) > maxUnclaimed {
		oldest = d.unclaimed[0]
	}
	d.mu.Unlock()
	if oldest != nil {
		oldest.Close()
	}
	select {
	case d.arrivals <- c:
	case <-d.closed:
		c.Close()
	}
	return c.gone
}

// settle takes a connection off the list of those that wait.
func (d *Door) settle(c *connection) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, waiting := range d.unclaimed {
		if waiting == c {
			d.unclaimed = append(d.unclaimed[:i:i], d.unclaimed[i+1:]...)
			return
		}
	}
}

// Close is called from everywhere: by the HTTP server, by a claim that replaces the connection, by its timer.
func (c *connection) Close() error {
	err := net.ErrClosed
	c.once.Do(func() {
		err = c.Conn.Close()
		c.timer.Stop()
		c.door.settle(c)
		close(c.gone)
		if c.door.ended != nil {
			c.door.ended(c)
		}
	})
	return err
}

// Accept gives the HTTP server its next connection.
func (d *Door) Accept() (net.Conn, error) {
	select {
	case c := <-d.arrivals:
		return c, nil
	case <-d.closed:
		return nil, net.ErrClosed
	}
}

// Close refuses all later connections.
func (d *Door) Close() error {
	d.close.Do(func() { close(d.closed) })
	return nil
}

// Addr is there for net.Listener.
func (d *Door) Addr() net.Addr { return &net.UnixAddr{Name: "door", Net: "unix"} }
