package schema

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"kartei/api/op"
	"kartei/api/schema/pattern"
	"kartei/kit/fault"
	"kartei/kit/i18n"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

const (
	// maxDepth is the maximum nesting of a body. The document needs only five levels.
	maxDepth = 100
	// maxElements is the maximum number of array elements, or object members, that are parsed and
	// checked. The document allows fewer everywhere, so a larger body is invalid anyway.
	maxElements = 1_000
)

// rawTaker is a body that keeps its JSON text, such as op.Patch.
type rawTaker interface{ SetRaw(raw []byte) }

// boundChecker is a body with its own fault for too many elements. Bound returns this fault, which
// comes before all other faults.
type boundChecker interface {
	Bound(body map[string]any) error
}

// Body checks the JSON body raw of the operation op and decodes it into target. target is a pointer
// to the struct of the body or to an op.Patch, which keeps raw. The fault is INVALID_REQUEST if raw
// is not one JSON object. Otherwise it is VALIDATION_FAILED with all errors, in the order of raw.
//
// If raw breaks the schema, Body also checks the rules of target for the other members. If raw fits
// the schema, Body does not check these rules. The operation then checks them, together with the
// rules that need the database.
func (r *Document) Body(op string, raw []byte, target any, services *op.Services) error {
	o := r.operations[op]
	if o == nil || o.body == nil {
		return fault.Wrap(fmt.Errorf("schema: the document has no body for %s", op))
	}
	value, err := parseBody(raw)
	if err != nil {
		return err
	}
	if b, is := target.(boundChecker); is {
		if err := b.Bound(value); err != nil {
			return err
		}
	}
	bare(raw, value, target)
	c := collector{document: r, operation: o, named: map[string]bool{}}
	if err := o.body.Validate(value); err != nil {
		var invalid *jsonschema.ValidationError
		if !errors.As(err, &invalid) {
			return fault.Wrap(err)
		}
		c.collect(invalid)
	}
	c.plain(raw, value, target)
	if len(c.fields) < MaxErrors {
		if err := c.decode(raw, target); err != nil {
			return err
		}
		if len(c.fields) == 0 {
			return nil
		}
		c.judge(value, target, services)
	}
	return fault.Invalid(sortByPosition(raw, c.fields, &c.body)...)
}

var (
	emptyBody   = i18n.Text("The request has no body. A JSON object is expected.")
	notUTF8     = i18n.Text("The body of the request is not valid UTF-8.")
	notObject   = i18n.Text("The body of the request must be a JSON object at its top level.")
	tooDeep     = i18n.Text("The body of the request is nested too deeply.")
	trailing    = i18n.Text("Nothing may follow the JSON object in the body of the request.")
	errTooDeep  = errors.New("schema: nested too deeply")
	decoderPool = sync.Pool{New: func() any { return jsontext.NewDecoder(new(bytes.Buffer)) }}
)

func malformed(detail i18n.Text, err error) error {
	return &fault.Fault{Code: fault.InvalidRequest, Detail: detail, Cause: err}
}

// parseBody parses raw as one JSON object. Numbers become int64 if possible,
// otherwise float64.
func parseBody(raw []byte) (map[string]any, error) {
	if len(bytes.TrimLeft(raw, " \t\r\n")) == 0 {
		return nil, malformed(emptyBody, nil)
	}
	if !utf8.Valid(raw) {
		return nil, malformed(notUTF8, nil)
	}
	d := decoderPool.Get().(*jsontext.Decoder)
	defer decoderPool.Put(d)
	d.Reset(bytes.NewBuffer(raw))
	value, err := parseValue(d, 0)
	if err != nil {
		return nil, syntax(raw, err)
	}
	if d.PeekKind() != 0 || len(bytes.TrimLeft(d.UnreadBuffer(), " \t\r\n")) > 0 {
		return nil, malformed(trailing, nil)
	}
	object, is := value.(map[string]any)
	if !is {
		return nil, malformed(notObject, nil)
	}
	return object, nil
}

