package draft

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"kartei/api"
	"kartei/api/schema/pattern"
	"kartei/integration/event"
	"kartei/integration/webhook"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/record"

	"github.com/go-json-experiment/json/jsontext"
)

// schemaMode says where a schema is used: in a response, in a create or in a merge patch. Schemas
// of responses allow unknown members, and schemas of requests do not.
type schemaMode int

const (
	answering schemaMode = iota
	creating
	patching
)

func (m schemaMode) suffix() string { return [...]string{"", "Create", "Patch"}[m] }

type schemaKey struct {
	t    reflect.Type
	mode schemaMode
}

var (
	microsType     = reflect.TypeFor[clock.Micros]()
	jsonType       = reflect.TypeFor[jsontext.Value]()
	envelopeType   = reflect.TypeFor[record.Envelope]()
	attributesType = reflect.TypeFor[record.Attributes]()
	eventType      = reflect.TypeFor[event.Event]()
)

// These limits are for fields without a limit in their tags: the length of a text in characters,
// the items of an array, and the length of an id.
const (
	maxText  = 500
	maxArray = 1_000
	idLength = 30
	// maxInteger is the largest integer that every JSON reader represents
	// exactly (RFC 8259, section 6).
	maxInteger int64 = 1<<53 - 1
)

// wordPattern matches the values of enums, except event types.
const wordPattern = "^[A-Za-z][A-Za-z0-9_]*$"

// eventPattern matches event types.
const eventPattern = "^[a-z_]+[.][a-z_]+$"

// schemaName returns the name of a type's schema in the document.
func schemaName(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[record.Marker]():
		return "DeletionMarker"
	case reflect.TypeFor[api.Document]():
		return "OpenAPIDocument"
	case reflect.TypeFor[webhook.TestOutput]():
		return "WebhookTestSent"
	}
	name := t.Name()
	switch name {
	case "Page", "Subject", "Calls", "Call", "Headers", "Results", "Result",
		"Endpoint", "EndpointWithSecret", "EndpointPage", "Delivery", "DeliveryPage":
		// These names are unclear without the name of their package.
		pkg := t.PkgPath()[strings.LastIndexByte(t.PkgPath(), '/')+1:]
		return strings.ToUpper(pkg[:1]) + pkg[1:] + name
	}
	return name
}

// answerSchema returns a reference to the schema of an operation's response body.
func (d *drafter) answerSchema(row *api.Operation) (object, error) {
	t, page := answerType(row)
	if t == reflect.TypeFor[api.Document]() {
		return d.share("schemas", schemaName(t), d.documentSchema()), nil
	}
	if !page {
		return d.structSchema(t, answering)
	}
	item, err := d.listItem(t)
	if err != nil {
		return nil, err
	}
	return d.share("schemas", answerName(row), d.pageSchema(item)), nil
}

// listItem describes an entry of a page. An entry is a record or a deletion marker, and one schema
// has the members of both. A union (anyOf, oneOf) would be more precise. But a record has no member
// by which a generated client can choose the branch. The Java client would then read a deletion
// marker as a record without a name.
func (d *drafter) listItem(t reflect.Type) (object, error) {
	item, err := d.members(t, answering)
	if err != nil {
		return nil, err
	}
	marker, err := d.members(reflect.TypeFor[record.Marker](), answering)
	if err != nil {
		return nil, err
	}
	properties, both := item.get("properties").(object), []string{}
	for _, member := range marker.get("properties").(object) {
		if properties.get(member.name) == nil {
			properties.set(member.name, member.value)
		} else {
			both = append(both, member.name)
		}
	}
	item.set("description", d.say(t.String())+"\n\n"+d.say("schema.ListItem"))
	item.set("required", both)
	item.set("properties", properties)
	return d.share("schemas", schemaName(t)+"ListItem", item), nil
}

