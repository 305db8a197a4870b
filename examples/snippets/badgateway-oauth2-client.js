import { OAuth2Client } from '@badgateway/oauth2-client';

const client = new OAuth2Client({
  server: 'https://auth.example.com',
  tokenEndpoint: '/oauth2/token',
  clientId: 'my-client',
  clientSecret: 'my-secret',
  authenticationMethod: 'client_secret_post',
});

export const accessToken = async () => (await client.clientCredentials()).accessToken;
