package processes

import (
	"bytes"
	"context"
	"errors"
	"math/rand"
	"sync"
	"testing"
	"time"

	"geode/guest/internal/fault"
)

func add(j *Journal, kind Kind, text []byte) {
	chunk := chunks.Get().(*[chunkSize]byte)
	j.Append(kind, chunk, copy(chunk[:], text))
}

// readAll reads a finished journal from an offset on, each kind for itself.
func readAll(t *testing.T, j *Journal, offset uint64, each func(end uint64)) (stdout, stderr []byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	defer context.AfterFunc(ctx, j.wake)()
	for {
		piece, err := j.next(ctx, offset)
		if err != nil {
			t.Error(err)
			return
		}
		if piece.offset != offset || len(piece.bytes) > maxPayload {
			t.Errorf("a piece of %d bytes at %d, not at %d", len(piece.bytes), piece.offset, offset)
			return
		}
		switch piece.kind {
		case KindExit:
			return
		case KindStdout:
			stdout = append(stdout, piece.bytes...)
		case KindStderr:
			stderr = append(stderr, piece.bytes...)
		}
		offset += uint64(len(piece.bytes))
		j.release(piece)
		if each != nil {
			each(offset)
		}
	}
}

// Two writers and two readers, one of which acks: each byte arrives once, in order, with its kind.
func TestJournalKeepsEveryByte(t *testing.T) {
	j := newJournal()
	var want [2][]byte
	var writers sync.WaitGroup
	for i, kind := range []Kind{KindStdout, KindStderr} {
		random := rand.New(rand.NewSource(int64(i)))
		for range 400 {
			part := make([]byte, 1+random.Intn(1+random.Intn(chunkSize)))
			random.Read(part)
			want[i] = append(want[i], part...)
		}
		writers.Add(1)
		go func() {
			defer writers.Done()
			for rest := want[i]; len(rest) > 0; {
				n := min(1+random.Intn(30_000), len(rest))
				add(j, kind, rest[:n])
				rest = rest[n:]
			}
		}()
	}
	go func() {
		writers.Wait()
		j.Finish([]byte("{}"))
	}()
	stdout, stderr := readAll(t, j, 0, func(end uint64) {
		if err := j.Ack(end); err != nil {
			t.Error(err)
		}
	})
	if !bytes.Equal(stdout, want[0]) || !bytes.Equal(stderr, want[1]) {
		t.Errorf("%d and %d bytes arrived, not %d and %d", len(stdout), len(stderr), len(want[0]), len(want[1]))
	}
	if j.cost != 0 && len(j.blocks) == 0 && len(j.runs) <= 1 {
		if j.cost != int64(len(j.runs))*runCost {
			t.Errorf("an empty journal costs %d", j.cost)
		}
	}
}

func TestJournalWaitsForAcks(t *testing.T) {
	j := newJournal()
	full := make([]byte, chunkSize)
	for range journalLimit / chunkSize {
		add(j, KindStdout, full)
	}
	added := make(chan struct{})
	go func() {
		add(j, KindStdout, full)
		close(added)
	}()
	select {
	case <-added:
		t.Fatal("more than the limit was taken")
	case <-time.After(50 * time.Millisecond):
	}
	if err := j.Ack(chunkSize); err != nil {
		t.Fatal(err)
	}
	<-added
	j.Close()
}

// Small pieces of both kinds in turn must not fill the journal with empty memory.
func TestJournalOfSmallPiecesIsSmall(t *testing.T) {
	j := newJournal()
	for range 10_000 {
		add(j, KindStdout, []byte("a line\n"))
		add(j, KindStderr, []byte("another\n"))
	}
	if j.cost > 1<<20 {
		t.Errorf("150 kB cost %d", j.cost)
	}
	j.Finish([]byte("{}"))
	stdout, stderr := readAll(t, j, 0, nil)
	if len(stdout) != 70_000 || len(stderr) != 80_000 {
		t.Errorf("%d and %d bytes", len(stdout), len(stderr))
	}
	before := held.Load()
	j.Close()
	if freed := before - held.Load(); freed <= 0 || j.cost != 0 {
		t.Errorf("closing freed %d and left %d", freed, j.cost)
	}
}

func TestJournalForgetsWhatIsAcked(t *testing.T) {
	j := newJournal()
	add(j, KindStdout, []byte("0123456789"))
	if err := j.Ack(4); err != nil {
		t.Fatal(err)
	}
	if err := j.Ack(2); err != nil {
		t.Errorf("an older ack: %v", err)
	}
	if err := j.Ack(11); err == nil {
		t.Error("an ack beyond the end is taken")
	}
	_, err := j.next(context.Background(), 3)
	var refusal *fault.Fault
	if !errors.As(err, &refusal) || refusal.Details["start"] != uint64(4) {
		t.Errorf("reading before the start: %v", err)
	}
	piece, err := j.next(context.Background(), 4)
	if err != nil || string(piece.bytes) != "456789" {
		t.Errorf("%q, %v", piece.bytes, err)
	}
}
