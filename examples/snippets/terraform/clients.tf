# Clients of the authorization service, with Terraform 1.4 or OpenTofu, curl and sh. The token comes from the environment: CCAUTH_TOKEN.
# A client that somebody else has changed is made again as it stands here.
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

resource "terraform_data" "client" {
  for_each         = var.clients
  input            = { url = "${var.api}/${urlencode(each.key)}", document = jsonencode(each.value) }
  triggers_replace = [each.key]

  provisioner "local-exec" {
    command     = <<-END
      put() { printf %s "$DOCUMENT" | curl --silent --show-error --fail-with-body -X PUT "$URL" -H "Authorization: Bearer $CCAUTH_TOKEN" \
        -H 'Content-Type: application/json' -H "$1" --data-binary @-; }
      put 'If-None-Match: *' || put 'If-Match: *'
    END
    environment = { URL = self.input.url, DOCUMENT = self.input.document }
  }

  provisioner "local-exec" {
    when        = destroy
    command     = "curl --silent --show-error --fail-with-body -X DELETE \"$URL\" -H \"Authorization: Bearer $CCAUTH_TOKEN\" -H 'If-Match: *'"
    environment = { URL = self.input.url }
  }
}
