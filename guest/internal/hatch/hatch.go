// Package hatch is the sandbox's end of the way out: doors on its own loopback and as Unix sockets. Each
// connection through a door is announced to the host, which picks it up as a stream of its own. The guest
// reads nothing of what passes and decides nothing.
package hatch

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"geode/guest/internal/fault"
)

const (
	// maxPending is how many connections may wait for the host; the next ones are closed at once.
	maxPending = 256
	// pendingTimeout is the maximum wait of such a connection.
	pendingTimeout = 20 * time.Second
	// maxDoors is how many doors one sandbox may have.
	maxDoors = 64
	// acceptRetry is the pause after an accept that failed for want of descriptors.
	acceptRetry = 100 * time.Millisecond
)

// A Spec is a door that the host asks for. Port 0 takes any; a Port that is taken is replaced by any, unless
// it is Exact.
type Spec struct {
	Name  string `json:"name"`
	Port  uint16 `json:"port"`
	Exact bool   `json:"exact"`
}

// A Door is where commands in the sandbox connect to. Port is 0 where there is no loopback to listen on.
type Door struct {
	Name string `json:"name"`
	Port int    `json:"port"`
	Path string `json:"path"`
}

// A Waiting connection was made by a command and is not yet picked up.
type Waiting struct {
	ID   string `json:"id"`
	Door string `json:"door"`
}

// A Conn is a connection whose sending side can be ended alone.
type Conn interface {
	net.Conn
	CloseWrite() error
}

type pending struct {
	door  string
	conn  Conn
	timer *time.Timer
}

type openDoor struct {
	Door
	listeners []net.Listener
}

// A Hatch is all the doors of a sandbox.
type Hatch struct {
	announce func(Waiting)

	// opening lets one caller at a time make doors.
	opening sync.Mutex
	mu      sync.Mutex
	doors   map[string]*openDoor
	order   []string
	pending map[string]*pending
	last    uint64
}

// New makes a hatch without doors. Every connection is announced once.
func New(announce func(Waiting)) *Hatch {
	return &Hatch{announce: announce, doors: map[string]*openDoor{}, pending: map[string]*pending{}}
}

// Open makes the doors that are not there yet, and gives all that were asked for. When one cannot be made,
// none of the new ones stays.
func (h *Hatch) Open(folder string, specs []Spec) ([]Door, error) {
	h.opening.Lock()
	defer h.opening.Unlock()
	var made []*openDoor
	answer := make([]Door, 0, len(specs))
	for _, spec := range specs {
		door := h.find(spec.Name)
		if door == nil {
			var err error
			if door, err = h.make(folder, spec); err != nil {
				for _, undo := range made {
					h.Close(undo.Name)
				}
				return nil, err
			}
			made = append(made, door)
		}
		answer = append(answer, door.Door)
	}
	return answer, nil
}

func (h *Hatch) find(name string) *openDoor {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.doors[name]
}

func (h *Hatch) make(folder string, spec Spec) (*openDoor, error) {
	if !isName(spec.Name) {
		return nil, fault.New(fault.InvalidInput, "%q is not the name of a door", spec.Name)
	}
	h.mu.Lock()
	full := len(h.doors) >= maxDoors
	h.mu.Unlock()
	if full {
		return nil, fault.New(fault.TooLarge, "a sandbox has at most %d doors", maxDoors)
	}
	door := &openDoor{Door: Door{Name: spec.Name}}
	if hasLoopback() {
		listener, err := listenTCP(spec)
		if err != nil {
			return nil, err
		}
		door.Port = listener.Addr().(*net.TCPAddr).Port
		door.listeners = append(door.listeners, listener)
	}
	path := filepath.Join(folder, spec.Name+".sock")
	listener, err := listenUnix(path)
	if err == nil {
		door.Path = path
		door.listeners = append(door.listeners, listener)
	} else if door.Port == 0 {
		return nil, fault.New(fault.CannotEnforce, "the door %s cannot be opened: %s", spec.Name, err)
	}
	h.mu.Lock()
	h.doors[spec.Name] = door
	h.order = append(h.order, spec.Name)
	h.mu.Unlock()
	for _, listener := range door.listeners {
		go h.accept(spec.Name, listener)
	}
	return door, nil
}

func listenTCP(spec Spec) (net.Listener, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:"+strconv.Itoa(int(spec.Port)))
	if err != nil && !spec.Exact && spec.Port != 0 {
		listener, err = net.Listen("tcp4", "127.0.0.1:0")
	}
	if err != nil {
		return nil, fault.New(fault.TunnelRefused, "port %d cannot be listened on: %s", spec.Port, err)
	}
	return listener, nil
}

// listenUnix makes a socket that every user of the sandbox may connect to; what an earlier guest left is replaced.
func listenUnix(path string) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	_ = os.Remove(path)
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o666); err != nil {
		listener.Close()
		return nil, err
	}
	return listener, nil
}

func (h *Hatch) accept(door string, listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			if h.find(door) == nil {
				return
			}
			time.Sleep(acceptRetry)
			continue
		}
		both, ok := conn.(Conn)
		if !ok || !h.wait(door, both) {
			conn.Close()
		}
	}
}

// wait puts a connection on the list and announces it; false when the list is full.
func (h *Hatch) wait(door string, conn Conn) bool {
	h.mu.Lock()
	if len(h.pending) >= maxPending {
		h.mu.Unlock()
		return false
	}
	h.last++
	id := strconv.FormatUint(h.last, 10)
	waiting := &pending{door: door, conn: conn}
	waiting.timer = time.AfterFunc(pendingTimeout, func() {
		if late, _, found := h.Take(id); found {
			late.Close()
		}
	})
	h.pending[id] = waiting
	h.mu.Unlock()
	h.announce(Waiting{ID: id, Door: door})
	return true
}

// Take gives a connection to the host, which closes it. Nobody else can take it then.
func (h *Hatch) Take(id string) (Conn, string, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	waiting, found := h.pending[id]
	if !found {
		return nil, "", false
	}
	delete(h.pending, id)
	waiting.timer.Stop()
	return waiting.conn, waiting.door, true
}

// List gives the doors, and the connections that wait.
func (h *Hatch) List() ([]Door, []Waiting) {
	h.mu.Lock()
	defer h.mu.Unlock()
	doors := make([]Door, 0, len(h.order))
	for _, name := range h.order {
		doors = append(doors, h.doors[name].Door)
	}
	waiting := make([]Waiting, 0, len(h.pending))
	for id, one := range h.pending {
		waiting = append(waiting, Waiting{ID: id, Door: one.door})
	}
	return doors, waiting
}

// Close takes a door away. Connections that the host has picked up go on; those that wait are closed.
func (h *Hatch) Close(name string) {
	h.mu.Lock()
	door := h.doors[name]
	delete(h.doors, name)
	for i, known := range h.order {
		if known == name {
			h.order = append(h.order[:i:i], h.order[i+1:]...)
			break
		}
	}
	var waiting []*pending
	for id, one := range h.pending {
		if one.door == name {
			delete(h.pending, id)
			waiting = append(waiting, one)
		}
	}
	h.mu.Unlock()
	for _, one := range waiting {
		one.timer.Stop()
		one.conn.Close()
	}
	if door != nil {
		for _, listener := range door.listeners {
			listener.Close()
		}
	}
}

func isName(name string) bool {
	if name == "" || len(name) > 48 {
		return false
	}
	for _, letter := range name {
		if (letter < 'a' || letter > 'z') && (letter < '0' || letter > '9') && letter != '-' {
			return false
		}
	}
	return true
}
