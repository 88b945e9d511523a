// Package mcp is how programs in a sandbox reach the host's tools: a Unix socket whose connections the host picks
// up, each as a stream of its own, and a bridge from a program's stdin and stdout to that socket. The guest reads
// nothing of what passes through the socket and decides nothing but who may connect.
package mcp

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"geode/guest/internal/fault"
)

const (
	// Program is what the guest is called when it is the bridge.
	Program = "geode-mcp"
	// socketName is short: the path of a socket has at most 107 bytes.
	socketName = "s"
	// maxPending is how many connections may wait for the host; the next ones are refused.
	maxPending = 64
	// pendingTimeout is how long one of them waits: long enough for a host to be replaced, and shorter than MCP
	// clients wait for an answer.
	pendingTimeout = 45 * time.Second
	// acceptRetry is the pause after an accept that failed for want of descriptors.
	acceptRetry = 100 * time.Millisecond
	// sayTimeout is how long a refused program has to read the reason.
	sayTimeout = time.Second
)

// A Place is where programs in the sandbox find the tools.
type Place struct {
	// Path is the socket.
	Path string `json:"path"`
	// Folder holds the bridge under its own name, for PATH.
	Folder string `json:"folder"`
	// Guest is this program; as `guest mcp PATH` it is the bridge too.
	Guest string `json:"guest"`
}

type pending struct {
	conn  *net.UnixConn
	timer *time.Timer
}

// A Socket is the sandbox's one way to the host's tools. It outlives every host.
type Socket struct {
	announce func(id string)

	// opening lets one caller at a time make or close it.
	opening  sync.Mutex
	mu       sync.Mutex
	place    Place
	listener *net.UnixListener
	pending  map[string]*pending
	last     uint64
}

// New makes one that is closed. Every connection is announced once.
func New(announce func(id string)) *Socket {
	return &Socket{announce: announce, pending: map[string]*pending{}}
}

// Open makes the socket in a folder of its own. One that is there already is given as it is; one whose file a
// program has removed is made again.
func (s *Socket) Open(folder string) (Place, error) {
	s.opening.Lock()
	defer s.opening.Unlock()
	if place, isThere := s.current(); isThere {
		return place, nil
	}
	s.close()
	guest, err := os.Executable()
	if err != nil {
		return Place{}, err
	}
	if err := ownFolder(folder); err != nil {
		return Place{}, err
	}
	place := Place{Path: filepath.Join(folder, socketName), Folder: folder, Guest: guest}
	bridge := filepath.Join(folder, Program)
	_ = os.Remove(bridge)
	if err := os.Symlink(guest, bridge); err != nil {
		return Place{}, err
	}
	_ = os.Remove(place.Path)
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: place.Path, Net: "unix"})
	if err != nil {
		return Place{}, fault.New(fault.CannotEnforce, "the socket for tools cannot be made: %s", err)
	}
	if err := os.Chmod(place.Path, 0o600); err != nil {
		listener.Close()
		return Place{}, err
	}
	s.mu.Lock()
	s.place, s.listener = place, listener
	s.mu.Unlock()
	go s.accept(listener)
	return place, nil
}

// current gives the open place while its socket file is there.
func (s *Socket) current() (Place, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener == nil {
		return Place{}, false
	}
	facts, err := os.Lstat(s.place.Path)
	return s.place, err == nil && facts.Mode()&os.ModeSocket != 0
}

// ownFolder makes a folder that only the guest's user can enter. Another user of the sandbox could have put
// something in its place.
func ownFolder(folder string) error {
	if err := os.Mkdir(folder, 0o700); err != nil && !os.IsExist(err) {
		return err
	}
	facts, err := os.Lstat(folder)
	if err != nil {
		return err
	}
	owner, ok := facts.Sys().(*syscall.Stat_t)
	if !facts.IsDir() || !ok || int(owner.Uid) != os.Geteuid() {
		return fault.New(fault.FileRefused, "%s is not a folder of the sandbox's own user", folder)
	}
	return os.Chmod(folder, 0o700)
}

func (s *Socket) accept(listener *net.UnixListener) {
	for {
		conn, err := listener.AcceptUnix()
		if err != nil {
			s.mu.Lock()
			isOpen := s.listener == listener
			s.mu.Unlock()
			if !isOpen {
				return
			}
			time.Sleep(acceptRetry)
			continue
		}
		if reason := s.welcome(conn); reason != "" {
			go refuse(conn, reason)
		}
	}
}

// welcome lists and announces a connection of the sandbox's own user. For others it returns the reason of the refusal.
func (s *Socket) welcome(conn *net.UnixConn) string {
	peer, err := peerOf(conn)
	if err != nil {
		return "The user of the connection cannot be read: " + err.Error() + "."
	}
	if int(peer.Uid) != os.Geteuid() {
		return "Only the sandbox's own user may use its tools."
	}
	s.mu.Lock()
	if len(s.pending) >= maxPending {
		s.mu.Unlock()
		return "Too many connections wait for the Geode host."
	}
	s.last++
	id := strconv.FormatUint(s.last, 10)
	waiting := &pending{conn: conn}
	waiting.timer = time.AfterFunc(pendingTimeout, func() {
		if late, found := s.Take(id); found {
			refuse(late, "No Geode host has taken this connection. What runs in the sandbox goes on; connect again later.")
		}
	})
	s.pending[id] = waiting
	s.mu.Unlock()
	s.announce(id)
	return ""
}

func peerOf(conn *net.UnixConn) (*syscall.Ucred, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	var peer *syscall.Ucred
	var failed error
	if err := raw.Control(func(fd uintptr) {
		peer, failed = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}); err != nil {
		return nil, err
	}
	return peer, failed
}

// refuse says why in the protocol's own words, and closes.
func refuse(conn *net.UnixConn, reason string) {
	defer conn.Close()
	line, err := json.Marshal(errorLine{"2.0", nil, lineError{internalError, reason}})
	if err != nil {
		return
	}
	_ = conn.SetWriteDeadline(time.Now().Add(sayTimeout))
	_, _ = conn.Write(append(line, '\n'))
}

// Take gives a connection to the host, which closes it. Nobody else can take it then.
func (s *Socket) Take(id string) (*net.UnixConn, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	waiting, found := s.pending[id]
	if !found {
		return nil, false
	}
	delete(s.pending, id)
	waiting.timer.Stop()
	return waiting.conn, true
}

// Pending gives the connections that wait.
func (s *Socket) Pending() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := make([]string, 0, len(s.pending))
	for id := range s.pending {
		ids = append(ids, id)
	}
	return ids
}

// Close takes the socket away; closed already is no error. Connections that the host has picked up go on.
func (s *Socket) Close() {
	s.opening.Lock()
	defer s.opening.Unlock()
	s.close()
}

func (s *Socket) close() {
	s.mu.Lock()
	listener := s.listener
	s.listener = nil
	waiting := s.pending
	s.pending = map[string]*pending{}
	s.mu.Unlock()
	if listener != nil {
		listener.Close()
	}
	for _, one := range waiting {
		one.timer.Stop()
		one.conn.Close()
	}
}
