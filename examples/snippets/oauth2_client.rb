require "oauth2"

client = OAuth2::Client.new(
  "my-client", "my-secret",
  site: "https://auth.example.com", token_url: "/oauth2/token", auth_scheme: :request_body
)
puts client.client_credentials.get_token.get("https://api.example.com/things").body