// documentSchema describes the response body that is an OpenAPI document. It has only the members
// that a client needs before it passes the document to a tool.
func (d *drafter) documentSchema() object {
	open := func(key string) object {
		return object{
			{"description", d.say(key)},
			{"type", "object"},
			{"additionalProperties", true},
			{"examples", []object{{}}},
		}
	}
	return object{
		{"description", d.say("schema.OpenAPIDocument")},
		{"type", "object"},
		{"required", []string{"openapi", "info", "paths"}},
		{"properties", object{
			{"openapi", object{
				{"description", d.say("schema.OpenAPIDocument.openapi")},
				{"type", "string"},
				{"maxLength", 10},
				{"pattern", `^3[.]1[.][0-9]+$`},
				{"examples", []string{"3.1.1"}},
			}},
			{"info", open("schema.OpenAPIDocument.info")},
			{"paths", open("schema.OpenAPIDocument.paths")},
		}},
		{"additionalProperties", true},
	}
}

func (d *drafter) pageSchema(item object) object {
	return object{
		{"description", d.say("schema.Page")},
		{"type", "object"},
		{"required", []string{"data", "hasMore", "nextCursor"}},
		{"properties", object{
			{"data", object{
				{"description", d.say("schema.Page.data")},
				{"type", "array"},
				{"maxItems", 100},
				{"items", item},
				{"examples", []any{[]any{}}},
			}},
			{"hasMore", object{{"description", d.say("schema.Page.hasMore")}, {"type", "boolean"}, {"examples", []bool{false}}}},
			{"nextCursor", object{
				{"description", d.say("schema.Page.nextCursor")},
				{"type", []string{"string", "null"}}, {"maxLength", 4096}, {"pattern", pattern.Parameter},
				{"examples", []string{"AX3k9bQ"}},
			}},
		}},
	}
}

// nullable returns the branches of an anyOf: the schema ref, and null. A schema with a name never
// allows null itself, because client generators make a class for each name.
func nullable(ref object) []object { return []object{ref, {{"type", "null"}}} }

// structSchema returns a reference to the schema of a struct.
func (d *drafter) structSchema(t reflect.Type, mode schemaMode) (object, error) {
	key := schemaKey{t, mode}
	if mode == patching { // An object in a merge patch has the same members as in a create.
		mode, key.mode = creating, creating
	}
	if name, known := d.names[key]; known {
		return reference("schemas", name), nil
	}
	name := schemaName(t)
	if mode != answering {
		name += "Input"
	}
	schema, err := d.members(t, mode)
	if err != nil {
		return nil, err
	}
	d.names[key] = name
	return d.share("schemas", name, schema), nil
}

// members describes a struct. The members of embedded structs are among its own.
func (d *drafter) members(t reflect.Type, mode schemaMode) (object, error) {
	var properties object
	var required []string
	for _, f := range fieldsOf(t) {
		if mode != answering && f.Tag.Get("read") == "true" {
			continue
		}
		name := jsonName(f)
		schema, err := d.value(t, f, mode)
		if err != nil {
			return nil, fmt.Errorf("%s.%s: %w", t.Name(), f.Name, err)
		}
		properties.set(name, schema)
		if mode == answering || mode == creating && f.Tag.Get("required") == "true" {
			required = append(required, name)
		}
	}
	out := object{{"type", "object"}}
	if len(required) > 0 {
		out.set("required", required)
	}
	out.set("properties", properties)
	if mode != answering {
		out.set("additionalProperties", false)
	}
	return append(object{{"description", d.say(t.String())}}, out...), nil
}

// member is a struct field and the struct type that declares it. A promoted field is declared by an
// embedded struct.
type member struct {
	reflect.StructField
	in reflect.Type
}

// key returns the key of the member's description in package api/words.
func (m member) key() string {
	name := m.Tag.Get("query")
	if name == "" {
		name = jsonName(m)
	}
	return m.in.String() + "." + name
}

