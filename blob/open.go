package blob

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"kartei/fault"
	"kartei/masterkey"
)

// Options say how a store is used.
type Options struct {
	Keys masterkey.Ring
	// Encryption says which new bytes are encrypted; those that are are read all
	// the same.
	Encryption Encryption
	// BaseURL is the address of the instance, without a path.
	BaseURL string
}

// Encryption says where new bytes are encrypted before they are stored.
type Encryption string

// The three ways.
const (
	Auto   Encryption = "auto" // in folders; buckets are left to encrypt on their own
	Always Encryption = "on"
	Never  Encryption = "off"
)

// Location is where a store is.
type Location struct {
	// Dir is a folder.
	Dir string
}

// ParseLocation reads file:PATH. Its errors do not repeat the text.
func ParseLocation(text string) (Location, error) {
	if dir, ok := strings.CutPrefix(text, "file:"); ok && dir != "" && !strings.ContainsRune(dir, 0) {
		return Location{Dir: dir}, nil
	}
	return Location{}, errors.New("the value is not where files are stored; accepted is file:PATH")
}

// Open opens the store at a location.
func Open(_ context.Context, location string, o Options) (Store, error) {
	l, err := ParseLocation(location)
	if err != nil {
		return nil, fmt.Errorf("blob: %w", err)
	}
	return NewLocal(l.Dir, LocalOptions{Keys: o.Keys, Plain: o.Encryption == Never, BaseURL: o.BaseURL})
}

// retry is how long clients are asked to wait for a store that is away or full.
const retry = 5 * time.Second

// noRoom is what clients are told where nothing can be stored.
var noRoom = fault.Text{
	DE: "Zurzeit lassen sich keine Dateien speichern. Geändert wurde nichts; Lesen ist weiterhin möglich. Versuchen Sie es etwas später noch einmal.",
	EN: "No files can be stored at the moment. Nothing was changed; reading is still possible. Please try again a little later.",
}

// Fault turns what a store returns into what a client is told: 502 UPSTREAM
// where the store does not answer, 503 INSTANCE_PENDING where it has no room.
// Other errors are returned as they are.
func Fault(err error) error {
	switch {
	case errors.Is(err, ErrUnavailable):
		return &fault.Fault{Code: fault.Upstream, RetryAfter: retry, Cause: err}
	case errors.Is(err, ErrFull):
		return &fault.Fault{Code: fault.InstancePending, Detail: &noRoom, RetryAfter: retry, Cause: err}
	}
	return err
}
