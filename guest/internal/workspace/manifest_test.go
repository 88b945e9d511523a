package workspace

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"syscall"
	"testing"
)

func someTree() *node {
	return &node{kind: folder, mode: 0o700, children: []node{
		{name: "\xff\n", kind: file, mode: 0o4755, uid: 1, gid: 2, size: 1 << 40, mtime: syscall.Timespec{Sec: -1 << 40, Nsec: 9}, ino: 7, ctime: syscall.Timespec{Sec: 5}, linked: true, settled: true, pack: 3, offset: 99},
		{name: "d", kind: folder, children: []node{{name: "l", kind: link, target: "/etc"}}},
		{name: "s", kind: other},
		{name: "u", kind: closed},
	}}
}

func TestManifestKeepsEverything(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m")
	about := summary{Name: "n", Kind: kept, TakenMs: 5, NextPack: 4, counts: countsOf(someTree())}
	if err := os.WriteFile(path, encodeManifest(about, someTree()), 0o600); err != nil {
		t.Fatal(err)
	}
	got, tree, err := readManifest(path)
	if err != nil || got != about || !reflect.DeepEqual(withoutEmpty(tree), someTree()) {
		t.Fatalf("%v %+v\n%+v", err, got, tree)
	}
	if only, err := readSummary(path); err != nil || only != about {
		t.Fatal(err, only)
	}
	if about.Files != 1 || about.Folders != 1 || about.Links != 1 || about.Special != 1 || about.Unreadable != 1 {
		t.Fatal(about)
	}
}

func withoutEmpty(n *node) *node {
	if len(n.children) == 0 {
		n.children = nil
	}
	for i := range n.children {
		withoutEmpty(&n.children[i])
	}
	return n
}

// A manifest that is cut off or changed in any place is damaged, and never read as something else.
func TestManifestDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m")
	text := encodeManifest(summary{Name: "n"}, someTree())
	for at := range text {
		flipped := bytes.Clone(text)
		flipped[at] ^= 0x40
		for _, broken := range [][]byte{flipped, text[:at]} {
			if err := os.WriteFile(path, broken, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, _, err := readManifest(path); err == nil {
				t.Fatalf("damage at %d is not seen", at)
			}
		}
	}
}

// Reading any bytes ends without a panic.
func FuzzNodes(f *testing.F) {
	f.Add(appendNode(nil, someTree()))
	f.Fuzz(func(_ *testing.T, text []byte) {
		reader := nodeReader{text: text}
		reader.node(&node{})
	})
}
