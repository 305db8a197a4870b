import express from 'express';
import { authorize } from './access-token.js';

const bearer = (scope) => async (request, response, next) => {
  const { claims, status, headers } = await authorize(request.headers.authorization, scope);
  if (claims === undefined) return response.set(headers).sendStatus(status);
  request.claims = claims;
  next();
};

const app = express();
app.get('/things', bearer('read'), (request, response) => response.json({ caller: request.claims.sub }));
app.post('/things', bearer('write'), (_request, response) => response.sendStatus(201));
app.listen(process.env.PORT ?? 9000);
