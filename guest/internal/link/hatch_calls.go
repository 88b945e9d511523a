package link

import (
	"net/http"
	"path/filepath"
	"sync/atomic"

	"geode/guest/internal/fault"
	"geode/guest/internal/hatch"
	"geode/guest/internal/processes"
)

type doorsRequest struct {
	// Folder is where the Unix sockets are made.
	Folder string       `json:"folder"`
	Doors  []hatch.Spec `json:"doors"`
}

func (g *Guest) openDoors(w http.ResponseWriter, r *http.Request) error {
	var request doorsRequest
	if err := readJSON(r, &request); err != nil {
		return err
	}
	if !filepath.IsAbs(request.Folder) {
		return fault.New(fault.InvalidInput, "the folder %q is not absolute", request.Folder)
	}
	doors, err := g.hatch.Open(request.Folder, request.Doors)
	if err != nil {
		return err
	}
	return writeJSON(w, map[string]any{"doors": doors})
}

type trustRequest struct {
	// Folder is where the file is made.
	Folder    string `json:"folder"`
	Authority string `json:"authority"`
	// Roots are for images that have none.
	Roots string `json:"roots"`
}

func (g *Guest) trust(w http.ResponseWriter, r *http.Request) error {
	var request trustRequest
	if err := readJSON(r, &request); err != nil {
		return err
	}
	if !filepath.IsAbs(request.Folder) {
		return fault.New(fault.InvalidInput, "the folder %q is not absolute", request.Folder)
	}
	path, err := hatch.Trust(request.Folder, request.Authority, request.Roots)
	if err != nil {
		return fault.New(fault.CannotEnforce, "the certificates cannot be put into the sandbox: %s", err)
	}
	return writeJSON(w, map[string]any{"path": path})
}

func (g *Guest) listHatch(w http.ResponseWriter, _ *http.Request) error {
	doors, pending := g.hatch.List()
	return writeJSON(w, map[string]any{"doors": doors, "pending": pending})
}

func (g *Guest) closeDoor(w http.ResponseWriter, r *http.Request) error {
	g.hatch.Close(r.PathValue("name"))
	return writeJSON(w, struct{}{})
}

// pickUp joins a stream with a connection that a command made. The end of what the command sends is an event of its
// own: the host passes it on, and hears that a command has gone while the stream is still open for its answer.
func (g *Guest) pickUp(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	conn, _, found := g.hatch.Take(id)
	if !found {
		return fault.New(fault.TunnelRefused, "nobody waits with this connection any more")
	}
	linger := lingering(hatchLinger)
	return join(w, r, conn, func(sent int64, answered <-chan struct{}, received *atomic.Int64) {
		g.table.Events.Publish(processes.Event{Type: "hatch-end", ID: id, Bytes: sent})
		linger(sent, answered, received)
	})
}
