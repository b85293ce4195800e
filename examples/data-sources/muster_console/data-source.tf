data "muster_console" "web" {
  uuid  = muster_node_vm.web.id
  lines = 40
}

output "console" {
  value     = data.muster_console.web.text
  sensitive = true
}
