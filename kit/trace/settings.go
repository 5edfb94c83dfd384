package trace

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// These environment variables of OpenTelemetry are read by this package. The library itself reads
// more of them: the exporter's timeout, certificates and compression (OTEL_EXPORTER_OTLP_*), and
// the queue (OTEL_BSP_*).
const (
	disabledVariable       = "OTEL_SDK_DISABLED"
	exporterVariable       = "OTEL_TRACES_EXPORTER"
	endpointVariable       = "OTEL_EXPORTER_OTLP_ENDPOINT"
	tracesEndpointVariable = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	headersVariable        = "OTEL_EXPORTER_OTLP_HEADERS"
	tracesHeadersVariable  = "OTEL_EXPORTER_OTLP_TRACES_HEADERS"
	protocolVariable       = "OTEL_EXPORTER_OTLP_PROTOCOL"
	tracesProtocolVariable = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
	samplerVariable        = "OTEL_TRACES_SAMPLER"
	samplerArgVariable     = "OTEL_TRACES_SAMPLER_ARG"
	serviceVariable        = "OTEL_SERVICE_NAME"
	resourceVariable       = "OTEL_RESOURCE_ATTRIBUTES"
)

// Variables are the names of the environment variables that FromEnvironment reads.
var Variables = []string{
	disabledVariable, exporterVariable, endpointVariable, tracesEndpointVariable, headersVariable, tracesHeadersVariable,
	protocolVariable, tracesProtocolVariable, samplerVariable, samplerArgVariable, serviceVariable, resourceVariable,
}

// Secret reports whether the value of an environment variable must not be shown.
func Secret(variable string) bool {
	return variable == headersVariable || variable == tracesHeadersVariable
}

const (
	defaultBase    = "http://localhost:4318"
	pathBelowBase  = "/v1/traces"
	defaultSampler = "parentbased_always_on"
	defaultService = "kartei"
	overHTTP       = "http/protobuf"
)

// Settings are the settings of a Tracer. With the zero value, nothing is traced.
type Settings struct {
	// Endpoint is the URL of the collector. If it is empty, nothing is traced.
	Endpoint string
	// Headers are the headers of each request to the collector. Their values may be secrets.
	Headers map[string]string
	// Sampler and SamplerArg are as in OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG. An empty
	// Sampler is parentbased_always_on.
	Sampler, SamplerArg string
	// Service is the name of the service. If it is empty, the name is kartei.
	Service string
	// Resource has more attributes of the service.
	Resource map[string]string
}

// FromEnvironment returns the settings in the environment variables of OpenTelemetry. look returns
// the value of a variable, and whether it is set.
//
// For an unknown value it returns an error, although the specification asks only for a warning.
// Otherwise an operator who misspells a sampler would send a hundred times as many spans.
func FromEnvironment(look func(name string) (string, bool)) (s Settings, err error) {
	value := func(names ...string) string {
		for _, name := range names {
			if v, ok := look(name); ok && strings.TrimSpace(v) != "" {
				return strings.TrimSpace(v)
			}
		}
		return ""
	}
	if strings.EqualFold(value(disabledVariable), "true") || value(exporterVariable) == "none" {
		return Settings{}, nil
	}
	s.Endpoint = value(tracesEndpointVariable)
	if base := value(endpointVariable); s.Endpoint == "" && base != "" {
		s.Endpoint = strings.TrimSuffix(base, "/") + pathBelowBase
	}
	exporter := value(exporterVariable)
	if s.Endpoint == "" && exporter == "" {
		return Settings{}, nil
	}
	if exporter != "" && exporter != "otlp" {
		return Settings{}, fmt.Errorf("%s: %q is not accepted; accepted are otlp and none", exporterVariable, exporter)
	}
	if s.Endpoint == "" {
		s.Endpoint = defaultBase + pathBelowBase
	}
	if protocol := value(tracesProtocolVariable, protocolVariable); protocol != "" && protocol != overHTTP {
		return Settings{}, fmt.Errorf("%s: %q is not accepted; accepted is %s", protocolVariable, protocol, overHTTP)
	}
	s.Sampler, s.SamplerArg, s.Service = value(samplerVariable), value(samplerArgVariable), value(serviceVariable)
	if s.Headers, err = pairs(value(tracesHeadersVariable, headersVariable)); err != nil {
		return Settings{}, fmt.Errorf("%s: %w", headersVariable, err)
	}
	if s.Resource, err = pairs(value(resourceVariable)); err != nil {
		return Settings{}, fmt.Errorf("%s: %w", resourceVariable, err)
	}
	return s, s.check()
}

// check returns an error if New cannot use the settings.
func (s *Settings) check() error {
	u, err := url.Parse(s.Endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		// The URL may contain a password, so the error does not repeat it.
		return fmt.Errorf("%s: accepted is a URL that begins with http:// or https://", endpointVariable)
	}
	_, err = s.sampler()
	return err
}

// pairs parses name=value,name=value with percent-encoded values. The error does not contain the
// text, which may be a secret.
func pairs(text string) (map[string]string, error) {
	list := map[string]string{}
	if text == "" {
		return list, nil
	}
	for pair := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		decoded, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || name == "" || err != nil {
			return nil, fmt.Errorf("accepted is NAME=VALUE,NAME=VALUE with values in percent-encoding")
		}
		list[name] = decoded
	}
	return list, nil
}

var samplers = map[string]func(ratio float64) sdk.Sampler{
	"always_on":                func(float64) sdk.Sampler { return sdk.AlwaysSample() },
	"always_off":               func(float64) sdk.Sampler { return sdk.NeverSample() },
	"traceidratio":             sdk.TraceIDRatioBased,
	"parentbased_always_on":    func(float64) sdk.Sampler { return sdk.ParentBased(sdk.AlwaysSample()) },
	"parentbased_always_off":   func(float64) sdk.Sampler { return sdk.ParentBased(sdk.NeverSample()) },
	"parentbased_traceidratio": func(r float64) sdk.Sampler { return sdk.ParentBased(sdk.TraceIDRatioBased(r)) },
}

// Sampling returns the name of the sampler, followed by the ratio if it has one.
func (s *Settings) Sampling() string {
	name := cmp.Or(s.Sampler, defaultSampler)
	if strings.HasSuffix(name, "ratio") {
		name += " " + cmp.Or(s.SamplerArg, "1")
	}
	return name
}

func (s *Settings) sampler() (sdk.Sampler, error) {
	name := cmp.Or(s.Sampler, defaultSampler)
	sampler := samplers[name]
	if sampler == nil {
		names := []string{}
		for known := range samplers {
			names = append(names, known)
		}
		slices.Sort(names)
		return nil, fmt.Errorf("%s: %q is not accepted; accepted are %s", samplerVariable, name, strings.Join(names, ", "))
	}
	ratio := 1.0
	if s.SamplerArg != "" && strings.HasSuffix(name, "ratio") {
		var err error
		if ratio, err = strconv.ParseFloat(s.SamplerArg, 64); err != nil || !(ratio >= 0 && ratio <= 1) {
			return nil, fmt.Errorf("%s: %q is not a share; accepted is a number from 0 to 1", samplerArgVariable, s.SamplerArg)
		}
	}
	return sampler(ratio), nil
}
