package awake

import (
	"testing"
	"time"
)

func TestATimerFiresOnce(t *testing.T) {
	fired := make(chan time.Time, 2)
	begin := time.Now()
	timer := AfterFunc(20*time.Millisecond, func() { fired <- time.Now() })
	if at := <-fired; at.Sub(begin) < 20*time.Millisecond {
		t.Errorf("it fired after %s", at.Sub(begin))
	}
	if timer.Stop() {
		t.Error("a timer that has fired was stopped in time")
	}
}

func TestAStoppedTimerKeepsQuiet(t *testing.T) {
	timer := AfterFunc(time.Nanosecond+50*time.Millisecond, func() { t.Error("it fired") })
	if !timer.Stop() || timer.Stop() {
		t.Error("only the first stop comes in time")
	}
	timer.look()
}

// SBX-9: the gap of a pause counts as one step, whatever its length.
func TestAPauseDoesNotCount(t *testing.T) {
	fired := false
	timer := AfterFunc(time.Hour, func() { fired = true })
	timer.mu.Lock()
	timer.since = timer.since.Add(-48 * time.Hour)
	timer.mu.Unlock()
	timer.look()
	timer.mu.Lock()
	defer timer.mu.Unlock()
	if fired || timer.left != time.Hour-step {
		t.Errorf("fired: %v, left: %s", fired, timer.left)
	}
	timer.stopped = true
}
