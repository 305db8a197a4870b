import asyncio

from authlib.integrations.httpx_client import AsyncOAuth2Client


async def main():
    async with AsyncOAuth2Client(
        "my-client",
        "my-secret",
        token_endpoint="https://auth.example.com/oauth2/token",
        token_endpoint_auth_method="client_secret_post",
        grant_type="client_credentials",
    ) as client:
        await client.fetch_token()
        print((await client.get("https://api.example.com/things")).text)


asyncio.run(main())
