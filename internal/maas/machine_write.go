package maas

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"

	"github.com/canonical/gomaasclient/client"
	"github.com/canonical/gomaasclient/entity"
)

// NewMachine is what a machine is created with. Empty fields are the region's
// defaults.
type NewMachine struct {
	Hostname        string
	Description     string
	Architecture    string // "amd64/generic"
	MACs            []string
	Domain          string
	Pool            string
	Zone            string
	PowerType       string
	PowerParameters map[string]string // by MAAS's names, without their prefix
}

// CreateMachine adds a machine in status New: it never starts commissioning,
// which MAAS would do by itself for an admin's key. An ambiguous error, a 500
// and a 503 included, may have left the machine behind: look up its MACs. MAAS
// has no unique index over MACs, so look them up afterwards in any case.
func (c *Client) CreateMachine(ctx context.Context, n NewMachine) (*Machine, error) {
	form := url.Values{"commission": {"false"}, "mac_addresses": n.MACs}
	for name, value := range map[string]string{
		"hostname": n.Hostname, "description": n.Description, "architecture": n.Architecture,
		"domain": n.Domain, "pool": n.Pool, "zone": n.Zone, "power_type": n.PowerType,
	} {
		if value != "" {
			form.Set(name, value)
		}
	}
	secrets := addPower(form, n.PowerParameters)
	m := new(Machine)
	r := request{
		op: "maas: create machine", subject: n.Hostname, class: creating, method: http.MethodPost,
		path: "machines/", form: form, secrets: secrets,
	}
	return m, c.call(ctx, r, m)
}

// MachineUpdate holds what is to change; nil leaves a field as it is. MACs are
// not among them: MAAS ignores them here, see UpdateInterface.
type MachineUpdate struct {
	Hostname        *string
	Description     *string
	Architecture    *string
	Domain          *string
	Pool            *string
	Zone            *string
	MinHWEKernel    *string
	PowerType       *string
	PowerParameters map[string]string // merged into those that are there
}

// UpdateMachine changes a machine in any status.
func (c *Client) UpdateMachine(ctx context.Context, id string, u MachineUpdate) (*Machine, error) {
	form := url.Values{}
	for name, value := range map[string]*string{
		"hostname": u.Hostname, "description": u.Description, "architecture": u.Architecture, "domain": u.Domain,
		"pool": u.Pool, "zone": u.Zone, "min_hwe_kernel": u.MinHWEKernel, "power_type": u.PowerType,
	} {
		if value != nil {
			form.Set(name, *value)
		}
	}
	secrets := addPower(form, u.PowerParameters)
	return c.machineCall(ctx, "maas: update machine", id, http.MethodPut, "", form, secrets)
}

// addPower writes power parameters into a form and returns their values, all
// of which count as secrets: an address can hold a password as well.
func addPower(form url.Values, parameters map[string]string) []string {
	var secrets []string
	for name, value := range parameters {
		form.Set("power_parameters_"+name, value)
		if sensitive(name) {
			secrets = append(secrets, value)
		}
	}
	return secrets
}

// sensitive tells which parameters hold credentials, by the names that MAAS's
// power drivers use: power_pass, k_g, private_key, power_token_secret and so on.
// An address or an id is shown, for an error has to name it.
func sensitive(name string) bool {
	for _, s := range []string{"pass", "secret", "key", "token", "k_g", "cert"} {
		if strings.Contains(name, s) {
			return true
		}
	}
	return false
}

// CommissionOptions say how a machine is commissioned.
type CommissionOptions struct {
	EnableSSH      bool // leave the node on and reachable after a failure
	SkipBMCConfig  bool
	SkipNetworking bool
	SkipStorage    bool
	Scripts        []string          // names or tags; empty: all
	TestingScripts []string          // names or tags; empty: the default ones; "none" alone: none
	Parameters     map[string]string // "SCRIPT_PARAMETER": value
}

// Commission starts commissioning. The call returns when the region has
// started the power action, which can fail a minute later.
func (c *Client) Commission(ctx context.Context, id string, o CommissionOptions) (*Machine, error) {
	form := url.Values{}
	setFlag(form, "enable_ssh", o.EnableSSH)
	setFlag(form, "skip_bmc_config", o.SkipBMCConfig)
	setFlag(form, "skip_networking", o.SkipNetworking)
	setFlag(form, "skip_storage", o.SkipStorage)
	secrets := addScripts(form, o.Scripts, o.TestingScripts, o.Parameters)
	return c.machineCall(ctx, "maas: commission machine", id, http.MethodPost, "commission", form, secrets)
}

// Test starts the testing scripts on a machine that is not commissioned again.
func (c *Client) Test(ctx context.Context, id string, scripts []string, parameters map[string]string) (*Machine, error) {
	form := url.Values{}
	secrets := addScripts(form, nil, scripts, parameters)
	return c.machineCall(ctx, "maas: test machine", id, http.MethodPost, "test", form, secrets)
}

// OverrideFailedTesting takes a machine from Failed testing to Ready.
func (c *Client) OverrideFailedTesting(ctx context.Context, id string) (*Machine, error) {
	return c.machineCall(ctx, "maas: override failed testing of machine", id, http.MethodPost, "override_failed_testing", url.Values{}, nil)
}

