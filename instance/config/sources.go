package config

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// EnvPrefix is the prefix of the environment variables of settings.
const EnvPrefix = "KARTEI_"

// DefaultFile is the configuration file of the packages for Debian and Red Hat. It is read if no
// other is named.
const DefaultFile = "/etc/kartei/kartei.toml"

// Names returns the names of all settings, as on the command line.
func Names() (list []string) {
	for _, t := range []reflect.Type{reflect.TypeFor[Store](), reflect.TypeFor[Server]()} {
		for i := range t.NumField() {
			list = append(list, t.Field(i).Tag.Get("name"))
		}
	}
	return list
}

// Env returns the name of the environment variable of a setting.
func Env(name string) string { return EnvPrefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_")) }

// Key returns the key of a setting in the configuration file.
func Key(name string) string { return strings.ReplaceAll(name, "-", "_") }

// Sources are the sources of settings besides the command line: the environment, and after it a
// configuration file.
type Sources struct {
	// Environ returns the value of an environment variable, and whether it is set.
	Environ func(name string) (string, bool)
	path    string
	file    map[string]string
}

// Open reads the configuration file at path. An empty path means no file. names are the settings
// that the file may have. For any other key, the error contains its line.
func (s *Sources) Open(path string, names []string) error {
	s.path, s.file = path, nil
	if path == "" {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("the configuration file: %w", err)
	}
	if s.file, err = readFile(text, names); err != nil {
		return fmt.Errorf("the configuration file %s: %w", path, err)
	}
	return nil
}

// readFile decodes a TOML file. It returns the values of the settings in names, in the notation of
// the command line.
func readFile(text []byte, names []string) (map[string]string, error) {
	// The decoder refuses keys that its target type does not have, and reports their lines. So the
	// target is a struct type with the known keys.
	fields := make([]reflect.StructField, len(names))
	for i, name := range names {
		fields[i] = reflect.StructField{
			Name: "F" + strconv.Itoa(i),
			Type: reflect.TypeFor[any](),
			Tag:  reflect.StructTag(`toml:"` + Key(name) + `"`),
		}
	}
	v := reflect.New(reflect.StructOf(fields))
	err := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(v.Interface())
	if err != nil {
		return nil, located(err, names)
	}
	values := map[string]string{}
	for i, name := range names {
		f := v.Elem().Field(i)
		if f.IsNil() {
			continue
		}
		value, err := asText(f.Interface())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", Key(name), err)
		}
		values[name] = value
	}
	return values, nil
}

func located(err error, names []string) error {
	var unknown *toml.StrictMissingError
	if errors.As(err, &unknown) {
		var lines []string
		for _, e := range unknown.Errors {
			line, _ := e.Position()
			lines = append(lines, fmt.Sprintf("line %d: there is no setting %q", line, strings.Join(e.Key(), ".")))
		}
		keys := make([]string, len(names))
		for i, name := range names {
			keys[i] = Key(name)
		}
		slices.Sort(keys)
		return fmt.Errorf("%s; accepted are %s", strings.Join(lines, "; "), strings.Join(keys, ", "))
	}
	var bad *toml.DecodeError
	if errors.As(err, &bad) {
		line, column := bad.Position()
		return fmt.Errorf("line %d, column %d: %s", line, column, strings.TrimPrefix(bad.Error(), "toml: "))
	}
	return err
}

// asText returns a TOML value in the notation of the command line.
func asText(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case bool, int64:
		return fmt.Sprint(v), nil
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			text, ok := e.(string)
			if !ok {
				return "", fmt.Errorf("%v is not accepted; accepted is an array of strings", e)
			}
			parts[i] = text
		}
		return strings.Join(parts, ","), nil
	}
	return "", fmt.Errorf("%v is not accepted; accepted are a string, a whole number, true, false or an array of strings", v)
}

// Look returns the text of a setting and its source. found is false if neither the environment nor
// the file has the setting. An empty variable counts as not set.
func (s *Sources) Look(name string) (value, source string, found bool) {
	if s.Environ != nil {
		if v, ok := s.Environ(Env(name)); ok && v != "" {
			return v, Env(name), true
		}
	}
	if v, ok := s.file[name]; ok {
		return v, s.path, true
	}
	return "", "", false
}

// Parse sets target to the value of text, in the notation of the command line. Elements of lists
// are separated by commas. target must be settable. Parse returns an error if text is not accepted.
func Parse(text string, target reflect.Value) error {
	if target.Kind() == reflect.Slice {
		list := reflect.MakeSlice(target.Type(), 0, 1)
		for part := range strings.SplitSeq(text, ",") {
			e := reflect.New(target.Type().Elem()).Elem()
			if err := Parse(strings.TrimSpace(part), e); err != nil {
				return err
			}
			list = reflect.Append(list, e)
		}
		target.Set(list)
		return nil
	}
	if u, ok := target.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return u.UnmarshalText([]byte(text))
	}
	switch target.Kind() {
	case reflect.Bool:
		if text != "true" && text != "false" {
			return fmt.Errorf("%q is not accepted; accepted are true and false", text)
		}
		target.SetBool(text == "true")
	case reflect.Int:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("%q is not accepted; accepted is a whole number", text)
		}
		target.SetInt(n)
	case reflect.String:
		target.SetString(text)
	default:
		panic(fmt.Sprintf("config: a setting of type %s", target.Type()))
	}
	return nil
}
