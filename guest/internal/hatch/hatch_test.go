package hatch

import (
	"io"
	"net"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

func open(t *testing.T, specs ...Spec) (*Hatch, []Door, chan Waiting) {
	t.Helper()
	announced := make(chan Waiting, 2*maxPending)
	h := New(func(waiting Waiting) { announced <- waiting })
	doors, err := h.Open(filepath.Join(t.TempDir(), "d"), specs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, door := range doors {
			h.Close(door.Name)
		}
	})
	return h, doors, announced
}

func next(t *testing.T, announced chan Waiting) Waiting {
	t.Helper()
	select {
	case waiting := <-announced:
		return waiting
	case <-time.After(20 * time.Second):
		t.Fatal("no connection was announced")
		return Waiting{}
	}
}

func TestEachConnectionIsAnnouncedOnceAndTakenOnce(t *testing.T) {
	h, doors, announced := open(t, Spec{Name: "proxy"})
	for network, address := range map[string]string{"tcp": "127.0.0.1:" + strconv.Itoa(doors[0].Port), "unix": doors[0].Path} {
		client, err := net.Dial(network, address)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		waiting := next(t, announced)
		if waiting.Door != "proxy" {
			t.Fatalf("announced at %q", waiting.Door)
		}
		conn, _, found := h.Take(waiting.ID)
		if !found {
			t.Fatal("it cannot be taken")
		}
		if _, _, again := h.Take(waiting.ID); again {
			t.Fatal("it was taken twice")
		}
		_, _ = client.Write([]byte("word"))
		got := make([]byte, 4)
		if _, err := io.ReadFull(conn, got); err != nil || string(got) != "word" {
			t.Fatalf("%q, %v", got, err)
		}
		conn.Close()
	}
}

func TestAFloodOfConnectionsIsBounded(t *testing.T) {
	h, doors, _ := open(t, Spec{Name: "proxy"})
	for i := 0; i < maxPending+20; i++ {
		client, err := net.Dial("unix", doors[0].Path)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
	}
	if _, pending := h.List(); len(pending) > maxPending {
		t.Fatalf("%d wait", len(pending))
	}
}

func TestOpeningAgainGivesTheSameDoor(t *testing.T) {
	h, doors, _ := open(t, Spec{Name: "proxy"})
	again, err := h.Open(t.TempDir(), []Spec{{Name: "proxy"}})
	if err != nil || again[0] != doors[0] {
		t.Fatalf("%v, %v", again, err)
	}
}

func TestWhenOneDoorCannotBeMadeNoneStays(t *testing.T) {
	h, doors, _ := open(t, Spec{Name: "first"})
	taken := uint16(doors[0].Port)
	if _, err := h.Open(t.TempDir(), []Spec{{Name: "second"}, {Name: "third", Port: taken, Exact: true}}); err == nil {
		t.Fatal("a taken port was listened on")
	}
	if left, _ := h.List(); len(left) != 1 {
		t.Fatalf("%v are left", left)
	}
	if _, err := h.Open(t.TempDir(), []Spec{{Name: "../up"}}); err == nil {
		t.Fatal("a name left its folder")
	}
}

func TestAClosedDoorTakesItsWaitingConnectionsAlong(t *testing.T) {
	h, doors, announced := open(t, Spec{Name: "proxy"})
	client, err := net.Dial("unix", doors[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	waiting := next(t, announced)
	h.Close("proxy")
	if _, _, found := h.Take(waiting.ID); found {
		t.Fatal("it still waits")
	}
	_ = client.SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := client.Read(make([]byte, 1)); err == nil {
		t.Fatal("it is open")
	}
	if _, err := net.Dial("unix", doors[0].Path); err == nil {
		t.Fatal("the door is open")
	}
}
