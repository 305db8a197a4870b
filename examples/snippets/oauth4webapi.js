import * as oauth from 'oauth4webapi';

const { ISSUER, CLIENT_ID, CLIENT_SECRET, API_URL } = process.env;

const server = { issuer: ISSUER, token_endpoint: `${ISSUER}/oauth2/token` };
const client = { client_id: CLIENT_ID };
const method = oauth.ClientSecretPost(CLIENT_SECRET);
// Without TLS, for the demo only.
const options = { [oauth.allowInsecureRequests]: ISSUER.startsWith('http:') };

async function accessToken() {
  const response = await oauth.clientCredentialsGrantRequest(server, client, method, {}, options);
  return (await oauth.processClientCredentialsResponse(server, client, response)).access_token;
}

const response = await fetch(API_URL, { headers: { Authorization: `Bearer ${await accessToken()}` } });
console.log(await response.text());
