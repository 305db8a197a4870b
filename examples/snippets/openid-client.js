import { clientCredentialsGrant, discovery } from 'openid-client';

const issuer = new URL('https://auth.example.com');
const config = await discovery(issuer, 'my-client', 'my-secret', undefined, { algorithm: 'oauth2' });

export const accessToken = async () => (await clientCredentialsGrant(config)).access_token;
