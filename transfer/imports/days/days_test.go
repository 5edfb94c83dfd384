package days

import (
	"testing"
)

// TestRead checks which days Read parses.
func TestRead(t *testing.T) {
	for text, want := range map[string]string{
		"17. Mai 1984": "1984-05-17", "May 17, 1984": "1984-05-17", "Thursday, May 17, 1984": "1984-05-17",
		"Do 17.05.1984": "1984-05-17", "Do., 17.05.1984": "1984-05-17",
		"17.05.1984 00:00:00": "1984-05-17", "1984-05-17T00:00:00Z": "1984-05-17", "17.05.1984 00.00 Uhr": "1984-05-17",
		"5/17/1984 12:00 AM": "1984-05-17", "17. 05. 1984": "1984-05-17",
		"17-May-1984": "1984-05-17", "1er mars 1984": "1984-03-01", "1. Jänner 84": "1984-01-01",
		"19840517T120000Z": "1984-05-17", "Mai 1984": "", "0.0.00": "", "17. Unsinn 1984": "",
	} {
		if day, _, _ := Read(text, "", false, 2026); day != want {
			t.Errorf("%s: %s, want %s", text, day, want)
		}
	}
}
