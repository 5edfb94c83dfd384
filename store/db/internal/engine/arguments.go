package engine

import (
	"fmt"
	"reflect"

	"kartei/kit/clock"
)

// Kind is the type of a Value.
type Kind uint8

// The kinds of values.
const (
	KindNull Kind = iota
	KindText
	KindInt
	KindBool
	KindFloat
)

// Value is an argument of a statement in a form that both engines accept. For a bool, Int is 0 or
// 1.
type Value struct {
	Kind  Kind
	Text  string
	Int   int64
	Float float64
}

// ValueOf converts an argument. It accepts nil, a string, []byte, bool, integer or float64, and
// types of these kinds. It also accepts pointers to these, and a nil pointer is NULL. Other types
// are errors.
func ValueOf(arg any) (Value, error) {
	switch v := arg.(type) {
	case nil:
		return Value{}, nil
	case string:
		return Value{Kind: KindText, Text: v}, nil
	case int64:
		return Value{Kind: KindInt, Int: v}, nil
	case int:
		return Value{Kind: KindInt, Int: int64(v)}, nil
	case bool:
		return boolValue(v), nil
	case clock.Micros:
		return Value{Kind: KindInt, Int: int64(v)}, nil
	case *string:
		if v == nil {
			return Value{}, nil
		}
		return Value{Kind: KindText, Text: *v}, nil
	case []byte:
		if v == nil {
			return Value{}, nil
		}
		return Value{Kind: KindText, Text: string(v)}, nil
	}
	return reflected(reflect.ValueOf(arg))
}

func boolValue(b bool) Value {
	v := Value{Kind: KindBool}
	if b {
		v.Int = 1
	}
	return v
}

func reflected(v reflect.Value) (Value, error) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return Value{}, nil
		}
		return ValueOf(v.Elem().Interface())
	case reflect.String:
		return Value{Kind: KindText, Text: v.String()}, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return Value{Kind: KindInt, Int: v.Int()}, nil
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return Value{Kind: KindInt, Int: int64(v.Uint())}, nil
	case reflect.Uint, reflect.Uint64:
		if n := v.Uint(); n < 1<<63 {
			return Value{Kind: KindInt, Int: int64(n)}, nil
		}
	case reflect.Bool:
		return boolValue(v.Bool()), nil
	case reflect.Float32, reflect.Float64:
		return Value{Kind: KindFloat, Float: v.Float()}, nil
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			if v.IsNil() {
				return Value{}, nil
			}
			return Value{Kind: KindText, Text: string(v.Bytes())}, nil
		}
	}
	return Value{}, fmt.Errorf("db: argument of type %s", v.Type())
}

// plain returns the value in a form that pgx encodes without reflection.
func (v Value) plain() any {
	switch v.Kind {
	case KindText:
		return v.Text
	case KindInt:
		return v.Int
	case KindBool:
		return v.Int != 0
	case KindFloat:
		return v.Float
	}
	return nil
}

// PlainArgs returns a copy of the arguments in a form that pgx encodes without reflection.
func PlainArgs(args []any) ([]any, error) {
	plain := make([]any, len(args))
	for i, arg := range args {
		switch arg.(type) {
		case string, int64, bool:
			plain[i] = arg
			continue
		}
		v, err := ValueOf(arg)
		if err != nil {
			return nil, err
		}
		plain[i] = v.plain()
	}
	return plain, nil
}
