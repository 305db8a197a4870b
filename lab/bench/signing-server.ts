import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { createServer } from 'node:http';

// The least that any server of RS256 tokens does in Node.js: it reads a request and answers with one signature. Several of these
// programs share the port PORT on loopback; the system distributes the connections among them.
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const input = randomBytes(256);

const server = createServer((request, response) => {
  request.resume();
  request.once('end', () => {
    const token = sign('sha256', input, privateKey).toString('base64url');
    response.writeHead(200, { 'Content-Type': 'text/plain', 'Content-Length': token.length }).end(token);
  });
});
server.listen({ port: Number(process.env['PORT']), host: '127.0.0.1', backlog: 4_096, reusePort: true });