// syntax returns the fault for a body that cannot be parsed. The text has the line and the column,
// and does not repeat any input.
func syntax(raw []byte, err error) error {
	if errors.Is(err, errTooDeep) {
		return malformed(tooDeep, nil)
	}
	var at int64
	if s := (*jsontext.SyntacticError)(nil); errors.As(err, &s) {
		at = s.ByteOffset
	}
	line, column := position(raw[:min(int(at), len(raw))])
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return malformed(i18n.Format(
			"A name occurs twice in the same object of the request's body (line %d, column %d).", line, column), nil)
	}
	return malformed(i18n.Format("The body of the request is not valid JSON (line %d, column %d).", line, column), nil)
}

// position returns the line and the column of the character that follows before, both from 1.
func position(before []byte) (line, column int) {
	line = 1 + bytes.Count(before, []byte{'\n'})
	column = 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	return line, column
}

func parseValue(d *jsontext.Decoder, depth int) (any, error) {
	if depth > maxDepth {
		return nil, errTooDeep
	}
	switch d.PeekKind() {
	case '{':
		return parseObject(d, depth)
	case '[':
		return parseArray(d, depth)
	case '0':
		raw, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		return parseNumber(string(raw)), nil
	}
	token, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case '"':
		return token.String(), nil
	case 't', 'f':
		return token.Bool(), nil
	}
	return nil, nil
}

func parseObject(d *jsontext.Decoder, depth int) (any, error) {
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	object := map[string]any{}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		if len(object) > maxElements {
			if err := d.SkipValue(); err != nil {
				return nil, err
			}
			continue
		}
		key := name.String()
		if object[key], err = parseValue(d, depth+1); err != nil {
			return nil, err
		}
	}
	_, err := d.ReadToken()
	return object, err
}

func parseArray(d *jsontext.Decoder, depth int) (any, error) {
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	array := []any{}
	for d.PeekKind() != ']' {
		element, err := parseValue(d, depth+1)
		if err != nil {
			return nil, err
		}
		if len(array) <= maxElements {
			array = append(array, element)
		}
	}
	_, err := d.ReadToken()
	return array, err
}

// parseNumber returns the value of a JSON number. It never fails. A number beyond float64 becomes
// the largest float64, which is outside of every range. -0 becomes a negative number close to zero,
// because no integer is written as -0.
func parseNumber(s string) any {
	if s == "-0" {
		return -math.SmallestNonzeroFloat64
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n
	}
	f, _ := strconv.ParseFloat(s, 64)
	if math.IsInf(f, 0) {
		return math.Copysign(math.MaxFloat64, f)
	}
	return f
}

// SortByPosition sorts the fields of a fault by their position in the body.
func SortByPosition(raw []byte, fields []fault.Field) []fault.Field {
	if len(fields) < 2 || len(raw) == 0 {
		return fields
	}
	var body place
	for _, f := range fields {
		body.at(pathOf(f.Name)).name(f.Name)
	}
	return sortByPosition(raw, fields, &body)
}

// sortByPosition sorts fields by the position of their values in raw, and returns at most MaxErrors
// of them. body has the places of the values.
func sortByPosition(raw []byte, fields []fault.Field, body *place) []fault.Field {
	if len(fields) < 2 {
		return fields
	}
	at := positions(raw, body)
	position := func(name string) int {
		for {
			if n, found := at[name]; found {
				return n
			}
			// A missing member has the position of the object in which it is missing.
			dot := strings.LastIndexAny(name, ".[")
			if dot < 0 {
				return math.MaxInt
			}
			name = name[:dot]
		}
	}
	slices.SortStableFunc(fields, func(a, b fault.Field) int { return cmp.Compare(position(a.Name), position(b.Name)) })
	return fields[:min(len(fields), MaxErrors)]
}

// collector converts a tree of schema errors to the list of errors for the client. The list has at
// most one error for each member.
type collector struct {
	// listed is set if an error already lists the known members, because this list is long.
	listed    bool
	compared  int // number of unknown members compared with the known members
	document  *Document
	operation *operation
	fields    []fault.Field
	named     map[string]bool
	body      place // the places of the members in named
}

// add adds an error about a member and returns true. If the member already has an error, it returns
// false and changes nothing.
func (c *collector) add(path []string, code fault.FieldCode, limit any) bool {
	name := dotted(path)
	if c.named[name] {
		return false
	}
	c.named[name] = true
	c.body.at(path).name(shown(name))
	c.fields = append(c.fields, fault.Field{Name: shown(name), Code: code, Limit: limit})
	return true
}

