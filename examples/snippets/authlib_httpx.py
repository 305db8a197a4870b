import asyncio
import os

from authlib.integrations.httpx_client import AsyncOAuth2Client


async def main():
    async with AsyncOAuth2Client(
        os.environ["CLIENT_ID"],
        os.environ["CLIENT_SECRET"],
        token_endpoint=os.environ["ISSUER"] + "/oauth2/token",
        token_endpoint_auth_method="client_secret_post",
        grant_type="client_credentials",
    ) as client:
        await client.fetch_token()
        print((await client.get(os.environ["API_URL"])).text)


asyncio.run(main())
