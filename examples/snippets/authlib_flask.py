from authlib.integrations.flask_client import OAuth
from flask import Flask

app = Flask(__name__)
api = OAuth(app).register(
    "api",
    client_id="my-client",
    client_secret="my-secret",
    access_token_url="https://auth.example.com/oauth2/token",
    client_kwargs={"token_endpoint_auth_method": "client_secret_post"},
)


@app.get("/")
def things():
    token = api.fetch_access_token(grant_type="client_credentials")
    return api.get("https://api.example.com/things", token=token).text
