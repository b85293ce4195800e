package cloudinit_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/musterlab/terraform-provider-muster/internal/cloudinit"
)

// secret stands in the documents below wherever a message might quote it.
const secret = "hunter2"

// problemOf returns the error's problem, or nil when there is none.
func problemOf(t *testing.T, err error) *cloudinit.Problem {
	t.Helper()
	var p *cloudinit.Problem
	if err != nil && !errors.As(err, &p) {
		t.Fatalf("%v is not a *Problem", err)
	}
	return p
}

type faultyDocument struct {
	behaviour, text string
	line            int    // 0: valid
	reason          string // part of the message
}

func (d faultyDocument) check(t *testing.T, err error) {
	t.Helper()
	p := problemOf(t, err)
	switch {
	case p == nil && d.reason == "":
	case p == nil:
		t.Errorf("%s: accepted", d.behaviour)
	case d.reason == "":
		t.Errorf("%s: refused: %v", d.behaviour, p)
	case p.Line != d.line || !strings.Contains(p.Text, d.reason):
		t.Errorf("%s: got %q, want line %d and %q", d.behaviour, p, d.line, d.reason)
	}
	if err != nil && strings.Contains(err.Error(), secret) {
		t.Errorf("%s: the message quotes the document: %v", d.behaviour, err)
	}
}

func TestCheckUserData_yaml(t *testing.T) {
	tests := []faultyDocument{
		{"a plain document", "#cloud-config\nusers: []\n", 0, ""},
		{"nothing but the header", "#cloud-config\n", 0, ""},
		{"an empty document", "#cloud-config\n---\n", 0, ""},
		{"anchors and aliases", "#cloud-config\na: &x 1\nb: *x\n", 0, ""},
		{"indented by a heredoc", "  #cloud-config\n  a: 1\n", 0, ""},
		{"capitals in the header", "#Cloud-Config\na: [\n", 2, "not valid YAML"},
		{"an unclosed bracket", "#cloud-config\na: 1\nb: [hunter2, 2\nc: 3\n", 3, "did not find expected ',' or ']'"},
		{"an unclosed quotation", "#cloud-config\na: 1\npassword: 'hunter2\nc: 3\n", 3, "unexpected end of stream"},
		{"a key that is indented too far", "#cloud-config\na: 1\n hunter2: 2\n", 3, "mapping values are not allowed"},
		{"a key that is indented too little", "#cloud-config\nusers:\n  - name: a\n   hunter2: x\n", 4, "did not find expected"},
		{"a tab", "#cloud-config\na:\n\thunter2: 1\n", 3, "cannot start any token"},
		{"two colons", "#cloud-config\nb: hunter2: d\n", 2, "mapping values are not allowed"},
		{"an unknown escape", "#cloud-config\na: \"\\qhunter2\"\n", 2, "unknown escape character"},
		{"an unknown anchor", "#cloud-config\na: 1\nb: *hunter2\n", 3, "anchor that is not defined"},
		{"an anchor in itself", "#cloud-config\na: 1\nb: &hunter2 [*hunter2]\n", 0, ""},
		{"a control character", "#cloud-config\na: 1\nb: \x01\n", 3, "control characters"},
		{"bytes that are no UTF-8", "#cloud-config\na: 1\nb: \xffhunter2\n", 3, "invalid leading UTF-8 octet"},
		{"a second document", "#cloud-config\na: 1\n---\nhunter2: 1\n", 4, "second document"},
		{"a list", "#cloud-config\n- hunter2\n", 2, "wants a mapping here and finds a list"},
		{"a plain value", "#cloud-config\nhunter2\n", 2, "wants a mapping here and finds a plain value"},
		{"a fault far down", "#cloud-config\n" + strings.Repeat("a: 1\n", 5000) + "b: [\n" + strings.Repeat("a: 1\n", 5000), 5002, "not valid YAML"},
		{"a fault behind a list over many lines", "#cloud-config\na: [\n" + strings.Repeat("  1,\n", 40) + "]\nb: }hunter2\n", 44, "not valid YAML"},
		{"an archive", "#cloud-config-archive\n- type: text/cloud-config\n", 0, ""},
		{"an archive that is no list", "#cloud-config-archive\na: hunter2\n", 2, "wants a list here and finds a mapping"},
	}
	for _, tt := range tests {
		notice, err := cloudinit.CheckUserData(tt.text)
		tt.check(t, err)
		if notice != "" {
			t.Errorf("%s: notice %q", tt.behaviour, notice)
		}
	}
}

func TestCheckUserData_otherFormatsPass(t *testing.T) {
	for _, data := range []string{
		"", "\n \n",
		"#!/bin/sh\necho [\n",
		"#include\nhttps://example.org/a\n", "#include-once\nhttps://example.org/a\n",
		"## template: jinja\n#cloud-config\na: {{ b\n",
		"#cloud-boothook\n#!/bin/sh\n", "#part-handler\n[\n", "#cloud-config-jsonp\n[{\"op\": \"add\"}]\n",
		"Content-Type: multipart/mixed; boundary=\"x\"\nMIME-Version: 1.0\n\n--x\n",
		"From nobody Thu Jan  1 00:00:00 1970\nMIME-Version: 1.0\n",
		"\x1f\x8b\x08\x00\x00",
	} {
		if notice, err := cloudinit.CheckUserData(data); notice != "" || err != nil {
			t.Errorf("%q: notice %q, error %v", data, notice, err)
		}
	}
}

func TestCheckUserData_unknownHeaderIsNoticed(t *testing.T) {
	for _, data := range []string{"hunter2: 1\n", "# cloud-config\nhunter2: 1\n", "{\"ignition\": {}}"} {
		notice, err := cloudinit.CheckUserData(data)
		if err != nil {
			t.Errorf("%q: %v", data, err)
		}
		if !strings.Contains(notice, "#cloud-config") || strings.Contains(notice, secret) {
			t.Errorf("%q: notice %q", data, notice)
		}
	}
}

func TestCheckMetaData(t *testing.T) {
	tests := []faultyDocument{
		{"nothing", "", 0, ""},
		{"a mapping", "a: 1\n", 0, ""},
		{"JSON", `{"a": "b"}`, 0, ""},
		{"a list", "\n- hunter2\n", 2, "meta-data wants a mapping here and finds a list"},
		{"broken", "a: 1\nb: {hunter2\n", 2, "not valid YAML"},
	}
	for _, tt := range tests {
		tt.check(t, cloudinit.CheckMetaData(tt.text))
	}
}

// Whatever is written, a message names a line of it at most.
func FuzzCheckUserData(f *testing.F) {
	f.Add("a: [1, 2")
	f.Add("a: *x\n b: 'c\n\t- d")
	f.Add("a: |\n  x\n y\n%b")
	f.Add("\r0 0\r")
	f.Fuzz(func(t *testing.T, body string) {
		data := "#cloud-config\n" + body
		_, err := cloudinit.CheckUserData(data)
		var p *cloudinit.Problem
		if err == nil {
			return
		}
		if !errors.As(err, &p) {
			t.Fatalf("%v is not a *Problem", err)
		}
		// What YAML counts as a line break.
		lines := 1
		for _, b := range []string{"\n", "\r", "\u0085", "\u2028", "\u2029"} {
			lines += strings.Count(data, b)
		}
		if p.Line < 1 || p.Line > lines {
			t.Fatalf("line %d of %d", p.Line, lines)
		}
	})
}