// decode decodes all members without errors into target. It adds an error for a value that the
// schema accepts and Go does not, such as 1.0 or 1e2 for an integer.
func (c *collector) decode(raw []byte, target any) error {
	for {
		rest := raw
		if len(c.fields) > 0 {
			rest = without(raw, &c.body)
		}
		if patch, is := target.(rawTaker); is {
			patch.SetRaw(rest)
			return nil
		}
		err := json.Unmarshal(rest, target)
		if err == nil {
			return nil
		}
		var semantic *json.SemanticError
		if !errors.As(err, &semantic) || !c.add(slices.Collect(semantic.JSONPointer.Tokens()), fault.InvalidType, nil) {
			return fault.Wrap(err)
		}
	}
}

// judge checks the target's own rules for members without errors. For a wrong member, these rules
// would only report consequences of its error.
func (c *collector) judge(body map[string]any, target any, services *op.Services) {
	ruled, is := target.(op.Checker)
	if !is || c.body.named {
		return
	}
	_, patch := target.(rawTaker)
	unfit := func(member string) bool {
		path := pathOf(member)
		_, sent := body[path[0]]
		return patch && !sent || c.body.touches(path)
	}
	for _, f := range ruled.Wrong(services, op.RuleScope{New: !patch, Unfit: unfit}) {
		if c.add(pathOf(f.Name), f.Code, f.Limit) {
			c.say(f.Text)
		}
	}
}

// say sets the text of the error that was added last.
func (c *collector) say(words i18n.Text) { c.fields[len(c.fields)-1].Text = words }

var emptyIsNull = i18n.Text("At least 1 character is needed; null leaves it empty.")

// membersOf returns the names of the members that the schema of e allows, sorted.
func (c *collector) membersOf(e *jsonschema.ValidationError) []string {
	return slices.Sorted(maps.Keys(c.document.object(c.schema(e)["properties"])))
}

// maxCompared is the maximum number of unknown members that are compared with the known members.
const maxCompared = 20

// knownMembers returns a text that lists the known members.
func knownMembers(names []string) i18n.Text {
	if len(names) == 0 {
		return ""
	}
	return i18n.Format("This name is not known here. Known names: %s.", strings.Join(names, ", "))
}

func (c *collector) collect(e *jsonschema.ValidationError) {
	path := e.InstanceLocation
	switch e.ErrorKind.(type) {
	case *kind.Pattern, *kind.MaxLength:
		if c.schema(e)["x-kartei-list"] == "ISO 3166-1 alpha-2" {
			c.add(path, fault.NotInEnum, countryCode)
			return
		}
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Type:
		c.add(path, fault.InvalidType, typeNames(k.Want))
	case *kind.Required:
		for _, name := range k.Missing {
			c.add(member(path, name), fault.Required, nil)
		}
	case *kind.AdditionalProperties:
		known := c.membersOf(e)
		for _, name := range k.Properties {
			code := fault.UnknownField
			if len(path) == 0 && c.operation.answer[name] {
				code = fault.ReadOnly
			}
			if !c.add(member(path, name), code, nil) || code != fault.UnknownField {
				continue
			}
			near := ""
			if c.compared++; c.compared <= maxCompared {
				near = fault.Nearest(name, known)
			}
			if near != "" {
				c.say(fault.DidYouMean(near))
			} else if !c.listed {
				c.listed = true // the list is long
				c.say(knownMembers(known))
			}
		}
	case *kind.MinLength:
		if c.add(path, fault.TooShort, k.Want) && k.Want == 1 && slices.Contains(list(c.schema(e)["type"]), any("null")) {
			c.say(emptyIsNull)
		}
	case *kind.MaxLength:
		c.add(path, fault.TooLong, k.Want)
	case *kind.PropertyNames:
		c.add([]string{memberOf(e.SchemaURL), k.Property}, fault.InvalidFormat, form(pattern.Attribute))
	case *kind.MaxProperties:
		c.add(path, fault.TooLong, fault.Items(k.Want))
	case *kind.MinItems:
		c.add(path, fault.TooShort, fault.Items(k.Want))
	case *kind.MaxItems:
		c.add(path, fault.TooLong, fault.Items(k.Want))
	case *kind.Minimum, *kind.Maximum:
		c.add(path, fault.OutOfRange, c.bounds(e))
	case *kind.Enum:
		c.add(path, fault.NotInEnum, choice(k.Want))
	case *kind.Const:
		c.add(path, fault.NotInEnum, texts([]any{k.Want}))
	case *kind.Format:
		c.add(path, fault.InvalidFormat, form(k.Want))
	case *kind.Pattern:
		code := fault.InvalidFormat
		if pattern.Prefixes(k.Want) != nil {
			code = fault.FieldNotFound // a malformed id is treated like an unknown one, as in a path
		}
		c.add(path, code, form(k.Want))
	case *kind.UniqueItems:
		c.add(member(path, strconv.Itoa(k.Duplicates[1])), fault.Duplicate, nil)
	case *kind.AnyOf: // one schema or null: the error about the schema is useful
		c.collect(e.Causes[0])
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		for _, cause := range e.Causes {
			c.collect(cause)
		}
	default:
		c.add(path, fault.InvalidFormat, nil)
	}
}

