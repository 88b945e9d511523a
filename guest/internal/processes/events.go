package processes

import (
	"context"
	"sync"
)

// eventBacklog is how many events wait for a reader before it loses some.
const eventBacklog = 1000

// An Event is one line of the event stream.
type Event struct {
	Type  string `json:"type"`
	ID    string `json:"id,omitempty"`
	PID   int    `json:"pid,omitempty"`
	Exit  *Exit  `json:"exit,omitempty"`
	Count int    `json:"count,omitempty"`
	Door  string `json:"door,omitempty"`
	Bytes int64  `json:"bytes,omitempty"`
}

// Events sends events to any number of readers; no reader can delay it.
type Events struct {
	mu      sync.Mutex
	readers map[*EventReader]struct{}
}

// An EventReader has its own backlog.
type EventReader struct {
	events *Events
	wake   chan struct{}
	queue  []Event
	lost   int
}

// Subscribe gives a reader of everything from now on. Close it.
func (e *Events) Subscribe() *EventReader {
	e.mu.Lock()
	defer e.mu.Unlock()
	reader := &EventReader{events: e, wake: make(chan struct{}, 1)}
	if e.readers == nil {
		e.readers = map[*EventReader]struct{}{}
	}
	e.readers[reader] = struct{}{}
	return reader
}

// Publish sends an event to every reader.
func (e *Events) Publish(event Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for reader := range e.readers {
		if len(reader.queue) >= eventBacklog {
			reader.lost++
		} else {
			reader.queue = append(reader.queue, event)
		}
		select {
		case reader.wake <- struct{}{}:
		default:
		}
	}
}

// Next waits for events and returns all available ones; the last may have the number of lost ones.
func (r *EventReader) Next(ctx context.Context) ([]Event, error) {
	for {
		r.events.mu.Lock()
		batch, lost := r.queue, r.lost
		r.queue, r.lost = nil, 0
		r.events.mu.Unlock()
		if lost > 0 {
			batch = append(batch, Event{Type: "lost", Count: lost})
		}
		if len(batch) > 0 {
			return batch, nil
		}
		select {
		case <-r.wake:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Close ends the subscription.
func (r *EventReader) Close() {
	r.events.mu.Lock()
	defer r.events.mu.Unlock()
	delete(r.events.readers, r)
}