// fieldsOf returns the fields of a struct that are encoded to JSON, in their order.
func fieldsOf(t reflect.Type) []member {
	var out []member
	for _, f := range reflect.VisibleFields(t) {
		if m := (member{f, declaring(t, f)}); !f.Anonymous && f.IsExported() && jsonName(m) != "-" {
			out = append(out, m)
		}
	}
	return out
}

func jsonName(f member) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// value returns the schema of one member or parameter. parent is the struct of a member, and nil
// for a parameter.
func (d *drafter) value(parent reflect.Type, f member, mode schemaMode) (object, error) {
	t, null := f.Type, false
	if t.Kind() == reflect.Pointer {
		t, null = t.Elem(), true
	}
	out := object{{"description", d.say(f.key())}}
	switch {
	case t.Kind() == reflect.Struct:
		return d.structValue(out, t, f, mode, null)
	case t == jsonType && f.Tag.Get("problem") != "":
		codes := strings.Split(f.Tag.Get("problem"), ",")
		out.set("anyOf", nullable(d.share("schemas", "Problem", d.problemSchema())))
		out.set("x-kartei-codes", codes)
		out.set("examples", []any{problemBody(fault.Code(codes[0]))})
		return out, nil
	case t.Kind() == reflect.Slice && t != jsonType:
		return d.array(out, parent, f, mode)
	}
	if err := d.plain(&out, t, parent, f, mode, null); err != nil {
		return nil, err
	}
	// In a merge patch, an absent member stays unchanged (RFC 7396). With a default, clients that
	// fill in defaults would change members that the user did not set.
	if text := f.Tag.Get("default"); text != "" && mode != patching {
		value, err := literal(t, text)
		if err != nil {
			return nil, err
		}
		out.set("default", value)
	}
	example, err := fieldExample(parent, f)
	if err != nil {
		return nil, err
	}
	if example != nil {
		out.set("examples", []any{example})
	} else if null {
		out.set("examples", []any{nil})
	}
	return out, nil
}

// structValue returns the schema of a member that is a struct: the member's description in out, a
// reference to the struct's schema, and an example.
func (d *drafter) structValue(out object, t reflect.Type, f member, mode schemaMode, null bool) (object, error) {
	ref, err := d.structSchema(t, mode)
	if err != nil {
		return nil, err
	}
	if null {
		ref = object{{"anyOf", nullable(ref)}}
	}
	example, err := valueExample(t)
	if f.Tag.Get("example") == "null" {
		example = nil
	}
	return append(append(out, ref...), field{"examples", []any{example}}), err
}

// plain adds the type and the bounds of a member that is neither a struct nor an array.
func (d *drafter) plain(out *object, t, parent reflect.Type, f member, mode schemaMode, null bool) error {
	switch {
	case t == jsonType && mode == answering:
		out.set("anyOf", nullable(d.share("schemas", "JsonObject", object{
			{"description", d.say("schema.JsonObject")}, {"type", "object"}, {"additionalProperties", true},
			{"examples", []object{{}}},
		})))
	case t == jsonType: // any JSON value, because the document does not restrict it
	case t == attributesType:
		return attributesSchema(out, parent, f, mode)
	case t.Kind() == reflect.Map:
		*out = append(*out, typed("object", null), field{
			"additionalProperties",
			object{{"type", "string"}, {"maxLength", 2000}, {"pattern", pattern.Parameter}},
		})
	case t == microsType:
		*out = append(*out, typed("string", null), field{"format", "date-time"}, field{"maxLength", 64})
	case t.Kind() == reflect.String && f.Tag.Get("named") != "" && mode != answering:
		ref := d.namedEnum(f)
		if null {
			ref = object{{"anyOf", nullable(ref)}}
		}
		*out = append(*out, ref...)
	case t.Kind() == reflect.String:
		return textSchema(out, parent, f, mode, null)
	case t.Kind() == reflect.Bool:
		*out = append(*out, typed("boolean", null))
	case t.Kind() == reflect.Int || t.Kind() == reflect.Int64:
		return integerSchema(out, f, null)
	default:
		return fmt.Errorf("has a type that the draft does not know: %s", t)
	}
	return nil
}

