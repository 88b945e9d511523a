// Package awake measures time in which the sandbox runs. What a freezer takes away does not count: a sandbox
// that was paused for a day goes on as if nothing had happened.
package awake

import (
	"sync"
	"time"
)

// step is the interval in which a timer checks the clock. A gap of more than two steps was a pause.
const step = time.Second

// A Timer calls its function once, unless it is stopped before.
type Timer struct {
	mu      sync.Mutex
	timer   *time.Timer
	since   time.Time
	left    time.Duration
	stopped bool
	call    func()
}

// AfterFunc calls f in its own goroutine when the guest has been awake for that long.
func AfterFunc(d time.Duration, f func()) *Timer {
	t := &Timer{left: d, call: f}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wait()
	return t
}

// Stop says whether it came in time. A call that has begun is not waited for.
func (t *Timer) Stop() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	inTime := !t.stopped
	t.stopped = true
	t.timer.Stop()
	return inTime
}

func (t *Timer) wait() {
	t.since = time.Now()
	t.timer = time.AfterFunc(min(t.left, step), t.look)
}

func (t *Timer) look() {
	t.mu.Lock()
	if t.stopped {
		t.mu.Unlock()
		return
	}
	t.left -= counted(time.Since(t.since))
	if t.left > 0 {
		t.wait()
		t.mu.Unlock()
		return
	}
	t.stopped = true
	t.mu.Unlock()
	t.call()
}

// counted returns how much of the time since the last check the guest was awake.
func counted(gap time.Duration) time.Duration {
	if gap > 2*step {
		return step
	}
	return gap
}
