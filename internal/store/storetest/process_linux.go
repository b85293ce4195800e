package storetest

import "syscall"

// attributes runs a program as who, and ends it when the thread that started
// it ends.
func attributes(who *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: who, Pdeathsig: syscall.SIGQUIT}
}
