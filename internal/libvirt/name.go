package libvirt

import "encoding/xml"

// nameIn returns what a description calls its object, for errors; "" where it
// cannot be read.
func nameIn(doc string) string {
	var x struct {
		Name string `xml:"name"`
	}
	if err := xml.Unmarshal([]byte(doc), &x); err != nil {
		return ""
	}
	return x.Name
}
