package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"geode/guest/internal/mcp"
)

const (
	// toolSocket names the variable with which commands in the sandbox find the tools.
	toolSocket = "GEODE_MCP_SOCKET"
	// politeTime is how long a bridge may take to exit when asked.
	politeTime = 500 * time.Millisecond
	// signalled is added to the number of the signal that ended a program, as shells do.
	signalled = 128
)

// bridgeTools joins an MCP client to the host's tools until the client is done or a signal comes.
func bridgeTools(socket string, input io.Reader, output io.Writer) error {
	if socket == "" {
		socket = os.Getenv(toolSocket)
	}
	if socket == "" {
		return errors.New("no socket is given and " + toolSocket + " is not set: open a session with geode tools open")
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	ended := make(chan error, 1)
	go func() { ended <- mcp.Run(ctx, socket, input, output) }()
	select {
	case err := <-ended:
		return err
	case got := <-signals:
		cancel()
		select {
		case <-ended:
		case <-time.After(politeTime):
		}
		number, _ := got.(syscall.Signal)
		os.Exit(signalled + int(number))
		return nil
	}
}
