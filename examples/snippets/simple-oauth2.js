import { ClientCredentials } from 'simple-oauth2';

const { ISSUER, CLIENT_ID, CLIENT_SECRET, API_URL } = process.env;

const client = new ClientCredentials({
  client: { id: CLIENT_ID, secret: CLIENT_SECRET },
  auth: { tokenHost: ISSUER, tokenPath: '/oauth2/token' },
  options: { authorizationMethod: 'body' },
});

const accessToken = async () => (await client.getToken({})).token.access_token;

const response = await fetch(API_URL, { headers: { Authorization: `Bearer ${await accessToken()}` } });
console.log(await response.text());
