package api

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"kartei/kit/fault"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// codec is the encoding of answers and of whole inputs. A duration is a number of nanoseconds, and
// omitempty leaves out false and 0, as encoding/json has it, which the command line uses.
var codec = json.JoinOptions(jsonv1.FormatDurationAsNano(true), jsonv1.OmitEmptyWithLegacySemantics(true))

// decodeInput decodes a whole input. An unknown member is refused.
func decodeInput(body []byte, into any) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	return wrongInput(json.Unmarshal(body, into, codec, json.RejectUnknownMembers(true)))
}

// wrongInput maps an error of the decoder to a fault.
func wrongInput(err error) error {
	if err == nil {
		return nil
	}
	wrong, is := errors.AsType[*json.SemanticError](err)
	switch {
	case is && errors.Is(err, json.ErrUnknownName):
		return fault.BadRequest(fault.Field{Name: wrong.JSONPointer.LastToken(), Code: fault.UnknownField})
	case is && wrong.JSONPointer != "":
		return fault.BadRequest(fault.Field{Name: memberPath(wrong.JSONPointer), Code: fault.InvalidType})
	}
	return &fault.Fault{Code: fault.InvalidRequest, Cause: err}
}

// memberPath returns the path of a member as problems spell it: networks[1].
func memberPath(at jsontext.Pointer) string {
	var b strings.Builder
	for token := range at.Tokens() {
		switch _, err := strconv.Atoi(token); {
		case err == nil:
			b.WriteString("[" + token + "]")
			continue
		case b.Len() > 0:
			b.WriteByte('.')
		}
		b.WriteString(token)
	}
	return b.String()
}
