package link

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"geode/guest/internal/fault"
	"geode/guest/internal/processes"
)

// hangUpAfter leaves the answer to a wrong proof time to be sent.
const hangUpAfter = 50 * time.Millisecond

const secretLength = 64

type helloRequest struct {
	Protocol []int  `json:"protocol"`
	Nonce    string `json:"nonce"`
}

type helloAnswer struct {
	Protocol  int    `json:"protocol"`
	Version   string `json:"version"`
	Boot      string `json:"boot"`
	Claimed   bool   `json:"claimed"`
	Challenge string `json:"challenge"`
	Proof     string `json:"proof"`
}

func (g *Guest) hello(w http.ResponseWriter, r *http.Request) error {
	var request helloRequest
	if err := readJSON(r, &request); err != nil {
		return err
	}
	if !isHex(request.Nonce) {
		return fault.New(fault.InvalidInput, "the nonce is not %d hex digits", secretLength)
	}
	if !slices.Contains(request.Protocol, Protocol) {
		return fault.New(fault.GuestVersion, "the host speaks protocol %v, this guest %d", request.Protocol, Protocol).
			With("protocol", []int{Protocol}).With("version", g.version)
	}
	conn := connectionOf(r)
	conn.mu.Lock()
	defer conn.mu.Unlock()
	if conn.greeted {
		return conn.hangUp("a second hello")
	}
	conn.greeted = true
	conn.challenge = randomHex(secretLength / 2)

	g.mu.Lock()
	defer g.mu.Unlock()
	answer := helloAnswer{Protocol: Protocol, Version: g.version, Boot: g.boot, Challenge: conn.challenge}
	if g.secret != nil {
		answer.Claimed = true
		answer.Proof = prove(g.secret, "guest", request.Nonce)
	}
	return writeJSON(w, answer)
}

type claimRequest struct {
	Proof   string            `json:"proof"`
	Secret  string            `json:"secret"`
	Env     map[string]string `json:"env"`
	Workdir string            `json:"workdir"`
	LeaseMs *float64          `json:"leaseMs"`
}

func (g *Guest) claim(w http.ResponseWriter, r *http.Request) error {
	var request claimRequest
	if err := readJSON(r, &request); err != nil {
		return err
	}
	if request.LeaseMs != nil && (*request.LeaseMs < 0 || *request.LeaseMs > math.MaxInt64/1e6) {
		return fault.New(fault.InvalidInput, "leaseMs is %g", *request.LeaseMs)
	}
	conn := connectionOf(r)
	replaced, err := g.admit(conn, &request)
	if err != nil {
		return err
	}
	if replaced != nil && replaced != conn {
		replaced.Close()
	}
	return writeJSON(w, struct{}{})
}

// admit checks a claim and makes its connection the current one. It gives the one before.
func (g *Guest) admit(conn *connection, request *claimRequest) (*connection, error) {
	conn.mu.Lock()
	defer conn.mu.Unlock()
	g.mu.Lock()
	defer g.mu.Unlock()
	if conn.challenge == "" {
		return nil, conn.hangUp("a claim without a hello")
	}
	if g.secret == nil {
		if err := g.bind(request); err != nil {
			return nil, err
		}
	} else if !hmac.Equal([]byte(request.Proof), []byte(prove(g.secret, "host", conn.challenge))) {
		return nil, conn.hangUp("a claim with a wrong proof")
	} else if request.Secret != "" {
		if err := g.rotate(request.Secret); err != nil {
			return nil, err
		}
	}
	conn.challenge = ""
	if request.LeaseMs != nil {
		g.lease.set(time.Duration(*request.LeaseMs * float64(time.Millisecond)))
	}
	replaced := g.current
	g.current = conn
	conn.claimed.Store(true)
	conn.timer.Stop()
	conn.door.settle(conn)
	g.lease.hold()
	return replaced, nil
}

// bind is the first claim: it makes a blank sandbox someone's.
func (g *Guest) bind(request *claimRequest) error {
	if !isHex(request.Secret) {
		return fault.New(fault.InvalidInput, "the secret is not %d hex digits", secretLength)
	}
	if !filepath.IsAbs(request.Workdir) {
		return fault.New(fault.InvalidInput, "the workdir %q is not absolute", request.Workdir)
	}
	if err := g.files.Open(request.Workdir); err != nil {
		return fault.New(fault.InvalidInput, "the workdir cannot be used: %s", err)
	}
	g.table.SetDefaults(processes.Defaults{Env: request.Env, Workdir: filepath.Clean(request.Workdir)})
	g.secret = []byte(request.Secret)
	return nil
}

// rotate replaces the secret. The memory of a copied sandbox has that of its source.
func (g *Guest) rotate(secret string) error {
	if !isHex(secret) {
		return fault.New(fault.InvalidInput, "the secret is not %d hex digits", secretLength)
	}
	g.secret = []byte(secret)
	return nil
}

// connectionEnded lets the lease run when the host's connection is gone and no other has replaced it.
func (g *Guest) connectionEnded(conn *connection) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.current == conn {
		g.current = nil
		g.lease.release()
	}
}

// hangUp ends a connection that broke the handshake, soon after sending the reason.
func (c *connection) hangUp(why string) error {
	c.challenge = ""
	time.AfterFunc(hangUpAfter, func() { c.Close() })
	return fault.New(fault.Refused, "refused: %s", why)
}

func prove(secret []byte, role, challenge string) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(role + challenge))
	return hex.EncodeToString(mac.Sum(nil))
}

func isHex(text string) bool {
	_, err := hex.DecodeString(text)
	return err == nil && len(text) == secretLength
}

func randomHex(bytes int) string {
	random := make([]byte, bytes)
	_, _ = rand.Read(random) // never fails: it ends the program instead
	return hex.EncodeToString(random)
}
