import { OAuth2Client } from '@badgateway/oauth2-client';

const { ISSUER, CLIENT_ID, CLIENT_SECRET, API_URL } = process.env;

const client = new OAuth2Client({
  server: ISSUER,
  tokenEndpoint: '/oauth2/token',
  clientId: CLIENT_ID,
  clientSecret: CLIENT_SECRET,
  authenticationMethod: 'client_secret_post',
});

const accessToken = async () => (await client.clientCredentials()).accessToken;

const response = await fetch(API_URL, { headers: { Authorization: `Bearer ${await accessToken()}` } });
console.log(await response.text());
