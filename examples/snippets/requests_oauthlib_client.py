from oauthlib.oauth2 import BackendApplicationClient
from requests_oauthlib import OAuth2Session

session = OAuth2Session(client=BackendApplicationClient(client_id="my-client"))
session.fetch_token("https://auth.example.com/oauth2/token", client_secret="my-secret", include_client_id=True)
print(session.get("https://api.example.com/things").text)
