package sweep

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"

	"github.com/musterlab/terraform-provider-muster/internal/acctest/tfcore"
	"github.com/musterlab/terraform-provider-muster/internal/provider"
)

// envWorker makes this test binary a worker: a provider process that does one
// step and ends, or is killed.
const envWorker = "MUSTER_SWEEP_WORKER"

// workerLimit bounds a step.
const workerLimit = 3 * time.Minute

func TestMain(m *testing.M) {
	if os.Getenv(envWorker) != "" {
		os.Exit(work())
	}
	os.Exit(m.Run())
}

// The steps of a worker.
const (
	stepPlan     = "plan"     // refresh and plan
	stepApply    = "apply"    // carry out a change that another process has planned
	stepConverge = "converge" // refresh, plan and apply
)

type request struct {
	Step     string
	Provider tfcore.Values
	Type     string
	Config   tfcore.Values // nil: destroy
	Object   *tfcore.Object
	Change   *tfcore.Change
	Settled  tfcore.Values // a plan of it has to be empty before anything else is done
}

type response struct {
	Object *tfcore.Object
	Change *tfcore.Change
	Action tfcore.Action
	Error  string
}

func (r response) err() error {
	if r.Error == "" {
		return nil
	}
	return errors.New(r.Error)
}

// work is the life of a worker.
func work() int {
	var req request
	if err := json.NewDecoder(os.Stdin).Decode(&req); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ctx, cancel := context.WithTimeout(context.Background(), workerLimit)
	defer cancel()
	resp, err := req.do(ctx)
	if err != nil {
		resp.Error = err.Error()
	}
	if err := json.NewEncoder(os.Stdout).Encode(resp); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func (r request) do(ctx context.Context) (response, error) {
	out := response{Object: r.Object}
	core, err := tfcore.New(ctx, providerserver.NewProtocol6(provider.New("test"))(), r.Provider)
	if err != nil {
		return out, err
	}
	if r.Settled != nil {
		if out.Object, err = r.settled(ctx, core); err != nil {
			return out, err
		}
		r.Object = out.Object
	}
	switch r.Step {
	case stepPlan:
		if out.Object, err = core.Refresh(ctx, r.Type, r.Object); err != nil {
			out.Object = r.Object
			return out, err
		}
		out.Change, err = core.Plan(ctx, r.Type, r.Config, out.Object)
		if err == nil {
			out.Action = out.Change.Action
		}
	case stepApply:
		out.Object, err = core.Apply(ctx, r.Change)
	case stepConverge:
		out.Object, out.Action, err = core.Converge(ctx, r.Type, r.Config, r.Object)
	default:
		err = fmt.Errorf("no step %q", r.Step)
	}
	return out, err
}

// settled fails unless the object is as configured.
func (r request) settled(ctx context.Context, core *tfcore.Core) (*tfcore.Object, error) {
	o, err := core.Refresh(ctx, r.Type, r.Object)
	if err != nil {
		return r.Object, err
	}
	change, err := core.Plan(ctx, r.Type, r.Settled, o)
	if err == nil && change.Action != tfcore.NoOp {
		err = fmt.Errorf("the plan afterwards is not empty: %s", change.Action)
	}
	return o, err
}

// run runs one step in a process of its own. The error is errKilled when that
// was killed.
func run(tb testing.TB, r request) (response, error) {
	tb.Helper()
	in, err := json.Marshal(r)
	if err != nil {
		tb.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(tb.Context(), workerLimit+time.Minute)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), envWorker+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &stdout, &stderr
	err = cmd.Run()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() && status.Signal() == syscall.SIGKILL && ctx.Err() == nil {
		return response{}, errKilled
	}
	var resp response
	if err == nil {
		err = json.Unmarshal(stdout.Bytes(), &resp)
	}
	if err != nil {
		tb.Fatalf("worker: %v\n%s%s", err, stdout.Bytes(), stderr.Bytes())
	}
	return resp, nil
}

var errKilled = errors.New("the provider was killed")
