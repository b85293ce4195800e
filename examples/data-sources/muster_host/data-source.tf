data "muster_host" "default" {}

output "room" {
  value = "${data.muster_host.default.free_mib} of ${data.muster_host.default.memory_mib} MiB are free on ${data.muster_host.default.hostname}"
}