// memberOf returns the member whose schema has a rule about names. The location of such an error is
// useless, because the library overwrites it with the locations of later errors. Only members of the
// body itself have such a rule.
func memberOf(url string) string {
	before, _, _ := strings.Cut(url, "/propertyNames")
	return before[strings.LastIndexByte(before, '/')+1:]
}

// schema returns the part of the document with the rule that e breaks.
func (c *collector) schema(e *jsonschema.ValidationError) map[string]any {
	_, fragment, _ := strings.Cut(e.SchemaURL, "#")
	return c.document.object(c.document.at(fragment))
}

func (c *collector) bounds(e *jsonschema.ValidationError) any {
	low, high := bounds(c.schema(e), "minimum", "maximum")
	if low != math.MinInt64 && high != math.MaxInt64 {
		return fault.Range{Min: low, Max: high}
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Minimum:
		return atLeast(k.Want)
	case *kind.Maximum:
		return atMost(k.Want)
	}
	return nil
}

func atLeast(n *big.Rat) i18n.Text {
	return i18n.Format("at least %s", n.RatString())
}

func atMost(n *big.Rat) i18n.Text {
	return i18n.Format("at most %s", n.RatString())
}

var countryCode = i18n.Text("a country code of two capital letters from ISO 3166-1 alpha-2, for example DE")

// choice returns the allowed values as texts.
func choice(values []any) any {
	var names []string
	for _, v := range values {
		if v == nil {
			names = append(names, "null")
		} else {
			names = append(names, fmt.Sprint(v))
		}
	}
	return names
}

// typeNames returns the names of the allowed types without null, which clients rarely intend to
// send.
func typeNames(want []string) any {
	var names []string
	for _, name := range want {
		if name != "null" {
			names = append(names, name)
		}
	}
	if len(names) == 1 {
		return names[0]
	}
	return names
}

func form(name string) any {
	if t, known := expected[name]; known {
		return t
	}
	if strings.HasPrefix(name, pattern.Web) {
		return expected["uri"]
	}
	if prefixes := pattern.Prefixes(name); prefixes != nil {
		return wantsID(prefixes)
	}
	return nil
}

// wantsID returns a text that describes the form of an id.
func wantsID(prefixes []string) i18n.Text {
	var choice any = prefixes[0]
	for _, prefix := range prefixes[1:] {
		choice = i18n.Format("%s or %s", choice, prefix)
	}
	return i18n.Format("an id that begins with %s and has 26 characters after that", choice)
}

func member(path []string, name string) []string {
	return append(path[:len(path):len(path)], name)
}

// dotted returns a path in the notation of the contract, for example address.country or tags[3].
func dotted(path []string) string {
	var b strings.Builder
	for i, token := range path {
		if i > 0 && index(token) {
			b.WriteString("[" + token + "]")
			continue
		}
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(token)
	}
	return b.String()
}

// pathOf returns the path of a name in this notation. It is the inverse of dotted.
func pathOf(name string) []string {
	return strings.FieldsFunc(name, func(c rune) bool { return c == '.' || c == '[' || c == ']' })
}

// index reports whether a token of a path is an array index. No member of the document has a name
// of digits only.
func index(token string) bool {
	for i := range len(token) {
		if token[i] < '0' || token[i] > '9' {
			return false
		}
	}
	return token != "" && len(token) < 10
}
