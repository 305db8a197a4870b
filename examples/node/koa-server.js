import Koa from 'koa';
import { authorize } from './access-token.js';

const app = new Koa();

app.use(async (ctx, next) => {
  const { claims, status, headers } = await authorize(
    ctx.get('Authorization'),
    ctx.method === 'GET' ? 'read' : 'write',
  );
  if (claims === undefined) {
    ctx.status = status;
    ctx.set(headers);
    return;
  }
  ctx.state.claims = claims;
  await next();
});

app.use((ctx) => {
  ctx.body = { caller: ctx.state.claims.sub };
});

app.listen(process.env.PORT ?? 9000);
