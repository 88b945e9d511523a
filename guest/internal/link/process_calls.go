package link

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"geode/guest/internal/fault"
	"geode/guest/internal/files"
	"geode/guest/internal/processes"
)

const framesType = "application/octet-stream"

func (g *Guest) startProcess(w http.ResponseWriter, r *http.Request) error {
	frames := processes.NewFrameReader(r.Body)
	first, err := frames.Next()
	if err != nil {
		return fault.New(fault.InvalidInput, "there is no spec frame: %s", err)
	}
	if first.Kind != processes.KindSpec {
		return fault.New(fault.InvalidInput, "the first frame is of type %d, not a spec", first.Kind)
	}
	spec, err := processes.ParseSpec(first.Payload)
	if err != nil {
		return err
	}
	if err := g.bring(spec.Files); err != nil {
		return err
	}
	process, err := g.table.Start(spec)
	if err != nil {
		return err
	}
	return stream(w, r, process, 0, frames)
}

func (g *Guest) prepareProcess(w http.ResponseWriter, r *http.Request) error {
	body, err := readBody(r)
	if err != nil {
		return err
	}
	spec, err := processes.ParseSpec(body)
	if err != nil {
		return err
	}
	if err := g.bring(spec.Files); err != nil {
		return err
	}
	if err := g.table.Prepare(spec); err != nil {
		return err
	}
	return writeJSON(w, struct{}{})
}

// bring writes the files that a command comes with.
func (g *Guest) bring(content map[string][]byte) error {
	for _, path := range slices.Sorted(maps.Keys(content)) {
		target, err := g.locate(path, "", "workspace")
		if err != nil {
			return err
		}
		if _, err := target.Write(bytes.NewReader(content[path]), files.WriteOptions{}); err != nil {
			return fault.At(target.Path, err)
		}
	}
	return nil
}

func (g *Guest) attachProcess(w http.ResponseWriter, r *http.Request) error {
	process, err := g.table.Get(r.PathValue("id"))
	if err != nil {
		return err
	}
	from, err := strconv.ParseUint(r.URL.Query().Get("from"), 10, 64)
	if err != nil {
		return fault.New(fault.InvalidInput, "from is not an offset")
	}
	if err := process.CheckOffset(from); err != nil {
		return err
	}
	return stream(w, r, process, from, processes.NewFrameReader(r.Body))
}

func stream(w http.ResponseWriter, r *http.Request, process *processes.Process, from uint64, frames *processes.FrameReader) error {
	w.Header().Set("content-type", framesType)
	if err := process.Stream(r.Context(), from, frames, newSink(w)); err != nil {
		return errBroken
	}
	return nil
}

// feedProcess brings stdin on a stream of its own, where it cannot stand in the way of acks. Only a body that
// comes to its end closes stdin, and only when asked to.
func (g *Guest) feedProcess(w http.ResponseWriter, r *http.Request) error {
	process, err := g.table.Get(r.PathValue("id"))
	if err != nil {
		return err
	}
	ctx := r.Context()
	taken := int64(0)
	buffer := make([]byte, 32<<10)
	for {
		n, err := r.Body.Read(buffer)
		process.Write(ctx, buffer[:n])
		taken += int64(n)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	if r.URL.Query().Get("end") == "true" {
		process.EndInput()
	}
	return writeJSON(w, map[string]int64{"taken": taken})
}

func (g *Guest) listProcesses(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, g.table.List())
}

func (g *Guest) signalProcess(w http.ResponseWriter, r *http.Request) error {
	var request processes.SignalRequest
	if err := readJSON(r, &request); err != nil {
		return err
	}
	number, err := processes.ParseSignal(request.Signal)
	if err != nil {
		return err
	}
	process, err := g.table.Get(r.PathValue("id"))
	if err != nil {
		return err
	}
	g.table.Signal(process, number, request.Tree)
	return writeJSON(w, struct{}{})
}

func (g *Guest) deleteProcess(w http.ResponseWriter, r *http.Request) error {
	process, err := g.table.Get(r.PathValue("id"))
	if err != nil {
		return err
	}
	g.table.Delete(process)
	return writeJSON(w, struct{}{})
}

func (g *Guest) metrics(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, g.table.Metrics())
}

func (g *Guest) events(w http.ResponseWriter, r *http.Request) error {
	reader := g.table.Events.Subscribe()
	defer reader.Close()
	return lines(w, r, func(send func(any) error) error {
		if err := send(processes.Event{Type: "ready"}); err != nil {
			return err
		}
		for {
			batch, err := reader.Next(r.Context())
			if err != nil {
				return err
			}
			for _, event := range batch {
				if err := send(event); err != nil {
					return err
				}
			}
		}
	})
}

// lines streams newline-delimited JSON, each line at once, until the producer gives up. An error before the
// first line is a plain refusal.
func lines(w http.ResponseWriter, r *http.Request, produce func(send func(any) error) error) error {
	w.Header().Set("content-type", "application/x-ndjson")
	out := newSink(w)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	begun := false
	err := produce(func(value any) error {
		begun = true
		if err := encoder.Encode(value); err != nil {
			return err
		}
		return out.Flush()
	})
	if err == nil || r.Context().Err() != nil {
		return nil
	}
	if begun {
		return errBroken
	}
	return err
}
