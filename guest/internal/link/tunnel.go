package link

import (
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"time"

	"geode/guest/internal/fault"
)

const (
	tunnelDialTimeout = 5 * time.Second
	tunnelBuffer      = 64 << 10
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
	go func() {
		if _, err := io.CopyBuffer(onlyWriter{conn}, r.Body, make([]byte, tunnelBuffer)); err != nil {
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
	for {
		n, err := conn.Read(buffer)
		if n > 0 {
			if _, failed := out.Write(buffer[:n]); failed != nil {
				return errBroken
			}
			if failed := out.Flush(); failed != nil {
				return errBroken
			}
		}
		if err == io.EOF {
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

// onlyWriter hides ReadFrom, which would copy with a small buffer.
type onlyWriter struct{ io.Writer }
