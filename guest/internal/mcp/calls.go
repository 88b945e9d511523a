package mcp

import (
	"encoding/json"
	"slices"
)

// maxRemembered is the number of subscriptions that are passed to the next host.
const maxRemembered = 256

// calls is the bridge's state of a client: requests that wait for an answer, and the messages that the next host needs
// to continue where the last one ended.
type calls struct {
	waiting map[string]request
	// swallowed marks answers to requests that the bridge has sent again: the client does not get them.
	swallowed map[string]bool
	// firsts holds the first messages: initialize, initialized and the level of the log, in this order, by method.
	firsts map[string][]byte
	// subscriptions by resource, listening by request.
	subscriptions map[string][]byte
	listening     map[string][]byte
	// changed is closed when a request is answered.
	changed chan struct{}
}

type request struct {
	method, uri string
	line        []byte
}

// opened are the methods that begin a conversation; a later one of the same kind replaces the earlier.
var opened = []string{"initialize", "notifications/initialized", "logging/setLevel"}

func newCalls() calls {
	return calls{
		waiting:       map[string]request{},
		swallowed:     map[string]bool{},
		firsts:        map[string][]byte{},
		subscriptions: map[string][]byte{},
		listening:     map[string][]byte{},
		changed:       make(chan struct{}),
	}
}

func (c *calls) open() int { return len(c.waiting) }

// sent takes note of a line from the client.
func (c *calls) sent(line []byte) {
	for _, m := range messagesOf(line) {
		id := string(m.ID)
		switch {
		case m.Method == "notifications/initialized":
			c.firsts[m.Method] = line
		case m.Method == "notifications/cancelled":
			delete(c.listening, string(m.Params.RequestID))
			c.settle(string(m.Params.RequestID))
		case m.isRequest() && m.Method == "subscriptions/listen":
			if len(c.listening) < maxRemembered {
				c.listening[id] = line
			}
		case m.isRequest() && m.Method == "resources/unsubscribe":
			delete(c.subscriptions, m.Params.URI)
			c.waiting[id] = request{method: m.Method}
		case m.isRequest() && (slices.Contains(opened, m.Method) || m.Method == "resources/subscribe"):
			c.waiting[id] = request{method: m.Method, uri: m.Params.URI, line: line}
		case m.isRequest():
			c.waiting[id] = request{method: m.Method}
		}
	}
}

// answered takes note of a line from the host; true when it is not for the client.
func (c *calls) answered(line []byte) bool {
	all := messagesOf(line)
	if len(all) == 1 && all[0].isResponse() && c.swallowed[string(all[0].ID)] {
		delete(c.swallowed, string(all[0].ID))
		return true
	}
	for _, m := range all {
		if !m.isResponse() {
			continue
		}
		id := string(m.ID)
		delete(c.listening, id)
		was := c.waiting[id]
		c.settle(id)
		if was.line == nil || len(m.Error) > 0 {
			continue
		}
		if was.method != "resources/subscribe" {
			c.firsts[was.method] = was.line
		} else if len(c.subscriptions) < maxRemembered {
			c.subscriptions[was.uri] = was.line
		}
	}
	return false
}

func (c *calls) settle(id string) {
	if _, found := c.waiting[id]; !found {
		return
	}
	delete(c.waiting, id)
	close(c.changed)
	c.changed = make(chan struct{})
}

// opening is the first messages to a new host. The client has its answers already, so they are dropped.
func (c *calls) opening() [][]byte {
	c.swallowed = map[string]bool{}
	var lines [][]byte
	again := func(line []byte) {
		lines = append(lines, line)
		for _, m := range messagesOf(line) {
			if m.isRequest() {
				c.swallowed[string(m.ID)] = true
			}
		}
	}
	for _, method := range opened {
		if line, found := c.firsts[method]; found {
			again(line)
		}
	}
	for _, line := range c.subscriptions {
		again(line)
	}
	for _, line := range c.listening {
		lines = append(lines, line)
	}
	return lines
}

// abandon returns the ids of all requests that will get no answer.
func (c *calls) abandon() []json.RawMessage {
	ids := make([]json.RawMessage, 0, len(c.waiting))
	for id := range c.waiting {
		ids = append(ids, json.RawMessage(id))
		c.settle(id)
	}
	return ids
}
