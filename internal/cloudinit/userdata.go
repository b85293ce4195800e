package cloudinit

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// headers are the beginnings by which cloud-init tells formats of user data
// apart, in lower case. It compares without regard to case and after skipping
// white space.
var headers = []string{
	"#!", "#include", "#cloud-boothook", "#part-handler", "#cloud-config-jsonp",
	"## template:", "#upstart-job", "content-type:", "mime-version:", "from ",
}

const gzipMagic = "\x1f\x8b"

// CheckUserData reports what cloud-init would stumble over in user data: as an
// error what it is certain to refuse, as a notice what it will probably
// ignore. Both say which line, never what stands there. Only the formats of
// YAML are read; the others pass.
func CheckUserData(data string) (notice string, err error) {
	head := strings.ToLower(strings.TrimSpace(data[:min(len(data), 4096)]))
	switch {
	case head == "" || strings.HasPrefix(data, gzipMagic) || strings.Contains(head, "mime-version:"):
		return "", nil
	case strings.HasPrefix(head, "#cloud-config-archive"):
		return "", checkYAML(data, "#cloud-config-archive", yaml.SequenceNode)
	case hasAnyPrefix(head, headers):
		return "", nil
	case strings.HasPrefix(head, "#cloud-config"):
		return "", checkYAML(data, "#cloud-config", yaml.MappingNode)
	}
	return "its first line is none by which cloud-init tells what user data is " +
		"(#cloud-config, #!, #include, ## template: jinja, a MIME header, ...); cloud-init will ignore it", nil
}

func hasAnyPrefix(s string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

// checkYAML reads data as one document whose outermost node is of the kind.
func checkYAML(data, format string, kind yaml.Kind) error {
	doc, err := parse(data)
	if err != nil || doc == nil {
		return err
	}
	if doc.Kind != kind {
		return problemAt(doc, "%s wants %s here and finds %s", format, kindName(&yaml.Node{Kind: kind}), kindName(doc))
	}
	return nil
}
