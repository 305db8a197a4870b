require "oauth2"

client = OAuth2::Client.new(
  ENV["CLIENT_ID"], ENV["CLIENT_SECRET"],
  site: ENV["ISSUER"], token_url: "/oauth2/token", auth_scheme: :request_body
)
puts client.client_credentials.get_token.get(ENV["API_URL"]).body
