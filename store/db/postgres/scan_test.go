package postgres

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"kartei/kit/clock"
)

// TestScanPlain checks that scanPlain decodes the encoding of pgx, and refuses unknown types.
func TestScanPlain(t *testing.T) {
	types := pgtype.NewMap()
	field := func(oid uint32, format int16, value any) (pgconn.FieldDescription, []byte) {
		b, err := types.Encode(oid, format, value, []byte{})
		if err != nil {
			t.Fatal(err)
		}
		return pgconn.FieldDescription{DataTypeOID: oid, Format: format}, b
	}
	var fields []pgconn.FieldDescription
	var values [][]byte
	add := func(oid uint32, value any) {
		f, v := field(oid, pgx.BinaryFormatCode, value)
		fields, values = append(fields, f), append(values, v)
	}
	add(pgtype.Int8OID, int64(-1<<62))
	add(pgtype.Int4OID, int32(-7))
	add(pgtype.Int2OID, int16(-300))
	add(pgtype.Int8OID, int64(1_767_225_600_000_000))
	add(pgtype.TextOID, "Müller")
	add(pgtype.TextOID, "")
	add(pgtype.BoolOID, true)
	var big, middle, small int64
	var at clock.Micros
	var name string
	var content []byte
	var yes bool
	if !scanPlain(fields, values, []any{&big, &middle, &small, &at, &name, &content, &yes}) {
		t.Fatal("not read")
	}
	if big != -1<<62 || middle != -7 || small != -300 || at != 1_767_225_600_000_000 || name != "Müller" ||
		content == nil || len(content) != 0 || !yes {
		t.Errorf("%d %d %d %d %q %v %t", big, middle, small, at, name, content, yes)
	}
	values[4][0] = 'm'
	if name != "Müller" {
		t.Error("the text is not a copy")
	}
	type text string
	var own text
	var none *string
	for what, test := range map[string]struct {
		oid    uint32
		format int16
		value  any
		dest   any
	}{
		"null":              {pgtype.TextOID, pgx.BinaryFormatCode, nil, &name},
		"null of a number":  {pgtype.Int8OID, pgx.BinaryFormatCode, nil, &big},
		"a number as text":  {pgtype.Int8OID, pgx.TextFormatCode, int64(5), &big},
		"a number in text":  {pgtype.Int8OID, pgx.BinaryFormatCode, int64(5), &name},
		"a fraction":        {pgtype.Float8OID, pgx.BinaryFormatCode, 1.5, &big},
		"a type of its own": {pgtype.TextOID, pgx.BinaryFormatCode, "x", &own},
		"what may be null":  {pgtype.TextOID, pgx.BinaryFormatCode, "x", &none},
	} {
		f, v := field(test.oid, test.format, test.value)
		if scanPlain([]pgconn.FieldDescription{f}, [][]byte{v}, []any{test.dest}) {
			t.Errorf("%s was read", what)
		}
	}
	if scanPlain(fields[:1], values[:1], []any{&big, &middle}) {
		t.Error("a row that is too short was read")
	}
}
