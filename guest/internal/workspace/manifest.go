package workspace

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"os"
	"syscall"
)

// A manifest is one snapshot on disk: a line that names the format, a line of JSON about the snapshot, the
// tree of nodes, a checksum. Names that a sandbox chose are only ever in here, never in the host's file system.

const (
	magic          = "geode workspace 1\n"
	longestSummary = 4096
	checksumBytes  = 4
	flagLinked     = 1 << 6
	flagSettled    = 1 << 7
)

// A summary is what a list shows of a snapshot.
type summary struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"`
	TakenMs int64  `json:"takenMs"`
	counts
	// AddedBytes is what was copied for it; the rest it shares with snapshots before it.
	AddedBytes int64 `json:"addedBytes"`
	// Sequence numbers the snapshots: it is larger than every number that an unnamed snapshot got as its name.
	Sequence uint64 `json:"sequence"`
	// Boot is the run of the machine in which it was written.
	Boot string `json:"boot"`
	// NextPack is larger than the number of every pack that it names.
	NextPack uint64 `json:"nextPack"`
}

type counts struct {
	Files      int64 `json:"files"`
	Folders    int64 `json:"folders"`
	Links      int64 `json:"links"`
	Bytes      int64 `json:"bytes"`
	Special    int64 `json:"special"`
	Unreadable int64 `json:"unreadable"`
}

func countsOf(tree *node) counts {
	var c counts
	tree.each(func(n *node) {
		switch n.kind {
		case file:
			c.Files++
			c.Bytes += n.size
		case folder:
			c.Folders++
		case link:
			c.Links++
		case other:
			c.Special++
		case closed:
			c.Unreadable++
		}
	})
	return c
}

// checksumOf makes its table when it is first needed: the same program is the guest in every sandbox.
func checksumOf(text []byte) uint32 {
	return crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli))
}

func encodeManifest(about summary, tree *node) []byte {
	line, _ := json.Marshal(about)
	text := append(append([]byte(magic), line...), '\n')
	text = appendNode(text, tree)
	return binary.LittleEndian.AppendUint32(text, checksumOf(text))
}

func appendNode(to []byte, n *node) []byte {
	flags := byte(n.kind)
	if n.linked {
		flags |= flagLinked
	}
	if n.settled {
		flags |= flagSettled
	}
	to = appendText(append(to, flags), n.name)
	for _, number := range [...]uint64{uint64(n.mode), uint64(n.uid), uint64(n.gid), n.ino, uint64(n.size)} {
		to = binary.AppendUvarint(to, number)
	}
	for _, number := range [...]int64{n.mtime.Sec, n.mtime.Nsec, n.ctime.Sec, n.ctime.Nsec} {
		to = binary.AppendVarint(to, number)
	}
	switch n.kind {
	case file:
		to = binary.AppendUvarint(to, n.pack)
		to = binary.AppendUvarint(to, uint64(n.offset))
	case link:
		to = appendText(to, n.target)
	case folder:
		to = binary.AppendUvarint(to, uint64(len(n.children)))
		for i := range n.children {
			to = appendNode(to, &n.children[i])
		}
	}
	return to
}

func appendText(to []byte, text string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}

var errDamaged = errors.New("it is damaged")

// readSummary reads no more than the beginning.
func readSummary(path string) (summary, error) {
	var about summary
	opened, err := os.Open(path)
	if err != nil {
		return about, err
	}
	defer opened.Close()
	start := make([]byte, len(magic)+longestSummary)
	n, _ := opened.Read(start)
	about, _, err = splitManifest(start[:n])
	return about, err
}

func readManifest(path string) (about summary, tree *node, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return about, nil, err
	}
	end := len(text) - checksumBytes
	if end < 0 || binary.LittleEndian.Uint32(text[end:]) != checksumOf(text[:end]) {
		return about, nil, errDamaged
	}
	about, body, err := splitManifest(text[:end])
	if err != nil {
		return about, nil, err
	}
	reader := nodeReader{text: body}
	tree = &node{}
	reader.node(tree)
	if reader.bad || len(reader.text) > 0 {
		return about, nil, errDamaged
	}
	return about, tree, nil
}

func splitManifest(text []byte) (summary, []byte, error) {
	var about summary
	rest, ok := bytes.CutPrefix(text, []byte(magic))
	line, body, found := bytes.Cut(rest, []byte{'\n'})
	if !ok || !found || json.Unmarshal(line, &about) != nil {
		return about, nil, errDamaged
	}
	return about, body, nil
}

type nodeReader struct {
	text []byte
	bad  bool
}

func (r *nodeReader) node(n *node) {
	if len(r.text) == 0 {
		r.bad = true
		return
	}
	flags := r.text[0]
	r.text = r.text[1:]
	n.linked, n.settled, n.kind = flags&flagLinked != 0, flags&flagSettled != 0, kind(flags&^(flagLinked|flagSettled))
	n.name = r.string()
	n.mode, n.uid, n.gid, n.ino, n.size = uint32(r.number()), uint32(r.number()), uint32(r.number()), r.number(), int64(r.number())
	n.mtime, n.ctime = r.time(), r.time()
	switch n.kind {
	case file:
		n.pack, n.offset = r.number(), int64(r.number())
	case link:
		n.target = r.string()
	case folder:
		count := r.number()
		if count > uint64(len(r.text)) {
			r.bad = true
			return
		}
		n.children = make([]node, count)
		for i := range n.children {
			if r.node(&n.children[i]); r.bad {
				return
			}
		}
	}
}

func (r *nodeReader) number() uint64 {
	value, length := binary.Uvarint(r.text)
	if length <= 0 {
		r.bad, r.text = true, nil
		return 0
	}
	r.text = r.text[length:]
	return value
}

func (r *nodeReader) time() syscall.Timespec {
	var parts [2]int64
	for i := range parts {
		value, length := binary.Varint(r.text)
		if length <= 0 {
			r.bad, r.text = true, nil
			return syscall.Timespec{}
		}
		parts[i], r.text = value, r.text[length:]
	}
	return syscall.Timespec{Sec: parts[0], Nsec: parts[1]}
}

func (r *nodeReader) string() string {
	length := r.number()
	if length > uint64(len(r.text)) {
		r.bad, r.text = true, nil
		return ""
	}
	text := string(r.text[:length])
	r.text = r.text[length:]
	return text
}
