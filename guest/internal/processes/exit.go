package processes

import (
	"encoding/json"
	"syscall"
	"time"
)

// An Exit is the true story of how a command ended. Exactly one of ExitCode and Signal is set.
type Exit struct {
	ExitCode    *int    `json:"exitCode"`
	Signal      *string `json:"signal"`
	TimedOut    bool    `json:"timedOut"`
	OOMKilled   bool    `json:"oomKilled"`
	DurationMs  float64 `json:"durationMs"`
	CPUMs       float64 `json:"cpuMs"`
	MaxRSSBytes int64   `json:"maxRssBytes"`
}

// A death is the result of wait4 for a child.
type death struct {
	status syscall.WaitStatus
	usage  syscall.Rusage
	at     time.Time
}

func (d death) exit(started time.Time) Exit {
	exit := Exit{
		DurationMs:  milliseconds(d.at.Sub(started)),
		CPUMs:       milliseconds(time.Duration(d.usage.Utime.Nano() + d.usage.Stime.Nano())),
		MaxRSSBytes: int64(d.usage.Maxrss) << 10,
	}
	if d.status.Signaled() {
		name := SignalName(d.status.Signal())
		exit.Signal = &name
	} else {
		code := d.status.ExitStatus()
		exit.ExitCode = &code
	}
	return exit
}

func (e Exit) encode() []byte {
	text, err := json.Marshal(e)
	if err != nil {
		panic(err) // numbers and strings only
	}
	return text
}

func milliseconds(d time.Duration) float64 {
	return float64(d.Microseconds()) / 1e3
}
