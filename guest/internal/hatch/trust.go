package hatch

import (
	"bytes"
	"os"
	"path/filepath"
)

const (
	trustFile = "trusted.pem"
	// maxRoots is the maximum number of bytes read from an image's own list of authorities.
	maxRoots = 4 << 20
)

// rootFiles are the paths where images store trusted authorities; the first existing one is used.
var rootFiles = []string{
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
	"/etc/ssl/ca-bundle.pem",
	"/etc/ssl/cert.pem",
}

// Trust writes one file of certificates, which nobody changes: those that the image trusts, or the given roots
// where it has none, and after them one more authority. Programs find the file through their environment.
func Trust(folder, authority, roots string) (string, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	known := imageRoots(rootFiles)
	if known == nil {
		known = []byte(roots)
	}
	content := append(bytes.TrimSpace(known), '\n')
	content = append(content, authority...)
	next, err := os.CreateTemp(folder, trustFile+".*")
	if err != nil {
		return "", err
	}
	defer os.Remove(next.Name())
	_, err = next.Write(content)
	if err == nil {
		err = next.Chmod(0o444)
	}
	if closed := next.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, trustFile)
	return path, os.Rename(next.Name(), path)
}

// imageRoots gives the first list that holds certificates, and nil if the image has none.
func imageRoots(files []string) []byte {
	for _, file := range files {
		facts, err := os.Stat(file)
		if err != nil || !facts.Mode().IsRegular() || facts.Size() > maxRoots {
			continue
		}
		content, err := os.ReadFile(file)
		if err == nil && bytes.Contains(content, []byte("-----BEGIN CERTIFICATE-----")) {
			return content
		}
	}
	return nil
}
