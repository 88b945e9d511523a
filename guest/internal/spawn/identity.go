package spawn

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"

	"geode/guest/internal/fault"
)

// An Identity is a user that a command runs as.
type Identity struct {
	UID, GID int
	Groups   []uint32
	Home     string // "" when the user has no entry in /etc/passwd
	asked    string
}

func (i *Identity) String() string { return i.asked }

// Lookup reads a name, a uid or uid:gid. The guest's own identity is nil: there is nothing to change.
func Lookup(asked string) (*Identity, error) {
	if asked == "" {
		return nil, nil
	}
	identity, err := parse(asked)
	if err != nil {
		return nil, err
	}
	if identity.UID == os.Geteuid() && identity.GID == os.Getegid() {
		return nil, nil
	}
	if os.Geteuid() != 0 {
		return nil, fault.New(fault.CannotEnforce, "cannot run as user %s: the guest itself is user %d and may not change", asked, os.Geteuid())
	}
	return identity, nil
}

func parse(asked string) (*Identity, error) {
	if uid, gid, both := strings.Cut(asked, ":"); both {
		u, uidErr := number(uid)
		g, gidErr := number(gid)
		if uidErr != nil || gidErr != nil {
			return nil, fault.New(fault.InvalidInput, "user %q is not a name, a uid or uid:gid", asked)
		}
		return &Identity{UID: u, GID: g, asked: asked}, nil
	}
	if uid, err := number(asked); err == nil {
		if entry, err := user.LookupId(asked); err == nil {
			return fromEntry(entry, asked)
		}
		return &Identity{UID: uid, GID: uid, asked: asked}, nil
	}
	entry, err := user.Lookup(asked)
	if err != nil {
		return nil, fault.New(fault.CannotEnforce, "cannot run as user %s: the sandbox has no such user", asked)
	}
	return fromEntry(entry, asked)
}

func fromEntry(entry *user.User, asked string) (*Identity, error) {
	uid, uidErr := number(entry.Uid)
	gid, gidErr := number(entry.Gid)
	if uidErr != nil || gidErr != nil {
		return nil, fault.New(fault.CannotEnforce, "cannot run as user %s: its entry in /etc/passwd is broken", asked)
	}
	identity := &Identity{UID: uid, GID: gid, Home: entry.HomeDir, asked: asked}
	names, err := entry.GroupIds()
	if err != nil {
		return identity, nil
	}
	for _, name := range names {
		if group, err := number(name); err == nil {
			identity.Groups = append(identity.Groups, uint32(group))
		}
	}
	return identity, nil
}

// number reads an id. The largest 32-bit value means "leave it as it is" to the kernel and is no id.
func number(text string) (int, error) {
	value, err := strconv.ParseUint(text, 10, 32)
	if err == nil && value == 1<<32-1 {
		err = fmt.Errorf("%s is no id", text)
	}
	return int(value), err
}
