import { ClientCredentials } from 'simple-oauth2';

const client = new ClientCredentials({
  client: { id: 'my-client', secret: 'my-secret' },
  auth: { tokenHost: 'https://auth.example.com', tokenPath: '/oauth2/token' },
  options: { authorizationMethod: 'body' },
});

export const accessToken = async () => (await client.getToken({})).token.access_token;
