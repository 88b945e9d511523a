package processes

import (
	"context"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"geode/guest/internal/fault"
)

const (
	// journalLimit is the maximum output of one process that waits for the host's ack.
	journalLimit = 8 << 20
	// Together all journals may hold journalsLimit; beyond it each is cut back to journalFloor, so that
	// many floods cannot fill the sandbox's memory and still every one of them moves.
	journalsLimit = 64 << 20
	journalFloor  = 256 << 10

	chunkSize     = 64 << 10
	adoptFrom     = 32 << 10 // a read at least this large becomes a block as it is
	smallestBlock = 1 << 10
	runCost       = 16 // of memory
)

// held counts what all journals hold.
var held atomic.Int64

var chunks = sync.Pool{New: func() any { return new([chunkSize]byte) }}

// A Journal is the output of one process: bytes with an offset counted over stdout and stderr together,
// kept until the host acks them, and then the exit record.
type Journal struct {
	mu      sync.Mutex
	changed *sync.Cond
	blocks  []*block // the bytes from acked on, and a few before
	runs    []run    // where which kind begins; the first one holds acked
	acked   uint64
	end     uint64
	cost    int64 // in memory
	closed  bool  // nothing is kept any more
	exit    []byte
}

// A block is a piece of memory full of output. Bytes are only ever added behind the ones that readers have
// seen.
type block struct {
	start uint64
	bytes []byte
	chunk *[chunkSize]byte // where the bytes are, when that is a pooled chunk
	uses  int              // by readers
	gone  bool
}

func (b *block) end() uint64 { return b.start + uint64(len(b.bytes)) }

// A run is output of one kind, up to where the next run starts.
type run struct {
	start uint64
	kind  Kind
}

func newJournal() *Journal {
	j := &Journal{}
	j.changed = sync.NewCond(&j.mu)
	return j
}

// Append adds the first n bytes of a chunk, and waits first while too much is unacked. It takes over the
// chunk.
func (j *Journal) Append(kind Kind, chunk *[chunkSize]byte, n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for !j.closed && j.full() {
		j.changed.Wait()
	}
	if j.closed {
		chunks.Put(chunk)
		return
	}
	j.begin(kind)
	if n >= adoptFrom {
		j.blocks = append(j.blocks, &block{start: j.end, bytes: chunk[:n], chunk: chunk})
		j.charge(chunkSize)
	} else {
		j.copyIn(chunk[:n])
		chunks.Put(chunk)
	}
	j.end += uint64(n)
	j.changed.Broadcast()
}

// Note adds words of the guest's own to stderr. It never waits: they are lost where there is no room for them.
func (j *Journal) Note(words string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed || j.exit != nil || j.full() {
		return
	}
	j.begin(KindStderr)
	j.copyIn([]byte(words))
	j.end += uint64(len(words))
	j.changed.Broadcast()
}

// begin starts a run of this kind, unless the last one is.
func (j *Journal) begin(kind Kind) {
	if len(j.runs) == 0 || j.runs[len(j.runs)-1].kind != kind {
		j.runs = append(j.runs, run{j.end, kind})
		j.charge(runCost)
	}
}

func (j *Journal) full() bool {
	waiting := int64(j.end-j.acked) + int64(len(j.runs))*runCost
	return waiting >= journalLimit || (waiting >= journalFloor && held.Load() >= journalsLimit)
}

// copyIn puts a small piece into the last block, or into a new one when it does not fit. Output that goes on
// in small pieces gets larger and larger blocks.
func (j *Journal) copyIn(piece []byte) {
	size := max(smallestBlock, 2*len(piece))
	if len(j.blocks) > 0 {
		last := j.blocks[len(j.blocks)-1]
		if cap(last.bytes)-len(last.bytes) >= len(piece) {
			last.bytes = append(last.bytes, piece...)
			return
		}
		size = max(size, min(2*cap(last.bytes), chunkSize))
	}
	j.blocks = append(j.blocks, &block{start: j.end, bytes: append(make([]byte, 0, size), piece...)})
	j.charge(int64(size))
}

