package apart

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

const marker = "GEODE_TEST_APART"

func TestMain(m *testing.M) {
	if script := os.Getenv(marker); script != "" {
		if Exec([]string{"sh", "-c", script}, os.Environ()) != nil {
			os.Exit(125)
		}
	}
	os.Exit(m.Run())
}

func run(t *testing.T, script string) error {
	t.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), marker+"="+script)
	return command.Run()
}

func TestLooksIntoItselfAndNotIntoItsParent(t *testing.T) {
	version, _, errno := syscall.RawSyscall(createRuleset, 0, 0, askVersion)
	if errno != 0 || version < leastVersion {
		t.Skip("this kernel has no Landlock")
	}
	if err := run(t, ": </proc/$$/mem"); err != nil {
		t.Fatalf("its own memory: %v", err)
	}
	if err := run(t, ": </proc/$PPID/mem"); err == nil {
		t.Fatal("it opened the memory of its parent")
	}
}

func TestMovesFilesBetweenFolders(t *testing.T) {
	folder := t.TempDir()
	script := "cd '" + folder + "' && mkdir one two && touch one/file && ln one/file two/other && " +
		"perl -e 'rename \"one/file\", \"two/file\" or exit 1'"
	if _, err := exec.LookPath("perl"); err != nil {
		t.Skip("no perl here")
	}
	if err := run(t, script); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(folder, "two", "file")); err != nil {
		t.Fatal(err)
	}
}

func TestSaysWhichProgramIsMissing(t *testing.T) {
	if err := Exec(nil, nil); err == nil {
		t.Fatal("it started nothing")
	}
	if err := Exec([]string{"no-such-program"}, nil); err == nil {
		t.Fatal("it started a program that is not there")
	}
}
