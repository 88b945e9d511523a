package proctree

import (
	"os"
	"slices"
	"testing"
)

func TestParseTakesAnyName(t *testing.T) {
	const rest = " S 1 7 8 0 -1 4194560 1 2 3 4 50 60 0 0 20 0 1 0 100 200 300 0\n"
	for _, name := range []string{"sh", ") S 9 9 (", "a b\nc", ""} {
		process, ok := parse([]byte("42 (" + name + ")" + rest))
		want := Process{PID: 42, Parent: 1, Session: 8, State: 'S', Name: name, CPUTicks: 110, ResidentPages: 300, Threads: 1}
		if !ok || process != want {
			t.Errorf("%q: %+v, %v", name, process, ok)
		}
	}
	for _, line := range []string{"", "42", "42 (sh", "42 (sh)", "42 (sh) S 1"} {
		if _, ok := parse([]byte(line)); ok {
			t.Errorf("%q is taken", line)
		}
	}
}

func TestBelowFindsDescendantsOnly(t *testing.T) {
	table := Table{1: {PID: 1}, 2: {PID: 2, Parent: 1}, 3: {PID: 3, Parent: 2}, 4: {PID: 4, Parent: 3}, 5: {PID: 5, Parent: 1}, 6: {PID: 6, Parent: 6}}
	var found []int
	for _, process := range table.Below(2) {
		found = append(found, process.PID)
	}
	slices.Sort(found)
	if !slices.Equal(found, []int{3, 4}) {
		t.Errorf("%v", found)
	}
}

func TestScanSeesItself(t *testing.T) {
	if process, ok := Scan()[os.Getpid()]; !ok || process.Parent != os.Getppid() || !process.Alive() {
		t.Errorf("%+v, %v", process, ok)
	}
}
