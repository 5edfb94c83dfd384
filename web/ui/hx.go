package ui

import "github.com/a-h/templ"

// Hx are the attributes that let htmx load a part of a page. Only this file knows
// the names of htmx, so another version is a change of one file.
type Hx templ.OrderedAttributes

// Items returns the attributes, for a spread in a template.
func (h Hx) Items() []templ.KeyValue[string, any] { return h }

// Get loads a part of the page from an address.
func (v View) Get(address string) Hx { return v.hx("hx-get", address) }

// Post sends a form. Its part of the page is replaced by the answer.
func (v View) Post(address string) Hx { return v.hx("hx-post", address) }

// hx begins with the nonce, without which the extension hx-csp takes the other
// attributes away: injected markup does not know it.
func (v View) hx(method, address string) Hx {
	return Hx{{Key: "hx-nonce", Value: v.Nonce}, {Key: method, Value: string(v.To(address))}}
}

// Target names the element that the answer replaces, by a selector.
func (h Hx) Target(selector string) Hx { return h.with("hx-target", selector) }

// Select takes only a part of the answer, by a selector.
func (h Hx) Select(selector string) Hx { return h.with("hx-select", selector) }

// Morph changes only what differs, and keeps focus and what is being typed.
func (h Hx) Morph() Hx { return h.with("hx-swap", "outerMorph") }

// MorphInside is Morph for the contents of the target.
func (h Hx) MorphInside() Hx { return h.with("hx-swap", "innerMorph") }

// Replace puts the answer in the place of the target.
func (h Hx) Replace() Hx { return h.with("hx-swap", "outerHTML") }

// Append puts the answer at the end of the target.
func (h Hx) Append() Hx { return h.with("hx-swap", "beforeend") }

// On names the events that send: "change", "input changed delay:80ms".
func (h Hx) On(events string) Hx { return h.with("hx-trigger", events) }

// Newest gives up a request as soon as the element sends another one.
func (h Hx) Newest() Hx { return h.with("hx-sync", "this:replace") }

// Push puts the address of the part into the browser's history.
func (h Hx) Push() Hx { return h.with("hx-push-url", "true") }

// ReplaceURL puts the address of the part into the bar, without a new entry of the
// history.
func (h Hx) ReplaceURL() Hx { return h.with("hx-replace-url", "true") }

// Include sends the fields of other elements too, by a selector.
func (h Hx) Include(selector string) Hx { return h.with("hx-include", selector) }

// With adds the attributes of another one, which many links have in common.
func (h Hx) With(common Hx) Hx { return append(h[:len(h):len(h)], common...) }

func (h Hx) with(key, value string) Hx {
	return append(h[:len(h):len(h)], templ.KeyValue[string, any]{Key: key, Value: value})
}
