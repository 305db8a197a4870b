import { readFileSync } from 'node:fs';
import { Client, PrivateKeyJwtProvider, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const authProvider = new PrivateKeyJwtProvider({
  clientId: 'my-client',
  privateKey: readFileSync('/etc/my-agent/key.pem', 'utf8'),
  algorithm: 'ES256',
  expectedIssuer: 'https://auth.example.com',
});

export const client = new Client({ name: 'my-agent', version: '1.0.0' });
await client.connect(new StreamableHTTPClientTransport(new URL('https://mcp.example.com/mcp'), { authProvider }));
