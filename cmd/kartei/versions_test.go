package main

import "testing"

func TestVersionsWithoutCalls(t *testing.T) {
	data := t.TempDir()
	if status, _, errs := kartei(nil, "migrate", "--data-dir", data); status != 0 {
		t.Fatal(errs)
	}
	if status, out, errs := kartei(nil, "versions", "--data-dir", data, "--json"); status != 0 ||
		out != `{"data":[]}`+"\n" {
		t.Errorf("%d %q %q", status, out, errs)
	}
	if status, out, _ := kartei(nil, "versions", "--data-dir", data); status != 0 ||
		out != "VERSION  KEY  KEY ID  ORGANIZATION  CALLS  LAST USED\n" {
		t.Errorf("%d %q", status, out)
	}
	if status, _, errs := kartei(nil, "versions", "--data-dir", data, "--org", "org_x"); status != 1 || errs == "" {
		t.Errorf("%d %q", status, errs)
	}
}
