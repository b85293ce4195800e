output "identity" {
  description = "Name, kind and value of every hardware identity, a line each."
  value = join("\n", flatten([
    for name, vm in muster_node_vm.node : concat(
      ["${name} uuid ${vm.id}"],
      [for nic, mac in vm.macs : "${name} ${nic} ${mac}"],
    )
  ]))
}

output "addresses" {
  description = "Where each machine answers."
  value       = { for name, vm in muster_node_vm.node : name => vm.addresses }
}

output "pending_restart" {
  description = "What still waits for a power cycle."
  value       = { for name, vm in muster_node_vm.node : name => vm.pending_restart }
}

output "console" {
  description = "The last lines of each console: terraform output -raw console"
  sensitive   = true
  value = join("\n", [
    for name, c in data.muster_console.node : "--- ${name}\n${c.text}"
  ])
}
