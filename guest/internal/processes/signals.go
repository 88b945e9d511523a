package processes

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"

	"geode/guest/internal/fault"
)

var signalNumbers = map[string]syscall.Signal{
	"SIGHUP": 1, "SIGINT": 2, "SIGQUIT": 3, "SIGILL": 4, "SIGTRAP": 5, "SIGABRT": 6, "SIGBUS": 7, "SIGFPE": 8,
	"SIGKILL": 9, "SIGUSR1": 10, "SIGSEGV": 11, "SIGUSR2": 12, "SIGPIPE": 13, "SIGALRM": 14, "SIGTERM": 15,
	"SIGSTKFLT": 16, "SIGCHLD": 17, "SIGCONT": 18, "SIGSTOP": 19, "SIGTSTP": 20, "SIGTTIN": 21, "SIGTTOU": 22,
	"SIGURG": 23, "SIGXCPU": 24, "SIGXFSZ": 25, "SIGVTALRM": 26, "SIGPROF": 27, "SIGWINCH": 28, "SIGIO": 29,
	"SIGPWR": 30, "SIGSYS": 31,
}

const firstRealTime, lastRealTime = 34, 64

// ParseSignal reads a signal's name: SIGTERM, and SIGRTMIN+n for the real-time ones.
func ParseSignal(name string) (syscall.Signal, error) {
	if number, known := signalNumbers[name]; known {
		return number, nil
	}
	if above, realTime := strings.CutPrefix(name, "SIGRTMIN+"); realTime {
		if n, err := strconv.ParseUint(above, 10, 8); err == nil && firstRealTime+n <= lastRealTime {
			return syscall.Signal(firstRealTime + n), nil
		}
	}
	return 0, fault.New(fault.InvalidInput, "there is no signal named %q", name)
}

// SignalName is the opposite of ParseSignal.
func SignalName(signal syscall.Signal) string {
	for name, number := range signalNumbers {
		if number == signal {
			return name
		}
	}
	return fmt.Sprintf("SIGRTMIN+%d", int(signal)-firstRealTime)
}
