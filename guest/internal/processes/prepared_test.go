package processes

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// waiting is a program that becomes what its opening says.
func waiting(mark string) *Spec {
	return &Spec{
		ID:    fmt.Sprintf("p%d", ids.Add(1)),
		Argv:  []string{"sh", "-c", `printf '\0'; read -r line; echo "$line"; cat; : ` + mark},
		Stdin: "open",
	}
}

func prepare(t *testing.T, spec *Spec) int {
	t.Helper()
	if err := table.Prepare(spec); err != nil {
		t.Fatal(err)
	}
	return table.prepared.process.PID
}

func TestPreparedProgramBecomesACommand(t *testing.T) {
	pid := prepare(t, waiting(""))
	prepared := time.Now()
	p := start(t, Spec{Argv: []string{"sh", "-c", "echo another"}, Stdin: "open", Opening: []byte("hello\n")})
	if p.PID != pid {
		t.Fatalf("%d was prepared, the command is %d", pid, p.PID)
	}
	if found, err := table.Get(p.ID); err != nil || found != p {
		t.Errorf("the table has %v, %v", found, err)
	}
	p.Write(t.Context(), []byte("stdin"))
	p.EndInput()
	r := finish(t, p)
	if r.stdout.String() != "hello\nstdin" || *r.exit.ExitCode != 0 {
		t.Errorf("%q %+v", r.stdout.String(), r.exit)
	}
	if p.started.Before(prepared) {
		t.Error("the time before the command counts")
	}
}

func TestPreparedProgramWithoutStdin(t *testing.T) {
	prepare(t, waiting(""))
	r := finish(t, start(t, Spec{Argv: []string{"true"}, Opening: []byte("hello\n")}))
	if r.stdout.String() != "hello\n" || *r.exit.ExitCode != 0 {
		t.Errorf("%q %+v", r.stdout.String(), r.exit)
	}
}

func TestPreparedProgramHasTheTimeoutOfItsCommand(t *testing.T) {
	prepare(t, waiting(""))
	p := start(t, Spec{Argv: []string{"true"}, Stdin: "open", TimeoutMs: 50, Opening: []byte("hello\n")})
	if r := finish(t, p); !r.exit.TimedOut || r.stdout.String() != "hello\n" {
		t.Errorf("%q %+v", r.stdout.String(), r.exit)
	}
}

// Settings that the opening cannot change must match; otherwise the program is ended and another one started.
func TestPreparedProgramThatDoesNotFit(t *testing.T) {
	opening := []byte("hello\n")
	cases := map[string]Spec{
		"no opening":    {},
		"another user":  {Opening: opening, User: strconv.Itoa(os.Getuid())},
		"other rlimits": {Opening: opening, Rlimits: map[string][2]int64{"core": {0, 0}}},
		"a terminal":    {Opening: opening, Pty: &Size{Columns: 80, Rows: 24}},
	}
	for name, spec := range cases {
		t.Run(name, func(t *testing.T) {
			mark := fmt.Sprintf("prepared-%d", ids.Add(1))
			pid := prepare(t, waiting(mark))
			spec.Argv = []string{"echo", "-n", "another"}
			p := start(t, spec)
			if left := marked(mark); p.PID == pid || left != 0 {
				t.Errorf("the process is %d, %d was prepared, %d of it live", p.PID, pid, left)
			}
			if r := finish(t, p); r.stdout.String() != "another" {
				t.Errorf("%q %+v", r.stdout.String(), r.exit)
			}
		})
	}
}

func TestPreparedProgramThatDied(t *testing.T) {
	pid := prepare(t, waiting(""))
	_ = syscall.Kill(pid, syscall.SIGKILL)
	eventually(t, "it is reaped", table.prepared.process.hasExited)
	r := finish(t, start(t, Spec{Argv: []string{"echo", "another"}, Opening: []byte("hello\n")}))
	if r.stdout.String() != "another\n" {
		t.Errorf("%q %+v", r.stdout.String(), r.exit)
	}
}

func TestPreparingAgainEndsTheOneBefore(t *testing.T) {
	mark := fmt.Sprintf("prepared-%d", ids.Add(1))
	prepare(t, waiting(mark))
	prepare(t, waiting(""))
	if left := marked(mark); left != 0 {
		t.Errorf("%d live", left)
	}
	finish(t, start(t, Spec{Argv: []string{"true"}}))
}

func TestPreparingWithoutStdinIsRefused(t *testing.T) {
	if err := table.Prepare(&Spec{ID: "x", Argv: []string{"true"}}); err == nil {
		t.Error("it was not refused")
	}
}

// A program that does not come to its wait must not be taken for one that did.
func TestProgramThatDoesNotWait(t *testing.T) {
	for name, script := range map[string]string{
		"ends":                "exit 2",
		"does something else": "echo hello; cat",
		"leaves a child":      "sh -c 'sleep 60; : MARK' & echo hello",
	} {
		t.Run(name, func(t *testing.T) {
			mark := fmt.Sprintf("prepared-%d", ids.Add(1))
			spec := waiting("")
			spec.Argv = []string{"sh", "-c", strings.ReplaceAll(script, "MARK", mark) + "; : " + mark}
			if err := table.Prepare(spec); err == nil {
				t.Error("it was not refused")
			}
			if left := marked(mark); left != 0 || table.prepared != nil {
				t.Errorf("%d of it live", left)
			}
			r := finish(t, start(t, Spec{Argv: []string{"echo", "another"}, Opening: []byte("hello\n")}))
			if r.stdout.String() != "another\n" {
				t.Errorf("%q %+v", r.stdout.String(), r.exit)
			}
		})
	}
}
