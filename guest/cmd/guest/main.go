// Guest is the static program inside every sandbox. As `guest init` it is PID 1: it starts and reaps
// processes and serves the host over one connection, see docs/protocol.md. As `guest bridge` it joins its
// stdin and stdout to the socket of a guest that listens. As `guest mcp`, or under the name geode-mcp, it joins an
// MCP client to the host's tools. As `guest apart` it becomes a program that cannot look into the processes beside it;
// as the interpreter of a script (`#!/.geode/guest apart /bin/sh`) it gets its words in one argument.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"geode/guest/internal/apart"
	"geode/guest/internal/link"
	"geode/guest/internal/mcp"
)

// version is set when the program is linked.
var version = "0.0.0-dev"

const usage = `usage:
  guest init (--dial SOCKET | --listen SOCKET) [--cgroup DIR] [--lease MS] [--user UID:GID]
             [--soft-memory BYTES] [--soft-pids N]
  guest bridge [--peer PID] SOCKET
  guest mcp [SOCKET]
  guest apart PROGRAM [ARGUMENT...]
  guest version
`

func main() {
	args := os.Args[1:]
	if filepath.Base(os.Args[0]) == mcp.Program {
		args = append([]string{"mcp"}, args...)
	}
	os.Exit(run(args, os.Stdout, os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		fmt.Fprint(stderr, usage)
		return 2
	}
	if words := strings.Fields(args[0]); len(words) > 1 && words[0] == "apart" {
		args = append(words, args[1:]...)
	}
	flags := flag.NewFlagSet("guest "+args[0], flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() { fmt.Fprint(stderr, usage) }
	var err error
	switch args[0] {
	case "init":
		var options initOptions
		flags.StringVar(&options.dial, "dial", "", "")
		flags.StringVar(&options.listen, "listen", "", "")
		flags.StringVar(&options.cgroup, "cgroup", "", "")
		flags.StringVar(&options.user, "user", "", "")
		flags.Int64Var(&options.soft.MemoryBytes, "soft-memory", 0, "")
		flags.Int64Var(&options.soft.PIDs, "soft-pids", 0, "")
		flags.Int64Var(&options.leaseMs, "lease", defaultLeaseMs, "")
		if flags.Parse(args[1:]) != nil || flags.NArg() != 0 || (options.dial == "") == (options.listen == "") || options.leaseMs < 0 || options.soft.MemoryBytes < 0 || options.soft.PIDs < 0 {
			fmt.Fprint(stderr, usage)
			return 2
		}
		err = runInit(options)
	case "bridge":
		peer := flags.Int("peer", 0, "")
		if flags.Parse(args[1:]) != nil || flags.NArg() != 1 {
			fmt.Fprint(stderr, usage)
			return 2
		}
		err = bridge(flags.Arg(0), *peer, os.Stdin, os.Stdout)
	case "mcp":
		if flags.Parse(args[1:]) != nil || flags.NArg() > 1 {
			fmt.Fprint(stderr, usage)
			return 2
		}
		err = bridgeTools(flags.Arg(0), os.Stdin, stdout)
	case "apart":
		err = apart.Exec(args[1:], os.Environ())
	case "version":
		err = json.NewEncoder(stdout).Encode(map[string]any{"version": version, "protocol": link.Protocol})
	default:
		fmt.Fprint(stderr, usage)
		return 2
	}
	if err != nil {
		fmt.Fprintf(stderr, "guest %s: %s\n", args[0], err)
		return 1
	}
	return 0
}
