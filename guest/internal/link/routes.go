package link

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"geode/guest/internal/fault"
	"geode/guest/internal/footprint"
)

const maxJSON = 1 << 20

// A call serves one request. An error is for before the first byte of the answer; errBroken for after it.
type call func(w http.ResponseWriter, r *http.Request) error

// errBroken resets the stream: the answer has begun and cannot be finished.
var errBroken = errors.New("the answer cannot be finished")

func (g *Guest) routes() http.Handler {
	mux := http.NewServeMux()
	open := func(pattern string, serve call) { mux.Handle(pattern, answer(serve)) }
	claimed := func(pattern string, serve call) { open(pattern, onlyClaimed(serve)) }

	open("POST /v1/hello", g.hello)
	open("POST /v1/claim", g.claim)

	claimed("POST /v1/processes", g.startProcess)
	claimed("POST /v1/prepared", g.prepareProcess)
	claimed("GET /v1/processes", g.listProcesses)
	claimed("POST /v1/processes/{id}/attach", g.attachProcess)
	claimed("POST /v1/processes/{id}/stdin", g.feedProcess)
	claimed("POST /v1/processes/{id}/signal", g.signalProcess)
	claimed("DELETE /v1/processes/{id}", g.deleteProcess)

	claimed("GET /v1/file", g.readFile)
	claimed("PUT /v1/file", g.writeFile)
	claimed("POST /v1/file/append", g.appendFile)
	claimed("POST /v1/fs/{op}", g.serveFs())
	claimed("GET /v1/tar", g.pack)
	claimed("PUT /v1/tar", g.unpack)
	claimed("GET /v1/watch", g.watch)

	claimed("POST /v1/tunnel", g.tunnel)
	claimed("GET /v1/hatch", g.listHatch)
	claimed("POST /v1/hatch", g.openDoors)
	claimed("PUT /v1/hatch/trust", g.trust)
	claimed("DELETE /v1/hatch/doors/{name}", g.closeDoor)
	claimed("POST /v1/hatch/connections/{id}", g.pickUp)
	claimed("GET /v1/tools", g.listTools)
	claimed("POST /v1/tools", g.openTools)
	claimed("DELETE /v1/tools", g.closeTools)
	claimed("POST /v1/tools/connections/{id}", g.pickUpTools)
	claimed("GET /v1/events", g.events)
	claimed("GET /v1/metrics", g.metrics)

	claimed("/", func(http.ResponseWriter, *http.Request) error {
		return fault.New(fault.InvalidInput, "there is no such call")
	})
	return mux
}

func onlyClaimed(serve call) call {
	return func(w http.ResponseWriter, r *http.Request) error {
		if !connectionOf(r).claimed.Load() {
			return fault.New(fault.Refused, "refused: this connection is not claimed")
		}
		return serve(w, r)
	}
}

func answer(serve call) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer footprint.Touch()
		err := serve(w, r)
		if err == nil {
			return
		}
		if errors.Is(err, errBroken) {
			panic(http.ErrAbortHandler)
		}
		refusal := fault.From(err)
		body := map[string]any{"code": refusal.Code, "error": refusal.Message}
		for name, value := range refusal.Details {
			body[name] = value
		}
		w.Header().Set("content-type", "application/json")
		w.WriteHeader(statuses[refusal.Code])
		_ = json.NewEncoder(w).Encode(body)
	})
}

// readJSON reads a body of known fields only; an empty one leaves the defaults.
func readJSON(r *http.Request, into any) error {
	text, err := readBody(r)
	if err != nil {
		return err
	}
	if len(text) == 0 {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return fault.New(fault.InvalidInput, "the body cannot be read: %s", err)
	}
	return nil
}

func readBody(r *http.Request) ([]byte, error) {
	text, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxJSON))
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return nil, fault.New(fault.TooLarge, "the body is larger than %d bytes", tooLarge.Limit)
	}
	return text, err
}

func writeJSON(w http.ResponseWriter, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	w.Header().Set("content-type", "application/json")
	_, _ = w.Write(text)
	return nil
}

// A sink sends bytes of a streamed answer at once when asked to.
type sink struct {
	http.ResponseWriter
	control *http.ResponseController
}

func newSink(w http.ResponseWriter) *sink { return &sink{w, http.NewResponseController(w)} }

func (s *sink) Flush() error {
	footprint.Touch()
	return s.control.Flush()
}
