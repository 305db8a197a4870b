import httpx
from httpx_auth import OAuth2ClientCredentials

auth = OAuth2ClientCredentials("https://auth.example.com/oauth2/token", "my-client", "my-secret")
with httpx.Client(auth=auth) as client:
    print(client.get("https://api.example.com/things").text)
