package maas

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// timestamp reads the three ways in which MAAS writes a time, all of them UTC.
// null and the empty text are the zero time.
type timestamp struct{ time.Time }

// layouts are those of events, of results and of everything else.
var layouts = [...]string{
	"Mon, 02 Jan. 2006 15:04:05",
	"Mon, 02 Jan 2006 15:04:05 -0700",
	"2006-01-02T15:04:05",
	time.RFC3339,
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *timestamp) UnmarshalJSON(data []byte) error {
	var s *string
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	if s == nil || *s == "" {
		t.Time = time.Time{}
		return nil
	}
	parsed, err := parseTime(*s)
	t.Time = parsed
	return err
}

func parseTime(s string) (time.Time, error) {
	// "May" has no dot to lose, the others do.
	for _, layout := range layouts {
		if t, err := time.ParseInLocation(layout, s, time.UTC); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%.40q is no time of MAAS", s)
}

// parseSpan reads "1 day, 14:00:05", "0:05:00" or "": how MAAS writes spans.
func parseSpan(s string) (time.Duration, error) {
	if s == "" {
		return 0, nil
	}
	var days int
	if before, after, found := strings.Cut(s, ","); found {
		if _, err := fmt.Sscanf(before, "%d day", &days); err != nil {
			return 0, fmt.Errorf("%.40q is no span of MAAS", s)
		}
		s = strings.TrimSpace(after)
	}
	var h, m int
	var sec float64
	if _, err := fmt.Sscanf(s, "%d:%d:%f", &h, &m, &sec); err != nil {
		return 0, fmt.Errorf("%.40q is no span of MAAS", s)
	}
	whole := time.Duration(days)*24*time.Hour + time.Duration(h)*time.Hour + time.Duration(m)*time.Minute
	return whole + time.Duration(sec*float64(time.Second)), nil
}

// span is a duration in MAAS's own writing.
type span struct{ time.Duration }

// UnmarshalJSON implements json.Unmarshaler.
func (p *span) UnmarshalJSON(data []byte) error {
	var s *string
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	if s == nil {
		p.Duration = 0
		return nil
	}
	d, err := parseSpan(*s)
	p.Duration = d
	return err
}
