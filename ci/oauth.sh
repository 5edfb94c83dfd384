# Functions for scripts that connect programs by OAuth to a demo that they have started:
#
#   . ci/oauth.sh
#   prepare_oauth DATA URL       creates a client for a service account, and signs a person in.
#                                The exported variables KARTEI_* have both, and the URL to call.
#   no_secrets DATA              fails if the instance has logged or stored a secret of an application

member() { python3 -c 'import json,sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }

prepare_oauth() {
	local organization client
	organization=$(value 'd["organizationId"]')
	KARTEI_RESOURCE=$2
	KARTEI_ACCOUNT=$(bin/kartei service-account create --data-dir "$1" --org "$organization" --name Faxgateway --json | member id)
	KARTEI_SCOPES="contacts:read contacts:write documents:read"
	client=$(bin/kartei client create --data-dir "$1" --org "$organization" --name Faxgateway --service-account "$KARTEI_ACCOUNT" \
		--scopes "${KARTEI_SCOPES// /,}" --json)
	KARTEI_CLIENT_ID=$(member id <<<"$client")
	KARTEI_CLIENT_SECRET=$(member secret <<<"$client")

	# The person signs in once. The file has the session cookie.
	KARTEI_COOKIES=$work/cookies
	KARTEI_EMAIL=$(value 'd["login"]["email"]')
	KARTEI_PASSWORD=$(value 'd["login"]["password"]')
	export "${!KARTEI_@}"
	python3 ci/applications/browser.py sign-in "$(value 'd["webUrl"]')"
}

# The instance stores secrets as hashes and does not log them.
no_secrets() {
	if grep -rlaE 'kart_(atok|rtok|code|csec)_' "$work/log" "$1"; then
		echo "the files above have secrets of applications"
		return 1
	fi
}
