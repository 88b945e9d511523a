package layers

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var most = Limits{Bytes: 1 << 20, Entries: 100}

func layer(t *testing.T, headers ...tar.Header) *bytes.Reader {
	t.Helper()
	var buffer bytes.Buffer
	writer := tar.NewWriter(&buffer)
	for _, header := range headers {
		content := []byte(header.Linkname)
		if header.Typeflag == tar.TypeReg {
			header.Size = int64(len(content))
			header.Linkname = ""
		}
		if header.Mode == 0 {
			header.Mode = 0o644
		}
		header.Uid, header.Gid = os.Getuid(), os.Getgid()
		if err := writer.WriteHeader(&header); err != nil {
			t.Fatal(err)
		}
		if header.Typeflag == tar.TypeReg {
			if _, err := writer.Write(content); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(buffer.Bytes())
}

// The text of a file stands in Linkname.
func file(name, content string) tar.Header {
	return tar.Header{Typeflag: tar.TypeReg, Name: name, Linkname: content}
}

func link(name, target string) tar.Header {
	return tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target}
}

func TestUnpackRefusesWhatLeadsOut(t *testing.T) {
	for name, headers := range map[string][]tar.Header{
		"dots":                {file("../escape", "x")},
		"dots inside":         {file("a/../../escape", "x")},
		"link up":             {link("out", "../.."), file("out/escape", "x")},
		"absolute link":       {link("out", "/tmp"), file("out/escape", "x")},
		"link to a link":      {link("one", ".."), link("two", "one"), file("two/escape", "x")},
		"hard link out":       {{Typeflag: tar.TypeLink, Name: "shadow", Linkname: "../../../etc/shadow"}},
		"hard link to a link": {link("out", "/etc"), {Typeflag: tar.TypeLink, Name: "shadow", Linkname: "out/shadow"}},
		"missing hard link":   {{Typeflag: tar.TypeLink, Name: "shadow", Linkname: "/etc/shadow"}},
	} {
		t.Run(name, func(t *testing.T) {
			above := t.TempDir()
			folder := filepath.Join(above, "layer")
			if err := os.Mkdir(folder, 0o755); err != nil {
				t.Fatal(err)
			}
			if _, err := Unpack(layer(t, headers...), folder, most); err == nil {
				t.Fatal("the layer was unpacked")
			}
			entries, err := os.ReadDir(above)
			if err != nil || len(entries) != 1 {
				t.Fatalf("beside the layer: %v %v", entries, err)
			}
		})
	}
}

func TestUnpackKeepsToItsLimits(t *testing.T) {
	if _, err := Unpack(layer(t, file("big", strings.Repeat("x", 2<<20))), t.TempDir(), most); err == nil {
		t.Fatal("a large layer was unpacked")
	}
	many := make([]tar.Header, 101)
	for index := range many {
		many[index] = file(strings.Repeat("a", index+1), "")
	}
	if _, err := Unpack(layer(t, many...), t.TempDir(), most); err == nil {
		t.Fatal("a layer of many entries was unpacked")
	}
	if _, err := Unpack(strings.NewReader("no archive at all, but long enough to be read as one head"+strings.Repeat("x", 1024)), t.TempDir(), most); err == nil {
		t.Fatal("text was unpacked")
	}
}

func TestUnpackDropsPowers(t *testing.T) {
	folder := t.TempDir()
	powerful := file("su", "x")
	powerful.Mode = 0o6755
	headers := []tar.Header{
		powerful,
		{Typeflag: tar.TypeBlock, Name: "disk", Devmajor: 8},
		{Typeflag: tar.TypeChar, Name: "mem", Devmajor: 1, Devminor: 1},
		{Typeflag: tar.TypeFifo, Name: "pipe"},
	}
	if _, err := Unpack(layer(t, headers...), folder, most); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(filepath.Join(folder, "su"))
	if err != nil || info.Mode() != 0o755 {
		t.Fatalf("su: %v %v", info, err)
	}
	if entries, _ := os.ReadDir(folder); len(entries) != 1 {
		t.Fatalf("devices were made: %v", entries)
	}
}

func TestMergeAppliesWhiteouts(t *testing.T) {
	folders := make([]string, 3)
	for index, headers := range [][]tar.Header{
		{file("etc/kept", "low"), file("etc/changed", "low"), file("etc/gone", "low"), file("opaque/low", "x"), file("gone/deep/x", "x"), link("lib", "usr/lib")},
		{file("etc/changed", "high"), file("etc/.wh.gone", ""), file("opaque/.wh..wh..opq", ""), file("opaque/high", "x"), file(".wh.gone", "")},
		{file("lib/real", "x")},
	} {
		folders[index] = t.TempDir()
		if _, err := Unpack(layer(t, headers...), folders[index], most); err != nil {
			t.Fatal(err)
		}
	}
	root := t.TempDir()
	if _, err := Merge(folders, root); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"etc/kept": "low", "etc/changed": "high", "opaque/high": "x", "lib/real": "x"} {
		if text, err := os.ReadFile(filepath.Join(root, name)); err != nil || string(text) != want {
			t.Errorf("%s: %q %v", name, text, err)
		}
	}
	for _, name := range []string{"etc/gone", "etc/.wh.gone", "opaque/low", "opaque/.wh..wh..opq", "gone"} {
		if _, err := os.Lstat(filepath.Join(root, name)); err == nil {
			t.Errorf("%s is there", name)
		}
	}
	if text, err := os.ReadFile(filepath.Join(folders[0], "etc/changed")); err != nil || string(text) != "low" {
		t.Errorf("the lower layer was changed: %q %v", text, err)
	}
}

func TestMergeMakesPlacesForWalls(t *testing.T) {
	folder, root := t.TempDir(), t.TempDir()
	headers := []tar.Header{link("proc", "/etc"), link("etc/passwd", "../../outside"), link("workspace", "/root")}
	if _, err := Unpack(layer(t, headers...), folder, most); err != nil {
		t.Fatal(err)
	}
	if _, err := Merge([]string{folder}, root); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"proc", "workspace", "etc/passwd", ".geode/guest"} {
		info, err := os.Lstat(filepath.Join(root, name))
		if err != nil || info.Mode()&os.ModeSymlink != 0 {
			t.Errorf("%s: %v %v", name, info, err)
		}
	}
}
