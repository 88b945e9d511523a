// Package proctree reads the process table from /proc.
package proctree

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// A Process is one line of the table.
type Process struct {
	PID, Parent, Session int
	State                byte
	Name                 string
	CPUTicks             uint64
	ResidentPages        int64
	Threads              int64
}

// Alive reports whether a process is not a zombie and not dead.
func (p Process) Alive() bool { return p.State != 'Z' && p.State != 'X' && p.State != 'x' }

// Stopped reports whether a process cannot fork for now.
func (p Process) Stopped() bool { return p.State == 'T' || p.State == 't' || !p.Alive() }

// A Table is every process that could be read, as of roughly one moment.
type Table map[int]Process

// Scan reads the whole table. A process that exits during the scan is left out.
func Scan() Table {
	table := Table{}
	for _, pid := range pids() {
		if process, ok := Read(pid); ok {
			table[pid] = process
		}
	}
	return table
}

// Below gives every descendant of the given processes, in no order, without themselves.
func (t Table) Below(roots ...int) []Process {
	children := make(map[int][]int, len(t))
	for pid, process := range t {
		children[process.Parent] = append(children[process.Parent], pid)
	}
	seen := make(map[int]bool, len(roots))
	for _, root := range roots {
		seen[root] = true
	}
	var found []Process
	for queue := roots; len(queue) > 0; {
		var next []int
		for _, parent := range queue {
			for _, pid := range children[parent] {
				if !seen[pid] {
					seen[pid] = true
					found = append(found, t[pid])
					next = append(next, pid)
				}
			}
		}
		queue = next
	}
	return found
}

// ChildrenOf gives the children that the kernel has hung below a process's first thread, which is where
// it puts orphans. Where the kernel has no such list the whole table is read.
func ChildrenOf(pid int) []int {
	text := strconv.Itoa(pid)
	list, err := os.ReadFile("/proc/" + text + "/task/" + text + "/children")
	var children []int
	if err == nil {
		for field := range strings.FieldsSeq(string(list)) {
			if child, err := strconv.Atoi(field); err == nil {
				children = append(children, child)
			}
		}
		return children
	}
	for _, process := range Scan() {
		if process.Parent == pid {
			children = append(children, process.PID)
		}
	}
	return children
}

// Read gives one process.
func Read(pid int) (Process, bool) {
	var buffer [1024]byte
	fd, err := syscall.Open("/proc/"+strconv.Itoa(pid)+"/stat", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return Process{}, false
	}
	n, err := syscall.Read(fd, buffer[:])
	syscall.Close(fd)
	if err != nil {
		return Process{}, false
	}
	return parse(buffer[:n])
}

// parse reads a line of /proc/PID/stat. The name in its parentheses may hold anything, parentheses too.
func parse(line []byte) (Process, bool) {
	open, end := bytes.IndexByte(line, '('), bytes.LastIndexByte(line, ')')
	if open < 1 || end < open || len(line) < end+3 {
		return Process{}, false
	}
	fields := strings.Fields(string(line[end+2:]))
	if len(fields) < 22 || len(fields[0]) != 1 {
		return Process{}, false
	}
	number := func(i int) int64 {
		value, _ := strconv.ParseInt(fields[i], 10, 64)
		return value
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(line[:open])))
	if err != nil {
		return Process{}, false
	}
	return Process{
		PID:           pid,
		Parent:        int(number(1)),
		Session:       int(number(3)),
		State:         fields[0][0],
		Name:          string(line[open+1 : end]),
		CPUTicks:      uint64(number(11)) + uint64(number(12)),
		ResidentPages: number(21),
		Threads:       number(17),
	}, true
}

// CommandLine gives what a process was started as, cut to a length, or its name in brackets.
func (p Process) CommandLine(longest int) string {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(p.PID) + "/cmdline")
	if err != nil || len(text) == 0 {
		return "[" + strings.ToValidUTF8(p.Name, "\uFFFD") + "]"
	}
	line := bytes.ReplaceAll(bytes.TrimRight(text, "\x00"), []byte{0}, []byte{' '})
	return strings.ToValidUTF8(string(line[:min(len(line), longest)]), "\uFFFD")
}

func pids() []int {
	folder, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer folder.Close()
	names, _ := folder.Readdirnames(-1)
	found := make([]int, 0, len(names))
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		if pid, err := strconv.Atoi(name); err == nil {
			found = append(found, pid)
		}
	}
	return found
}
