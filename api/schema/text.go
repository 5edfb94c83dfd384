package schema

import (
	"reflect"
	"strconv"
	"strings"
	"sync"

	"kartei/kit/fault"
	"kartei/kit/invisible"
)

// plain adds errors for texts of one line that look like other texts. Such texts change the
// direction of writing, or have only invisible characters. In a schema, this rule would need an
// unreadable pattern.
func (c *collector) plain(raw []byte, body map[string]any, target any) {
	if ordinary(raw) {
		return
	}
	c.plainIn(typeOf(target), body, nil)
}

// typeOf returns the type of the struct of a body. target is as in Body.
func typeOf(target any) reflect.Type {
	if patch, is := target.(interface{ Type() reflect.Type }); is {
		return patch.Type()
	}
	return reflect.TypeOf(target).Elem()
}

// bare removes invisible characters from the members with the tag bare, before the schema checks
// them. Such members are numbers, addresses and codes, which are often copied with invisible
// characters. The family itself removes these characters from the stored values.
func bare(raw []byte, body map[string]any, target any) {
	if !ordinary(raw) {
		bareIn(typeOf(target), body)
	}
}

func bareIn(t reflect.Type, body map[string]any) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return
	}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch sent := body[name].(type) {
		case string:
			if f.Tag.Get("bare") == "true" {
				body[name] = invisible.Remove(sent)
			}
		case map[string]any:
			bareIn(f.Type, sent)
		case []any:
			for _, entry := range sent {
				if object, is := entry.(map[string]any); is && f.Type.Kind() == reflect.Slice {
					bareIn(f.Type.Elem(), object)
				}
			}
		}
	}
}

// ordinary reports whether a body in UTF-8 has only ASCII and European letters (U+00C0 to U+024F),
// and no escaped characters. All these letters are visible. Most bodies are ordinary, and their
// texts need no further check.
func ordinary(raw []byte) bool {
	for i := 0; i < len(raw); i++ {
		switch b := raw[i]; {
		case b >= 0xC3 && b <= 0xC8 || b == 0xC9 && i+1 < len(raw) && raw[i+1] < 0x90:
			i++ // such a letter has two bytes
		case b >= 0x80, b == '\\' && i+1 < len(raw) && raw[i+1] == 'u':
			return false
		}
	}
	return true
}

func (c *collector) plainIn(t reflect.Type, value any, path []string) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch v := value.(type) {
	case string:
		if why := fault.Deceptive(v); t.Kind() == reflect.String && why != "" && !c.body.touches(path) &&
			c.add(path, fault.InvalidFormat, nil) {
			c.say(why)
		}
	case []any:
		if t.Kind() == reflect.Slice {
			for i, element := range v {
				c.plainIn(t.Elem(), element, append(path[:len(path):len(path)], strconv.Itoa(i)))
			}
		}
	case map[string]any:
		if t.Kind() != reflect.Struct {
			return
		}
		for name, inner := range membersOf(t) {
			if sent, is := v[name]; is {
				c.plainIn(inner, sent, append(path[:len(path):len(path)], name))
			}
		}
	}
}

// members caches the types of the members of each struct, by JSON name. Members with texts of
// several lines are left out, because some languages need changes of direction in running text.
// Members with the tag verbatim are left out too, because they hold texts for programs.
var members sync.Map // reflect.Type to map[string]reflect.Type

func membersOf(t reflect.Type) map[string]reflect.Type {
	if known, is := members.Load(t); is {
		return known.(map[string]reflect.Type)
	}
	found := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && !f.Anonymous && f.Tag.Get("multiline") == "" && f.Tag.Get("verbatim") == "" {
			found[name] = f.Type
		}
	}
	members.Store(t, found)
	return found
}
