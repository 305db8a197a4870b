import Fastify from 'fastify';
import { authorize } from './access-token.js';

const bearer = (scope) => async (request, reply) => {
  const { claims, status, headers } = await authorize(request.headers.authorization, scope);
  if (claims === undefined) return reply.code(status).headers(headers).send();
  request.claims = claims;
};

const app = Fastify();
app.decorateRequest('claims', null);
app.get('/things', { onRequest: bearer('read') }, async (request) => ({ caller: request.claims.sub }));
app.post('/things', { onRequest: bearer('write') }, async (_request, reply) => reply.code(201).send());
await app.listen({ port: Number(process.env.PORT ?? 9000) });
