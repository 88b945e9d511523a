package link

import (
	"net"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"geode/guest/internal/fault"
)

const (
	// toolLinger is how long the host may be silent after a program has closed its sending side.
	toolLinger = 60 * time.Second
	// hangUpEvery is how often the guest checks whether such a program has closed the connection completely.
	hangUpEvery = 250 * time.Millisecond
	pollHangUp  = 0x10
)

type toolsRequest struct {
	// Folder is made for the socket and the bridge.
	Folder string `json:"folder"`
}

func (g *Guest) openTools(w http.ResponseWriter, r *http.Request) error {
	var request toolsRequest
	if err := readJSON(r, &request); err != nil {
		return err
	}
	if !filepath.IsAbs(request.Folder) {
		return fault.New(fault.InvalidInput, "the folder %q is not absolute", request.Folder)
	}
	place, err := g.tools.Open(request.Folder)
	if err != nil {
		return err
	}
	return writeJSON(w, place)
}

func (g *Guest) listTools(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, map[string]any{"pending": g.tools.Pending()})
}

func (g *Guest) closeTools(w http.ResponseWriter, _ *http.Request) error {
	g.tools.Close()
	return writeJSON(w, struct{}{})
}

// pickUpTools joins a stream with a program that wants to use tools.
func (g *Guest) pickUpTools(w http.ResponseWriter, r *http.Request) error {
	conn, found := g.tools.Take(r.PathValue("id"))
	if !found {
		return fault.New(fault.TunnelRefused, "nobody waits with this connection any more")
	}
	return join(w, r, conn, untilHungUp(conn))
}

// untilHungUp keeps a connection open for answers after the program closed its sending side, until it hangs up.
func untilHungUp(conn *net.UnixConn) afterword {
	return func(_ int64, answered <-chan struct{}, received *atomic.Int64) {
		before, since := received.Load(), time.Now()
		for !hungUp(conn) && time.Since(since) < toolLinger {
			select {
			case <-answered:
				return
			case <-time.After(hangUpEvery):
			}
			if now := received.Load(); now != before {
				before, since = now, time.Now()
			}
		}
	}
}

type pollRequest struct {
	fd              int32
	events, revents int16
}

// hungUp reports whether a peer has closed the connection, and not only its sending side.
func hungUp(conn *net.UnixConn) bool {
	raw, err := conn.SyscallConn()
	if err != nil {
		return true
	}
	isGone := false
	if err := raw.Control(func(fd uintptr) {
		request := pollRequest{fd: int32(fd)}
		var now syscall.Timespec
		_, _, errno := syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&request)), 1, uintptr(unsafe.Pointer(&now)), 0, 0, 0)
		isGone = errno == 0 && request.revents&pollHangUp != 0
	}); err != nil {
		return true
	}
	return isGone
}
