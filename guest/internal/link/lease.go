package link

import (
	"sync"
	"time"

	"geode/guest/internal/awake"
)

// A lease ends the guest when no host has held it for too long. Time in which the sandbox is paused does not count.
type lease struct {
	mu    sync.Mutex
	time  time.Duration // 0: for ever
	held  bool
	timer *awake.Timer
	ended func()
}

func newLease(d time.Duration, ended func()) *lease {
	l := &lease{time: d, ended: ended}
	l.arm()
	return l
}

// hold is for as long as a claimed connection is there. A new time counts from its end.
func (l *lease) hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = true
	l.arm()
}

func (l *lease) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = false
	l.arm()
}

func (l *lease) set(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.time = d
	l.arm()
}

func (l *lease) arm() {
	if l.timer != nil {
		l.timer.Stop()
	}
	if l.held || l.time == 0 {
		return
	}
	l.timer = awake.AfterFunc(l.time, func() {
		l.mu.Lock()
		over := !l.held
		l.mu.Unlock()
		if over {
			l.ended()
		}
	})
}
