package settings

import (
	"maps"
	"net/mail"
	"net/netip"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"kartei/access"
	"kartei/kit/fault"
	"kartei/kit/invisible"

	"golang.org/x/text/unicode/norm"
)

// Bounds of the input of administrative operations.
const (
	maxName     = 200
	maxEmail    = 254
	maxNetworks = 50
)

// Faults collects the errors of an input, so that they are reported together.
type Faults []fault.Field

// Add adds a fault of a member, with the limit that it breaks.
func (f *Faults) Add(name string, code fault.FieldCode, limit any) {
	*f = append(*f, fault.Field{Name: name, Code: code, Limit: limit})
}

// Say adds a fault with its own text.
func (f *Faults) Say(name string, code fault.FieldCode, de, en string) {
	*f = append(*f, fault.Field{Name: name, Code: code, Text: &fault.Text{DE: de, EN: en}})
}

// Err returns the faults as one error, or nil.
func (f Faults) Err() error {
	if len(f) == 0 {
		return nil
	}
	return fault.Invalid(f...)
}

// Name normalizes and checks a name: trimmed, NFC, 1 to 200 characters, no
// control characters.
func (f *Faults) Name(field, s string) string {
	return f.Text(field, s, maxName)
}

// Text normalizes and checks a single-line text: trimmed, NFC, 1 to max
// characters, no control characters.
func (f *Faults) Text(field, s string, max int) string {
	s = norm.NFC.String(strings.TrimSpace(s))
	switch {
	case s == "":
		f.Add(field, fault.Required, nil)
	case !utf8.ValidString(s) || strings.IndexFunc(s, unicode.IsControl) >= 0:
		f.Say(field, fault.InvalidFormat, "Steuerzeichen sind nicht erlaubt.", "Control characters are not allowed.")
	case fault.Deceptive(s) != nil:
		*f = append(*f, fault.Field{Name: field, Code: fault.InvalidFormat, Text: fault.Deceptive(s)})
	case utf8.RuneCountInString(s) > max:
		f.Add(field, fault.TooLong, max)
	}
	return s
}

// Email normalizes and checks an email address. Only an actual email can tell
// whether the address exists. So the rule is coarse: one @ with a local part
// before it and a domain after it. The parser of emails must read the same
// address. Otherwise a comment, as in ida@example.org(2), would make many
// addresses of one mailbox.
func (f *Faults) Email(field, s string) string {
	before := len(*f)
	s = f.Text(field, invisible.Remove(s), maxEmail)
	local, domain, found := strings.Cut(s, "@")
	read, err := mail.ParseAddress(s)
	switch {
	case len(*f) > before:
	case !found || local == "" || domain == "" || strings.ContainsAny(s, " <>,;\"[]") || strings.Contains(domain, "@"),
		err != nil || read.Address != s, strings.ContainsFunc(s, unicode.IsSpace):
		f.Add(field, fault.InvalidFormat, "name@example.org")
	}
	return s
}

// OneOf checks a value against an enumeration.
func OneOf[T ~string](f *Faults, field string, value T, allowed ...T) {
	if slices.Contains(allowed, value) {
		return
	}
	words := make([]string, len(allowed))
	for i, a := range allowed {
		words[i] = string(a)
	}
	code := fault.NotInEnum
	if value == "" {
		code = fault.Required
	}
	f.Add(field, code, words)
}

// Rights checks the rights by family.
func (f *Faults) Rights(field string, rights access.Rights) {
	for _, family := range slices.Sorted(maps.Keys(rights)) {
		if !slices.Contains(access.Families, family) {
			f.Add(field, fault.UnknownField, slices.Clone(access.Families))
			continue
		}
		OneOf(f, field+"."+family, rights[family], access.NoRight, access.ReadRight, access.WriteRight)
	}
}

// Scopes checks scopes and returns them sorted, without duplicates.
func (f *Faults) Scopes(field string, scopes []string) []string {
	if len(scopes) == 0 {
		f.Add(field, fault.Required, nil)
	}
	var clean []string
	for i, scope := range scopes {
		if scope = strings.TrimSpace(scope); !access.ValidScope(scope) {
			f.Add(Indexed(field, i), fault.NotInEnum, access.AllScopes())
			continue
		}
		clean = append(clean, scope)
	}
	slices.Sort(clean)
	return slices.Compact(clean)
}

// The widest networks that a key may be bound to. Wider ones are no
// restriction: an IPv4 /8 and an IPv6 /16 exceed any single network operator's
// networks.
const (
	widestIPv4 = 8
	widestIPv6 = 16
)

// Networks parses addresses and CIDR networks, IPv4 or IPv6. It returns them
// without host bits, sorted and without duplicates.
func (f *Faults) Networks(field string, texts []string) []netip.Prefix {
	if len(texts) > maxNetworks {
		f.Add(field, fault.TooLong, fault.Items(maxNetworks))
		return nil
	}
	var nets []netip.Prefix
	for i, text := range texts {
		net, ok := parseNetwork(strings.TrimSpace(text))
		if !ok {
			f.Say(Indexed(field, i), fault.InvalidFormat,
				"Geben Sie eine IP-Adresse oder ein Netz in CIDR-Schreibweise an, etwa 192.0.2.7 oder 2001:db8::/48.",
				"Give an IP address or a network in CIDR notation, such as 192.0.2.7 or 2001:db8::/48.")
			continue
		}
		if net.Addr().Is4() && net.Bits() < widestIPv4 || net.Addr().Is6() && net.Bits() < widestIPv6 {
			f.Say(Indexed(field, i), fault.OutOfRange,
				"Das Netz ist zu groß: höchstens /8 bei IPv4 und /16 bei IPv6.",
				"The network is too large: at most /8 for IPv4 and /16 for IPv6.")
			continue
		}
		nets = append(nets, net)
	}
	slices.SortFunc(nets, netip.Prefix.Compare)
	return slices.Compact(nets)
}

// parseNetwork parses an address or a network. An address becomes the network
// of that address alone. IPv4 in IPv6 becomes IPv4, as it does for callers'
// addresses.
func parseNetwork(text string) (netip.Prefix, bool) {
	if addr, err := netip.ParseAddr(text); err == nil {
		if addr.Zone() != "" {
			return netip.Prefix{}, false
		}
		addr = addr.Unmap()
		return netip.PrefixFrom(addr, addr.BitLen()), true
	}
	net, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, false
	}
	if net.Addr().Is4In6() {
		if net.Bits() < 96 {
			return netip.Prefix{}, false
		}
		net = netip.PrefixFrom(net.Addr().Unmap(), net.Bits()-96)
	}
	return net.Masked(), true
}

// CheckEmail normalizes and checks an email address.
func CheckEmail(field, email string) (string, error) {
	var f Faults
	email = f.Email(field, email)
	return email, f.Err()
}
