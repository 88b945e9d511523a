// Images is the program that unpacks the layers of images, merges them into root file systems and packs them again. It
// runs on the host, never in a sandbox:
//
//	images unpack FOLDER MAX_BYTES MAX_ENTRIES < layer.tar
//	images merge FOLDER LAYER...    (the lowest layer first)
//	images pack LAYER FILE
//
// It prints one line of JSON. FOLDER must be empty, FILE must not exist.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"

	"geode/guest/internal/layers"
)

func main() {
	result, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s\n", err)
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		os.Exit(1)
	}
}

func run(words []string) (any, error) {
	switch {
	case len(words) == 4 && words[0] == "unpack":
		most, err := limits(words[2], words[3])
		if err != nil {
			return nil, err
		}
		return layers.Unpack(bufio.NewReaderSize(os.Stdin, 1<<20), words[1], most)
	case len(words) >= 3 && words[0] == "merge":
		return layers.Merge(words[2:], words[1])
	case len(words) == 3 && words[0] == "pack":
		return layers.Pack(words[1], words[2])
	}
	return nil, fmt.Errorf("usage: images unpack FOLDER MAX_BYTES MAX_ENTRIES | images merge FOLDER LAYER... | images pack LAYER FILE")
}

func limits(bytes, entries string) (layers.Limits, error) {
	most, err := strconv.ParseInt(bytes, 10, 64)
	if err != nil {
		return layers.Limits{}, err
	}
	count, err := strconv.Atoi(entries)
	return layers.Limits{Bytes: most, Entries: count}, err
}