func addScripts(form url.Values, commissioning, testing []string, parameters map[string]string) []string {
	if len(commissioning) > 0 {
		form.Set("commissioning_scripts", strings.Join(commissioning, ","))
	}
	if len(testing) > 0 {
		form.Set("testing_scripts", strings.Join(testing, ","))
	}
	var secrets []string
	for name, value := range parameters {
		form.Set(name, value)
		if sensitive(name) {
			secrets = append(secrets, value)
		}
	}
	return secrets
}

func setFlag(form url.Values, name string, on bool) {
	if on {
		form.Set(name, "1")
	}
}

// DeployOptions say what is installed.
type DeployOptions struct {
	DistroSeries string // "ubuntu/jammy" or "jammy"; empty: the region's default
	HWEKernel    string
	UserData     []byte // cloud-init's; a secret
	Ephemeral    bool   // run from memory, leave the disk alone
	HWSync       bool
}

// Deploy starts the installation of an allocated machine.
func (c *Client) Deploy(ctx context.Context, id string, o DeployOptions) (*Machine, error) {
	form := url.Values{}
	if o.DistroSeries != "" {
		form.Set("distro_series", o.DistroSeries)
	}
	if o.HWEKernel != "" {
		form.Set("hwe_kernel", o.HWEKernel)
	}
	setFlag(form, "ephemeral_deploy", o.Ephemeral)
	setFlag(form, "enable_hw_sync", o.HWSync)
	var secrets []string
	if len(o.UserData) > 0 {
		encoded := base64.StdEncoding.EncodeToString(o.UserData)
		form.Set("user_data", encoded)
		secrets = []string{encoded, string(o.UserData)}
	}
	return c.machineCall(ctx, "maas: deploy machine", id, http.MethodPost, "deploy", form, secrets)
}

// Allocate takes a Ready machine for the key's user. A machine that is not
// Ready, or not free, is a conflict.
func (c *Client) Allocate(ctx context.Context, id, comment string) (*Machine, error) {
	const op = "maas: allocate machine"
	if err := checkID(op, id); err != nil {
		return nil, err
	}
	form := url.Values{"system_id": {id}}
	if comment != "" {
		form.Set("comment", comment)
	}
	m := new(Machine)
	r := request{
		op: op, subject: id, class: writing, method: http.MethodPost, path: "machines/",
		query: url.Values{"op": {"allocate"}}, form: form,
	}
	return m, c.call(ctx, r, m)
}

// machineCall posts an operation on a machine, or puts it when operation is
// empty, and returns the machine that MAAS answers with.
func (c *Client) machineCall(ctx context.Context, op, id, method, operation string, form url.Values, secrets []string) (*Machine, error) {
	if err := checkID(op, id); err != nil {
		return nil, err
	}
	r := request{op: op, subject: id, class: writing, method: method, path: "machines/" + id + "/", form: form, secrets: secrets}
	if operation != "" {
		r.query = url.Values{"op": {operation}}
	}
	m := new(Machine)
	return m, c.call(ctx, r, m)
}

// ReleaseOptions say what happens to the disks.
type ReleaseOptions struct {
	Erase   bool // boots the machine once more to erase
	Quick   bool // the ends of the disks only, where nothing better is there
	Secure  bool // the disk's own erase, where it has one
	Comment string
}

// Release gives a machine back. It is done when the machine is Ready, after
// Releasing and, with Erase, Disk erasing.
func (c *Client) Release(ctx context.Context, id string, o ReleaseOptions) error {
	return c.machineOp(ctx, "maas: release machine", id, func(lib *client.Client) error {
		_, err := lib.Machine.Release(id, &entity.MachineReleaseParams{
			Erase: o.Erase, QuickErase: o.Quick, SecureErase: o.Secure, Comment: o.Comment,
		})
		return err
	})
}

// Abort stops what the machine is doing: Commissioning ends in New, Testing in
// the status before, Deploying in Allocated. The status follows the call.
func (c *Client) Abort(ctx context.Context, id, comment string) error {
	return c.machineOp(ctx, "maas: abort machine", id, func(lib *client.Client) error {
		_, err := lib.Machine.Abort(id, comment)
		return err
	})
}

// Lock protects a deployed or deploying machine.
func (c *Client) Lock(ctx context.Context, id, comment string) error {
	return c.machineOp(ctx, "maas: lock machine", id, func(lib *client.Client) error {
		_, err := lib.Machine.Lock(id, comment)
		return err
	})
}

// Unlock takes the protection away.
func (c *Client) Unlock(ctx context.Context, id, comment string) error {
	return c.machineOp(ctx, "maas: unlock machine", id, func(lib *client.Client) error {
		_, err := lib.Machine.Unlock(id, comment)
		return err
	})
}

// DeleteMachine removes a machine with its events and results. One that is
// gone is not found.
func (c *Client) DeleteMachine(ctx context.Context, id string) error {
	return c.machineOp(ctx, "maas: delete machine", id, func(lib *client.Client) error {
		return lib.Machine.Delete(id)
	})
}

// machineOp runs a write that gomaasclient has right and whose answer tells
// nothing that lasts.
func (c *Client) machineOp(ctx context.Context, op, id string, f func(*client.Client) error) error {
	if err := checkID(op, id); err != nil {
		return err
	}
	return c.viaLibrary(ctx, &operation{name: op, subject: id, class: writing}, f)
}
