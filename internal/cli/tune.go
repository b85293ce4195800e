package cli

import (
	"os"
	"runtime/debug"
	"strings"
)

// gcPercent trades some memory for a third of the collector's work in a plan
// of hundreds of resources.
const gcPercent = 200

// sdkLogs are all the loggers of the plugin SDK. While nobody asked for logs
// they still format hundreds of lines per resource, which Terraform parses and
// drops: a third of the cost of a plan.
var sdkLogs = []string{
	"TF_LOG_SDK", "TF_LOG_SDK_PROTO", "TF_LOG_SDK_FRAMEWORK", "TF_LOG_PROVIDER", "TF_LOG_PROVIDER_MUSTER",
}

// tune sets what makes the plugin server cheap. The garbage collector is set
// here and not through GOGC, which child processes would inherit.
func tune() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if logsAsked(os.Environ()) {
		return
	}
	for _, name := range sdkLogs {
		// Setenv fails only for malformed names.
		_ = os.Setenv(name, "OFF")
	}
}

func logsAsked(environ []string) bool {
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(name, "TF_LOG") && name != "TF_LOG_PATH" && value != "" {
			return true
		}
	}
	return false
}
