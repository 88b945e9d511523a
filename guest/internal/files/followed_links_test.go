package files

import (
	"os"
	"path/filepath"
	"testing"

	"geode/guest/internal/fault"
)

func TestCheckedRootRefusesLinksOutAndFollowsOthers(t *testing.T) {
	_, workdir := workspace(t)
	put(t, filepath.Join(workdir, "in/side"), "inside")
	for name, target := range map[string]string{
		"out": "..", "absolute": "/etc", "chain": "out/outside", "near": "in", "up": "in/../in", "loop": "loop",
	} {
		if err := os.Symlink(target, filepath.Join(workdir, name)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(workdir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	checked := checkedRoot{root}
	for _, name := range []string{"out/outside", "absolute/passwd", "chain", "near/../out/outside", "../outside", "loop"} {
		_, err := checked.OpenFile(name, os.O_RDONLY, 0)
		wantCode(t, "open "+name, err, fault.InvalidPath)
		_, err = checked.Stat(name)
		wantCode(t, "stat "+name, err, fault.InvalidPath)
		wantCode(t, "chmod "+name, checked.Chmod(name, 0o777), fault.InvalidPath)
		wantCode(t, "mkdir "+name, checked.MkdirAll(name, 0o755), fault.InvalidPath)
	}
	for _, name := range []string{"near/side", "up/side", "./in//side", "in/../near/side"} {
		if err := checked.check(name, true); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if target, err := checked.Readlink("chain"); target != "out/outside" || err != nil {
		t.Errorf("readlink chain: %q, %v", target, err)
	}
	if _, err := checked.Lstat("out"); err != nil {
		t.Errorf("lstat out: %v", err)
	}
	if followsLinks() {
		t.Error("this kernel follows links in the place of folders")
	}
}
