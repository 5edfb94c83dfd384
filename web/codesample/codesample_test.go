package codesample

import (
	"bytes"
	"encoding/json"
	"go/format"
	"strings"
	"testing"

	"kartei/api"
	"kartei/api/openapi"
)

// document is the part of an OpenAPI document that the tests read.
type document struct {
	Paths map[string]map[string]struct {
		ID      string   `json:"operationId"`
		Samples []Sample `json:"x-codeSamples"`
	} `json:"paths"`
}

const server = "https://kartei.test/v1"

// added returns the frozen document of a version with samples.
func added(t *testing.T, version string, o Options) []byte {
	t.Helper()
	spec, ok := openapi.Document(version)
	if !ok {
		t.Fatalf("there is no document %s", version)
	}
	added, err := Add(spec, o)
	if err != nil {
		t.Fatal(err)
	}
	return added
}

// samplesOf returns the samples of a document by operation and label.
func samplesOf(t *testing.T, spec []byte) map[string]map[string]string {
	t.Helper()
	var d document
	if err := json.Unmarshal(spec, &d); err != nil {
		t.Fatal(err)
	}
	found := map[string]map[string]string{}
	for _, item := range d.Paths {
		for _, op := range item {
			found[op.ID] = map[string]string{}
			for _, s := range op.Samples {
				found[op.ID][s.Label] = s.Source
			}
		}
	}
	return found
}

// TestEveryOperationHasSamples checks that each operation has a sample in each language, in each
// version. The script ci/samples.sh runs the samples against an instance.
func TestEveryOperationHasSamples(t *testing.T) {
	for _, version := range openapi.Versions() {
		samples := samplesOf(t, added(t, version, Options{Server: server}))
		for _, op := range api.Operations {
			if !op.In(version) {
				continue
			}
			for _, l := range languages {
				source := samples[op.ID][l.label]
				if !strings.Contains(source, server) || !strings.Contains(source, "KARTEI_KEY") {
					t.Errorf("%s: %s in %s lacks the address or the key:\n%s", version, op.ID, l.label, source)
				}
				preview := op.Channel.Preview(version)
				if strings.Contains(source, "Svc-Preview") != preview {
					t.Errorf("%s: %s in %s: Svc-Preview must be there: %v\n%s", version, op.ID, l.label, preview, source)
				}
				if strings.Contains(source, idempotencyKey) != (op.Idempotent() || op.ID == "batch.run") {
					t.Errorf("%s: %s in %s: the Idempotency-Key is wrong:\n%s", version, op.ID, l.label, source)
				}
				if strings.Contains(source, "If-Match") != op.Conditional() {
					t.Errorf("%s: %s in %s: If-Match is wrong:\n%s", version, op.ID, l.label, source)
				}
			}
			source := samples[op.ID]["Go"]
			if formatted, err := format.Source([]byte(source)); err != nil || string(formatted) != source {
				t.Errorf("%s: %s in Go is not what gofmt writes (%v):\n%s", version, op.ID, err, source)
			}
		}
	}
}

// TestOnlySamplesAreAdded checks that the document without its samples equals the original, byte
// for byte.
func TestOnlySamplesAreAdded(t *testing.T) {
	spec, _ := openapi.Document(openapi.Versions()[0])
	var want, got bytes.Buffer
	if err := json.Compact(&want, spec); err != nil {
		t.Fatal(err)
	}
	rest := added(t, openapi.Versions()[0], Options{Server: server})
	for {
		before, after, found := bytes.Cut(rest, []byte(`,"x-codeSamples":`))
		got.Write(before)
		if !found {
			break
		}
		d := json.NewDecoder(bytes.NewReader(after))
		var samples []Sample
		if err := d.Decode(&samples); err != nil {
			t.Fatal(err)
		}
		rest = after[d.InputOffset():]
	}
	if !bytes.Equal(want.Bytes(), got.Bytes()) {
		t.Error("the document changed besides the samples")
	}
}

// TestRequestedVersion checks that samples send a version that is not the default.
func TestRequestedVersion(t *testing.T) {
	for id, of := range samplesOf(t, added(t, openapi.Versions()[0], Options{Server: server, Version: "2027-02-01"})) {
		for label, source := range of {
			if !strings.Contains(source, "Svc-Version") || !strings.Contains(source, "2027-02-01") {
				t.Errorf("%s in %s does not ask for its version:\n%s", id, label, source)
			}
		}
	}
}

// TestQuoting checks that quotes in a body do not end the string literal around it.
func TestQuoting(t *testing.T) {
	spec := []byte("{\"paths\":{\"/x\":{\"post\":{\"operationId\":\"x.create\",\"requestBody\":{\"content\":{\"application/json\":{\"examples\":{\"e\":{\"value\":{\"a\":\"it's `x` $(id) ${y} \\\"z\\\" \\\\\"}}}}}},\"responses\":{\"204\":{}}}}}}")
	out, err := Add(spec, Options{Server: server})
	if err != nil {
		t.Fatal(err)
	}
	samples := samplesOf(t, out)["x.create"]
	for label, want := range map[string]string{
		"curl":       `"it'\''s ` + "`x`" + ` $(id) ${y} \"z\" \\"`,
		"Python":     `"it's ` + "`x`" + ` $(id) ${y} \"z\" \\"`,
		"JavaScript": `"it's ` + "`x`" + ` $(id) ${y} \"z\" \\"`,
		"Go":         "\"it's `+\"`\"+`x`+\"`\"+` $(id) ${y} \\\"z\\\" \\\\\"",
	} {
		if !strings.Contains(samples[label], want) {
			t.Errorf("%s: %s is not in\n%s", label, want, samples[label])
		}
	}
}
