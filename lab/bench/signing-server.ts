import { generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';

// The least that any server of tokens does in Node.js: it reads the form of a request, and responds with a token of the
// same size and with the same header fields as the service. It looks nothing up, checks nothing and logs nothing.
// Several of these programs share the port PORT on loopback; the system distributes the connections among them. A GET
// returns the public key set.
const algorithm = process.env['ALG'] ?? 'RS256';
const { privateKey, publicKey } =
  algorithm === 'ES256'
    ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
    : generateKeyPairSync('rsa', { modulusLength: 2048 });
const kid = randomUUID();
const keySet = JSON.stringify({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid, alg: algorithm, use: 'sig' }] });
const issuer = process.env['BASE_URL'] ?? 'http://localhost:8080';
const header = encoded({ kid, alg: algorithm });

const server = createServer(async (request, response) => {
  const body = request.method === 'GET' ? keySet : await tokenResponse(request);
  response.writeHead(200, {
    'Cache-Control': 'no-store',
    Pragma: 'no-cache',
    'X-Request-Id': randomUUID(),
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
  });
  response.end(body);
});
server.listen({ port: Number(process.env['PORT']), host: '127.0.0.1', backlog: 4_096, reusePort: true });

async function tokenResponse(request: IncomingMessage): Promise<string> {
  const clientId = new URLSearchParams(await text(request)).get('client_id');
  const now = Math.floor(Date.now() / 1_000);
  const times = { iat: now, nbf: now, exp: now + 300 };
  const input = `${header}.${encoded({ iss: issuer, sub: clientId, aud: clientId, ...times, jti: randomUUID() })}`;
  const signature = sign('sha256', Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' });
  const token = `${input}.${signature.toString('base64url')}`;
  return JSON.stringify({ access_token: token, token_type: 'Bearer', expires_in: 300 });
}

function encoded(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
