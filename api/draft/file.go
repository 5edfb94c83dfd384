package draft

import (
	"slices"
)

// file describes the responses with a file: the whole file (200), or a part of it (206).
func (d *drafter) file() (whole, part object) {
	content := object{{"application/octet-stream", object{{"schema", object{{"type", "string"}, {"format", "binary"}}}}}}
	names := append(slices.Clone(always), "ETag", "Accept-Ranges", "Content-Disposition", "Content-Security-Policy",
		"Last-Modified", "Repr-Digest")
	whole = object{{"description", d.say("status.200.file")}, {"headers", d.headers(names...)}, {"content", content}}
	part = object{
		{"description", d.say("status.206.file")},
		{"headers", d.headers(append(names, "Content-Range")...)},
		{"content", content},
	}
	return whole, part
}

// fileParameters returns the request headers Range and If-Range, with which a client requests a
// part of a file.
func (d *drafter) fileParameters() []object {
	return []object{
		d.share("parameters", "ByteRange", object{
			{"name", "Range"}, {"in", "header"}, {"required", false},
			{"description", d.say("parameter.ByteRange")},
			{"schema", object{{"type", "string"}, {"maxLength", 1000}, {"pattern", `^[\x20-\x7e]*$`}}},
			{"example", "bytes=0-1023"},
		}),
		d.share("parameters", "IfRange", object{
			{"name", "If-Range"}, {"in", "header"}, {"required", false},
			{"description", d.say("parameter.IfRange")},
			{"schema", object{{"type", "string"}, {"maxLength", 1000}, {"pattern", `^[\x20-\x7e]*$`}}},
			{"example", `"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"`},
		}),
	}
}
