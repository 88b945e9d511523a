package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"strings"
	"testing"
)

type exitFacts struct {
	ExitCode  *int    `json:"exitCode"`
	Signal    *string `json:"signal"`
	OOMKilled bool    `json:"oomKilled"`
}

// exec runs a shell script to its end.
func (h *host) exec(id, script string) (output string, exit exitFacts) {
	h.t.Helper()
	spec, _ := json.Marshal(map[string]any{"id": id, "argv": []string{"sh", "-c", script}})
	response, err := h.client.Post("http://guest/v1/processes", "", bytes.NewReader(frame(1, 0, string(spec))))
	if err != nil {
		h.t.Fatal(err)
	}
	defer response.Body.Close()
	reader := bufio.NewReader(response.Body)
	header := make([]byte, 16)
	for {
		if _, err := io.ReadFull(reader, header); err != nil {
			h.t.Fatal(err)
		}
		payload := make([]byte, binary.BigEndian.Uint32(header[4:]))
		if _, err := io.ReadFull(reader, payload); err != nil {
			h.t.Fatal(err)
		}
		switch header[0] {
		case 17, 18:
			output += string(payload)
		case 19:
			if err := json.Unmarshal(payload, &exit); err != nil {
				h.t.Fatal(err)
			}
			return output, exit
		}
	}
}

const hold = `python3 -c 'import sys, time; x = bytearray(%); print("held", flush=True); time.sleep(60)'`

func holding(bytes string) string { return strings.Replace(hold, "%", bytes, 1) }

func TestSoftMemoryKillsTheLargest(t *testing.T) {
	h := claimed(t, "--soft-memory", "100000000")
	if _, exit := h.exec("large", "exec "+holding("300_000_000")); !exit.OOMKilled || exit.Signal == nil || *exit.Signal != "SIGKILL" {
		t.Errorf("%+v", exit)
	}
	if output, exit := h.exec("shell", holding("300_000_000")+"; echo after $?"); !exit.OOMKilled && !strings.Contains(output, "after 137") {
		t.Errorf("%q %+v", output, exit)
	}
	if output, exit := h.exec("small", "echo fine"); output != "fine\n" || exit.OOMKilled {
		t.Errorf("%q %+v", output, exit)
	}
	if _, metrics := h.call("GET", "/v1/metrics", nil); metrics["oomKills"] != 2.0 {
		t.Errorf("%v", metrics)
	}
}

// Pages that a fork shares are there once. The sum of what is resident would be five times as much.
func TestSoftMemoryCountsSharedPagesOnce(t *testing.T) {
	h := claimed(t, "--soft-memory", "150000000")
	script := `python3 -c '
import os, time
x = bytearray(60_000_000)
children = []
for _ in range(4):
    child = os.fork()
    if child == 0:
        time.sleep(1)
        os._exit(0)
    children.append(child)
print([os.waitpid(child, 0)[1] for child in children])'`
	if output, exit := h.exec("family", script); output != "[0, 0, 0, 0]\n" || exit.OOMKilled {
		t.Errorf("%q %+v", output, exit)
	}
}

// A file without a name that nobody has mapped belongs to no process's resident memory.
func TestSoftMemoryCountsFilesInMemory(t *testing.T) {
	h := claimed(t, "--soft-memory", "100000000")
	script := `exec python3 -c '
import os, time
file = os.memfd_create("hidden")
piece = bytes(1_000_000)
for _ in range(300): os.write(file, piece)
time.sleep(60)'`
	if _, exit := h.exec("hidden", script); !exit.OOMKilled {
		t.Errorf("%+v", exit)
	}
}

func TestSoftPIDsEndTheCommandThatHasMost(t *testing.T) {
	h := claimed(t, "--soft-pids", "60")
	go h.stream("/v1/processes", frame(1, 0, `{"id":"calm","argv":["sh","-c","echo ready; exec sleep 100"]}`))
	h.pidOfFirstWriter()
	output, exit := h.exec("many", "i=0; while [ $i -lt 200 ]; do sleep 100 & i=$((i+1)); done; wait")
	if exit.Signal == nil || *exit.Signal != "SIGKILL" || exit.OOMKilled || !strings.Contains(output, "more than 60 processes") {
		t.Errorf("%q %+v", output, exit)
	}
	_, list := h.call("GET", "/v1/processes", nil)
	for _, each := range list["processes"].([]any) {
		if process := each.(map[string]any); process["id"] == "calm" && process["state"] != "running" {
			t.Errorf("%v", process)
		}
	}
	if _, exit := h.exec("after", "true"); exit.ExitCode == nil || *exit.ExitCode != 0 {
		t.Errorf("%+v", exit)
	}
}

func claimed(t *testing.T, args ...string) *host {
	s := open(t, args...)
	return s.claim(s.dial(), 60_000)
}
