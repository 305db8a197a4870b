import { createServer } from 'node:http';
import { authorize } from './access-token.js';

const server = createServer(async (request, response) => {
  const { claims, status, headers } = await authorize(request.headers.authorization, 'read');
  if (claims === undefined) response.writeHead(status, headers).end();
  else response.setHeader('Content-Type', 'application/json').end(JSON.stringify({ caller: claims.sub }));
});

server.listen(process.env.PORT ?? 9000, '127.0.0.1', () => console.log(`listening on port ${server.address().port}`));
