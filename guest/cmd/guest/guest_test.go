package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The test program starts itself as the guest: what is tested is the real program over real HTTP/2.
const asGuest = "GEODE_TEST_AS_GUEST"

func TestMain(m *testing.M) {
	if os.Getenv(asGuest) != "" {
		os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

func guestCommand(args ...string) *exec.Cmd {
	command := exec.Command(os.Args[0], args...)
	command.Env = append(os.Environ(), asGuest+"=1")
	command.Stderr = os.Stderr
	return command
}

const secret = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

type sandbox struct {
	t               *testing.T
	socket, workdir string
	guest           *exec.Cmd
	exited          chan error
}

func open(t *testing.T, args ...string) *sandbox {
	t.Helper()
	folder := t.TempDir()
	s := &sandbox{t: t, socket: filepath.Join(folder, "s"), workdir: filepath.Join(folder, "work"), exited: make(chan error, 1)}
	s.guest = guestCommand(append([]string{"init", "--listen", s.socket}, args...)...)
	if err := s.guest.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { s.exited <- s.guest.Wait() }()
	t.Cleanup(func() { _ = s.guest.Process.Signal(syscall.SIGTERM); <-s.exited })
	return s
}

// A host is one connection to a guest.
type host struct {
	t      *testing.T
	conn   net.Conn
	client *http.Client
}

func (s *sandbox) dial() net.Conn {
	s.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		conn, err := net.Dial("unix", s.socket)
		if err == nil {
			return conn
		}
		if time.Now().After(deadline) {
			s.t.Fatal(err)
		}
	}
}

func hostOn(t *testing.T, conn net.Conn) *host {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	used := false
	transport := &http.Transport{Protocols: protocols, DialContext: func(context.Context, string, string) (net.Conn, error) {
		if used {
			return nil, errors.New("the connection is lost")
		}
		used = true
		return conn, nil
	}}
	t.Cleanup(func() { conn.Close() })
	return &host{t, conn, &http.Client{Transport: transport, Timeout: 20 * time.Second}}
}

func (h *host) call(method, path string, body any) (int, map[string]any) {
	h.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		h.t.Fatal(err)
	}
	request, err := http.NewRequest(method, "http://guest"+path, bytes.NewReader(text))
	if err != nil {
		h.t.Fatal(err)
	}
	response, err := h.client.Do(request)
	if err != nil {
		return 0, map[string]any{"error": err.Error()}
	}
	defer response.Body.Close()
	var answer map[string]any
	_ = json.NewDecoder(response.Body).Decode(&answer)
	return response.StatusCode, answer
}

func proof(role, challenge string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(role + challenge))
	return hex.EncodeToString(mac.Sum(nil))
}

// claim shakes hands, for the first time or again.
func (s *sandbox) claim(conn net.Conn, leaseMs int) *host {
	s.t.Helper()
	h := hostOn(s.t, conn)
	nonce := strings.Repeat("ab", 32)
	status, hello := h.call("POST", "/v1/hello", map[string]any{"protocol": []int{1}, "nonce": nonce})
	if status != 200 {
		s.t.Fatalf("hello: %d %v", status, hello)
	}
	claim := map[string]any{"leaseMs": leaseMs}
	if hello["claimed"] == true {
		if hello["proof"] != proof("guest", nonce) {
			s.t.Fatal("the guest's proof is wrong")
		}
		claim["proof"] = proof("host", hello["challenge"].(string))
	} else {
		claim["secret"], claim["workdir"], claim["env"] = secret, s.workdir, map[string]string{"PATH": "/usr/bin:/bin"}
	}
	if status, answer := h.call("POST", "/v1/claim", claim); status != 200 {
		s.t.Fatalf("claim: %d %v", status, answer)
	}
	return h
}

func frame(kind byte, offset uint64, payload string) []byte {
	header := make([]byte, 16, 16+len(payload))
	header[0] = kind
	binary.BigEndian.PutUint32(header[4:], uint32(len(payload)))
	binary.BigEndian.PutUint64(header[8:], offset)
	return append(header, payload...)
}

// stream sends frames, reads until the exit frame or the end, and gives the output and where it got to.
func (h *host) stream(path string, frames ...[]byte) (output string, next uint64, exited bool) {
	h.t.Helper()
	response, err := h.client.Post("http://guest"+path, "", bytes.NewReader(bytes.Join(frames, nil)))
	if err != nil {
		return "", 0, false
	}
	defer response.Body.Close()
	reader := bufio.NewReader(response.Body)
	header := make([]byte, 16)
	for {
		if _, err := io.ReadFull(reader, header); err != nil {
			return output, next, false
		}
		payload := make([]byte, binary.BigEndian.Uint32(header[4:]))
		if _, err := io.ReadFull(reader, payload); err != nil {
			return output, next, false
		}
		offset := binary.BigEndian.Uint64(header[8:])
		switch header[0] {
		case 16:
			next = offset
		case 19:
			return output, next, offset == next
		default:
			if offset != next {
				h.t.Errorf("offset %d after %d", offset, next)
			}
			next += uint64(len(payload))
			output += string(payload)
		}
	}
}

