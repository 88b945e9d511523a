package processes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"geode/guest/internal/fault"
	"geode/guest/internal/nofile"
	"geode/guest/internal/proctree"
)

func TestCommandTellsTheTruth(t *testing.T) {
	r := finish(t, start(t, shell("echo out; echo err >&2; exit 3")))
	if r.stdout.String() != "out\n" || r.stderr.String() != "err\n" || *r.exit.ExitCode != 3 || r.exit.Signal != nil {
		t.Errorf("%q %q %+v", r.stdout.String(), r.stderr.String(), r.exit)
	}
	r = finish(t, start(t, shell("kill -USR1 $$")))
	if r.exit.ExitCode != nil || *r.exit.Signal != "SIGUSR1" {
		t.Errorf("%+v", r.exit)
	}
}

func TestStartIsRefused(t *testing.T) {
	start(t, Spec{ID: "twice", Argv: []string{"sleep", "10"}})
	cases := map[string]struct {
		spec Spec
		code fault.Code
	}{
		"no program":      {Spec{ID: "x", Argv: []string{"no-such-program"}}, fault.SpawnFailed},
		"not a program":   {Spec{ID: "x", Argv: []string{"/etc/passwd"}}, fault.SpawnFailed},
		"no folder":       {Spec{ID: "x", Argv: []string{"true"}, Cwd: "/no/such"}, fault.SpawnFailed},
		"a repeated id":   {Spec{ID: "twice", Argv: []string{"true"}}, fault.InvalidInput},
		"an unknown user": {Spec{ID: "x", Argv: []string{"true"}, User: "no-such-user"}, fault.CannotEnforce},
		"a NUL byte":      {Spec{ID: "x", Argv: []string{"a\x00b"}}, fault.InvalidInput},
	}
	for name, c := range cases {
		_, err := table.Start(&c.spec)
		var refusal *fault.Fault
		if !errors.As(err, &refusal) || refusal.Code != c.code {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Hundreds at once: no exit status may be lost or mixed up.
func TestReaperLosesNothing(t *testing.T) {
	var wait sync.WaitGroup
	for i := range 200 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			want := i % 100
			r := finish(t, start(t, shell(fmt.Sprintf("(exit 1) & exit %d", want))))
			if r.exit.ExitCode == nil || *r.exit.ExitCode != want {
				t.Errorf("%+v instead of %d", r.exit, want)
			}
		}()
	}
	wait.Wait()
}

func TestCommandStartsClean(t *testing.T) {
	r := finish(t, start(t, shell(`ls /proc/self/fd | wc -l; grep -E "^(SigBlk|SigIgn|NoNewPrivs)" /proc/self/status; ulimit -Sn; ps -o sid= -p $$; echo $$`)))
	lines := strings.Fields(r.stdout.String())
	// ls itself has a fourth descriptor open: the folder.
	want := []string{"4", "SigBlk:", "0000000000000000", "SigIgn:", "0000000000000000", "NoNewPrivs:", "1"}
	want = append(want, fmt.Sprint(nofile.Original[0]))
	if fmt.Sprint(lines[:len(want)]) != fmt.Sprint(want) {
		t.Errorf("%v instead of %v", lines, want)
	}
	if rest := lines[len(want):]; rest[0] != rest[1] {
		t.Errorf("session %s of process %s", rest[0], rest[1])
	}
}

func TestLimits(t *testing.T) {
	spec := shell("ulimit -Sn; ulimit -Hn; ulimit -c")
	spec.Rlimits = map[string][2]int64{"nofile": {50, 60}, "core": {0, 0}}
	if r := finish(t, start(t, spec)); r.stdout.String() != "50\n60\n0\n" {
		t.Errorf("%q %q", r.stdout.String(), r.stderr.String())
	}
}

func TestAnotherUserHasNoPrivileges(t *testing.T) {
	if syscall.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	spec := shell(`id -u; id -g; grep -E "^Cap" /proc/self/status | cut -f2 | sort -u`)
	spec.User, spec.Cwd = "1234:2345", "/"
	if r := finish(t, start(t, spec)); r.stdout.String() != "1234\n2345\n0000000000000000\n" {
		t.Errorf("%q %q", r.stdout.String(), r.stderr.String())
	}
}

func TestInput(t *testing.T) {
	p := start(t, Spec{Argv: []string{"cat"}, Stdin: "open"})
	p.Write(context.Background(), []byte("hello "))
	p.Write(context.Background(), []byte("world"))
	p.EndInput()
	if r := finish(t, p); r.stdout.String() != "hello world" {
		t.Errorf("%q", r.stdout.String())
	}
	// A command that does not read must not block the writer once it has exited.
	p = start(t, Spec{Argv: []string{"sleep", "0.2"}, Stdin: "open"})
	for range 4 {
		p.Write(context.Background(), make([]byte, inputLimit))
	}
	finish(t, p)
}

func TestTerminal(t *testing.T) {
	spec := shell(`tty >/dev/null && stty size; read line; echo "got $line"; trap 'stty size; exit 4' WINCH; echo ready; while :; do sleep 0.01; done`)
	spec.Pty = &Size{Columns: 100, Rows: 30}
	p := start(t, spec)
	if size := p.entry().Terminal; size == nil || *size != *spec.Pty {
		t.Errorf("the list says %v", size)
	}
	go func() {
		p.Write(context.Background(), []byte("text\n"))
		for !p.hasExited() {
			time.Sleep(20 * time.Millisecond)
			if _, end := p.journal.Range(); end > 30 { // ready
				_ = p.Resize(Size{Columns: 90, Rows: 20})
			}
		}
	}()
	r := finish(t, p)
	if want := "30 100\r\n"; !strings.Contains(r.stdout.String(), want) {
		t.Errorf("%q has no %q", r.stdout.String(), want)
	}
	for _, want := range []string{"got text\r\n", "20 90\r\n"} {
		if !strings.Contains(r.stdout.String(), want) {
			t.Errorf("%q has no %q", r.stdout.String(), want)
		}
	}
	if *r.exit.ExitCode != 4 {
		t.Errorf("%+v", r.exit)
	}
}

// seconds is a long time to sleep that no other test, and no other run of them, uses.
func seconds(test int) string { return fmt.Sprintf("%d.%d", 1000+test, os.Getpid()) }

// runaway leaves the session, loses its parent, clears its environment and starts more of itself.
const runaway = `
(setsid sleep %[1]s &)
setsid sh -c '(setsid env -i sh -c "while :; do setsid sleep %[1]s & wait; done" &) ; sleep %[1]s' &
sleep %[1]s`

func TestTimeoutEndsTheWholeTree(t *testing.T) {
	spec := shell("echo before; " + fmt.Sprintf(runaway, seconds(1)))
	spec.TimeoutMs = 300
	r := finish(t, start(t, spec))
	if !r.exit.TimedOut || *r.exit.Signal != "SIGKILL" || r.stdout.String() != "before\n" {
		t.Errorf("%q %+v", r.stdout.String(), r.exit)
	}
	if left := marked(seconds(1)); left != 0 {
		t.Errorf("%d processes run on", left)
	}
}

func TestKillOfAForkBomb(t *testing.T) {
	if syscall.Geteuid() != 0 {
		t.Skip("needs a user of its own, to limit its processes")
	}
	spec := Spec{Argv: []string{"bash", "-c", ": bomb" + seconds(2) + "; f() { f | f & }; f; sleep 1000"}, User: "12377", Cwd: "/"}
	spec.Rlimits = map[string][2]int64{"nproc": {300, 300}}
	p := start(t, spec)
	eventually(t, "the bomb goes off", func() bool { return marked("bomb"+seconds(2)) > 50 })
	table.Signal(p, syscall.SIGKILL, true)
	if left := marked("bomb" + seconds(2)); left != 0 {
		t.Errorf("%d processes run on", left)
	}
}

func TestLeftoversBelongToTheirCommand(t *testing.T) {
	leave := func(mark string) *Process {
		p := start(t, shell("setsid setsid sleep "+mark+" & exit 0"))
		<-p.ended
		eventually(t, "it is listed", func() bool {
			return slices.ContainsFunc(table.List().Disowned, func(c Child) bool { return c.Command == "sleep "+mark })
		})
		// Not sooner: what is left at the same moment as something else's is shared.
		eventually(t, "it is known whose it is", func() bool {
			table.mu.Lock()
			defer table.mu.Unlock()
			return slices.ContainsFunc(table.roots(p), func(pid int) bool {
				process, _ := proctree.Read(pid)
				return process.CommandLine(4096) == "sleep "+mark
			})
		})
		return p
	}
	mine, other := leave(seconds(3)), leave(seconds(4))
	table.Signal(mine, syscall.SIGKILL, true)
	if a, b := marked("sleep "+seconds(3)), marked("sleep "+seconds(4)); a != 0 || b != 1 {
		t.Errorf("%d of its own and %d of the other's are left", a, b)
	}
	table.Signal(other, syscall.SIGTERM, true)
	eventually(t, "SIGTERM reaches leftovers", func() bool { return marked("sleep "+seconds(4)) == 0 })
}

// Commands that die at the same moment may share what they leave; it goes with the last of them.
func TestSharedLeftoversGoWithTheLast(t *testing.T) {
	var started []*Process
	for range 10 {
		started = append(started, start(t, shell("setsid setsid sleep "+seconds(6)+" & exit 0")))
	}
	for _, p := range started {
		<-p.ended
	}
	eventually(t, "all are left", func() bool { return marked("sleep "+seconds(6)) == len(started) })
	for _, p := range started {
		table.Delete(p)
	}
	if left := marked("sleep " + seconds(6)); left != 0 {
		t.Errorf("%d run on", left)
	}
}

// A descendant that floods the pipe must not keep the exit record waiting, and must not die of it.
func TestExitDoesNotWaitForDescendants(t *testing.T) {
	p := start(t, shell("yes run"+seconds(5)+" & echo done"))
	r := finish(t, p)
	if !strings.Contains(r.stdout.String(), "done\n") {
		t.Error("the command's own output is missing")
	}
	// It may not have become its program yet when the command is over.
	eventually(t, "the descendant runs on", func() bool { return marked("yes run"+seconds(5)) == 1 })
}

func TestUnackedOutputBlocksTheCommand(t *testing.T) {
	p := start(t, shell("head -c 20000000 /dev/zero; echo; echo written >&2"))
	eventually(t, "the journal is full", func() bool { _, end := p.journal.Range(); return end >= journalLimit-chunkSize })
	if p.hasExited() {
		t.Error("the command did not block")
	}
	if r := finish(t, p); r.stdout.Len() != 20000001 || r.stderr.String() != "written\n" {
		t.Errorf("%d bytes, %q", r.stdout.Len(), r.stderr.String())
	}
}

// The host goes away and comes back with what it has: nothing is lost, nothing comes twice.
func TestAttachFromAnOffset(t *testing.T) {
	p := start(t, shell("for i in 1 2 3 4 5 6 7 8; do echo line $i; echo error $i >&2; sleep 0.02; done"))
	var stdout strings.Builder
	for from := uint64(0); ; {
		ctx, cancel := context.WithTimeout(context.Background(), 45*time.Millisecond)
		r := &recorder{}
		_ = p.Stream(ctx, from, NewFrameReader(strings.NewReader("")), r)
		cancel()
		if r.failed != nil {
			t.Fatal(r.failed)
		}
		stdout.WriteString(r.stdout.String())
		from = r.next
		if r.exit != nil {
			break
		}
	}
	if want := "line 1\nline 2\nline 3\nline 4\nline 5\nline 6\nline 7\nline 8\n"; stdout.String() != want {
		t.Errorf("%q", stdout.String())
	}
}

func TestEventsAreCountedWhenLost(t *testing.T) {
	var events Events
	reader := events.Subscribe()
	defer reader.Close()
	for range eventBacklog + 5 {
		events.Publish(Event{Type: "process-start"})
	}
	batch, err := reader.Next(context.Background())
	if err != nil || len(batch) != eventBacklog+1 || batch[eventBacklog].Type != "lost" || batch[eventBacklog].Count != 5 {
		t.Errorf("%d events, %v", len(batch), err)
	}
}
