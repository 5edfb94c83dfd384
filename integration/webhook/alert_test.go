package webhook

import (
	"strings"
	"testing"

	"kartei/kit/clock"
	"kartei/kit/i18n"
	"kartei/people/notify"
)

// TestAlertWords checks the text of each kind of notice and each reason, in both languages.
func TestAlertWords(t *testing.T) {
	at := func(s string) clock.Micros {
		m, err := clock.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	f := AlertFacts{
		Organization: "org_1", Endpoint: "whe_1", Since: at("2026-11-02T09:00:00.000000Z"),
		At: at("2026-11-05T09:30:00.000000Z"),
	}
	gone, silent, revoked := f, f, f
	gone.Reason, silent.Reason, revoked.Reason = Gone, NoSuccess, KeyRevoked
	n := names{organization: "Kanzlei", endpoint: i18n.Format("“%s” of %s", "CRM", "Kanzlei")}
	commands := "kartei webhook enable whe_1 --org org_1 --missed"
	for _, c := range []struct {
		words          notify.Words
		titleDE, title string
		de, en         []string
	}{
		{failingWords(f, n),
			"Webhook-Endpunkt whe_1 von Kanzlei: seit 24 Stunden keine Zustellung",
			"Webhook endpoint whe_1 of Kanzlei: no delivery for 24 hours",
			[]string{
				"Seit dem 2026-11-02 09:00 (UTC) ist keine Zustellung an den Webhook-Endpunkt „CRM“ von Kanzlei mehr",
				"gelingt bis zum 2026-11-05 09:00 (UTC) keiner, wird der Endpunkt abgeschaltet",
				"steht im Zustellprotokoll des Endpunkts",
			},
			[]string{
				"No delivery to the webhook endpoint “CRM” of Kanzlei has succeeded since 2026-11-02 09:00 (UTC)",
				"if none succeeds by 2026-11-05 09:00 (UTC), the endpoint will be disabled",
				"The delivery log of the endpoint shows why",
			}},
		{disabledWords(silent, n),
			"Webhook-Endpunkt whe_1 von Kanzlei wurde abgeschaltet: 72 Stunden ohne Erfolg",
			"Webhook endpoint whe_1 of Kanzlei was disabled: 72 hours without success",
			[]string{
				"Seit dem 2026-11-02 09:00 (UTC) ist keine Zustellung an den Webhook-Endpunkt „CRM“ von Kanzlei mehr",
				"Nach 72 Stunden, am 2026-11-05 09:30 (UTC), wurde er deshalb abgeschaltet.", commands,
			},
			[]string{
				"No delivery to the webhook endpoint “CRM” of Kanzlei has succeeded since 2026-11-02 09:00 (UTC)",
				"disabled after 72 hours, at 2026-11-05 09:30 (UTC)", commands,
			}},
		{disabledWords(gone, n),
			"Webhook-Endpunkt whe_1 von Kanzlei wurde abgeschaltet: der Empfänger antwortet 410 Gone",
			"Webhook endpoint whe_1 of Kanzlei was disabled: the receiver answers 410 Gone",
			[]string{"hat am 2026-11-05 09:30 (UTC) mit 410 Gone geantwortet: Er will keine Zustellungen mehr. Der Endpunkt wurde deshalb sofort abgeschaltet.", commands},
			[]string{"answered 410 Gone at 2026-11-05 09:30 (UTC): it wants no more deliveries. The endpoint was therefore disabled at once.", commands}},
		{disabledWords(revoked, n),
			"Webhook-Endpunkt whe_1 von Kanzlei wurde abgeschaltet: sein Schlüssel oder seine Anwendung hat keinen Zugriff mehr",
			"Webhook endpoint whe_1 of Kanzlei was disabled: its key or application has no access any more",
			[]string{"Deshalb wurde er am 2026-11-05 09:30 (UTC) abgeschaltet.", commands},
			[]string{"So it was disabled, at 2026-11-05 09:30 (UTC).", commands}},
	} {
		de, en := c.words.Title.In(i18n.German), c.words.Title.In(i18n.English)
		if de != c.titleDE || en != c.title {
			t.Errorf("the titles are %q and %q", de, en)
		}
		for language, want := range map[i18n.Language][]string{i18n.German: c.de, i18n.English: c.en} {
			text := c.words.Text.In(language)
			for _, w := range want {
				if !strings.Contains(text, w) {
					t.Errorf("%q is not in:\n%s", w, text)
				}
			}
			if strings.Contains(text, "%!") || strings.Contains(text, "72") && strings.Contains(text, "410") {
				t.Errorf("in the notice stands:\n%s", text)
			}
		}
	}
}
