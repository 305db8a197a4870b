import asyncio

from mcp import Client
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

SERVER = "https://mcp.example.com/mcp"


class Tokens:
    """Keeps the token in memory. The client itself is configured, so it is not stored."""

    tokens = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return None

    async def set_client_info(self, client_info):
        pass


async def main():
    auth = ClientCredentialsOAuthProvider(
        server_url=SERVER,
        storage=Tokens(),
        client_id="my-client",
        client_secret="my-secret",
        token_endpoint_auth_method="client_secret_basic",
        issuer="https://auth.example.com",
    )
    async with create_mcp_http_client(auth=auth) as http_client:
        async with Client(streamable_http_client(SERVER, http_client=http_client)) as client:
            answer = await client.call_tool("whoami")
            print(answer.content[0].text)


asyncio.run(main())
