package blob

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"kartei/kit/masterkey"
)

// Options are the settings of a Store.
type Options struct {
	Keys masterkey.Ring
	// Encryption says when new bytes are encrypted. Encrypted bytes always remain readable.
	Encryption Encryption
	// BaseURL is the URL of the instance without a path.
	BaseURL string
	// MaxSize is the maximum size of a file in bytes. It is 0 if unknown.
	MaxSize int64
	// Now returns the current time. If it is nil, the clock of the system is used.
	Now func() time.Time
}

// Encryption is a setting that says when Kartei encrypts new bytes before it stores them.
type Encryption string

// The values of Encryption.
const (
	Auto   Encryption = "auto" // only in folders, because a bucket has its own encryption
	Always Encryption = "on"
	Never  Encryption = "off"
)

// Location is the place of a store: a folder (Dir) or a bucket (all other fields).
type Location struct {
	Dir string

	Bucket    string
	Prefix    string // prefix of all keys; empty, or ends in a slash
	Host      string // with the port, unless it is the default port
	Insecure  bool   // use http and not https
	PathStyle bool   // the bucket is in the path and not in the host name
	Region    string
}

// ParseLocation parses file:PATH or s3://BUCKET[/PREFIX]?endpoint=URL&region=NAME&path-style=true.
// Its errors do not contain the text, which may contain a password.
func ParseLocation(text string) (Location, error) {
	if dir, ok := strings.CutPrefix(text, "file:"); ok && dir != "" && !strings.ContainsRune(dir, 0) {
		return Location{Dir: dir}, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "s3" || u.Host == "" {
		return Location{}, errors.New("the value is not a location of files; it must be file:PATH or s3://BUCKET?endpoint=URL&region=NAME")
	}
	return bucketLocation(u)
}

func bucketLocation(u *url.URL) (Location, error) {
	if u.User != nil || u.Fragment != "" {
		return Location{}, errors.New("the address of a bucket must not contain credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	}
	l := Location{Bucket: u.Host, Prefix: strings.Trim(u.Path, "/"), Host: "s3.amazonaws.com", Region: "us-east-1"}
	if l.Prefix != "" {
		l.Prefix += "/"
	}
	for _, name := range []string{"AWS_DEFAULT_REGION", "AWS_REGION"} {
		if region := os.Getenv(name); region != "" {
			l.Region = region
		}
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return Location{}, errors.New("the parameters of the bucket's address are not valid")
	}
	for name, values := range query {
		switch value := values[0]; {
		case len(values) > 1:
			return Location{}, fmt.Errorf("the parameter %s of the bucket's address is given twice", name)
		case name == "endpoint":
			endpoint, err := url.Parse(value)
			if err != nil || endpoint.Scheme != "http" && endpoint.Scheme != "https" || endpoint.Host == "" ||
				strings.Trim(endpoint.Path, "/") != "" || endpoint.RawQuery != "" || endpoint.User != nil {
				return Location{}, errors.New("the endpoint of the bucket is not an address such as https://s3.example.com:9000")
			}
			l.Host, l.Insecure = endpoint.Host, endpoint.Scheme == "http"
		case name == "region" && value == "":
			return Location{}, errors.New("the region of the bucket is empty; leave the parameter out to use AWS_REGION")
		case name == "region":
			l.Region = value
		case name == "path-style" && (value == "true" || value == "false"):
			l.PathStyle = value == "true"
		default:
			return Location{}, errors.New("the bucket's address has an unknown parameter; the parameters are endpoint, region and path-style (true, false)")
		}
	}
	return l, nil
}

// Open returns the store at a location. If it returns an error, the store is nil.
func Open(_ context.Context, location string, o Options) (Store, error) {
	l, err := ParseLocation(location)
	if err != nil {
		return nil, fmt.Errorf("blob: %w", err)
	}
	if l.Bucket != "" {
		return orNone(NewS3(l, o))
	}
	return orNone(NewLocal(l.Dir, LocalOptions{Keys: o.Keys, Plain: o.Encryption == Never, BaseURL: o.BaseURL}))
}

// orNone returns s, or nil with an error. Without this function, the interface would contain a nil
// pointer and not be nil.
func orNone[S Store](s S, err error) (Store, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}