// attributesSchema adds the rules of record.Attributes. In a merge patch, null removes an attribute
// or all of them.
func attributesSchema(out *object, parent reflect.Type, f member, mode schemaMode) error {
	most, err := strconv.Atoi(f.Tag.Get("maxItems"))
	if err != nil {
		return err
	}
	var value object
	if err := textSchema(&value, parent, f, mode, mode == patching); err != nil {
		return err
	}
	if mode == patching { // it may remove as many as it sets
		most *= 2
	}
	*out = append(*out, typed("object", mode == patching), field{"maxProperties", most},
		field{"propertyNames", object{{"pattern", pattern.Attribute}}}, field{"additionalProperties", value})
	return nil
}

func typed(name string, null bool) field {
	if null {
		return field{"type", []string{name, "null"}}
	}
	return field{"type", name}
}

func (d *drafter) array(out object, parent reflect.Type, f member, mode schemaMode) (object, error) {
	limit := maxArray
	if text := f.Tag.Get("maxItems"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, err
		}
		limit = n
	}
	// In a merge patch, null empties an array. An array that must not be empty does not allow null.
	out = append(out, typed("array", mode == patching && f.Tag.Get("required") == ""))
	if text := f.Tag.Get("minItems"); text != "" {
		least, err := strconv.Atoi(text)
		if err != nil {
			return nil, err
		}
		out.set("minItems", least)
	}
	out.set("maxItems", limit)
	element := f.Type.Elem()
	if element.Kind() == reflect.Struct {
		ref, err := d.structSchema(element, mode)
		if err != nil {
			return nil, err
		}
		out.set("items", ref)
		if example, err := fieldExample(parent, f); example != nil {
			out.set("examples", []any{example})
			return out, err
		}
		example, err := valueExample(element)
		out.set("examples", []any{[]any{example}})
		return out, err
	}
	if element.Kind() != reflect.String {
		return nil, fmt.Errorf("has a type that the draft does not know: %s", f.Type)
	}
	var item object
	if f.Tag.Get("named") != "" && mode != answering {
		item = d.namedEnum(f)
	} else if err := textSchema(&item, parent, f, mode, false); err != nil {
		return nil, err
	}
	out.set("items", item)
	example, err := fieldExample(parent, f)
	if example != nil {
		out.set("examples", []any{example})
	}
	return out, err
}

// textSchema adds the rules of a text: allowed values, lengths and pattern. Texts in requests must
// satisfy all of them. For responses, textSchema omits rules that a new value could break
// (contract, 'Versioning' 5).
func textSchema(out *object, parent reflect.Type, f member, mode schemaMode, null bool) error {
	*out = append(*out, typed("string", null))
	if object := recordObject(parent); object != "" && f.Name == "Object" {
		out.set("enum", []string{object})
		return nil
	}
	if enum := f.Tag.Get("enum"); enum != "" {
		enumSchema(out, enum, mode, null)
		return nil
	}
	least, limit := 1, maxText
	if mode == answering {
		least = 0
	}
	for tag, n := range map[string]*int{"min": &least, "max": &limit} {
		if text := f.Tag.Get(tag); text != "" {
			v, err := strconv.Atoi(text)
			if err != nil {
				return err
			}
			*n = v
		}
	}
	rule := textRule(parent, f, mode)
	format := f.Tag.Get("format")
	if format == "language" || format == "website" { // formats of ours
		format = ""
	}
	if format != "" {
		out.set("format", format)
	}
	switch {
	case strings.HasSuffix(rule, pattern.IDShape):
		least, limit = 0, idLength
	case format == "date":
		least, limit = 0, len("2026-11-01")
	}
	if least > 0 {
		out.set("minLength", least)
	}
	out.set("maxLength", limit)
	if rule != "" && (format == "" || format == "uri") {
		out.set("pattern", rule)
	}
	return nil
}

