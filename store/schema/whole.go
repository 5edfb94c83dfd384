package schema

// Whole maps the tables that stay on the coordinator of a cluster to the reasons. All statements go
// through the coordinator. Each row of all other tables belongs to one organization, and their
// keys, unique indexes, foreign keys and statements begin with the organization. See
// docs/decisions/0016-what-a-cluster-spreads.md.
var Whole = map[string]string{
	"organizations":    "the list of what the others are spread by; only operators change it",
	"principals":       "an account finds its persons in all organizations",
	"accounts":         "an address signs in before its organizations are known",
	"recovery_codes":   "they belong to accounts",
	"passkeys":         "they belong to accounts",
	"identities":       "they belong to accounts",
	"devices":          "they belong to accounts",
	"sessions":         "a token is looked up before its organization is known",
	"api_keys":         "a key is looked up before its organization is known",
	"oauth_clients":    "an application is looked up before its organization is known",
	"oauth_grants":     "they belong to applications",
	"oauth_approvals":  "they belong to applications",
	"oauth_tokens":     "a token is looked up before its organization is known",
	"invitations":      "a token is looked up before its organization is known",
	"sign_in_tickets":  "a token is looked up before its account is known",
	"sign_in_attempts": "guesses are counted before anybody is known",
	"generations":      "one row for all that replicas keep in memory",
	"settings":         "what is switched for the whole instance",
	"limit_replicas":   "the replicas of the instance",
}
