package link

import (
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"geode/guest/internal/fault"
)

const (
	tunnelDialTimeout = 5 * time.Second
	tunnelBuffer      = 64 << 10
	hatchLinger       = 10 * time.Second
)

// A halfCloser is a connection whose sending side can be ended alone.
type halfCloser interface {
	net.Conn
	CloseWrite() error
}

// tunnel joins a stream with a server inside the sandbox. When the host ends its side the server hears it
// and may go on; when the server ends its side the answer ends, and with it the tunnel.
func (g *Guest) tunnel(w http.ResponseWriter, r *http.Request) error {
	conn, err := g.dialInside(r)
	if err != nil {
		return err
	}
	return join(w, r, conn, lingering(0))
}

// join passes bytes between a stream and a connection, which it closes. HTTP/2 lets the guest end its side only by
// ending the whole stream, so a connection that has said its last word may still be answered until finish returns.
func join(w http.ResponseWriter, r *http.Request, conn halfCloser, finish afterword) error {
	defer conn.Close()
	stop := r.Context().Done()
	finished := make(chan struct{})
	defer close(finished)
	go func() {
		select {
		case <-stop:
			conn.Close()
		case <-finished:
		}
	}()
	answered := make(chan struct{})
	var received atomic.Int64
	go func() {
		defer close(answered)
		if _, err := io.CopyBuffer(countingWriter{conn, &received}, r.Body, make([]byte, tunnelBuffer)); err != nil {
			return
		}
		_ = conn.CloseWrite()
	}()
	out := newSink(w)
	w.Header().Set("content-type", framesType)
	if err := out.Flush(); err != nil {
		return errBroken
	}
	buffer := make([]byte, tunnelBuffer)
	var sent int64
	for {
		n, err := conn.Read(buffer)
		if n > 0 {
			sent += int64(n)
			if _, failed := out.Write(buffer[:n]); failed != nil {
				return errBroken
			}
			if failed := out.Flush(); failed != nil {
				return errBroken
			}
		}
		if err == io.EOF {
			finish(sent, answered, &received)
			return nil
		}
		if err != nil {
			return errBroken
		}
	}
}

// dialInside tries both loopback addresses: a server that listens on "localhost" may be on either.
func (g *Guest) dialInside(r *http.Request) (halfCloser, error) {
	query := r.URL.Query()
	dialer := net.Dialer{Timeout: tunnelDialTimeout}
	type target struct{ network, address string }
	var targets []target
	if path := query.Get("path"); path != "" {
		if !filepath.IsAbs(path) {
			path = filepath.Join(g.files.Workdir(), path)
		}
		targets = []target{{"unix", path}}
	} else {
		port, err := strconv.ParseUint(query.Get("port"), 10, 16)
		if err != nil || port == 0 {
			return nil, fault.New(fault.InvalidInput, "port %q is not 1 to 65535", query.Get("port"))
		}
		text := strconv.FormatUint(port, 10)
		targets = []target{{"tcp", "127.0.0.1:" + text}, {"tcp", "[::1]:" + text}}
	}
	var failed error
	for _, to := range targets {
		conn, err := dialer.DialContext(r.Context(), to.network, to.address)
		if err == nil {
			if both, ok := conn.(halfCloser); ok {
				return both, nil
			}
			conn.Close()
		} else if failed == nil {
			failed = err
		}
	}
	return nil, fault.New(fault.TunnelRefused, "nothing listens there: %s", failed)
}

// An afterword comes when the connection has sent its last byte, and waits for the end of what the host sends:
// answered is closed then, received counts its bytes.
type afterword func(sent int64, answered <-chan struct{}, received *atomic.Int64)

// lingering waits for as long as the host is never silent for longer than that.
func lingering(longest time.Duration) afterword {
	return func(_ int64, answered <-chan struct{}, received *atomic.Int64) {
		for before := int64(-1); longest > 0 && before != received.Load(); {
			before = received.Load()
			select {
			case <-answered:
				return
			case <-time.After(longest):
			}
		}
	}
}

// countingWriter knows how much was written. It hides ReadFrom, which would copy with a small buffer.
type countingWriter struct {
	io.Writer
	written *atomic.Int64
}

func (w countingWriter) Write(bytes []byte) (int, error) {
	n, err := w.Writer.Write(bytes)
	w.written.Add(int64(n))
	return n, err
}