// textRule returns the pattern that a text must match.
func textRule(parent reflect.Type, f member, mode schemaMode) string {
	if p := f.Tag.Get("pattern"); p != "" {
		return p
	}
	if p := f.Tag.Get("prefix"); p != "" {
		return pattern.ID(strings.Split(p, ",")...)
	}
	if f.Name == "ID" && parent != nil {
		for _, family := range api.Families {
			if family.Object == recordObject(parent) {
				return pattern.ID(family.Prefix)
			}
		}
	}
	if mode == answering && (isID(f.Tag.Get("example")) || f.Name == "ID") {
		return "^[a-z]{3}" + pattern.IDShape
	}
	switch {
	case f.Tag.Get("format") == "language":
		return pattern.Language
	case f.Tag.Get("format") == "website":
		return pattern.Website
	case f.Tag.Get("format") == "uri":
		return "^[Hh][Tt][Tt][Pp][Ss]?://"
	case mode == answering && f.Tag.Get("multiline") == "true":
		return "^[^" + pattern.ControlInText + "]*$"
	case mode == answering:
		return pattern.Parameter
	case parent == nil: // a parameter, whose value is never stored
		return pattern.Parameter
	case f.Tag.Get("multiline") == "true":
		return pattern.Text
	}
	return pattern.Line
}

func isID(s string) bool {
	i := strings.IndexByte(s, '_')
	return i > 0 && id.Valid(s[:i+1], s)
}

// namedEnum returns a reference to a named schema with the values that requests may have for a
// member. Because the schema has a name, a generated client has one class for all its uses. The
// schema does not allow null.
func (d *drafter) namedEnum(f member) object {
	out := object{{"description", d.say(f.key())}, typed("string", false)}
	enumSchema(&out, f.Tag.Get("enum"), creating, false)
	return d.share("schemas", f.Tag.Get("named"), out)
}

// enumSchema adds the values of an enum. Requests may have only these values. For responses, the
// values are only a list (x-extensible-enum), since values may be added later.
func enumSchema(out *object, enum string, mode schemaMode, null bool) {
	names, shape := strings.Split(enum, ","), wordPattern
	switch enum {
	case "iso3166":
		// This is a pattern, because every client would get a class of 249 names from an enum. Some
		// of the names also have other meanings: MR and MS are salutations too.
		out.set("maxLength", 2)
		if mode == answering {
			out.set("pattern", "^[A-Z]{2}$")
			return
		}
		out.set("pattern", "^("+strings.Join(strings.Fields(countries), "|")+")$")
		out.set("x-kartei-list", "ISO 3166-1 alpha-2")
		return
	case "events":
		names, shape = event.Subscribable(), eventPattern
	}
	if mode == answering && len(names) > 1 {
		out.set("maxLength", 50)
		out.set("pattern", shape)
		out.set("x-extensible-enum", names)
		return
	}
	values := make([]any, 0, len(names)+1)
	for _, n := range names {
		values = append(values, n)
	}
	if null {
		values = append(values, nil)
	}
	out.set("enum", values)
}

func integerSchema(out *object, f member, null bool) error {
	format := "int64"
	if f.Type.Kind() == reflect.Int {
		format = "int32"
	}
	*out = append(*out, typed("integer", null), field{"format", format})
	for tag, keyword := range map[string]string{"min": "minimum", "max": "maximum"} {
		if text := f.Tag.Get(tag); text != "" {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return err
			}
			out.set(keyword, n)
		}
	}
	if out.get("maximum") == nil {
		out.set("maximum", maxInteger)
	}
	slices.SortStableFunc(*out, func(a, b field) int { return boundRank(a) - boundRank(b) })
	return nil
}

