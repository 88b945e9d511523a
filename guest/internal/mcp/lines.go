package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
)

const (
	// maxLine is how much of a line is looked at as one. A longer one passes in pieces; the host refuses it.
	maxLine = 11 << 20
	// lineBuffer is the number of bytes of one read.
	lineBuffer = 64 << 10

	internalError = -32603
)

// A piece is a whole line with its end, or a part of one that is too long.
type piece struct {
	bytes []byte
	// whole lines can be looked at; of a long one only the last piece ends.
	whole, ends bool
}

// readPieces calls take for each piece until the end of the input, or until take returns false.
func readPieces(input io.Reader, take func(piece) bool) error {
	reader := bufio.NewReaderSize(input, lineBuffer)
	var line []byte
	isLong := false
	for {
		part, err := reader.ReadSlice('\n')
		line = append(line, part...)
		ends := err == nil
		if err == bufio.ErrBufferFull {
			err = nil
		}
		if ends || len(line) > maxLine || (err != nil && len(line) > 0) {
			if len(line) > maxLine {
				isLong = true
			}
			if !take(piece{bytes: line, whole: ends && !isLong, ends: ends}) {
				return nil
			}
			line = nil
			if ends {
				isLong = false
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// A message is what the bridge has to know of a line of JSON-RPC.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		RequestID json.RawMessage `json:"requestId"`
		URI       string          `json:"uri"`
	} `json:"params"`
	Error json.RawMessage `json:"error"`
}

func (m message) isRequest() bool  { return m.Method != "" && hasID(m.ID) }
func (m message) isResponse() bool { return m.Method == "" && hasID(m.ID) }

func hasID(id json.RawMessage) bool { return len(id) > 0 && !bytes.Equal(id, []byte("null")) }

// messagesOf gives what a line holds: one message, several, or none that can be read.
func messagesOf(line []byte) []message {
	text := bytes.TrimSpace(line)
	if len(text) == 0 {
		return nil
	}
	if text[0] == '[' {
		var all []message
		if json.Unmarshal(text, &all) != nil {
			return nil
		}
		return all
	}
	var one message
	if json.Unmarshal(text, &one) != nil {
		return nil
	}
	return []message{one}
}

type errorLine struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Error   lineError       `json:"error"`
}

type lineError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}
