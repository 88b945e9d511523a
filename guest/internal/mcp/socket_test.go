package mcp

import (
	"bufio"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const patience = 20 * time.Second

func open(t *testing.T) (*Socket, Place, chan string) {
	t.Helper()
	announced := make(chan string, 2*maxPending)
	s := New(func(id string) { announced <- id })
	place, err := s.Open(filepath.Join(t.TempDir(), "m"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, place, announced
}

func dial(t *testing.T, place Place) *net.UnixConn {
	t.Helper()
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: place.Path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	return conn
}

func next[T any](t *testing.T, from chan T) T {
	t.Helper()
	select {
	case value := <-from:
		return value
	case <-time.After(patience):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}

func TestEachConnectionIsAnnouncedOnceAndTakenOnce(t *testing.T) {
	s, place, announced := open(t)
	client := dial(t, place)
	id := next(t, announced)
	conn, found := s.Take(id)
	if !found {
		t.Fatal("it cannot be taken")
	}
	defer conn.Close()
	if _, again := s.Take(id); again {
		t.Fatal("it was taken twice")
	}
	_, _ = client.Write([]byte("word\n"))
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || line != "word\n" {
		t.Fatalf("%q, %v", line, err)
	}
}

func TestOnlyTheOwnUserCanReachTheSocket(t *testing.T) {
	_, place, _ := open(t)
	for path, wanted := range map[string]os.FileMode{place.Path: 0o600, place.Folder: 0o700} {
		facts, err := os.Lstat(path)
		if err != nil || facts.Mode().Perm() != wanted {
			t.Fatalf("%s: %v, %v", path, facts.Mode(), err)
		}
	}
	if target, err := os.Readlink(filepath.Join(place.Folder, Program)); err != nil || target != place.Guest {
		t.Fatalf("%q, %v", target, err)
	}
}

func TestAFolderThatIsALinkIsRefused(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "m")
	if err := os.Symlink(t.TempDir(), folder); err != nil {
		t.Fatal(err)
	}
	if _, err := New(func(string) {}).Open(folder); err == nil {
		t.Fatal("a link was followed")
	}
}

func TestAFloodOfConnectionsIsRefusedInWords(t *testing.T) {
	s, place, _ := open(t)
	for i := 0; i < maxPending; i++ {
		dial(t, place)
	}
	line, err := bufio.NewReader(dial(t, place)).ReadString('\n')
	if err != nil || !strings.Contains(line, "Too many connections") {
		t.Fatalf("%q, %v", line, err)
	}
	if waiting := s.Pending(); len(waiting) != maxPending {
		t.Fatalf("%d wait", len(waiting))
	}
}

func TestOpeningAgainGivesTheSamePlaceAndMendsAMissingSocket(t *testing.T) {
	s, place, announced := open(t)
	again, err := s.Open(place.Folder)
	if err != nil || again != place {
		t.Fatalf("%v, %v", again, err)
	}
	if err := os.RemoveAll(place.Folder); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Open(place.Folder); err != nil {
		t.Fatal(err)
	}
	dial(t, place)
	next(t, announced)
}

func TestAClosedSocketTakesItsWaitingConnectionsAlong(t *testing.T) {
	s, place, announced := open(t)
	client := dial(t, place)
	next(t, announced)
	s.Close()
	s.Close()
	if _, err := client.Read(make([]byte, 1)); err == nil {
		t.Fatal("it is open")
	}
	if _, err := os.Lstat(place.Path); !os.IsNotExist(err) {
		t.Fatalf("the socket is there: %v", err)
	}
}
