# Clients of the authorization service, with OpenTofu or Terraform 1.4 and curl. The token comes from the environment: CCAUTH_TOKEN.
# Changes that somebody else makes are not noticed, and last until the next change here.
variable "clients" {
  type = map(object({ client_name = string, scope = string }))
  default = {
    billing = { client_name = "Billing", scope = "read write" }
  }
}

variable "api" {
  type    = string
  default = "http://127.0.0.1:8081/clients"
}

locals {
  curl = "curl --silent --show-error --fail-with-body \"$URL\" -H \"Authorization: Bearer $CCAUTH_TOKEN\""
}

resource "terraform_data" "client" {
  for_each = var.clients
  input    = { URL = "${var.api}/${urlencode(each.key)}", CURL = local.curl }

  provisioner "local-exec" {
    when        = destroy
    command     = "${self.output.CURL} -X DELETE -H 'If-Match: *'"
    environment = self.output
  }
}

# Replaced when it changes, which sends it again. The client stays, with its secrets.
resource "terraform_data" "document" {
  for_each         = var.clients
  triggers_replace = [terraform_data.client[each.key].output.URL, each.value]

  provisioner "local-exec" {
    command     = <<-END
      put() { printf %s "$DOCUMENT" | ${local.curl} -X PUT -H 'Content-Type: application/json' -H "$1" --data-binary @-; }
      put 'If-None-Match: *' || put 'If-Match: *'
    END
    environment = { URL = terraform_data.client[each.key].output.URL, DOCUMENT = jsonencode(each.value) }
  }
}
