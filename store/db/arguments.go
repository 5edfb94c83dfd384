package db

import (
	"fmt"
	"reflect"

	"kartei/kit/clock"
)

type kind uint8

const (
	kindNull kind = iota
	kindText
	kindInt
	kindBool
	kindFloat
)

// value is an argument of a statement in a form that both engines take.
type value struct {
	kind  kind
	text  string
	int   int64
	float float64
}

// valueOf converts an argument. It takes nil, a string, []byte, bool, integer
// or float64, a type of such a kind, and a pointer to one (nil is NULL).
func valueOf(arg any) (value, error) {
	switch v := arg.(type) {
	case nil:
		return value{}, nil
	case string:
		return value{kind: kindText, text: v}, nil
	case int64:
		return value{kind: kindInt, int: v}, nil
	case int:
		return value{kind: kindInt, int: int64(v)}, nil
	case bool:
		return boolValue(v), nil
	case clock.Micros:
		return value{kind: kindInt, int: int64(v)}, nil
	case *string:
		if v == nil {
			return value{}, nil
		}
		return value{kind: kindText, text: *v}, nil
	case []byte:
		if v == nil {
			return value{}, nil
		}
		return value{kind: kindText, text: string(v)}, nil
	}
	return reflected(reflect.ValueOf(arg))
}

func boolValue(b bool) value {
	v := value{kind: kindBool}
	if b {
		v.int = 1
	}
	return v
}

func reflected(v reflect.Value) (value, error) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return value{}, nil
		}
		return valueOf(v.Elem().Interface())
	case reflect.String:
		return value{kind: kindText, text: v.String()}, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return value{kind: kindInt, int: v.Int()}, nil
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return value{kind: kindInt, int: int64(v.Uint())}, nil
	case reflect.Uint, reflect.Uint64:
		if n := v.Uint(); n < 1<<63 {
			return value{kind: kindInt, int: int64(n)}, nil
		}
	case reflect.Bool:
		return boolValue(v.Bool()), nil
	case reflect.Float32, reflect.Float64:
		return value{kind: kindFloat, float: v.Float()}, nil
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			if v.IsNil() {
				return value{}, nil
			}
			return value{kind: kindText, text: string(v.Bytes())}, nil
		}
	}
	return value{}, fmt.Errorf("db: argument of type %s", v.Type())
}

// plain returns the argument in a form that pgx takes without reflection.
func (v value) plain() any {
	switch v.kind {
	case kindText:
		return v.text
	case kindInt:
		return v.int
	case kindBool:
		return v.int != 0
	case kindFloat:
		return v.float
	}
	return nil
}

// plainArgs returns a copy of the arguments in that form.
func plainArgs(args []any) ([]any, error) {
	plain := make([]any, len(args))
	for i, arg := range args {
		switch arg.(type) {
		case string, int64, bool:
			plain[i] = arg
			continue
		}
		v, err := valueOf(arg)
		if err != nil {
			return nil, err
		}
		plain[i] = v.plain()
	}
	return plain, nil
}
