package files

import (
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"geode/guest/internal/fault"
)

// followsLinks says whether the kernel ignores O_NOFOLLOW beside O_DIRECTORY, as gVisor does. It then follows a link
// where a folder is expected, and os.Root relies on the flag.
func followsLinks() bool {
	fd, err := syscall.Open("/proc/self/cwd", syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	_ = syscall.Close(fd)
	return true
}

// A checkedRoot is an *os.Root on such a kernel. It looks at every link of a name before os.Root takes the name. A
// program that changes a link between the two can gain nothing: the guest may read no more than the program itself.
type checkedRoot struct{ root *os.Root }

func (c checkedRoot) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	if err := c.check(name, flag&syscall.O_NOFOLLOW == 0); err != nil {
		return nil, err
	}
	return c.root.OpenFile(name, flag, perm)
}

func (c checkedRoot) Stat(name string) (fs.FileInfo, error) {
	if err := c.check(name, true); err != nil {
		return nil, err
	}
	return c.root.Stat(name)
}

func (c checkedRoot) Lstat(name string) (fs.FileInfo, error) {
	if err := c.check(name, false); err != nil {
		return nil, err
	}
	return c.root.Lstat(name)
}

func (c checkedRoot) Readlink(name string) (string, error) {
	if err := c.check(name, false); err != nil {
		return "", err
	}
	return c.root.Readlink(name)
}

func (c checkedRoot) MkdirAll(name string, perm fs.FileMode) error {
	if err := c.check(name, true); err != nil {
		return err
	}
	return c.root.MkdirAll(name, perm)
}

func (c checkedRoot) Chmod(name string, mode fs.FileMode) error {
	if err := c.check(name, true); err != nil {
		return err
	}
	return c.root.Chmod(name, mode)
}

// check refuses a name with a link that leads out, also through other links. What is missing is left to the call.
func (c checkedRoot) check(name string, followsLast bool) error {
	left := strings.Split(name, "/")
	seen := []string{}
	for links := 0; len(left) > 0; {
		part := left[0]
		left = left[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if len(seen) == 0 {
				return leadsOut(name)
			}
			seen = seen[:len(seen)-1]
			continue
		}
		here := path.Join(append(seen[:len(seen):len(seen)], part)...)
		info, err := c.root.Lstat(here)
		if err != nil {
			return nil
		}
		if info.Mode()&fs.ModeSymlink == 0 || (len(left) == 0 && !followsLast) {
			seen = append(seen, part)
			continue
		}
		target, err := c.root.Readlink(here)
		if err != nil {
			return nil
		}
		if links++; links > mostLinks {
			return fault.New(fault.InvalidPath, "%s: too many links", name)
		}
		if strings.HasPrefix(target, "/") {
			return leadsOut(name)
		}
		left = append(strings.Split(target, "/"), left...)
	}
	return nil
}

func leadsOut(name string) error {
	return fault.New(fault.InvalidPath, "%s leads out of the workspace", name)
}
