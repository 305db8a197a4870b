import { createServer, type IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { openFetchService } from '../../config/fetch.ts';

// A web server that calls the service as a function, with the usual ways to make a body of a request of Node.js: the
// header field `x-body` says which. Setting: PORT.

const { PORT, ...settings } = process.env;
const service = await openFetchService(settings, () => {});

const bodyOf = (incoming: IncomingMessage) =>
  incoming.headers['x-body'] === 'toWeb' ? Readable.toWeb(incoming) : incoming;

createServer(async (incoming, outgoing) => {
  const { method = '', url = '', headers } = incoming;
  const hasBody = !['GET', 'HEAD'].includes(method);
  const body = hasBody && { body: bodyOf(incoming), duplex: 'half' };
  const request = new Request(new URL(url, 'http://127.0.0.1'), { method, headers, ...body } as RequestInit);
  const response = await service.fetch(request, { remoteAddress: incoming.socket.remoteAddress ?? '' });
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  outgoing.end(Buffer.from(await response.arrayBuffer()));
}).listen(Number(PORT), '127.0.0.1');
