// Package link is the guest's side of docs/protocol.md: it takes connections, proves who is who, and serves
// the host's calls over HTTP/2.
package link

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"geode/guest/internal/files"
	"geode/guest/internal/hatch"
	"geode/guest/internal/mcp"
	"geode/guest/internal/processes"
)

// Protocol is the version of docs/protocol.md that this guest speaks.
const Protocol = 1

// Numbers of the HTTP/2 server. A stream's buffer is small against the connection's, so that a stream whose
// reader stands still leaves room for the others.
const (
	maxStreams       = 4096
	streamBuffer     = 1 << 20
	connectionBuffer = 32 << 20
	readFrame        = 64 << 10
	pingAfter        = 30 * time.Second
	pingTimeout      = 30 * time.Second
	unclaimedTimeout = 2 * time.Second
)

// A Guest serves one sandbox.
type Guest struct {
	version string
	boot    string
	table   *processes.Table
	files   *files.Files
	lease   *lease
	hatch   *hatch.Hatch
	tools   *mcp.Socket

	mu      sync.Mutex
	secret  []byte // nil until the first claim
	current *connection
}

// New creates a guest that ends if no host claims it within the lease.
func New(version string, table *processes.Table, leaseTime time.Duration, ended func()) *Guest {
	return &Guest{
		version: version,
		boot:    randomHex(16),
		table:   table,
		files:   files.New(),
		lease:   newLease(leaseTime, ended),
		hatch: hatch.New(func(waiting hatch.Waiting) {
			table.Events.Publish(processes.Event{Type: "hatch-connection", ID: waiting.ID, Door: waiting.Door})
		}),
		tools: mcp.New(func(id string) {
			table.Events.Publish(processes.Event{Type: "tool-connection", ID: id})
		}),
	}
}

// Serve answers on every connection that comes through the door. It returns when the door is closed.
func (g *Guest) Serve(door *Door) error {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{
		Handler:   g.routes(),
		Protocols: protocols,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams:          maxStreams,
			MaxReadFrameSize:              readFrame,
			MaxReceiveBufferPerStream:     streamBuffer,
			MaxReceiveBufferPerConnection: connectionBuffer,
			SendPingTimeout:               pingAfter,
			PingTimeout:                   pingTimeout,
		},
		ErrorLog: log.New(io.Discard, "", 0),
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return context.WithValue(ctx, connectionKey{}, conn)
		},
	}
	door.ended = g.connectionEnded
	if err := server.Serve(door); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// DropDead closes the host's connection if its other end is gone. Saving the memory of a sandbox cuts its connections,
// and gVisor does not wake their readers.
func (g *Guest) DropDead() {
	g.mu.Lock()
	conn := g.current
	g.mu.Unlock()
	if conn != nil && isDead(conn.Conn) {
		conn.Close()
	}
}

func isDead(conn net.Conn) bool {
	socket, ok := conn.(*net.UnixConn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return true
	}
	dead := false
	if err := raw.Control(func(fd uintptr) {
		n, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		dead = n == 0 && err == nil || err != nil && err != syscall.EAGAIN && err != syscall.EINTR
	}); err != nil {
		return true
	}
	return dead
}

type connectionKey struct{}

func connectionOf(r *http.Request) *connection {
	conn, _ := r.Context().Value(connectionKey{}).(*connection)
	return conn
}