func (j *Journal) charge(bytes int64) {
	j.cost += bytes
	held.Add(bytes)
}

// Ack forgets every byte before the offset. Acking less than before is no error: acks may cross.
func (j *Journal) Ack(offset uint64) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if offset > j.end {
		return fault.New(fault.InvalidInput, "ack of offset %d, but the journal ends at %d", offset, j.end)
	}
	if offset <= j.acked {
		return nil
	}
	j.acked = offset
	kept := 0
	for kept < len(j.blocks) && j.blocks[kept].end() <= offset {
		j.drop(j.blocks[kept])
		kept++
	}
	j.blocks = slices.Delete(j.blocks, 0, kept)
	kept = 0
	for kept+1 < len(j.runs) && j.runs[kept+1].start <= offset {
		j.charge(-runCost)
		kept++
	}
	j.runs = slices.Delete(j.runs, 0, kept)
	j.changed.Broadcast()
	return nil
}

func (j *Journal) drop(b *block) {
	j.charge(-int64(cap(b.bytes)))
	b.gone = true
	b.recycle()
}

func (b *block) recycle() {
	if b.gone && b.uses == 0 && b.chunk != nil {
		chunks.Put(b.chunk)
		b.chunk, b.bytes = nil, nil
	}
}

// Finish adds the exit record. Nothing comes after it.
func (j *Journal) Finish(exit []byte) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.exit = exit
	j.changed.Broadcast()
}

// Close drops all output and wakes waiting writers.
func (j *Journal) Close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
	for _, b := range j.blocks {
		j.drop(b)
	}
	j.charge(-j.cost)
	j.blocks, j.runs = nil, nil
	j.changed.Broadcast()
}

// Range gives the oldest offset that is still there and the length of the journal.
func (j *Journal) Range() (acked, end uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.acked, j.end
}

// A piece is what a reader gets: output, or the exit record when kind is KindExit. Release it when done.
type piece struct {
	kind   Kind
	offset uint64
	bytes  []byte
	source *block
	more   bool // something else follows at once
}

// next waits for output at an offset. It gives an error when the context ends, when the journal is
// closed, and when the offset is forgotten.
func (j *Journal) next(ctx context.Context, offset uint64) (piece, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for {
		if err := ctx.Err(); err != nil {
			return piece{}, err
		}
		if offset < j.acked {
			return piece{}, startFault(offset, j.acked)
		}
		switch {
		case offset < j.end && j.closed:
			return piece{}, errForgotten
		case offset < j.end:
			return j.pieceAt(offset), nil
		case j.exit != nil:
			return piece{kind: KindExit, offset: j.end, bytes: j.exit}, nil
		case j.closed:
			return piece{}, errForgotten
		}
		j.changed.Wait()
	}
}

// pieceAt gives as much as is in one block and of one kind.
func (j *Journal) pieceAt(offset uint64) piece {
	b := j.blocks[sort.Search(len(j.blocks), func(i int) bool { return j.blocks[i].end() > offset })]
	next := sort.Search(len(j.runs), func(i int) bool { return j.runs[i].start > offset })
	end := b.end()
	if next < len(j.runs) {
		end = min(end, j.runs[next].start)
	}
	b.uses++
	return piece{
		kind:   j.runs[next-1].kind,
		offset: offset,
		bytes:  b.bytes[offset-b.start : end-b.start],
		source: b,
		more:   end < j.end || j.exit != nil,
	}
}

func (j *Journal) release(p piece) {
	if p.source == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	p.source.uses--
	p.source.recycle()
}

// wake wakes readers, so that they check their context.
func (j *Journal) wake() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.changed.Broadcast()
}

var errForgotten = fault.New(fault.ProcessNotFound, "the process is forgotten")

func startFault(asked, start uint64) error {
	return fault.New(fault.InvalidInput, "offset %d is acked and forgotten; the journal starts at %d", asked, start).With("start", start)
}
