// Workspace is the program that keeps, restores, compares and forks workspaces. It runs on the host, never in a
// sandbox, and does the one job that a line on its stdin names; see docs/workspaces.md.
package main

import (
	"fmt"
	"os"

	"geode/guest/internal/workspace"
)

func main() {
	if err := workspace.Serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "workspace: %s\n", err)
		os.Exit(1)
	}
}
