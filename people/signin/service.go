package signin

import "kartei/api/op"

// Service is the desk at which people sign in.
var Service = op.Need[*Desk]("sign-in")

// Issuer returns the OpenID provider of the instance, empty if there is none.
func Issuer(c *op.Call) string {
	if s := Service.In(c); s != nil && s.Provider != nil {
		return s.Provider.Issuer()
	}
	return ""
}
