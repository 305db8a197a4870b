import { ClientSecretPost, clientCredentialsGrantRequest, processClientCredentialsResponse } from 'oauth4webapi';

const server = { issuer: 'https://auth.example.com', token_endpoint: 'https://auth.example.com/oauth2/token' };
const client = { client_id: 'my-client' };
const options = {};

export async function accessToken() {
  const response = await clientCredentialsGrantRequest(server, client, ClientSecretPost('my-secret'), {}, options);
  return (await processClientCredentialsResponse(server, client, response)).access_token;
}
