package spawn

import (
	"math"
	"sort"

	"geode/guest/internal/fault"
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
