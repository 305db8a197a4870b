import { allowInsecureRequests, clientCredentialsGrant, discovery } from 'openid-client';

const { ISSUER, CLIENT_ID, CLIENT_SECRET, API_URL } = process.env;

// Without TLS, for the demo only.
const execute = ISSUER.startsWith('http:') ? [allowInsecureRequests] : [];
const options = { algorithm: 'oauth2', execute };
const config = await discovery(new URL(ISSUER), CLIENT_ID, CLIENT_SECRET, undefined, options);

const accessToken = async () => (await clientCredentialsGrant(config)).access_token;

const response = await fetch(API_URL, { headers: { Authorization: `Bearer ${await accessToken()}` } });
console.log(await response.text());
