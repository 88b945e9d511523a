// Package cgroup reads what the kernel counts for the whole sandbox, in both versions of control groups.
package cgroup

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A Group is the set of folders that hold the sandbox's counters; any of them may be missing.
type Group struct {
	memory, cpu, pids string // folders; "" if there is no such controller
	oom               string // the file with the oom_kill counter
}

// Open looks for the counters: in the given folder, or where a container sees its own.
func Open(given string) Group {
	var group Group
	for _, folder := range []string{given, "/sys/fs/cgroup/memory", "/sys/fs/cgroup"} {
		for _, name := range []string{"memory.oom_control", "memory.events"} {
			if file := filepath.Join(folder, name); folder != "" && group.oom == "" && readable(file) {
				group.oom = file
			}
		}
	}
	folders := func(usual ...string) []string {
		found := []string{}
		if given != "" {
			found = append(found, given)
		}
		for _, folder := range usual {
			if onlyOurs(folder) {
				found = append(found, folder)
			}
		}
		return found
	}
	group.memory = first(folders("/sys/fs/cgroup/memory", "/sys/fs/cgroup"), "memory.current", "memory.usage_in_bytes")
	group.cpu = first(folders("/sys/fs/cgroup/cpuacct", "/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup"), "cpuacct.usage", "cpu.stat")
	group.pids = first(folders("/sys/fs/cgroup/pids", "/sys/fs/cgroup"), "pids.current")
	return group
}

// onlyOurs says whether a group holds this sandbox and nothing else, as far as the guest can see: the guest is
// PID 1, the group is not the machine's first (which alone has a release agent in version 1), and it has no
// member from outside the PID namespace (which version 2 lists as 0).
func onlyOurs(folder string) bool {
	if _, err := os.Stat(filepath.Join(folder, "release_agent")); err == nil || os.Getpid() != 1 {
		return false
	}
	members, err := os.ReadFile(filepath.Join(folder, "cgroup.procs"))
	if err != nil {
		return false
	}
	for member := range strings.FieldsSeq(string(members)) {
		if member == "0" {
			return false
		}
	}
	return true
}

// first gives the first folder that has one of the files.
func first(folders []string, names ...string) string {
	for _, folder := range folders {
		for _, name := range names {
			if readable(filepath.Join(folder, name)) {
				return folder
			}
		}
	}
	return ""
}

// OOMKills is how many processes the memory limit has killed so far.
func (g Group) OOMKills() (int64, bool) {
	if g.oom == "" {
		return 0, false
	}
	return field(g.oom, "oom_kill")
}

// MemoryBytes is what the sandbox uses, without file pages that the kernel can drop at once.
func (g Group) MemoryBytes() (int64, bool) {
	if g.memory == "" {
		return 0, false
	}
	statistics := filepath.Join(g.memory, "memory.stat")
	if used, ok := number(filepath.Join(g.memory, "memory.current")); ok {
		inactive, _ := field(statistics, "inactive_file")
		return max(used-inactive, 0), true
	}
	used, ok := number(filepath.Join(g.memory, "memory.usage_in_bytes"))
	inactive, _ := field(statistics, "total_inactive_file")
	return max(used-inactive, 0), ok
}

// CPUMs is the processor time that the sandbox has used.
func (g Group) CPUMs() (float64, bool) {
	if g.cpu == "" {
		return 0, false
	}
	if micros, ok := field(filepath.Join(g.cpu, "cpu.stat"), "usage_usec"); ok {
		return float64(micros) / 1e3, true
	}
	nanos, ok := number(filepath.Join(g.cpu, "cpuacct.usage"))
	return float64(nanos) / 1e6, ok
}

// PIDs is how many tasks the sandbox has.
func (g Group) PIDs() (int64, bool) {
	if g.pids == "" {
		return 0, false
	}
	return number(filepath.Join(g.pids, "pids.current"))
}

func readable(file string) bool {
	_, err := os.ReadFile(file)
	return err == nil
}

func number(file string) (int64, bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	value, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return value, err == nil
}

func field(file, name string) (int64, bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			parsed, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			return parsed, err == nil
		}
	}
	return 0, false
}
