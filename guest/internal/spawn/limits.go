package spawn

import (
	"math"
	"os"
	"sort"
	"strconv"
	"strings"
	"syscall"

	"geode/guest/internal/fault"
	"geode/guest/internal/nofile"
)

// A Limit is one resource limit, soft and hard.
type Limit struct {
	Resource uintptr
	Values   [2]uint64
}

var limitResources = map[string]uintptr{
	"cpu": 0, "fsize": 1, "data": 2, "stack": 3, "core": 4, "rss": 5, "nproc": 6, "nofile": 7, "memlock": 8,
	"as": 9, "locks": 10, "sigpending": 11, "msgqueue": 12, "nice": 13, "rtprio": 14, "rttime": 15,
}

func (l Limit) String() string {
	for name, resource := range limitResources {
		if resource == l.Resource {
			return name
		}
	}
	return "unknown"
}

const limitNproc = 6

// tasks is the most that commands may start together; 0 where the kernel does not count it for this sandbox alone.
var tasks uint64

// LimitTasks lets the kernel refuse a fork beyond the number of tasks, threads and guest included. Since Linux 5.14
// it counts them for each user namespace; everywhere else it would count the processes of the same user outside too.
func LimitTasks(most int64) {
	if most > 0 && os.Getpid() == 1 && hasOwnUsers() && countsByNamespace() {
		tasks = uint64(most)
	}
}

// ownLimits come before those that a command asks for, which can only be lower.
func ownLimits() []Limit {
	var limits []Limit
	if nofile.Original[1] != 0 {
		limits = append(limits, Limit{syscall.RLIMIT_NOFILE, nofile.Original})
	}
	if tasks != 0 {
		limits = append(limits, Limit{limitNproc, [2]uint64{tasks, tasks}})
	}
	return limits
}

func hasOwnUsers() bool {
	text, err := os.ReadFile("/proc/self/uid_map")
	return err == nil && strings.Join(strings.Fields(string(text)), " ") != "0 0 4294967295"
}

func countsByNamespace() bool {
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return false
	}
	numbers := strings.FieldsFunc(string(release), func(r rune) bool { return r < '0' || r > '9' })
	if len(numbers) < 2 {
		return false
	}
	major, _ := strconv.Atoi(numbers[0])
	minor, _ := strconv.Atoi(numbers[1])
	return major > 5 || major == 5 && minor >= 14
}

// Limits reads what a spec asks for: names as in ulimit's long form, values [soft, hard], -1 for none.
func Limits(asked map[string][2]int64) ([]Limit, error) {
	var limits []Limit
	for name, values := range asked {
		resource, known := limitResources[name]
		if !known {
			return nil, fault.New(fault.InvalidInput, "rlimits: there is no limit named %q", name)
		}
		limit := Limit{Resource: resource}
		for i, value := range values {
			switch {
			case value == -1:
				limit.Values[i] = math.MaxUint64
			case value < 0:
				return nil, fault.New(fault.InvalidInput, "rlimits: %s is negative", name)
			default:
				limit.Values[i] = uint64(value)
			}
		}
		if limit.Values[0] > limit.Values[1] {
			return nil, fault.New(fault.InvalidInput, "rlimits: the soft limit of %s is above the hard one", name)
		}
		limits = append(limits, limit)
	}
	sort.Slice(limits, func(i, j int) bool { return limits[i].Resource < limits[j].Resource })
	return limits, nil
}