func TestOnlyTheHostIsServed(t *testing.T) {
	s := open(t)
	owner := s.claim(s.dial(), 60_000)
	stranger := hostOn(t, s.dial())
	if status, _ := stranger.call("GET", "/v1/processes", nil); status != 403 {
		t.Errorf("unclaimed: %d", status)
	}
	hello := map[string]any{"protocol": []int{1}, "nonce": strings.Repeat("0", 64)}
	if status, answer := stranger.call("POST", "/v1/hello", hello); status != 200 || answer["claimed"] != true {
		t.Errorf("hello: %d %v", status, answer)
	}
	if status, answer := stranger.call("POST", "/v1/claim", map[string]any{"proof": "", "secret": secret, "workdir": "/"}); status != 403 {
		t.Errorf("a second first claim: %d %v", status, answer)
	}
	_ = stranger.conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.Copy(io.Discard, stranger.conn); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the guest does not hang up")
	}
	if status, answer := hostOn(t, s.dial()).call("POST", "/v1/hello", map[string]any{"protocol": []int{2}, "nonce": strings.Repeat("0", 64)}); status != 409 || answer["code"] != "guest_version" {
		t.Errorf("another protocol: %d %v", status, answer)
	}
	for range 60 {
		s.dial()
	}
	if status, _ := owner.call("GET", "/v1/metrics", nil); status != 200 {
		t.Errorf("the owner got %d during a flood", status)
	}
	s.claim(s.dial(), 60_000)
}

func TestOutputSurvivesALostConnection(t *testing.T) {
	s := open(t)
	first := s.claim(s.dial(), 60_000)
	go func() {
		time.Sleep(150 * time.Millisecond)
		first.conn.Close()
	}()
	spec := `{"id":"p","argv":["sh","-c","for i in 1 2 3 4 5 6 7 8; do echo line $i; sleep 0.05; done"]}`
	before, next, exited := first.stream("/v1/processes", frame(1, 0, spec))
	if exited {
		t.Fatal("the connection was not lost")
	}
	second := s.claim(s.dial(), 60_000)
	after, _, exited := second.stream("/v1/processes/p/attach?from=" + jsonNumber(next))
	if want := "line 1\nline 2\nline 3\nline 4\nline 5\nline 6\nline 7\nline 8\n"; !exited || before+after != want {
		t.Errorf("%q and %q", before, after)
	}
}

func jsonNumber(n uint64) string {
	text, _ := json.Marshal(n)
	return string(text)
}

func TestANewClaimReplacesTheOld(t *testing.T) {
	s := open(t)
	old := s.claim(s.dial(), 60_000)
	s.claim(s.dial(), 60_000)
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if status, _ := old.call("GET", "/v1/metrics", nil); status == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the old connection is still served")
		}
	}
}

func TestTheLeaseEndsEverything(t *testing.T) {
	s := open(t)
	h := s.claim(s.dial(), 300)
	go h.stream("/v1/processes", frame(1, 0, `{"id":"p","argv":["sh","-c","trap '' TERM; echo ready; while :; do sleep 1; done"]}`))
	pid := h.pidOfFirstWriter()
	h.conn.Close()
	select {
	case err := <-s.exited:
		if err != nil {
			t.Error(err)
		}
		s.exited <- nil
	case <-time.After(20 * time.Second):
		t.Fatal("the guest lives on")
	}
	// A process that inherits it may take a moment to notice its death.
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err != nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the command lives on")
		}
	}
}

// pidOfFirstWriter waits until the only process has written something.
func (h *host) pidOfFirstWriter() int {
	h.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		_, answer := h.call("GET", "/v1/processes", nil)
		if list, _ := answer["processes"].([]any); len(list) == 1 {
			process, _ := list[0].(map[string]any)
			pid, _ := process["pid"].(float64)
			if offset, _ := process["offset"].(float64); offset > 0 {
				return int(pid)
			}
		}
		if time.Now().After(deadline) {
			h.t.Fatal("the process has written nothing")
		}
	}
}

func TestFilesOverTheLink(t *testing.T) {
	s := open(t)
	h := s.claim(s.dial(), 60_000)
	request, _ := http.NewRequest("PUT", "http://guest/v1/file?path=a%2Fb&scope=workspace&mode=600", strings.NewReader("hello world"))
	response, err := h.client.Do(request)
	if err != nil || response.StatusCode != 200 {
		t.Fatalf("%v %v", response, err)
	}
	response.Body.Close()
	response, err = h.client.Get("http://guest/v1/file?path=a%2Fb&scope=workspace&offset=6&length=3")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if text, _ := io.ReadAll(response.Body); string(text) != "wor" || response.Header.Get("x-size") != "11" || response.Header.Get("x-mode") != "600" {
		t.Errorf("%q %v", text, response.Header)
	}
	if status, answer := h.call("POST", "/v1/fs/stat", map[string]any{"path": "/etc/passwd", "scope": "workspace"}); status != 400 || answer["code"] != "invalid_path" {
		t.Errorf("%d %v", status, answer)
	}
}

func TestBridge(t *testing.T) {
	s := open(t)
	connect := func(args ...string) (net.Conn, *exec.Cmd) {
		command := guestCommand(append(args, s.socket)...)
		ours, theirs := net.Pipe()
		command.Stdin, command.Stdout, command.Stderr = theirs, theirs, nil
		return ours, command
	}
	s.dial().Close()
	conn, command := connect("bridge", "--peer", jsonNumber(uint64(s.guest.Process.Pid)))
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	h := s.claim(conn, 60_000)
	if output, _, exited := h.stream("/v1/processes", frame(1, 0, `{"id":"p","argv":["echo","hi"]}`)); output != "hi\n" || !exited {
		t.Errorf("%q", output)
	}
	conn.Close()
	_ = command.Wait() // its error is that of the closed pipe
	if code := command.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the bridge exits with %d", code)
	}
	_, wrong := connect("bridge", "--peer", "1")
	wrong.Stdin, wrong.Stdout = nil, nil
	if err := wrong.Run(); err == nil {
		t.Error("a socket of another process is taken")
	}
}
