package instance

import (
	"kartei/people/identity"
	"kartei/people/sso"
)

// takeProvider creates the client of the OpenID provider if a provider is configured. The client
// sends no request before a person signs in.
func (i *Instance) takeProvider() error {
	s := &i.config.Server
	if s.OIDCIssuer == "" {
		return nil
	}
	guard, err := s.OIDCEgress()
	if err != nil {
		return err
	}
	i.provider = sso.New(sso.Options{
		Issuer: string(s.OIDCIssuer), ClientID: s.OIDCClientID, ClientSecret: string(s.OIDCClientSecret), Name: s.OIDCName,
		Callback: i.BaseURL + identity.ReturnPath, Egress: guard, Clock: i.clock,
	})
	return nil
}
