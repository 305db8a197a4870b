import { randomUUID } from 'node:crypto';
import OAuth2Server from '@node-oauth/oauth2-server';
import bcrypt from 'bcrypt';
import express from 'express';
import { importJWK, SignJWT } from 'jose';
import { registeredClients, serveOnAllCores } from './all-cores.mjs';

const LIFETIME_SECONDS = 300;

// @node-oauth/oauth2-server leaves clients, secrets and tokens to a model. This one keeps clients in memory, compares
// BCrypt or plain secrets, depending on the registration, and signs JWTs.
await serveOnAllCores(async (key) => {
  const clients = new Map(registeredClients().map((client) => [client.id, client]));
  const privateKey = await importJWK(key, 'RS256');
  const issuer = process.env['BASE_URL'];

  const oauth = new OAuth2Server({
    accessTokenLifetime: LIFETIME_SECONDS,
    model: {
      async getClient(id, secret) {
        const client = clients.get(id);
        if (client === undefined) return false;
        const isRight = client.isHashed ? await bcrypt.compare(secret, client.secret) : secret === client.secret;
        return isRight && { id, grants: ['client_credentials'] };
      },
      getUserFromClient: async ({ id }) => ({ id }),
      validateScope: async () => ['read'],
      generateAccessToken: ({ id }) =>
        new SignJWT()
          .setProtectedHeader({ alg: 'RS256', kid: key.kid })
          .setIssuer(issuer)
          .setSubject(id)
          .setAudience(id)
          .setIssuedAt()
          .setNotBefore('0s')
          .setExpirationTime(`${LIFETIME_SECONDS}s`)
          .setJti(randomUUID())
          .sign(privateKey),
      saveToken: async (token, client, user) => ({ ...token, client, user }),
    },
  });

  const { kty, n, e, kid, alg, use } = key;
  const application = express();
  application.disable('etag').disable('x-powered-by');
  application.get('/jwks', (_request, response) => response.json({ keys: [{ kty, n, e, kid, alg, use }] }));
  application.post('/token', express.urlencoded({ extended: false }), async (incoming, outgoing) => {
    const response = new OAuth2Server.Response(outgoing);
    try {
      await oauth.token(new OAuth2Server.Request(incoming), response);
      outgoing.set(response.headers).status(response.status).json(response.body);
    } catch (error) {
      outgoing.status(error.code ?? 500).json({ error: error.name });
    }
  });
  return application;
});
