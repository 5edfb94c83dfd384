package limit

import "strconv"

// Headers returns the values of the RateLimit and RateLimit-Policy headers
// for the policies that apply to a call, the tightest first. The syntax follows
// draft-ietf-httpapi-ratelimit-headers-11: lists of quoted strings with
// parameters (RFC 9651). If the draft changes, only this file needs a change.
//
//	RateLimit: "key";r=412;t=38
//	RateLimit-Policy: "key";q=300;w=60, "writes";q=60;w=60
//
// The draft's parameter qu is the unit: requests (the default), content-bytes or
// concurrent-requests. The draft has no unit for points, writes, deletes and
// records, and no private units. So the policies for these have no qu. The name
// of a policy says what it counts, and GET /rate_limit has its unit.
//
// The policy concurrency has qu="concurrent-requests". Without it, q=6;w=1 would
// mean six requests a second.
func Headers(statuses []Status) (rateLimit, policy string) {
	if len(statuses) == 0 {
		return "", ""
	}
	var b []byte
	for i := range statuses {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = appendPolicy(b, &statuses[i].Policy)
	}
	return string(AppendRateLimit(nil, statuses)), string(b)
}

// AppendRateLimit appends the value of the RateLimit header to b and returns the result. The
// matching value of RateLimit-Policy is Decision.PolicyHeader.
func AppendRateLimit(b []byte, statuses []Status) []byte {
	if len(statuses) == 0 {
		return b
	}
	s := &statuses[0]
	b = append(b, '"')
	b = append(b, s.Name...)
	b = append(b, `";r=`...)
	b = strconv.AppendInt(b, s.Remaining, 10)
	b = append(b, ";t="...)
	return strconv.AppendInt(b, s.ResetSeconds(), 10)
}

func appendPolicy(b []byte, p *Policy) []byte {
	b = append(b, '"')
	b = append(b, p.Name...)
	b = append(b, `";q=`...)
	b = strconv.AppendInt(b, p.Quota, 10)
	b = append(b, ";w="...)
	b = strconv.AppendInt(b, int64(p.Window.Seconds()), 10)
	if p.Unit == Calls {
		b = append(b, `;qu="concurrent-requests"`...)
	}
	return b
}
