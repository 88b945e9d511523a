package hatch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const begin = "-----BEGIN CERTIFICATE-----\n"

func TestTrustAddsAnAuthorityToWhatTheImageTrusts(t *testing.T) {
	folder := t.TempDir()
	image := filepath.Join(folder, "image.pem")
	if err := os.WriteFile(image, []byte(begin+"image"), 0o600); err != nil {
		t.Fatal(err)
	}
	saved := rootFiles
	defer func() { rootFiles = saved }()
	for _, one := range []struct {
		files []string
		want  string
	}{
		{[]string{"/nothing/here", image}, begin + "image\n" + begin + "ours"},
		{[]string{"/nothing/here", folder}, begin + "given\n" + begin + "ours"},
	} {
		rootFiles = one.files
		path, err := Trust(filepath.Join(folder, ".hatch"), begin+"ours", begin+"given")
		if err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(path)
		if err != nil || string(content) != one.want {
			t.Fatalf("%q, %v", content, err)
		}
		facts, err := os.Stat(path)
		if err != nil || facts.Mode().Perm() != 0o444 {
			t.Fatalf("%v, %v", facts, err)
		}
	}
	left, _ := os.ReadDir(filepath.Join(folder, ".hatch"))
	if len(left) != 1 || strings.Contains(left[0].Name(), "*") {
		t.Fatalf("%v", left)
	}
}