// boundRank returns the sort rank of a schema keyword: minimum and maximum come last, in this
// order.
func boundRank(f field) int {
	switch f.name {
	case "minimum":
		return 1
	case "maximum":
		return 2
	}
	return 0
}

// recordObject returns the value of the member object in records of type t, such as
// webhook_endpoint. It returns "" if t is not a record.
func recordObject(t reflect.Type) string {
	if t == nil || t.Kind() != reflect.Struct || t.NumField() == 0 || t.Field(0).Type != envelopeType {
		return ""
	}
	var b strings.Builder
	for i, c := range t.Name() {
		if i > 0 && unicode.IsUpper(c) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}

// literal parses the text of a tag as a value of type t. It fails if the text has another type.
func literal(t reflect.Type, text string) (any, error) {
	switch t.Kind() {
	case reflect.Bool:
		return strconv.ParseBool(text)
	case reflect.Int, reflect.Int64:
		if t == microsType {
			return text, nil
		}
		return strconv.ParseInt(text, 10, 64)
	case reflect.Slice, reflect.Map:
		v := jsontext.Value(text)
		if !v.IsValid() {
			return nil, fmt.Errorf("example %s is no JSON", text)
		}
		return v, nil
	}
	return text, nil
}

// fieldExample returns an example of a member's value, or nil if its tags and name give none.
func fieldExample(parent reflect.Type, f member) (any, error) {
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch text := f.Tag.Get("example"); {
	case text == "null":
		return nil, nil
	case text != "":
		return literal(t, text)
	case f.Name == "Object" && recordObject(parent) != "":
		return recordObject(parent), nil
	case f.Name == "Object":
		return "contact", nil
	case f.Name == "ID":
		for _, family := range api.Families {
			if o := recordObject(parent); o == "" || family.Object == o {
				return family.Prefix + exampleSuffix, nil
			}
		}
	case f.Tag.Get("prefix") != "":
		first, _, _ := strings.Cut(f.Tag.Get("prefix"), ",")
		return first + exampleSuffix, nil
	}
	return nil, nil
}

// valueExample returns an example of a struct with all its members.
func valueExample(t reflect.Type) (any, error) {
	var out object
	for _, f := range fieldsOf(t) {
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		example, err := fieldExample(t, f)
		switch {
		case err != nil:
			return nil, err
		case example != nil && !(f.Type.Kind() == reflect.Pointer && f.Tag.Get("prefix") != ""):
		case inner.Kind() == reflect.Struct && f.Tag.Get("example") != "null":
			example, err = valueExample(inner)
		case inner.Kind() == reflect.Slice && inner.Elem().Kind() == reflect.Struct:
			example, err = valueExample(inner.Elem())
			example = []any{example}
		default:
			example = nil
		}
		if err != nil {
			return nil, err
		}
		out.set(jsonName(f), example)
	}
	return out, nil
}

// bodyExample returns an example of a request body. The example of a create has all members except
// optional references to other records. The example of a patch has only the members with the tag
// patch.
func bodyExample(t reflect.Type, mode schemaMode) (any, error) {
	full, err := valueExample(t)
	if err != nil {
		return nil, err
	}
	var out, patch object
	for _, f := range fieldsOf(t) {
		name := jsonName(f)
		if f.Tag.Get("read") == "true" || f.Tag.Get("prefix") != "" && f.Tag.Get("required") == "" {
			continue
		}
		out.set(name, full.(object).get(name))
		switch f.Tag.Get("patch") {
		case "set":
			patch.set(name, full.(object).get(name))
		case "clear":
			patch.set(name, nil)
		}
	}
	if mode == patching && patch != nil {
		return patch, nil
	}
	return out, nil
}

// countries are the 249 codes of ISO 3166-1 alpha-2.
const countries = `AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ
BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ
CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ
DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR
GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY
HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP
KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY
MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ
NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY
QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ
TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM US UY UZ
VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW`
