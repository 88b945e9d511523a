package usage

import (
	"os/exec"
	"testing"

	"geode/guest/internal/proctree"
)

func TestAProcessThatEndedUsesNothing(t *testing.T) {
	child := exec.Command("true")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	listed := proctree.Process{PID: child.Process.Pid, ResidentPages: 1_000_000}
	if err := child.Wait(); err != nil {
		t.Fatal(err)
	}
	if private, shared := Mapped(listed); private != 0 || shared != 0 {
		t.Errorf("%d bytes of its own and %d shared", private, shared)
	}
}
