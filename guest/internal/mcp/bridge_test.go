package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// A desk is a bridge between a client, which the test plays, and hosts, which it plays too.
type desk struct {
	t         *testing.T
	socket    *Socket
	announced chan string
	in        *io.PipeWriter
	out       *bufio.Reader
	ended     chan error
	cancel    context.CancelFunc
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	socket, place, announced := open(t)
	inReader, in := io.Pipe()
	out, outWriter := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	d := &desk{t, socket, announced, in, bufio.NewReaderSize(out, 1<<20), make(chan error, 1), cancel}
	go func() {
		err := Run(ctx, place.Path, inReader, outWriter)
		outWriter.Close()
		d.ended <- err
	}()
	t.Cleanup(func() { cancel(); in.Close(); out.Close() })
	return d
}

// host picks up the next connection.
func (d *desk) host() (*net.UnixConn, *bufio.Reader) {
	d.t.Helper()
	conn, found := d.socket.Take(next(d.t, d.announced))
	if !found {
		d.t.Fatal("it cannot be taken")
	}
	_ = conn.SetDeadline(time.Now().Add(patience))
	d.t.Cleanup(func() { conn.Close() })
	return conn, bufio.NewReaderSize(conn, 1<<20)
}

func (d *desk) say(line string) {
	d.t.Helper()
	if _, err := io.WriteString(d.in, line+"\n"); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) hear(from *bufio.Reader) string {
	d.t.Helper()
	heard := make(chan string, 1)
	go func() {
		line, _ := from.ReadString('\n')
		heard <- strings.TrimSuffix(line, "\n")
	}()
	return next(d.t, heard)
}

func TestWhatIsUnderWayFailsInWordsWhenTheHostGoesAndTheNextHostIsTold(t *testing.T) {
	d := newDesk(t)
	conn, lines := d.host()
	initialize := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}`
	initialized := `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	d.say(initialize)
	d.hear(lines)
	answer := `{"jsonrpc":"2.0","id":0,"result":{}}`
	_, _ = conn.Write([]byte(answer + "\n"))
	if got := d.hear(d.out); got != answer {
		t.Fatal(got)
	}
	d.say(initialized)
	d.hear(lines)
	d.say(`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"x"}}`)
	d.hear(lines)
	conn.Close()

	var lost errorLine
	if err := json.Unmarshal([]byte(d.hear(d.out)), &lost); err != nil || string(lost.ID) != `"a"` || lost.Error.Code != internalError {
		t.Fatalf("%v, %v", lost, err)
	}
	if !strings.Contains(lost.Error.Message, "host was lost") {
		t.Fatal(lost.Error.Message)
	}
	conn, lines = d.host()
	for _, wanted := range []string{initialize, initialized} {
		if got := d.hear(lines); got != wanted {
			t.Fatal(got)
		}
	}
	_, _ = conn.Write([]byte(answer + "\n"))
	d.say(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	d.hear(lines)
	_, _ = conn.Write([]byte(`{"jsonrpc":"2.0","id":2,"result":{}}` + "\n"))
	if got := d.hear(d.out); got != `{"jsonrpc":"2.0","id":2,"result":{}}` {
		t.Fatalf("the second answer to initialize was not kept back: %s", got)
	}
}

func TestAfterTheLastWordTheAnswersStillCome(t *testing.T) {
	d := newDesk(t)
	conn, lines := d.host()
	d.say(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	d.hear(lines)
	d.in.Close()
	select {
	case err := <-d.ended:
		t.Fatalf("it ended before the answer: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	_, _ = conn.Write([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}` + "\n"))
	if got := d.hear(d.out); got != `{"jsonrpc":"2.0","id":1,"result":{}}` {
		t.Fatal(got)
	}
	if err := next(t, d.ended); err != nil {
		t.Fatal(err)
	}
}

func TestALineThatIsTooLongToLookAtPassesWhole(t *testing.T) {
	d := newDesk(t)
	_, lines := d.host()
	long := bytes.Repeat([]byte("x"), maxLine+lineBuffer)
	go d.say(string(long))
	if got := d.hear(lines); got != string(long) {
		t.Fatalf("%d bytes of %d", len(got), len(long))
	}
	go d.say(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	if got := d.hear(lines); got != `{"jsonrpc":"2.0","id":1,"method":"ping"}` {
		t.Fatal(got)
	}
}

func TestWithoutASessionItSaysWhatToDo(t *testing.T) {
	err := Run(context.Background(), t.TempDir()+"/none", strings.NewReader(""), io.Discard)
	if err == nil || !strings.Contains(err.Error(), "geode tools open") {
		t.Fatal(err)
	}
}
