package spawn

import (
	"os"
	"strconv"
	"strings"
)

// When memory runs out the kernel kills the largest process. In a sandbox that is full of small ones that
// is the guest, and the whole sandbox with it; so commands have to be the better victims. A privileged guest
// lowers its own score, and its commands take the original one back before exec. Any other guest may not
// even open that file of its child before exec, because it is not dumpable; it raises the score of the
// running command instead.
const (
	oomScoreFile = "oom_score_adj"
	guestScore   = -900
	commandRaise = 100
	highestScore = 1000
)

var protection struct {
	privileged   bool
	commandScore []byte
}

// Protect makes commands better victims of the OOM killer than the guest.
func Protect() {
	original := 0
	if text, err := os.ReadFile("/proc/self/" + oomScoreFile); err == nil {
		original, _ = strconv.Atoi(strings.TrimSpace(string(text)))
	}
	if original > guestScore && writeScore("self", guestScore) == nil {
		protection.privileged = true
		protection.commandScore = []byte(strconv.Itoa(original))
		return
	}
	protection.commandScore = []byte(strconv.Itoa(min(original+commandRaise, highestScore)))
}

func (c *child) raiseOOMScore(pid int) {
	if protection.privileged || protection.commandScore == nil {
		return
	}
	score, _ := strconv.Atoi(string(protection.commandScore))
	_ = writeScore(strconv.Itoa(pid), score)
}

func writeScore(process string, score int) error {
	file, err := os.OpenFile("/proc/"+process+"/"+oomScoreFile, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = file.WriteString(strconv.Itoa(score))
	return err
}
