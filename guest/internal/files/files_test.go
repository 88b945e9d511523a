package files

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"geode/guest/internal/fault"
)

// workspace gives files whose workdir has a folder beside it that nothing may reach.
func workspace(t *testing.T) (*Files, string) {
	t.Helper()
	top := t.TempDir()
	workdir := filepath.Join(top, "work")
	f := New()
	if err := f.Open(workdir); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(top, "outside"), "secret")
	return f, workdir
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func in(t *testing.T, f *Files, path string) Target {
	t.Helper()
	target, err := f.At(path, "workspace")
	if err != nil {
		t.Fatal(err)
	}
	return target
}

func wantCode(t *testing.T, what string, err error, code fault.Code) {
	t.Helper()
	if err == nil || fault.From(err).Code != code {
		t.Errorf("%s: %v, not %s", what, err, code)
	}
}

func names(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	found := []string{}
	for _, entry := range entries {
		found = append(found, entry.Name())
	}
	return found
}

func TestNothingLeavesTheWorkspace(t *testing.T) {
	f, workdir := workspace(t)
	for name, target := range map[string]string{"absolute": "/etc/passwd", "climbing": "../outside", "up": "..", "chain": "up/outside"} {
		if err := os.Symlink(target, filepath.Join(workdir, name)); err != nil {
			t.Fatal(err)
		}
	}
	put(t, filepath.Join(workdir, "in", "side"), "x")
	for _, path := range []string{"absolute", "climbing", "up/outside", "chain", "../outside", "in/../../outside", workdir + "/../outside"} {
		target := in(t, f, path)
		_, _, err := target.OpenRead()
		wantCode(t, "read "+path, err, fault.InvalidPath)
		_, err = target.Write(strings.NewReader("x"), WriteOptions{})
		wantCode(t, "write "+path, err, fault.InvalidPath)
		_, err = target.Append(strings.NewReader("x"))
		wantCode(t, "append "+path, err, fault.InvalidPath)
		wantCode(t, "chmod "+path, target.Chmod(0o777), fault.InvalidPath)
	}
	for _, path := range []string{"up/outside", "../outside"} {
		_, err := in(t, f, path).Remove()
		wantCode(t, "remove "+path, err, fault.InvalidPath)
		wantCode(t, "move from "+path, in(t, f, path).Move(context.Background(), in(t, f, "stolen"), false), fault.InvalidPath)
		wantCode(t, "move to "+path, in(t, f, "in/side").Move(context.Background(), in(t, f, path+"2"), false), fault.InvalidPath)
		wantCode(t, "copy "+path, in(t, f, path).Copy(context.Background(), in(t, f, "stolen"), false), fault.InvalidPath)
	}
	for _, path := range []string{"", "a\x00b", strings.Repeat("a/", 3000), "/etc/passwd", workdir + "-beside/x"} {
		_, err := f.At(path, "workspace")
		wantCode(t, "path "+path[:min(len(path), 20)], err, fault.InvalidPath)
	}
	if text, err := os.ReadFile(filepath.Join(workdir, "..", "outside")); string(text) != "secret" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestOnlyPlainFilesAreRead(t *testing.T) {
	f, workdir := workspace(t)
	put(t, filepath.Join(workdir, "file"), "x")
	if err := os.Link(filepath.Join(workdir, "file"), filepath.Join(workdir, "hard")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(workdir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	for path, code := range map[string]fault.Code{"hard": fault.FileRefused, "pipe": fault.NotAFile, ".": fault.NotAFile, "none": fault.FileNotFound} {
		_, _, err := in(t, f, path).OpenRead()
		wantCode(t, path, err, code)
	}
	_, err := in(t, f, "hard").Append(strings.NewReader("y"))
	wantCode(t, "append to a hard link", err, fault.FileRefused)
}

type brokenUpload struct{ left int }

func (b *brokenUpload) Read(into []byte) (int, error) {
	if b.left == 0 {
		return 0, errors.New("the upload broke off")
	}
	n := min(b.left, len(into))
	b.left -= n
	return n, nil
}

func TestWriteReplacesInOneStep(t *testing.T) {
	f, workdir := workspace(t)
	put(t, filepath.Join(workdir, "file"), "old")
	if err := os.Chmod(filepath.Join(workdir, "file"), 0o751); err != nil {
		t.Fatal(err)
	}
	if _, err := in(t, f, "file").Write(&brokenUpload{left: 1 << 20}, WriteOptions{}); err == nil {
		t.Error("a broken upload is taken")
	}
	if text, _ := os.ReadFile(filepath.Join(workdir, "file")); string(text) != "old" || len(names(t, workdir)) != 1 {
		t.Errorf("after a broken upload: %q, %v", text, names(t, workdir))
	}
	if err := os.Symlink("file", filepath.Join(workdir, "link")); err != nil {
		t.Fatal(err)
	}
	stat, err := in(t, f, "link").Write(strings.NewReader("new"), WriteOptions{})
	if err != nil || stat.Mode != 0o751 || stat.Name != "file" {
		t.Errorf("%+v, %v", stat, err)
	}
	_, err = in(t, f, "file").Write(strings.NewReader("x"), WriteOptions{Exclusive: true})
	wantCode(t, "exclusive", err, fault.FileExists)
	if _, err := in(t, f, "a/b/c").Write(strings.NewReader("x"), WriteOptions{Exclusive: true}); err != nil {
		t.Error(err)
	}
}

func TestStrangeNamesComeBack(t *testing.T) {
	f, workdir := workspace(t)
	strange := []string{"new\nline", `quo"te'`, "a -> b", "ünï", "-rf", "\xff\xfe", " "}
	for _, name := range strange {
		if _, err := in(t, f, name).Write(strings.NewReader(name), WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(strange)
	if found := names(t, workdir); !slices.Equal(found, strange) {
		t.Errorf("%q", found)
	}
	var archive bytes.Buffer
	packing, err := in(t, f, ".").Pack(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer packing.Close()
	if err := packing.WriteTo(context.Background(), &archive); err != nil {
		t.Fatal(err)
	}
	if _, err := in(t, f, "copy").Unpack(context.Background(), &archive); err != nil {
		t.Fatal(err)
	}
	if found := names(t, filepath.Join(workdir, "copy")); !slices.Equal(found, strange) {
		t.Errorf("%q", found)
	}
}

func TestCopyMoveRemove(t *testing.T) {
	f, workdir := workspace(t)
	ctx := context.Background()
	put(t, filepath.Join(workdir, "a", "b", "c"), "text")
	if err := os.Symlink("b/c", filepath.Join(workdir, "a", "link")); err != nil {
		t.Fatal(err)
	}
	if err := in(t, f, "a").Copy(ctx, in(t, f, "copy"), false); err != nil {
		t.Fatal(err)
	}
	if link, _ := os.Readlink(filepath.Join(workdir, "copy", "link")); link != "b/c" {
		t.Errorf("the link became %q", link)
	}
	wantCode(t, "copy over", in(t, f, "a").Copy(ctx, in(t, f, "copy"), false), fault.FileExists)
	wantCode(t, "copy into itself", in(t, f, "a").Copy(ctx, in(t, f, "a/b/x"), false), fault.InvalidInput)
	put(t, filepath.Join(workdir, "copy", "more"), "")
	if err := in(t, f, "a").Copy(ctx, in(t, f, "copy"), true); err != nil {
		t.Error(err)
	}
	if found := names(t, filepath.Join(workdir, "copy")); !slices.Equal(found, []string{"b", "link"}) {
		t.Errorf("%v", found)
	}
	wantCode(t, "move over", in(t, f, "a/b/c").Move(ctx, in(t, f, "copy/b/c"), false), fault.FileExists)
	if err := in(t, f, "a/b/c").Move(ctx, in(t, f, "new/place"), false); err != nil {
		t.Error(err)
	}
	for _, path := range []string{".", "..", workdir, "a/.."} {
		_, err := in(t, f, path).Remove()
		wantCode(t, "remove "+path, err, fault.InvalidPath)
	}
	for i, want := range []bool{true, false} {
		if removed, err := in(t, f, "copy").Remove(); removed != want || err != nil {
			t.Errorf("remove %d: %v, %v", i, removed, err)
		}
	}
}

func TestSearchAndGrep(t *testing.T) {
	f, workdir := workspace(t)
	put(t, filepath.Join(workdir, "src", "a.ts"), "one\ntwo NEEDLE\n")
	put(t, filepath.Join(workdir, "src", "deep", "b.js"), "needle\n")
	put(t, filepath.Join(workdir, "binary"), "needle\x00")
	for pattern, want := range map[string]int{"**/*.ts": 1, "*.{ts,js}": 2, "src/*": 2, "src/**": 4, "**": 5, "?.ts": 1, "[b-z].js": 1, "none": 0} {
		found, err := in(t, f, ".").Search(context.Background(), pattern, 0)
		if err != nil || len(found.Entries) != want {
			t.Errorf("%s: %d, %v", pattern, len(found.Entries), err)
		}
	}
	found, err := in(t, f, ".").Grep(context.Background(), Query{Pattern: "needle", IgnoreCase: true}, "", 0)
	if err != nil || len(found.Matches) != 2 || !strings.Contains(string(found.Matches[0]), `"line":2,"column":5`) {
		t.Errorf("%s, %v", found.Matches, err)
	}
	one := 1
	if count, err := in(t, f, "src/a.ts").Replace(Query{Pattern: `(t)wo (\w+)`, Regex: true}, "$2-$1", &one); count != 1 || err != nil {
		t.Errorf("%d, %v", count, err)
	}
	if text, _ := os.ReadFile(filepath.Join(workdir, "src", "a.ts")); string(text) != "one\nNEEDLE-t\n" {
		t.Errorf("%q", text)
	}
	_, err = in(t, f, "src/a.ts").Replace(Query{Pattern: "n"}, "m", &one)
	if err != nil {
		t.Error(err)
	}
	_, err = in(t, f, "src/a.ts").Replace(Query{Pattern: "E"}, "m", &one)
	wantCode(t, "another count", err, fault.InvalidInput)
}

func archive(t *testing.T, headers ...*tar.Header) []byte {
	t.Helper()
	var made bytes.Buffer
	writer := tar.NewWriter(&made)
	for _, header := range headers {
		if header.Mode == 0 {
			header.Mode = 0o755
		}
		if err := writer.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := writer.Write(make([]byte, header.Size)); err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return made.Bytes()
}

func TestArchivesAreRefusedWithoutATrace(t *testing.T) {
	good := &tar.Header{Name: "good", Typeflag: tar.TypeReg, Size: 2000}
	link := func(name, target string) *tar.Header {
		return &tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: target}
	}
	whole := archive(t, good)
	cases := map[string][]byte{
		"an absolute path":     archive(t, good, &tar.Header{Name: "/etc/x", Typeflag: tar.TypeReg}),
		"a climbing path":      archive(t, good, &tar.Header{Name: "a/../../x", Typeflag: tar.TypeReg}),
		"a hard link":          archive(t, good, &tar.Header{Name: "h", Typeflag: tar.TypeLink, Linkname: "good"}),
		"a device":             archive(t, good, &tar.Header{Name: "d", Typeflag: tar.TypeChar}),
		"a pipe":               archive(t, good, &tar.Header{Name: "p", Typeflag: tar.TypeFifo}),
		"an absolute link":     archive(t, good, link("l", "/etc/passwd")),
		"a climbing link":      archive(t, good, link("d/l", "../../x")),
		"links that climb":     archive(t, good, link("d/l", ".."), link("m", "d/l/..")),
		"a way through a link": archive(t, good, link("l", "."), &tar.Header{Name: "l/x", Typeflag: tar.TypeReg}),
		"no end":               whole[:len(whole)-1024],
		"a cut file":           whole[:1000],
		"nothing":              {},
		"noise":                bytes.Repeat([]byte("noise"), 1000),
	}
	for name, content := range cases {
		f, workdir := workspace(t)
		put(t, filepath.Join(workdir, "there", "good"), "kept")
		for _, path := range []string{"there", "new"} {
			_, err := in(t, f, path).Unpack(context.Background(), bytes.NewReader(content))
			wantCode(t, name, err, fault.ArchiveRefused)
		}
		text, _ := os.ReadFile(filepath.Join(workdir, "there", "good"))
		if string(text) != "kept" || len(names(t, workdir)) != 1 || len(names(t, filepath.Join(workdir, "there"))) != 1 {
			t.Errorf("%s left a trace: %v", name, names(t, workdir))
		}
	}
}

func TestUnpackMerges(t *testing.T) {
	f, workdir := workspace(t)
	put(t, filepath.Join(workdir, "d", "old"), "old")
	put(t, filepath.Join(workdir, "d", "same"), "old")
	when := time.Unix(1_000_000_000, 0)
	made := archive(t,
		&tar.Header{Name: "d/", Typeflag: tar.TypeDir, ModTime: when},
		&tar.Header{Name: "d/same", Typeflag: tar.TypeReg, Size: 5, Mode: 0o600, ModTime: when},
		&tar.Header{Name: "e/", Typeflag: tar.TypeDir, Mode: 0o500, ModTime: when},
		&tar.Header{Name: "e/f/g", Typeflag: tar.TypeReg, ModTime: when},
		&tar.Header{Name: "e/l", Typeflag: tar.TypeSymlink, Linkname: "f/g"},
	)
	if count, err := in(t, f, ".").Unpack(context.Background(), bytes.NewReader(made)); count != 5 || err != nil {
		t.Fatalf("%d, %v", count, err)
	}
	if found := names(t, filepath.Join(workdir, "d")); !slices.Equal(found, []string{"old", "same"}) {
		t.Errorf("%v", found)
	}
	for path, mode := range map[string]os.FileMode{"d/same": 0o600, "e": 0o500} {
		found, err := os.Stat(filepath.Join(workdir, path))
		if err != nil || found.Mode().Perm() != mode || !found.ModTime().Equal(when) {
			t.Errorf("%s: %v, %v", path, found, err)
		}
	}
	if found := names(t, workdir); !slices.Equal(found, []string{"d", "e"}) {
		t.Errorf("%v", found)
	}
	clash := archive(t, &tar.Header{Name: "a", Typeflag: tar.TypeReg}, &tar.Header{Name: "d", Typeflag: tar.TypeReg})
	_, err := in(t, f, ".").Unpack(context.Background(), bytes.NewReader(clash))
	wantCode(t, "a file for a folder", err, fault.FileExists)
	if found := names(t, workdir); !slices.Equal(found, []string{"d", "e"}) {
		t.Errorf("after a clash: %v", found)
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add(make([]byte, 1024))
	var seed bytes.Buffer
	writer := tar.NewWriter(&seed)
	_ = writer.WriteHeader(&tar.Header{Name: "d/l", Typeflag: tar.TypeSymlink, Linkname: "../x"})
	_ = writer.WriteHeader(&tar.Header{Name: "x", Typeflag: tar.TypeReg, Mode: 0o644})
	_ = writer.Close()
	f.Add(seed.Bytes())
	f.Fuzz(func(t *testing.T, sent []byte) {
		top := t.TempDir()
		files := New()
		if err := files.Open(filepath.Join(top, "work")); err != nil {
			t.Fatal(err)
		}
		target, _ := files.At("in", "workspace")
		_, err := target.Unpack(context.Background(), bytes.NewReader(sent))
		if found := names(t, top); !slices.Equal(found, []string{"work"}) {
			t.Fatalf("something came out: %v", found)
		}
		if found := names(t, filepath.Join(top, "work")); err != nil && len(found) != 0 {
			t.Fatalf("a refused archive left %v", found)
		}
	})
}

func TestWatch(t *testing.T) {
	f, workdir := workspace(t)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	changes := make(chan Change, 100)
	done := make(chan error, 1)
	put(t, filepath.Join(workdir, "w", "file"), "")
	go func() {
		done <- in(t, f, "w").Watch(ctx, true, func(change Change) error {
			changes <- change
			return nil
		})
	}()
	next := func(kind, path string) {
		t.Helper()
		for {
			select {
			case change := <-changes:
				if change.Type == kind && change.Path == path {
					return
				}
			case <-ctx.Done():
				t.Fatalf("no %s of %s", kind, path)
			}
		}
	}
	next("ready", "")
	inside := func(name string) string { return filepath.Join(workdir, "w", name) }
	put(t, inside("d/e/new"), "x")
	next("create", inside("d/e/new"))
	put(t, inside("d/e/new"), "xy")
	next("modify", inside("d/e/new"))
	if err := os.Rename(inside("d"), inside("moved")); err != nil {
		t.Fatal(err)
	}
	next("move", inside("moved"))
	put(t, inside("moved/e/later"), "")
	next("create", inside("moved/e/later"))
	if err := os.RemoveAll(filepath.Join(workdir, "w")); err != nil {
		t.Fatal(err)
	}
	next("remove", filepath.Join(workdir, "w"))
	if err := <-done; err != nil {
		t.Error(err)
	}
}
